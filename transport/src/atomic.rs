//! Atomics: operations on 64-bit words of a peer's memory that happen whole, and bring back the value before.

use crate::{Handle, Memory, RankId};
use thiserror::Error;

/// An atomic on a word of a peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atomic {
    /// The peer whose memory is changed.
    pub to: RankId,
    /// The word, at the peer: 8 bytes that are registered for writing, aligned to 8, in the byte order of the peer's
    /// processor.
    pub target: Memory,
    /// What happens to it.
    pub op: AtomicOp,
    /// The request that [`Arrival::Fetched`](crate::Arrival::Fetched) names.
    pub request: Handle,
    /// Whether the operation waits until the reads and the atomics that this process posted to the peer before are
    /// complete.
    pub fenced: bool,
}

impl Atomic {
    /// Bytes of a word.
    pub const LEN: u64 = size_of::<u64>() as u64;

    /// Whether the target has the alignment of a word.
    pub const fn is_aligned(&self) -> bool {
        self.target.address.is_multiple_of(Self::LEN)
    }
}

/// The operation of an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    /// Adds to the word, modulo 2^64.
    FetchAdd(u64),
    /// Replaces the word if it has the expected value.
    CompareSwap {
        /// The value that is replaced.
        expected: u64,
        /// The value that replaces it.
        new: u64,
    },
    /// Replaces the word.
    Swap(u64),
}

impl AtomicOp {
    /// The value that the word has afterwards.
    pub const fn apply(self, before: u64) -> u64 {
        match self {
            Self::FetchAdd(add) => before.wrapping_add(add),
            Self::CompareSwap { expected, new } => {
                if before == expected {
                    new
                } else {
                    before
                }
            }
            Self::Swap(new) => new,
        }
    }
}

/// An atomic was not posted, since the transport has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("this transport has no atomics: {0}")]
pub struct AtomicsUnsupportedError(pub &'static str);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_afterwards() {
        assert_eq!(AtomicOp::FetchAdd(3).apply(u64::MAX), 2);
        let swap = AtomicOp::CompareSwap { expected: 5, new: 8 };
        assert_eq!([swap.apply(5), swap.apply(6)], [8, 6]);
        assert_eq!(AtomicOp::Swap(9).apply(1), 9);
    }

    #[test]
    fn a_word_is_aligned() {
        let at = |address| Atomic {
            to: RankId(0),
            target: Memory { address, key: 0 },
            op: AtomicOp::Swap(0),
            request: Handle { index: 0, generation: 0 },
            fenced: false,
        };
        assert!(at(16).is_aligned() && !at(20).is_aligned());
    }
}
