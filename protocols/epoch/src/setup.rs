//! What is fixed for the life of a window.

use crate::kinds::Flags;
use alloc::sync::Arc;
use carrousel_wire::RankId;

/// How one rank's part of a window is made. Flags may differ from rank to rank, and so do neighbours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct WindowSetup {
    /// Which of its epochs need not wait for each other.
    pub flags: Flags,
    /// How large accumulates reach their target; the same at all ranks.
    pub staging: Staging,
    /// The ranks with which this one shares a node.
    pub neighbours: Neighbours,
}

impl From<Flags> for WindowSetup {
    fn from(flags: Flags) -> Self {
        Self { flags, ..Self::default() }
    }
}

/// The staging of large accumulates (nonblocking-rma-epochs VIII-A): the operand of one goes into a buffer of the target,
/// whose processor applies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Staging {
    /// Bytes of the largest operand that travels with its packet. A larger one is staged.
    pub threshold: u64,
    /// Staging buffers of each rank for one window: how many operands may be on their way to it. One at least; the memory
    /// of each is as large as the operand that it takes.
    pub buffers: u16,
}

impl Default for Staging {
    /// The paper's threshold, and a buffer each for some origins at once.
    fn default() -> Self {
        Self { threshold: 8 << 10, buffers: 4 }
    }
}

/// The ranks of a node, as one of them sees the window: they have its memory mapped, so that the processor of an origin
/// does by itself what the target's would have to do for an origin elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Neighbours(Arc<[RankId]>);

impl Neighbours {
    /// Whether a rank is among them.
    pub fn contains(&self, rank: RankId) -> bool {
        self.0.binary_search(&rank).is_ok()
    }
}

impl FromIterator<RankId> for Neighbours {
    fn from_iter<I: IntoIterator<Item = RankId>>(ranks: I) -> Self {
        let mut ranks: alloc::vec::Vec<RankId> = ranks.into_iter().collect();
        ranks.sort_unstable();
        Self(ranks.into())
    }
}
