//! The things that statements refer to: requests, buffers, windows, communicators, and messages.

use std::fmt;

/// A request variable of one rank: an index into [`Program::requests`](crate::Program::requests).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);

/// A named local buffer of one rank: an index into [`Program::buffers`](crate::Program::buffers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u32);

/// A window: an index into [`Scenario::windows`](crate::Scenario::windows).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowId(pub u32);

/// A communicator: that of all ranks, or one that a `comm` statement has made, see
/// [`Scenario::communicator`](crate::Scenario::communicator).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommunicatorId(pub u32);

impl CommunicatorId {
    /// That of all ranks.
    pub const WORLD: CommunicatorId = CommunicatorId(0);
}

/// The sender that a receive or a probe names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// This rank only.
    Rank(u32),
    /// `any`: every sender.
    Any,
}

/// The tag that a receive or a probe names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TagSelector {
    /// This tag only, 0 to 2^31-1.
    Tag(u32),
    /// `any`.
    Any,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Rank(rank) => write!(f, "{rank}"),
            Source::Any => f.write_str("any"),
        }
    }
}

impl fmt::Display for TagSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TagSelector::Tag(tag) => write!(f, "{tag}"),
            TagSelector::Any => f.write_str("any"),
        }
    }
}
