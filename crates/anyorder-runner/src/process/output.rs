//! What a process writes: its beginning and its end, whatever the amount.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::ControlFlow;

use anyorder_core::model::Excerpt;

/// Taken from one pipe before the others get their turn.
const TURN: usize = 1 << 20;

/// The first and the last bytes of a stream, at most `limit` of each.
#[derive(Debug)]
pub(crate) struct Output {
    limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Output {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    /// Takes what the pipe holds now. Breaks when it will never hold more.
    pub(crate) fn drain(&mut self, pipe: &mut impl Read) -> ControlFlow<()> {
        let mut chunk = [0; 16 << 10];
        let mut taken = 0;
        while taken < TURN {
            match pipe.read(&mut chunk) {
                Ok(0) => return ControlFlow::Break(()),
                Ok(n) => {
                    self.take(&chunk[..n]);
                    taken += n;
                    if n < chunk.len() {
                        // That was all there is. An end, if that comes next, is seen next time.
                        return ControlFlow::Continue(());
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return ControlFlow::Continue(()),
                Err(_) => return ControlFlow::Break(()),
            }
        }
        ControlFlow::Continue(())
    }

    fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.limit - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.limit)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.limit);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// What was kept. Bytes that are no UTF-8 are replaced.
    pub(crate) fn excerpt(&self) -> Excerpt {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.total == (self.head.len() + tail.len()) as u64 {
            let whole = [self.head.as_slice(), &tail].concat();
            let head = String::from_utf8_lossy(&whole).into_owned();
            return Excerpt { head, tail: String::new(), total_bytes: self.total };
        }
        Excerpt {
            head: String::from_utf8_lossy(&self.head).into_owned(),
            tail: String::from_utf8_lossy(&tail).into_owned(),
            total_bytes: self.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_kept_however_the_bytes_arrive() {
        let text: Vec<u8> = (0..100).map(|i| b'a' + i % 26).collect();
        for step in 1..=100 {
            let mut output = Output::new(8);
            text.chunks(step).for_each(|c| output.take(c));
            let excerpt = output.excerpt();
            assert_eq!(excerpt.head.as_bytes(), &text[..8]);
            assert_eq!(excerpt.tail.as_bytes(), &text[92..]);
            assert_eq!(excerpt.total_bytes, 100);
        }
    }

    #[test]
    fn a_short_text_is_all_head() {
        let mut output = Output::new(8);
        output.take(b"twelve bytes");
        let excerpt = output.excerpt();
        assert_eq!((excerpt.head.as_str(), excerpt.tail.as_str()), ("twelve bytes", ""));
    }
}
