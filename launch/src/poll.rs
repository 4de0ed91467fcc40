//! Waiting for any of many descriptors.

use rustix::event::{Timespec, epoll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::io;
use std::time::Duration;

/// The owner of a descriptor, so that its event reaches the right handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A signal has arrived.
    Signals,
    /// Standard input of this process can be read.
    Input,
    /// Standard output (0) or error (1) of this process can be written.
    Sink(u32),
    /// A rank's process has ended. The number is its position among the local ranks.
    Ended(u32),
    /// A rank's PMI connection.
    Control(u32),
    /// A rank's standard output.
    Stdout(u32),
    /// A rank's standard error.
    Stderr(u32),
    /// Standard input of rank 0 can be written.
    Stdin,
    /// Frames from an agent have arrived.
    AgentIn(u32),
    /// The pipe to an agent can be written.
    AgentOut(u32),
}

impl Token {
    fn to_bits(self) -> u64 {
        let (kind, index) = match self {
            Self::Signals => (0, 0),
            Self::Input => (1, 0),
            Self::Sink(index) => (2, index),
            Self::Ended(index) => (3, index),
            Self::Control(index) => (4, index),
            Self::Stdout(index) => (5, index),
            Self::Stderr(index) => (6, index),
            Self::Stdin => (7, 0),
            Self::AgentIn(index) => (8, index),
            Self::AgentOut(index) => (9, index),
        };
        kind << 32 | u64::from(index)
    }

    fn from_bits(bits: u64) -> Self {
        let index = bits as u32;
        match bits >> 32 {
            0 => Self::Signals,
            1 => Self::Input,
            2 => Self::Sink(index),
            3 => Self::Ended(index),
            4 => Self::Control(index),
            5 => Self::Stdout(index),
            6 => Self::Stderr(index),
            7 => Self::Stdin,
            8 => Self::AgentIn(index),
            _ => Self::AgentOut(index),
        }
    }
}

/// The events to wait for at a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    Read,
    Write,
    Both,
}

impl Interest {
    fn flags(self) -> epoll::EventFlags {
        match self {
            Self::Read => epoll::EventFlags::IN,
            Self::Write => epoll::EventFlags::OUT,
            Self::Both => epoll::EventFlags::IN | epoll::EventFlags::OUT,
        }
    }
}

/// A set of descriptors, each under its token. An event says that a call at the descriptor will not block: it can be
/// read, or written, or has been closed by the other side.
pub(crate) struct Poll {
    epoll: OwnedFd,
    ready: Vec<epoll::Event>,
}

impl Poll {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?, ready: Vec::with_capacity(256) })
    }

    /// Watches a descriptor. `false` if it never blocks, such as a file, and so cannot be watched.
    pub(crate) fn add(&self, fd: impl AsFd, token: Token, interest: Interest) -> io::Result<bool> {
        let data = epoll::EventData::new_u64(token.to_bits());
        match epoll::add(&self.epoll, fd, data, interest.flags()) {
            Ok(()) => Ok(true),
            Err(Errno::PERM) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Changes the events to wait for at a descriptor that is watched.
    pub(crate) fn change(&self, fd: impl AsFd, token: Token, interest: Interest) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token.to_bits());
        Ok(epoll::modify(&self.epoll, fd, data, interest.flags())?)
    }

    /// Stops watching a descriptor. Does nothing if it is not watched.
    pub(crate) fn remove(&self, fd: impl AsFd) {
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Waits for events, at most for `timeout`, and returns the tokens of their descriptors.
    pub(crate) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<Vec<Token>> {
        // Rounded up: after a wait that ends before the deadline, the caller would wait once more.
        let timeout = timeout.map(|timeout| {
            let timeout = timeout.min(Duration::from_secs(3600)) + Duration::from_micros(1);
            Timespec { tv_sec: timeout.as_secs() as _, tv_nsec: timeout.subsec_nanos().into() }
        });
        self.ready.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.ready), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.ready.iter().map(|event| Token::from_bits(event.data.u64())).collect())
    }
}
