//! The actions that are possible in a state.

use crate::network::Channel;
use crate::program::Ordinal;
use crate::weakest::LockStep;

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
    /// The oldest item of a channel comes out.
    Land(Channel),
    /// An item of a channel comes out before `place` older ones (only if connections are assumed not to keep order).
    Overtake {
        /// On this channel.
        channel: Channel,
        /// How many older ones.
        place: usize,
    },
    /// A host gives the lock of its memory away, or has it back (weakest MPI).
    Lock(LockStep),
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
            Self::Land(channel) | Self::Overtake { channel, .. } => channel.at,
            Self::Lock(step) => step.origin,
        }
    }
}

/// A choice that the environment makes for a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// A test that succeeds, a send that may write into an announced receive, and every other act.
    Plain,
    /// A test that fails though the request is complete.
    Fail,
    /// A send that declines to write into an announced receive.
    Decline,
    /// A receive from any source that takes a message of this rank, though one of another was here before
    /// (weakest MPI).
    From(u16),
}
