//! Stopping from outside: a signal handler or another thread asks, the engine's loop hears it at once.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// How much of a hurry there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Go on.
    None,
    /// Start nothing more; ask what runs to end, and wait for the grace time.
    Stop,
    /// End everything now.
    Kill,
}

/// A request to stop, shared by whoever may ask and the engine. Clones are the same request.
#[derive(Clone, Debug)]
pub struct Cancel {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    level: AtomicU8,
    wake: UnixStream,
    woken: UnixStream,
}

impl Cancel {
    /// A request that nobody has made yet.
    pub fn new() -> io::Result<Self> {
        let (wake, woken) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        Ok(Self { shared: Arc::new(Shared { level: AtomicU8::new(0), wake, woken }) })
    }

    /// Asks to stop gently. Safe to call from a signal handler: an atomic and one `write`.
    pub fn stop(&self) {
        self.raise(1);
    }

    /// Asks to end everything now. Safe to call from a signal handler.
    pub fn kill(&self) {
        self.raise(2);
    }

    /// What has been asked for so far.
    pub fn urgency(&self) -> Urgency {
        match self.shared.level.load(Ordering::SeqCst) {
            0 => Urgency::None,
            1 => Urgency::Stop,
            _ => Urgency::Kill,
        }
    }

    fn raise(&self, level: u8) {
        self.shared.level.fetch_max(level, Ordering::SeqCst);
        // A full buffer means that the loop has a wake-up waiting already.
        let _ = (&self.shared.wake).write(&[level]);
    }

    /// Readable after a request, until [`Cancel::heard`].
    pub(crate) fn wake_fd(&self) -> BorrowedFd<'_> {
        self.shared.woken.as_fd()
    }

    /// Takes the wake-ups that are waiting.
    pub(crate) fn heard(&self) {
        let mut bytes = [0; 16];
        while matches!((&self.shared.woken).read(&mut bytes), Ok(n) if n > 0) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_request_can_only_make_it_more_urgent() {
        let cancel = Cancel::new().unwrap();
        assert_eq!(cancel.urgency(), Urgency::None);
        cancel.clone().kill();
        cancel.stop();
        assert_eq!(cancel.urgency(), Urgency::Kill);
    }
}
