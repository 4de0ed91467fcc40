//! Reads standard input for rank 0, where that rank cannot read it itself.

use crate::flow::Inbox;
use crate::poll::{Interest, Poll, Token};
use crate::process_group::process_group;
use rustix::io::Errno;
use rustix::termios::tcgetpgrp;
use std::io::{IsTerminal, Stdin};
use std::time::Duration;

/// While rank 0 has this many bytes left to take, no more are read.
const BACKLOG_MAX: usize = 256 << 10;

/// How often to check whether this process is in the foreground of its terminal: a shell does not tell.
const FOREGROUND_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Standard input of the launcher.
#[derive(Debug)]
pub(super) struct StdinReader {
    stdin: Stdin,
    inbox: Inbox,
    watched: bool,
    /// A file: reading it never blocks, and epoll cannot watch it.
    always_ready: bool,
    at_end: bool,
    is_terminal: bool,
    /// Input is wanted, but this process is in the background of its terminal.
    in_background: bool,
}

/// The result of a read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StdinRead {
    Bytes(Vec<u8>),
    End,
}

impl StdinReader {
    pub(super) fn new(stdin: Stdin) -> Self {
        let is_terminal = stdin.is_terminal();
        let inbox = Inbox::default();
        Self {
            stdin,
            inbox,
            watched: false,
            always_ready: false,
            at_end: false,
            is_terminal,
            in_background: false,
        }
    }

    /// To be called before waiting: watches standard input, unless rank 0 has too much of it left to take, or takes no
    /// more (`None`).
    pub(super) fn prepare(&mut self, backlog: Option<usize>, poll: &Poll) {
        self.at_end |= backlog.is_none();
        let wanted = !self.at_end && backlog.is_some_and(|backlog| backlog < BACKLOG_MAX);
        self.in_background = wanted && !self.may_read();
        let wanted = wanted && !self.in_background;
        if !wanted && self.watched {
            poll.remove(&self.stdin);
        }
        if wanted && !self.watched {
            self.always_ready = !poll.add(&self.stdin, Token::Input, Interest::Read).unwrap_or(false);
        }
        self.watched = wanted && !self.always_ready;
        self.always_ready &= wanted;
    }

    /// Whether this process may read: a terminal stops processes in its background that do. A terminal that does not
    /// control this process stops none.
    fn may_read(&self) -> bool {
        if !self.is_terminal {
            return true;
        }
        let own = process_group(None);
        match tcgetpgrp(&self.stdin) {
            Ok(foreground) => own == Some(foreground),
            // A group outside of this PID namespace: most likely its creator's, which this process is then in.
            Err(Errno::OPNOTSUPP) => own.is_none(),
            Err(_) => true,
        }
    }

    /// The longest time until [`Self::prepare`] has to be called again.
    pub(super) fn recheck_after(&self) -> Option<Duration> {
        self.in_background.then_some(FOREGROUND_CHECK_INTERVAL)
    }

    /// Whether it can be read without waiting for an event.
    pub(super) fn is_ready(&self) -> bool {
        self.always_ready
    }

    /// Reads once.
    pub(super) fn read(&mut self, poll: &Poll) -> StdinRead {
        if !self.may_read() {
            return StdinRead::Bytes(Vec::new());
        }
        if self.inbox.fill(&self.stdin) {
            return StdinRead::Bytes(self.inbox.take(self.inbox.len()));
        }
        if self.watched {
            poll.remove(&self.stdin);
        }
        (self.at_end, self.watched, self.always_ready) = (true, false, false);
        StdinRead::End
    }
}
