//! Processes found by what stands in their environment.

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Waits until no process carries `marker` in its environment.
#[track_caller]
pub(crate) fn assert_none_with(marker: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let alive = with(marker);
        if alive.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "alive: {alive:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Processes that carry `marker` in their environment, with their command lines.
pub(crate) fn with(marker: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for path in fs_err::read_dir("/proc").unwrap().flatten().map(|e| e.path()) {
        let environment = fs_err::read(path.join("environ")).unwrap_or_default();
        if environment.windows(marker.len()).any(|w| w == marker.as_bytes()) {
            let words = fs_err::read(path.join("cmdline")).unwrap_or_default();
            found.push((path, String::from_utf8_lossy(&words).replace('\0', " ")));
        }
    }
    found
}
