//! The reasons why a run has no report.

use crate::Progress;
use carrousel_program::ProgramError;
use carrousel_rank::epoch::Report;
use carrousel_rank::{Communicator, ProtocolError, UsageError, WindowError};
use carrousel_scenario::ValueError;
use std::fmt;

/// The reason why a run has no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The means of progress does not exist yet.
    #[error("asynchronous progress by `{}` cannot be simulated yet; `none` and `thread` can", .0.name())]
    UnsupportedProgress(Progress),
    /// An option's value is out of its range.
    #[error("line {line}: {message}")]
    OptionOutOfRange {
        /// The option's line, from 1.
        line: u32,
        /// Its name and value, and what is expected.
        message: String,
    },
    /// Ranks wait for events that will never come.
    #[error("deadlock at {} of virtual time:{}", Us(*.at_ns), Lines(.stuck))]
    Deadlock {
        /// The time of the last event, in virtual nanoseconds.
        at_ns: u64,
        /// Every rank that has not finished.
        stuck: Vec<Stuck>,
    },
    /// A message is longer than its receive.
    #[error("rank {rank}, line {line}: a message of {sent} bytes does not fit the receive's {room}")]
    Truncated {
        /// The receiving rank.
        rank: u32,
        /// The line of the receive.
        line: u32,
        /// Bytes of the message.
        sent: u64,
        /// Bytes of the receive.
        room: u64,
    },
    /// A value that only this run has is out of its range: the rank cannot go on.
    #[error("rank {rank}, line {line}: {error}")]
    OutOfRange {
        /// The rank.
        rank: u32,
        /// The line of its statement.
        line: u32,
        /// The value, and the expected range.
        error: ValueError,
    },
    /// More communicators than the library has numbers for.
    #[error("more communicators than {}, which is the most that a rank may have", Communicator::MAX)]
    TooManyCommunicators {
        /// The line of the first that has no number.
        line: u32,
    },
    /// The run was given up after the greatest number of events.
    #[error("given up after {0} events")]
    TooManyEvents(u64),
    /// The watcher of the run has given it up.
    #[error("given up after {events} events and {} of virtual time", Us(*.time_ns))]
    GivenUp {
        /// Events so far.
        events: u64,
        /// The virtual time.
        time_ns: u64,
    },
    /// The run was given up at the end of virtual time.
    #[error("given up after {} of virtual time", Us(*.0))]
    TooLate(u64),
    /// The library refused a call.
    #[error("rank {rank}, line {line}: {error}")]
    Refused {
        /// The caller.
        rank: u32,
        /// The line of the call.
        line: u32,
        /// The error of the call.
        error: UsageError,
    },
    /// A rank of a program has failed.
    #[error("rank {rank}: {message}")]
    Failed {
        /// The rank.
        rank: u32,
        /// Its error message.
        message: String,
    },
    /// A rank of a program has panicked.
    #[error("rank {rank} panicked: {message}")]
    Panicked {
        /// The rank.
        rank: u32,
        /// Its panic message.
        message: String,
    },
    /// A rank of a program awaits something outside of the simulation.
    #[error(
        "rank {rank} waits for what no message will bring: a task can wait for its own calls and requests only"
    )]
    Foreign {
        /// The rank.
        rank: u32,
    },
    /// What a program asks of the memory of a window cannot be.
    #[error("rank {rank}, line {line}: {report}")]
    Reported {
        /// The host of the memory.
        rank: u32,
        /// The line of the statement that it was executing.
        line: u32,
        /// What it sees.
        report: Report,
    },
    /// A program has a guard of its own memory of a window while an operation takes place there.
    #[error(
        "rank {rank}, line {line}: it uses its memory of a window while an operation of rank {origin} (line \
         {origin_line}) takes place in it; synchronize first, or drop the guard"
    )]
    MemoryInUse {
        /// The rank whose memory it is.
        rank: u32,
        /// The line of the statement that it was executing.
        line: u32,
        /// The origin of the operation.
        origin: u32,
        /// The line of the operation.
        origin_line: u32,
    },
    /// The epochs contradict themselves: a bug of this library.
    #[error("rank {rank}, line {line}: {error}")]
    BrokenWindow {
        /// The rank that found it.
        rank: u32,
        /// The line of the statement that it was executing.
        line: u32,
        /// The error of the window.
        error: WindowError,
    },
    /// The protocol contradicts itself: a bug of this library.
    #[error("rank {rank}, line {line}: {error}")]
    Broken {
        /// The rank that found it.
        rank: u32,
        /// The line of the statement that it was executing.
        line: u32,
        /// The error of the protocol.
        error: ProtocolError,
    },
}

impl From<ProgramError> for SimError {
    fn from(error: ProgramError) -> Self {
        match error {
            ProgramError::Window { .. } => unreachable!("the simulator has windows"),
            ProgramError::TooManyCommunicators { line } => Self::TooManyCommunicators { line },
            ProgramError::TooManyBytes { line, rank, misfit, .. } => {
                Self::Refused { rank, line, error: misfit.into() }
            }
        }
    }
}

/// A rank that cannot finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The rank.
    pub rank: u32,
    /// The file of its present statement, if that is not the scenario.
    pub file: Option<&'static str>,
    /// The line of that statement.
    pub line: u32,
    /// The statement.
    pub statement: String,
    /// The lines of the statements that it waits for, if they are others.
    pub waits_for: Vec<u32>,
}

/// Nanoseconds, shown as the microseconds of reports.
struct Us(u64);

impl fmt::Display for Us {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} us", self.0 / 1000, self.0 % 1000)
    }
}

/// Each stuck rank on a line of its own; the first few, if there are many.
struct Lines<'a>(&'a [Stuck]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        for Stuck { rank, file, line, statement, waits_for } in self.0.iter().take(SHOWN) {
            write!(f, "\n  rank {rank}, ")?;
            match file {
                Some(file) => write!(f, "{file}:{line}")?,
                None => write!(f, "line {line}")?,
            }
            write!(f, ": `{statement}` never returns")?;
            for (at, line) in waits_for.iter().enumerate() {
                write!(f, "{}{line}", if at == 0 { "; it waits for line " } else { ", " })?;
            }
        }
        match self.0.len().checked_sub(SHOWN) {
            Some(more) if more > 0 => write!(f, "\n  and {more} ranks more"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_is_told_in_microseconds() {
        let stuck =
            vec![Stuck { rank: 1, file: None, line: 4, statement: "barrier".to_owned(), waits_for: vec![] }];
        assert_eq!(
            SimError::Deadlock { at_ns: 1620, stuck }.to_string(),
            "deadlock at 1.620 us of virtual time:\n  rank 1, line 4: `barrier` never returns"
        );
        assert_eq!(SimError::TooLate(2_000_007).to_string(), "given up after 2000.007 us of virtual time");
    }
}
