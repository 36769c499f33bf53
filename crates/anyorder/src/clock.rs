//! The wall clock, read here and nowhere else; everything that decides takes the time as an argument.
#![expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, as stored.
pub fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}
