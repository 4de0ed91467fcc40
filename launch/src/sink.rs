//! Standard output and error of the launcher, which a slow reader must not turn into a stopped launcher.

use crate::flow::Outbox;
use crate::poll::{Interest, Poll, Token};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;

/// A pipe that is ready takes as much without waiting.
const PIECE: usize = 4096;
/// With more than this in hand, ranks have to wait.
const FULL: usize = 1 << 20;

/// One of the two, and what it has not taken yet.
///
/// The descriptor is shared with whoever started this program, so it is not made nonblocking: it is asked
/// before each write instead.
#[derive(Debug)]
pub(crate) struct Sink<F> {
    to: F,
    outbox: Outbox,
    token: Token,
    watched: bool,
    closed: bool,
}

impl<F: AsFd> Sink<F> {
    pub(crate) fn new(to: F, stream: u32) -> Self {
        Self { to, outbox: Outbox::default(), token: Token::Sink(stream), watched: false, closed: false }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if !self.closed {
            self.outbox.push(bytes);
        }
    }

    /// Whether there is enough to write already.
    pub(crate) fn is_full(&self) -> bool {
        self.outbox.len() > FULL
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Writes what is taken now, and arranges for the rest. An error, once, when no more will ever be taken: `PIPE`
    /// when the reader has gone.
    pub(crate) fn flush(&mut self, poll: &Poll) -> Result<(), Errno> {
        if self.closed || (self.outbox.is_empty() && !self.watched) {
            return Ok(());
        }
        let flushed = self.outbox.flush(&self.to, PIECE, || is_ready(self.to.as_fd()));
        if flushed.is_err() {
            self.outbox.clear();
            self.closed = true;
        }
        let wait = !self.outbox.is_empty();
        if wait && !self.watched {
            self.watched = poll.add(&self.to, self.token, Interest::Write).unwrap_or(false);
        } else if !wait && self.watched {
            poll.remove(&self.to);
            self.watched = false;
        }
        flushed
    }
}

fn is_ready(fd: BorrowedFd<'_>) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    // Also when it has been closed: writing says so.
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}
