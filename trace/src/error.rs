//! Why a trace cannot be read, or not be written.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a trace cannot be read, or not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The system has refused an operation.
    #[error("cannot {doing} {}: {source}", path.display())]
    System {
        /// The operation.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A directory for a new trace contains a file that is not part of a trace.
    #[error("{} is no part of a trace: a new trace does not go where other things are", path.display())]
    NotATrace {
        /// That file.
        path: PathBuf,
    },
    /// A directory has no part of a trace.
    #[error("{} has no part of a trace (rank-0.trace, rank-1.trace, ..)", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// A line is not valid there.
    #[error("{}:{line}: {why}", path.display())]
    InvalidLine {
        /// The part.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// The reason.
        why: String,
    },
    /// A line is not the one that was recorded there: its check value is missing or wrong.
    #[error("{}:{line}: {why}", path.display())]
    Altered {
        /// The part.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// How it was detected.
        why: String,
    },
    /// Two parts belong to different jobs.
    #[error("{} is of another job than {}: their {what} differ", path.display(), other.display())]
    OtherJob {
        /// A part.
        path: PathBuf,
        /// Another one.
        other: PathBuf,
        /// The property in which they differ.
        what: &'static str,
    },
    /// Two processes were the same rank of a job.
    #[error("{} and {} are of two processes that were rank {rank} of a job", path.display(), other.display())]
    RankTwice {
        /// A part.
        path: PathBuf,
        /// Another one.
        other: PathBuf,
        /// The rank.
        rank: u32,
    },
}

impl TraceError {
    /// The remedy, if one is known.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::NotATrace { .. } => Some("name a directory that is empty, or not there yet"),
            Self::Empty { .. } => Some("`carrousel run --trace DIRECTORY ..` writes one"),
            Self::OtherJob { .. } | Self::RankTwice { .. } => {
                Some("remove what is left of an earlier trace, and record once more")
            }
            Self::Altered { .. } => Some(
                "this is not what was recorded: copy it once more from where it was, or record once more",
            ),
            Self::System { .. } | Self::InvalidLine { .. } => None,
        }
    }
}
