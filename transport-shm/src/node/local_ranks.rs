//! The ranks of the node and their local ranks, the index of each in a segment's rings.

use carrousel_transport::RankId;

/// The ranks of the node. The local rank of each is its index among them, and that of its ring in a segment.
#[derive(Clone, Debug)]
pub(super) struct LocalRanks {
    /// By local rank, ascending.
    pub(super) ranks: Vec<RankId>,
    /// The first rank, if the ranks follow each other without gaps.
    first: Option<u32>,
    /// The local rank of this process, and so its ring in a peer's segment; `None` if peers introduce themselves.
    pub(super) own: Option<usize>,
}

impl LocalRanks {
    pub(super) fn new(me: RankId, ranks: &[RankId]) -> Option<Self> {
        let mut ranks = ranks.to_vec();
        ranks.sort_unstable();
        ranks.dedup();
        let own = Some(ranks.binary_search(&me).ok()?);
        let first = ranks.first()?.0;
        let follow = (first..).zip(&ranks).all(|(expected, rank)| rank.0 == expected);
        Some(Self { ranks, first: follow.then_some(first), own })
    }

    /// Names for so many peers that are not known ahead: the local rank of each is its rank.
    pub(super) fn open(most: u32) -> Self {
        Self { ranks: (0..most).map(RankId).collect(), first: Some(0), own: None }
    }

    pub(super) fn count(&self) -> usize {
        self.ranks.len()
    }

    /// The local rank of `rank`, if it is on the node.
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
