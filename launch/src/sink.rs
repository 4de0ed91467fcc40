//! Standard output and error of the launcher: a slow reader must not block the launcher.

use crate::flow::Outbox;
use crate::poll::{Interest, Poll, Token};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::io::IsTerminal;

/// Bytes that a pipe that is ready takes without blocking.
const PIECE: usize = 4096;
/// While more bytes than this wait to be written, ranks have to wait.
const FULL: usize = 1 << 20;

/// Standard output or error, and the bytes that it has not taken yet.
///
/// The descriptor is shared with the program that has started this one, so it is not made nonblocking: it is polled
/// before each write instead. A terminal counts as ready when it takes a byte, and may be stopped for long by its
/// user: it is opened once more, for this program only.
#[derive(Debug)]
pub(crate) struct Sink<F> {
    to: F,
    own: Option<OwnedFd>,
    outbox: Outbox,
    token: Token,
    watched: bool,
    closed: bool,
    /// Why nothing can be written, if that is known before.
    refused: Option<Errno>,
}

impl<F: AsFd> Sink<F> {
    pub(crate) fn new(to: F, stream: u32) -> Self {
        let (own, outbox) = (reopen_terminal(to.as_fd()), Outbox::default());
        Self { to, own, outbox, token: Token::Sink(stream), watched: false, closed: false, refused: None }
    }

    /// There is nothing to write to: what is pushed is an error.
    pub(crate) fn refuse(&mut self) {
        self.refused = Some(Errno::BADF);
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if !self.closed {
            self.outbox.push(bytes);
        }
    }

    /// Whether so much waits to be written that ranks have to wait.
    pub(crate) fn is_full(&self) -> bool {
        self.outbox.len() > FULL
    }

    /// How many bytes wait to be written.
    pub(crate) fn len(&self) -> usize {
        self.outbox.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Writes the bytes that are taken now, and watches the descriptor for the rest. Returns an error, once, when no
    /// more will ever be taken: `PIPE` when the reader has closed it.
    pub(crate) fn flush(&mut self, poll: &Poll) -> Result<(), Errno> {
        if self.closed || (self.outbox.is_empty() && !self.watched) {
            return Ok(());
        }
        let to = self.own.as_ref().map_or(self.to.as_fd(), AsFd::as_fd);
        let flushed = match self.refused {
            Some(error) => Err(error),
            None => self.outbox.flush(to, PIECE, || is_ready(to)),
        };
        if flushed.is_err() {
            self.outbox.clear();
            self.closed = true;
        }
        let wait = !self.outbox.is_empty();
        if wait && !self.watched {
            self.watched = poll.add(to, self.token, Interest::Write).unwrap_or(false);
        } else if !wait && self.watched {
            poll.remove(to);
            self.watched = false;
        }
        flushed
    }
}

fn is_ready(fd: BorrowedFd<'_>) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    // True also for a descriptor that the reader has closed: the write returns that error.
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}

/// A new nonblocking description of a terminal; `None` if the descriptor is not a terminal, or may not be opened.
fn reopen_terminal(fd: BorrowedFd<'_>) -> Option<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    fd.is_terminal().then(|| open(path, flags, Mode::empty()).ok()).flatten()
}
