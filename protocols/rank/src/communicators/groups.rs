//! The members of communicators.

use alloc::vec::Vec;
use carrousel_matching::{Communicator, RankId};

/// The ranks of a communicator by place, and how far this one is in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Group {
    pub(crate) communicator: Communicator,
    pub(crate) members: Members,
    /// This rank's place.
    pub(crate) me: u32,
    /// Collectives that it has entered, modulo 2^32.
    pub(crate) entered: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Members {
    /// So many ranks, each at the place of its number.
    All(u32),
    /// These.
    Some(Vec<RankId>),
}

impl Group {
    pub(crate) fn world(me: RankId, ranks: u32) -> Self {
        Self { communicator: Communicator::WORLD, members: Members::All(ranks), me: me.0, entered: 0 }
    }

    pub(crate) fn len(&self) -> u32 {
        match &self.members {
            Members::All(ranks) => *ranks,
            // Members are different ranks, of which there are no more than numbers.
            Members::Some(members) => members.len() as u32,
        }
    }

    pub(crate) fn communicator(&self) -> Communicator {
        self.communicator
    }

    pub(crate) fn me(&self) -> u32 {
        self.me
    }

    /// The rank at a place that exists.
    pub(crate) fn rank(&self, place: u32) -> RankId {
        match &self.members {
            Members::All(_) => RankId(place),
            Members::Some(members) => members[place as usize],
        }
    }

    pub(crate) fn contains(&self, rank: RankId) -> bool {
        match &self.members {
            Members::All(ranks) => rank.0 < *ranks,
            Members::Some(members) => members.contains(&rank),
        }
    }

    /// Counts a collective, and returns how many there were before.
    pub(crate) fn enter(&mut self) -> u32 {
        let before = self.entered;
        self.entered = before.wrapping_add(1);
        before
    }
}
