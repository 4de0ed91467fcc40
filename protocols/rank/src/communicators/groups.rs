//! The groups that a rank is a member of.

use super::members::Members;
use carrousel_matching::{Communicator, RankId};

/// The members of a communicator, and how far this rank is in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Group {
    pub(super) communicator: Communicator,
    pub(super) members: Members,
    /// This rank's `comm_rank`.
    pub(super) me: u32,
    /// Collectives that it has entered, modulo 2^32.
    pub(super) entered: u32,
}

impl Group {
    pub(super) fn world(me: RankId, ranks: u32) -> Self {
        Self { communicator: Communicator::WORLD, members: Members::all(ranks), me: me.0, entered: 0 }
    }

    /// Counts a collective, and returns how many there were before.
    pub(super) fn enter(&mut self) -> u32 {
        let before = self.entered;
        self.entered = before.wrapping_add(1);
        before
    }
}
