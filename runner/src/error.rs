//! The reasons why a rank cannot go on.

use carrousel::Error;
use carrousel_program::ValueError;
use thiserror::Error;

/// A statement that has failed.
#[derive(Debug, Error)]
#[error("line {line}: {error}")]
pub struct FailedStatement {
    /// Its line in the scenario.
    pub line: u32,
    /// The reason of the failure.
    pub error: RunError,
}

/// The reason why a rank cannot go on.
#[derive(Debug, Error)]
pub enum RunError {
    /// The library has returned an error.
    #[error("{0}")]
    Library(#[from] Error),
    /// A message has arrived changed.
    #[error("byte {at} of the {len} bytes from rank {from} with tag {tag} is not what was sent")]
    Changed {
        /// The sender.
        from: u32,
        /// The tag.
        tag: u32,
        /// The position of the first wrong byte.
        at: usize,
        /// Bytes of the message.
        len: usize,
    },
    /// A collective has a wrong result.
    #[error("byte {at} of the {len} bytes that `{name}` has brought is wrong")]
    WrongResult {
        /// The statement's keyword.
        name: &'static str,
        /// The position of the first wrong byte.
        at: usize,
        /// Bytes of the result.
        len: usize,
    },
    /// A value that only this run has is out of its range.
    #[error("{0}")]
    OutOfRange(#[from] ValueError),
}
