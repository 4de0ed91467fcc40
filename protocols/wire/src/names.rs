//! Names that processes use for each other, for their requests and for their memory.

use core::fmt;

/// A process of the job, numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RankId(pub u32);

impl fmt::Display for RankId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.0)
    }
}

/// A request of one process, as the process names it to itself and to its peers.
///
/// `index` is reused once the application has released the request. `generation`, counted from 0 for each index,
/// tells the uses apart: a late packet that names a released request is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Handle {
    /// Position in the owner's request table.
    pub index: u32,
    /// How many requests have used this position before, modulo 2^32.
    pub generation: u32,
}

impl Handle {
    /// Both parts in one word, which is unique to the handle.
    pub const fn to_bits(self) -> u64 {
        (self.generation as u64) << u32::BITS | self.index as u64
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {}.{}", self.index, self.generation)
    }
}

/// Registered memory of a request, as its owner and its peers name it. Opaque to the protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Memory {
    /// First byte, in the owner's address space.
    pub address: u64,
    /// The key under which it is registered.
    pub key: u32,
}
