//! Git's C-style quoting, for lists of folders whose names may hold the separator.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// The name in double quotes, with everything but plain characters as octal escapes.
pub(crate) fn c_quoted(name: &OsStr) -> OsString {
    let mut quoted = vec![b'"'];
    for &byte in name.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-+@ ".contains(&byte) {
            quoted.push(byte);
        } else {
            quoted.extend_from_slice(format!("\\{byte:03o}").as_bytes());
        }
    }
    quoted.push(b'"');
    OsString::from_vec(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_quotes_and_bytes_that_are_not_text_are_escaped() {
        let name = OsStr::from_bytes(b"/a b/c:d\"e\xff\n");
        assert_eq!(c_quoted(name), OsStr::new("\"/a b/c\\072d\\042e\\377\\012\""));
    }
}
