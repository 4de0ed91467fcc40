//! Bytes in and out of descriptors that do not wait.

use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;

/// Room for what is read at once. A descriptor is read once each time it is ready: so that one that never
/// stops does not keep the others waiting.
const CHUNK: usize = 64 << 10;

/// Makes calls at a descriptor return at once. Only for ends that no other process has.
pub(crate) fn nonblocking(fd: &OwnedFd) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(fd, true)?)
}

/// What has been read and not been taken yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    /// How far no line end was found.
    searched: usize,
}

impl Inbox {
    /// Reads what there is. `false` when the other side has closed it.
    pub(crate) fn fill(&mut self, fd: impl AsFd) -> bool {
        self.bytes.reserve(CHUNK);
        loop {
            return match rustix::io::read(&fd, rustix::buffer::spare_capacity(&mut self.bytes)) {
                Ok(length) => length > 0,
                Err(Errno::AGAIN) => true,
                Err(Errno::INTR) => continue,
                // A connection that is reset, a terminal that is gone: nothing will come any more.
                Err(_) => false,
            };
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes the first bytes.
    pub(crate) fn take(&mut self, length: usize) -> Vec<u8> {
        self.searched = 0;
        if length == self.bytes.len() {
            return std::mem::take(&mut self.bytes);
        }
        self.bytes.drain(..length).collect()
    }

    /// Takes a line, without its end.
    pub(crate) fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.bytes[self.searched..].iter().position(|byte| *byte == b'\n');
        let Some(end) = end else {
            self.searched = self.bytes.len();
            return None;
        };
        let mut line = self.take(self.searched + end + 1);
        line.pop();
        Some(line)
    }
}

/// What has to be written when the other side takes it.
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

    /// Writes as much as is taken at once, in pieces of at most `piece` while `may` says so. `false` when
    /// nobody will ever take more.
    pub(crate) fn flush(&mut self, fd: impl AsFd, piece: usize, may: impl Fn() -> bool) -> bool {
        while !self.bytes.is_empty() && may() {
            let (first, _) = self.bytes.as_slices();
            match rustix::io::write(&fd, &first[..first.len().min(piece)]) {
                Ok(written) => drop(self.bytes.drain(..written)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return true,
                Err(_) => return false,
            }
        }
        true
    }
}
