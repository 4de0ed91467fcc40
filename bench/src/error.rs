//! Errors of a measurement.

use crate::Benchmark;
use thiserror::Error;

/// Why a measurement has ended without a result.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The library refused, or a peer is gone.
    #[error(transparent)]
    Library(#[from] carrousel::Error),
    /// The data that arrived is not the data that was sent: a mistake of the library.
    #[error("{} of {size} bytes: what came is not what was sent; please report this", benchmark.name())]
    Corrupt {
        /// The measurement.
        benchmark: Benchmark,
        /// Bytes of a message.
        size: u64,
    },
    /// No buffers.
    #[error("no {bytes} bytes of memory for {}: choose smaller sizes (--size)", benchmark.name())]
    Memory {
        /// The measurement.
        benchmark: Benchmark,
        /// The bytes that could not be had.
        bytes: usize,
    },
}

/// A thread cannot be kept on a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("cannot pin this rank to a core: {0}; see taskset(1) and cpuset(7) for which ones are allowed")]
pub struct PinError(pub(crate) rustix::io::Errno);
