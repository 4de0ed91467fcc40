//! Standard input on its way to rank 0, where that rank cannot read it itself.

use crate::flow::Inbox;
use crate::poll::{Interest, Poll, Token};
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use std::io::{IsTerminal, Stdin};
use std::time::Duration;

/// With more than this on its way, no more is read.
const FULL: usize = 256 << 10;

/// How often to look whether this process is in the foreground of its terminal: a shell does not say so.
const AGAIN: Duration = Duration::from_millis(500);

/// What there is to read from.
#[derive(Debug)]
pub(super) struct Input {
    from: Stdin,
    inbox: Inbox,
    watched: bool,
    /// A file: it never makes one wait, and cannot be waited for.
    always: bool,
    over: bool,
    is_terminal: bool,
    /// It is wanted, and another's now.
    elsewhere: bool,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    Bytes(Vec<u8>),
    Over,
}

impl Input {
    pub(super) fn new(from: Stdin) -> Self {
        let is_terminal = from.is_terminal();
        let inbox = Inbox::default();
        Self { from, inbox, watched: false, always: false, over: false, is_terminal, elsewhere: false }
    }

    /// Before waiting: reads from now on, unless enough is on its way, or nobody wants it (`None`).
    pub(super) fn prepare(&mut self, backlog: Option<usize>, poll: &Poll) {
        self.over |= backlog.is_none();
        let wanted = !self.over && backlog.is_some_and(|backlog| backlog < FULL);
        self.elsewhere = wanted && !self.is_ours();
        let wanted = wanted && !self.elsewhere;
        if !wanted && self.watched {
            poll.remove(&self.from);
        }
        if wanted && !self.watched {
            self.always = !poll.add(&self.from, Token::Input, Interest::Read).unwrap_or(false);
        }
        self.watched = wanted && !self.always;
        self.always &= wanted;
    }

    /// Whether reading does not stop this process, as a terminal stops those in its background. One that does not
    /// control this process stops nobody.
    fn is_ours(&self) -> bool {
        !self.is_terminal || tcgetpgrp(&self.from).map_or(true, |group| group == getpgrp())
    }

    /// After how long [`Self::prepare`] has to be called in any case.
    pub(super) fn look_again(&self) -> Option<Duration> {
        self.elsewhere.then_some(AGAIN)
    }

    /// Whether it can be read without waiting for an event.
    pub(super) fn is_ready(&self) -> bool {
        self.always
    }

    /// Reads once.
    pub(super) fn read(&mut self, poll: &Poll) -> Read {
        if !self.is_ours() {
            return Read::Bytes(Vec::new());
        }
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
