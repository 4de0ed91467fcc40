//! Which ranks are on the node, and where each has its ring.

use carrousel_transport::RankId;

/// Which ranks are on the node, and where in a segment each has its ring.
#[derive(Clone, Debug)]
pub(super) struct LocalRanks {
    /// The rank at each place, ascending.
    pub(super) ranks: Vec<RankId>,
    /// Whether the ranks follow each other without gaps.
    first: Option<u32>,
    /// This process's own place.
    pub(super) own: usize,
}

impl LocalRanks {
    pub(super) fn new(me: RankId, ranks: &[RankId]) -> Option<Self> {
        let mut ranks = ranks.to_vec();
        ranks.sort_unstable();
        ranks.dedup();
        let own = ranks.binary_search(&me).ok()?;
        let first = ranks.first()?.0;
        let follow = (first..).zip(&ranks).all(|(expected, rank)| rank.0 == expected);
        Some(Self { ranks, first: follow.then_some(first), own })
    }

    pub(super) fn count(&self) -> usize {
        self.ranks.len()
    }

    /// The place of `rank`, if it is on the node.
    #[inline]
    pub(super) fn of(&self, rank: RankId) -> Option<usize> {
        match self.first {
            Some(first) => {
                Some(rank.0.wrapping_sub(first) as usize).filter(|local_rank| *local_rank < self.ranks.len())
            }
            None => self.ranks.binary_search(&rank).ok(),
        }
    }
}
