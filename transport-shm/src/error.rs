//! What can go wrong, by who is to blame: the caller ([`RingSizeError`], [`PushError::TooLarge`]), nobody
//! ([`PushError::Full`]), or the other process ([`CorruptRingError`]).

use thiserror::Error;

/// The other side of a ring has written what no producer or consumer writes. The ring is of no use any
/// more: whoever has seen this gets it again from every later call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CorruptRingError {
    /// The consumer's position is behind the one that it had before, or ahead of what was written.
    #[error("the consumer's position is {found}: expected {before} to {written}")]
    Consumer {
        /// What stands in the memory, in words since the ring began.
        found: u64,
        /// The consumer's position when it was last looked at.
        before: u64,
        /// The producer's own position.
        written: u64,
    },
    /// A header announces more than a message may have.
    #[error("a message claims {len} bytes: {largest} bytes is the most")]
    Length {
        /// Bytes of payload, by the header.
        len: u32,
        /// The largest payload, in bytes.
        largest: usize,
    },
}

/// Why a message was not pushed. Nothing of it is in the ring then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PushError {
    /// There is no room now; there will be, when the consumer has taken messages.
    #[error("the ring is full")]
    Full,
    /// There will never be room.
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

/// Memory that no ring can live in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{words} words cannot hold a ring: expected {} and a power of two from {} to {}",
    crate::ring::POSITIONS,
    crate::ring::CAPACITY_MIN,
    crate::ring::CAPACITY_MAX
)]
pub struct RingSizeError {
    /// Words of the memory.
    pub words: usize,
}
