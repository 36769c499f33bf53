//! The channel to the agents: a Unix socket in a private folder, and the connections made to it. Bytes in, lines out;
//! what a line means is not known here.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::net::sockopt;

/// A line longer than this breaks its connection, before and after its owner has said who it is.
const STRANGERS_LINE: usize = 8 << 10;
const LONGEST_LINE: usize = 512 << 20;
const CHUNK: usize = 64 << 10;
/// Taken from one connection before the others get their turn.
const TURN: usize = 4 << 20;

/// Where agents connect.
#[derive(Debug)]
pub(crate) struct Server {
    listener: UnixListener,
}

impl Server {
    /// Listens at `path`, which must not exist yet.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener })
    }

    /// A connection that is waiting, if one is.
    pub(crate) fn accept(&self) -> io::Result<Option<Conn>> {
        match self.listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(true)?;
                Ok(Some(Conn::new(stream)))
            }
            Err(e) if is_passing(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

impl AsFd for Server {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// Nothing to be had now; try again after the next wake-up.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
    )
}

/// One connection of an agent.
#[derive(Debug)]
pub(crate) struct Conn {
    stream: UnixStream,
    peer: Option<i32>,
    inbox: LineBuffer,
    outbox: VecDeque<u8>,
    ended: bool,
}

impl Conn {
    fn new(stream: UnixStream) -> Self {
        let peer = peer_pid(&stream);
        let inbox = LineBuffer { longest: STRANGERS_LINE, ..LineBuffer::default() };
        Self { stream, peer, inbox, outbox: VecDeque::new(), ended: false }
    }

    /// The process that connected, as the kernel names it; `None` where it does not.
    pub(crate) fn peer(&self) -> Option<i32> {
        self.peer
    }

    /// Its owner has said who it is: long lines may come.
    pub(crate) fn trust(&mut self) {
        self.inbox.longest = LONGEST_LINE;
    }

    /// Reads what is there, up to a turn's worth, or all of it. Returns whether something came.
    pub(crate) fn fill(&mut self, all: bool) -> bool {
        let mut taken = 0;
        while !self.ended && (all || taken < TURN) {
            match self.inbox.read_from(&mut self.stream) {
                Ok(0) => self.ended = true,
                Ok(n) => {
                    taken += n;
                    if n < CHUNK && !all {
                        // That was all there is. The end of the stream, if that comes next, is seen next time.
                        break;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.ended = true,
            }
        }
        taken > 0
    }

    /// The next whole line, without its newline.
    pub(crate) fn line(&mut self) -> Option<&[u8]> {
        self.inbox.line()
    }

    /// Whether the other side is gone and every whole line was taken.
    pub(crate) fn is_over(&self) -> bool {
        self.ended && !self.inbox.has_line()
    }

    /// Bytes of a last line that never got its newline.
    pub(crate) fn torn(&self) -> usize {
        if self.ended { self.inbox.pending() } else { 0 }
    }

    /// Queues bytes for the agent and sends what the socket takes now.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.outbox.extend(bytes);
        self.flush();
    }

    /// Whether bytes wait to be sent.
    pub(crate) fn wants_to_send(&self) -> bool {
        !self.outbox.is_empty() && !self.ended
    }

    /// Sends what the socket takes. A socket that takes nothing any more is found out when it is read.
    pub(crate) fn flush(&mut self) {
        while !self.outbox.is_empty() {
            let (front, _) = self.outbox.as_slices();
            match self.stream.write(front) {
                Ok(n) => drop(self.outbox.drain(..n)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.outbox.clear(),
            }
        }
    }
}

impl AsFd for Conn {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(target_os = "linux")]
fn peer_pid(stream: &UnixStream) -> Option<i32> {
    sockopt::socket_peercred(stream).ok().map(|c| c.pid.as_raw_nonzero().get())
}

#[cfg(not(target_os = "linux"))]
fn peer_pid(_: &UnixStream) -> Option<i32> {
    None
}

/// Bytes that are cut into lines. Lines are handed out in place; room is reclaimed before the next read.
#[derive(Debug, Default)]
struct LineBuffer {
    /// Room; only the first `filled` bytes mean something. Kept between reads, so that it is cleared only once.
    bytes: Vec<u8>,
    filled: usize,
    /// Start of the first line that was not handed out.
    start: usize,
    /// No newline before this.
    scanned: usize,
    /// A longer line is an error.
    longest: usize,
}

impl LineBuffer {
    fn read_from(&mut self, stream: &mut impl Read) -> io::Result<usize> {
        self.make_room();
        let n = stream.read(&mut self.bytes[self.filled..self.filled + CHUNK])?;
        self.filled += n;
        if n > 0 && self.pending() > self.longest && !self.has_line() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line that is too long"));
        }
        Ok(n)
    }

    /// Makes room for one more chunk, and gives back much more than that.
    fn make_room(&mut self) {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        let wanted = self.filled + CHUNK;
        if self.bytes.len() < wanted || self.bytes.len() > 2 * wanted + 4 * CHUNK {
            self.bytes.resize(wanted, 0);
            self.bytes.shrink_to(2 * wanted);
        }
    }

    fn newline(&self) -> Option<usize> {
        let fresh = &self.bytes[self.scanned..self.filled];
        fresh.iter().position(|b| *b == b'\n').map(|i| self.scanned + i)
    }

    fn has_line(&self) -> bool {
        self.newline().is_some()
    }

    fn line(&mut self) -> Option<&[u8]> {
        if let Some(end) = self.newline() {
            let line = self.start..end;
            self.start = end + 1;
            self.scanned = self.start;
            return Some(&self.bytes[line]);
        }
        self.scanned = self.filled;
        None
    }

    fn pending(&self) -> usize {
        self.filled - self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_whole_however_they_arrive() {
        let text = b"one\n\ntwo three\nfour";
        for step in 1..text.len() {
            let mut buffer = LineBuffer { longest: 64, ..LineBuffer::default() };
            let mut lines = Vec::new();
            for mut chunk in text.chunks(step) {
                buffer.read_from(&mut chunk).unwrap();
                while let Some(line) = buffer.line() {
                    lines.push(String::from_utf8(line.to_vec()).unwrap());
                }
            }
            assert_eq!(lines, ["one", "", "two three"], "in steps of {step}");
            assert_eq!(buffer.pending(), 4);
        }
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut buffer = LineBuffer { longest: 100, ..LineBuffer::default() };
        assert!(buffer.read_from(&mut [b'x'; 101].as_slice()).is_err());
    }

    #[test]
    fn a_connection_knows_who_made_it_and_carries_both_ways() {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::bind(&dir.path().join("s")).unwrap();
        assert!(server.accept().unwrap().is_none());
        let mut agent = UnixStream::connect(dir.path().join("s")).unwrap();
        let mut conn = server.accept().unwrap().expect("a connection waits");
        if cfg!(target_os = "linux") {
            assert_eq!(conn.peer(), i32::try_from(std::process::id()).ok());
        }
        agent.write_all(b"hello\nto").unwrap();
        assert!(conn.fill(false));
        assert_eq!(conn.line(), Some(b"hello".as_slice()));
        assert_eq!(conn.line(), None);
        conn.send(b"order\n");
        let mut answer = [0; 6];
        agent.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"order\n");
        drop(agent);
        conn.fill(true);
        assert!(conn.is_over());
        assert_eq!(conn.torn(), 2);
    }
}
