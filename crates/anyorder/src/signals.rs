//! Ctrl-C and its relatives: the first asks for a stop, the second kills, the third leaves at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyorder_runner::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit_code::ExitCode;

/// Whether a signal came, and which.
#[derive(Clone, Debug)]
pub struct Watch {
    /// What the engine looks at.
    pub cancel: Cancel,
    last: Arc<AtomicUsize>,
}

impl Watch {
    /// Starts to listen. Where no listener can be set up, signals keep their default effect.
    pub fn start() -> io::Result<Self> {
        let watch = Self { cancel: Cancel::new()?, last: Arc::new(AtomicUsize::new(0)) };
        if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT]) {
            let (cancel, last) = (watch.cancel.clone(), Arc::clone(&watch.last));
            thread::spawn(move || {
                for (count, signal) in signals.forever().enumerate() {
                    last.store(usize::try_from(signal).unwrap_or(0), Ordering::SeqCst);
                    match count {
                        0 => cancel.stop(),
                        1 => cancel.kill(),
                        _ => leave(signal),
                    }
                }
            });
        }
        Ok(watch)
    }

    /// The exit code that the signal asks for; `None` when none came.
    pub fn exit_code(&self) -> Option<ExitCode> {
        match i32::try_from(self.last.load(Ordering::SeqCst)).unwrap_or(0) {
            0 => None,
            SIGTERM => Some(ExitCode::Terminated),
            _ => Some(ExitCode::Interrupted),
        }
    }
}

#[expect(clippy::exit, reason = "the third Ctrl-C must end the process whatever it is doing")]
fn leave(signal: i32) {
    std::process::exit(128 + signal);
}
