//! Buffers of bytes that come from nonblocking descriptors, and of bytes that go to them.

use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;

/// Buffer space for one read. A descriptor is read once each time it is ready, so that one that is always
/// ready does not keep the others waiting.
const CHUNK: usize = 64 << 10;

/// Makes a descriptor nonblocking. Only for descriptors that are shared with no other process.
pub(crate) fn nonblocking(fd: &OwnedFd) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(fd, true)?)
}

/// Bytes that have been read and not been taken yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    /// Bytes before this have been taken.
    begin: usize,
    /// Bytes before this contain no line feed.
    searched: usize,
}

impl Inbox {
    /// Reads what has arrived. `false` when the other side has closed the connection.
    pub(crate) fn fill(&mut self, fd: impl AsFd) -> bool {
        self.bytes.drain(..self.begin);
        (self.searched, self.begin) = (self.searched - self.begin, 0);
        self.bytes.reserve(CHUNK);
        loop {
            return match rustix::io::read(&fd, rustix::buffer::spare_capacity(&mut self.bytes)) {
                Ok(length) => length > 0,
                Err(Errno::AGAIN) => true,
                Err(Errno::INTR) => continue,
                // A connection that is reset, a terminal that is gone: no more bytes will come.
                Err(_) => false,
            };
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.begin
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.begin..]
    }

    /// Takes the first bytes.
    pub(crate) fn take(&mut self, length: usize) -> Vec<u8> {
        let taken = if length == self.bytes.len() {
            std::mem::take(&mut self.bytes)
        } else {
            self.begin += length;
            self.bytes[self.begin - length..self.begin].to_vec()
        };
        if self.begin >= self.bytes.len() {
            // Of a thousand connections, few have bytes at a time: the empty buffers keep no memory.
            *self = Self::default();
        }
        self.searched = self.begin;
        taken
    }

    /// Where the first line ends.
    pub(crate) fn line_end(&mut self) -> Option<usize> {
        match self.bytes[self.searched..].iter().position(|byte| *byte == b'\n') {
            Some(end) => self.searched += end,
            None => {
                self.searched = self.bytes.len();
                return None;
            }
        }
        Some(self.searched - self.begin)
    }

    /// Takes a line, without its end.
    pub(crate) fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.line_end()?;
        let mut line = self.take(end + 1);
        line.pop();
        Some(line)
    }
}

/// Bytes that wait to be written until the other side takes them.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    bytes: VecDeque<u8>,
}

impl Outbox {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Writes as many bytes as are taken at once, in pieces of at most `piece`, as long as `may` returns true. An
    /// error means that no more will ever be taken.
    pub(crate) fn flush(&mut self, fd: impl AsFd, piece: usize, may: impl Fn() -> bool) -> Result<(), Errno> {
        while !self.bytes.is_empty() && may() {
            let (first, _) = self.bytes.as_slices();
            match rustix::io::write(&fd, &first[..first.len().min(piece)]) {
                Ok(written) => drop(self.bytes.drain(..written)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_are_taken_one_by_one_as_they_come() {
        let (read, mut write) = std::io::pipe().expect("there are pipes");
        let mut inbox = Inbox::default();
        write.write_all(b"one\ntwo\nth").expect("it fits");
        assert!(inbox.fill(&read));
        assert_eq!(
            (inbox.line(), inbox.line(), inbox.line()),
            (Some(b"one".into()), Some(b"two".into()), None)
        );
        assert_eq!((inbox.len(), inbox.bytes()), (2, &b"th"[..]));
        write.write_all(b"ree\n\n").expect("it fits");
        drop(write);
        assert!(inbox.fill(&read));
        assert_eq!((inbox.line(), inbox.line(), inbox.line()), (Some(b"three".into()), Some(vec![]), None));
        assert_eq!((inbox.fill(&read), inbox.len()), (false, 0));
    }

    #[test]
    fn bytes_and_lines_can_be_taken_in_turn() {
        let (read, mut write) = std::io::pipe().expect("there are pipes");
        write.write_all(b"ab\ncd\nef").expect("it fits");
        let mut inbox = Inbox::default();
        inbox.fill(&read);
        assert_eq!((inbox.line_end(), inbox.take(1)), (Some(2), b"a".to_vec()));
        assert_eq!((inbox.line_end(), inbox.line()), (Some(1), Some(b"b".to_vec())));
        assert_eq!((inbox.take(5), inbox.len(), inbox.line()), (b"cd\nef".to_vec()[..5].to_vec(), 0, None));
    }
}
