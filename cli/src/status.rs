//! Exit statuses.

use std::process::ExitCode;

/// The outcome of a command, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// All is as it should be.
    Fine,
    /// A bound was hit before all was explored.
    Inconclusive,
    /// Something was found that should not be there.
    Violated,
    /// The request cannot be carried out: a wrong file, a wrong argument.
    Wrong,
    /// The status of a job that was run.
    Job(u8),
}

impl Status {
    /// The number that the system gets.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Violated => 1,
            Self::Wrong => 2,
            Self::Inconclusive => 3,
            Self::Job(code) => code,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status.code())
    }
}
