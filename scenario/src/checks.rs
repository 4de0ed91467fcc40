//! The nine checks that a scenario is verified against, by name.

use std::fmt;
use std::str::FromStr;

/// One of the nine checks; `expect CHECK violated` names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// No reachable state from which some rank can never finish.
    DeadlockFreedom,
    /// A receive gets the message that MPI's non-overtaking rule gives it.
    MatchingOrder,
    /// No transfer into or out of a buffer that is not the library's, and no message too long.
    BufferSafety,
    /// Every execution matches a wildcard receive with the same message.
    MatchDeterminism,
    /// No two conflicting accesses to window memory without an order between them.
    RmaRace,
    /// Every RMA call is inside the epoch it needs, and every epoch is closed.
    EpochUsage,
    /// No two holders of a lock of which one is exclusive.
    LockExclusion,
    /// Every request is completed by a wait or a successful test.
    RequestLeak,
    /// Every message is received.
    UnmatchedMessage,
}

impl Check {
    /// All nine, in the order in which reports list them.
    pub const ALL: [Check; 9] = [
        Check::DeadlockFreedom,
        Check::MatchingOrder,
        Check::BufferSafety,
        Check::MatchDeterminism,
        Check::RmaRace,
        Check::EpochUsage,
        Check::LockExclusion,
        Check::RequestLeak,
        Check::UnmatchedMessage,
    ];

    /// The name in files and reports: `deadlock-freedom`.
    pub const fn name(self) -> &'static str {
        match self {
            Check::DeadlockFreedom => "deadlock-freedom",
            Check::MatchingOrder => "matching-order",
            Check::BufferSafety => "buffer-safety",
            Check::MatchDeterminism => "match-determinism",
            Check::RmaRace => "rma-race",
            Check::EpochUsage => "epoch-usage",
            Check::LockExclusion => "lock-exclusion",
            Check::RequestLeak => "request-leak",
            Check::UnmatchedMessage => "unmatched-message",
        }
    }

    /// Whether a violation is a note only, which does not make a file wrong.
    pub const fn is_note(self) -> bool {
        matches!(self, Check::MatchDeterminism)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that is the name of no check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a check")]
pub struct UnknownCheck;

impl FromStr for Check {
    type Err = UnknownCheck;

    fn from_str(name: &str) -> Result<Self, UnknownCheck> {
        Check::ALL.into_iter().find(|check| check.name() == name).ok_or(UnknownCheck)
    }
}
