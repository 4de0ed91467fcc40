//! A rank, or the launcher, as the scheduler sees it: whether it can run, and what it waits for.

use carrousel_launch::Ending;
use rustix::fd::OwnedFd;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use std::time::Duration;

/// What an actor waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Another value of a word, and that it is woken.
    Word,
    /// A descriptor that is ready.
    Descriptor,
    /// The time alone.
    Time,
}

/// Whether an actor can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It can.
    Ready,
    /// It waits, at most until then; `roused` once it has to look again.
    Waiting { wait: Wait, until: Option<Duration>, roused: bool },
    /// Its process has ended.
    Over,
}

/// A rank, or the launcher.
#[derive(Debug)]
pub(crate) struct Actor {
    /// The number of its process.
    pub(crate) pid: Pid,
    pub(crate) state: State,
    /// Until then it is not run.
    pub(crate) stalled_until: Duration,
    /// How its process ended, once it has.
    pub(crate) ending: Option<Ending>,
    /// Calls of the system so far.
    pub(crate) calls: u64,
    /// Calls that could have failed so far, and copies.
    pub(crate) attempts: u64,
    pub(crate) copies: u64,
    /// Bytes of messages that it keeps until their receives come.
    pub(crate) kept: usize,
    /// Its last sleep has ended only because all slept.
    pub(crate) overslept: bool,
    /// The turn in which it woke from it.
    pub(crate) woke_at: u64,
    /// Closed when the process ends, so that the other end is readable from then on.
    life: Option<OwnedFd>,
    death: OwnedFd,
}

impl Actor {
    /// The actor of this number, whose process has just begun.
    pub(crate) fn new(number: usize) -> Result<Self, String> {
        let (death, life) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|error| format!("there is no pipe: {error}"))?;
        let pid = i32::try_from(number).ok().and_then(|number| Pid::from_raw(FIRST_PID + number));
        Ok(Self {
            pid: pid.ok_or("no such process")?,
            state: State::Ready,
            stalled_until: Duration::ZERO,
            ending: None,
            calls: 0,
            attempts: 0,
            copies: 0,
            kept: 0,
            overslept: false,
            woke_at: 0,
            life: Some(life),
            death,
        })
    }

    /// Ends its process.
    pub(crate) fn end(&mut self, ending: Ending) {
        self.state = State::Over;
        self.ending = Some(ending);
        self.life = None;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Whether its process has ended otherwise than by leaving the job.
    pub(crate) fn has_failed(&self) -> bool {
        self.ending.as_ref().is_some_and(|ending| *ending != Ending::Exited(0))
    }

    /// A descriptor that is readable once its process has ended.
    pub(crate) fn pidfd(&self) -> Result<OwnedFd, rustix::io::Errno> {
        rustix::io::fcntl_dupfd_cloexec(&self.death, 0)
    }

    /// Its line in `/proc`.
    pub(crate) fn stat_line(&self, now: Duration) -> Vec<u8> {
        let state = match self.state {
            State::Over => "Z",
            _ if self.stalled_until > now => "T",
            _ => "S",
        };
        let pid = self.pid.as_raw_pid();
        format!("{pid} (rank) {state} 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {BEGAN} 1 2").into_bytes()
    }
}

/// The first number of a process.
const FIRST_PID: i32 = 1000;
/// When each process began, in ticks since the system booted.
const BEGAN: u64 = 4711;
