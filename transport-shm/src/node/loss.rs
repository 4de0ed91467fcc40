//! Why a peer is lost.

use super::connect::ConnectError;
use crate::SegmentError;
use rustix::io::Errno;
use thiserror::Error;

/// Why a peer is lost that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Loss {
    /// There is no way to it, or from it: a lack of memory, most likely.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// There is no ring to it that is large enough.
    #[error(transparent)]
    Ring(#[from] ConnectError),
    /// Memory that it lends to this rank is not there.
    #[error(
        "its memory of a message, {len} bytes at {address:#x}, is not there: that process has unmapped or freed a buffer while \
         its message was on its way"
    )]
    TheirMemory {
        /// Where it begins.
        address: u64,
        /// Its bytes.
        len: u64,
    },
    /// Memory that this rank lends is not there.
    #[error(
        "memory of this rank for a message with it, {len} bytes at {address:#x}, is not there: a buffer was unmapped or freed \
         while its message was on its way"
    )]
    OwnMemory {
        /// Where it begins.
        address: u64,
        /// Its bytes.
        len: u64,
    },
    /// The system has not copied for another reason.
    #[error("its memory cannot be copied: {0}")]
    Copy(Errno),
}
