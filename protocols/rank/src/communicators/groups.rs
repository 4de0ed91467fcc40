//! The members of communicators.

use alloc::vec::Vec;
use carrousel_matching::{Communicator, RankId};

/// The ranks of a communicator by `comm_rank`, and how far this one is in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Group {
    pub(super) communicator: Communicator,
    pub(super) members: Members,
    /// This rank's `comm_rank`.
    pub(super) me: u32,
    /// Collectives that it has entered, modulo 2^32.
    pub(super) entered: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Members {
    /// So many ranks, each at the `comm_rank` of its number.
    All(u32),
    /// These.
    Some(Vec<RankId>),
}

impl Group {
    pub(super) fn world(me: RankId, ranks: u32) -> Self {
        Self { communicator: Communicator::WORLD, members: Members::All(ranks), me: me.0, entered: 0 }
    }

    pub(super) fn len(&self) -> u32 {
        match &self.members {
            Members::All(ranks) => *ranks,
            // Members are different ranks, of which there are no more than numbers.
            Members::Some(members) => members.len() as u32,
        }
    }

    /// The rank at a `comm_rank` that exists.
    pub(super) fn rank(&self, comm_rank: u32) -> RankId {
        match &self.members {
            Members::All(_) => RankId(comm_rank),
            Members::Some(members) => members[comm_rank as usize],
        }
    }

    pub(super) fn contains(&self, rank: RankId) -> bool {
        match &self.members {
            Members::All(ranks) => rank.0 < *ranks,
            Members::Some(members) => members.contains(&rank),
        }
    }

    /// Whether all members are ranks of a job of this size.
    pub(super) fn exists_in(&self, ranks: u32) -> bool {
        match &self.members {
            Members::All(all) => *all == ranks,
            Members::Some(members) => members.iter().all(|rank| rank.0 < ranks),
        }
    }

    /// Counts a collective, and returns how many there were before.
    pub(super) fn enter(&mut self) -> u32 {
        let before = self.entered;
        self.entered = before.wrapping_add(1);
        before
    }
}
