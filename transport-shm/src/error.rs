//! Errors of rings, by culprit: the caller ([`RingSizeError`], [`PushError::TooLarge`]), nobody
//! ([`PushError::Full`]), or the other process ([`CorruptRingError`]).

use thiserror::Error;

/// The other side of a ring has written values that no producer or consumer writes. The ring is of no use any
/// more: every later call returns the same error again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CorruptRingError {
    /// The consumer's position is behind the one that it had before, or ahead of what was written.
    #[error("the consumer's position is {found}: expected {before} to {written}")]
    Consumer {
        /// The position found in the memory, in words since the ring began.
        found: u64,
        /// The consumer's position when the producer last loaded it.
        before: u64,
        /// The producer's own position.
        written: u64,
    },
    /// A header announces more bytes than a message may have.
    #[error("a message claims {len} bytes: the largest has {largest}")]
    Length {
        /// Bytes of payload, by the header.
        len: u32,
        /// The largest payload, in bytes.
        largest: usize,
    },
}

/// Why a message was not pushed. The ring has no byte of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PushError {
    /// The ring has no room now; it will have room once the consumer has taken messages.
    #[error("the ring is full")]
    Full,
    /// The ring will never have room for this message.
    #[error("a message of {len} bytes is too large for this ring, which takes {largest}")]
    TooLarge {
        /// Bytes of the message.
        len: usize,
        /// Bytes that a message may have.
        largest: usize,
    },
    /// The consumer has damaged the ring.
    #[error("the consumer has damaged the ring: {0}")]
    Corrupt(#[from] CorruptRingError),
}

/// Memory of a size that no ring can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "memory of {words} words cannot hold a ring: expected {} words plus a power of two from {} to {}",
    crate::ring::POSITIONS,
    crate::ring::CAPACITY_MIN,
    crate::ring::CAPACITY_MAX
)]
pub struct RingSizeError {
    /// Words of the memory.
    pub words: usize,
}
