//! Whether a folder lies on another machine.

use std::path::Path;

/// Whether the folder is on a network file system. Unknown is taken for local.
#[cfg(target_os = "linux")]
pub(crate) fn holds(dir: &Path) -> bool {
    rustix::fs::statfs(dir).is_ok_and(|info| is_network(info.f_type))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn holds(_: &Path) -> bool {
    false
}

/// The numbers are those of Linux' `magic.h` and of the file systems' own sources.
#[cfg(target_os = "linux")]
fn is_network(kind: impl Into<i64>) -> bool {
    const NFS: i64 = 0x6969;
    const SMB: i64 = 0x517b;
    const CIFS: i64 = 0xff53_4d42;
    const SMB2: i64 = 0xfe53_4d42;
    const PLAN_9: i64 = 0x0102_1997;
    const AFS: i64 = 0x5346_414f;
    const CEPH: i64 = 0x00c3_6400;
    // Some machines give the number as a signed one of 32 bits.
    matches!(kind.into() & 0xffff_ffff, NFS | SMB | CIFS | SMB2 | PLAN_9 | AFS | CEPH)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn nfs_and_smb_are_far_and_ext4_is_near() {
        assert!(is_network(0x6969_u32));
        assert!(is_network(0xff53_4d42_u32.cast_signed()));
        assert!(!is_network(0xef53_i64));
        assert!(!holds(Path::new("/proc")));
    }
}
