//! Standard input on its way to rank 0, where that rank cannot read it itself.

use crate::flow::Inbox;
use crate::poll::{Interest, Poll, Token};
use std::io::Stdin;

/// With more than this on its way, no more is read.
const FULL: usize = 256 << 10;

/// What there is to read from.
#[derive(Debug)]
pub(super) struct Input {
    from: Stdin,
    inbox: Inbox,
    watched: bool,
    /// A file: it never makes one wait, and cannot be waited for.
    always: bool,
    over: bool,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    Bytes(Vec<u8>),
    Over,
}

impl Input {
    pub(super) fn new(from: Stdin) -> Self {
        Self { from, inbox: Inbox::default(), watched: false, always: false, over: false }
    }

    /// Before waiting: reads from now on, unless enough is on its way, or nobody wants it (`None`).
    pub(super) fn prepare(&mut self, backlog: Option<usize>, poll: &Poll) {
        self.over |= backlog.is_none();
        let wanted = !self.over && backlog.is_some_and(|backlog| backlog < FULL);
        if !wanted && self.watched {
            poll.remove(&self.from);
        }
        if wanted && !self.watched {
            self.always = !poll.add(&self.from, Token::Input, Interest::Read).unwrap_or(false);
        }
        self.watched = wanted && !self.always;
        self.always &= wanted;
    }

    /// Whether it can be read without waiting for an event.
    pub(super) fn is_ready(&self) -> bool {
        self.always
    }

    /// Reads once.
    pub(super) fn read(&mut self, poll: &Poll) -> Read {
        if self.inbox.fill(&self.from) {
            return Read::Bytes(self.inbox.take(self.inbox.len()));
        }
        if self.watched {
            poll.remove(&self.from);
        }
        (self.over, self.watched, self.always) = (true, false, false);
        Read::Over
    }
}
