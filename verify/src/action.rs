//! The steps of an execution.

use crate::network::Route;
use crate::program::Ordinal;

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A rank goes on with its program.
    Step {
        /// Which rank.
        rank: u16,
        /// What it chooses, where there is a choice.
        choice: Choice,
    },
    /// The oldest thing on a route comes out.
    Land(Route),
    /// Something on a route comes out before `place` older ones (only when connections are taken not to be
    /// ordered).
    Overtake {
        /// On this route.
        route: Route,
        /// How many older ones.
        place: usize,
    },
    /// A rank announces a receive.
    Announce {
        /// Which rank.
        rank: u16,
        /// Its receive.
        receive: Ordinal,
    },
}

impl Action {
    /// The rank where it happens.
    pub fn rank(self) -> u16 {
        match self {
            Self::Step { rank, .. } | Self::Announce { rank, .. } => rank,
            Self::Land(route) | Self::Overtake { route, .. } => route.at,
        }
    }
}

/// A choice that the environment makes for a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// A test that succeeds, a send that uses what it may.
    Plain,
    /// A test that fails though the request is complete.
    Fail,
    /// A send that declines to write into an announced receive.
    Decline,
    /// A receive from any source that takes a message of this rank, though one of another was here before
    /// (weakest MPI).
    From(u16),
}
