//! How SQL stands in the sources.

use std::path::Path;

/// SQLite numbers `$1`, `$2` by where they first stand in a statement, not by their digits; PostgreSQL goes by the
/// digits. Only in ascending order do both mean the same.
#[test]
fn parameters_first_stand_in_ascending_order() {
    let mut statements = 0;
    for file in fs_err::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sqlite")).unwrap() {
        let path = file.unwrap().path();
        let text = fs_err::read_to_string(&path).unwrap();
        for string in text.split('"').skip(1).step_by(2).filter(|s| s.contains('$')) {
            let mut next = 1;
            for piece in string.split('$').skip(1) {
                let digits: String = piece.chars().take_while(char::is_ascii_digit).collect();
                let number: u32 = digits.parse().unwrap();
                assert!(number <= next, "{}: {string}", path.display());
                next = next.max(number + 1);
            }
            statements += 1;
        }
    }
    assert!(statements > 10, "{statements}");
}
