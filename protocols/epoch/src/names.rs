//! Names of requests, of operations, and of moments.

use carrousel_wire::RankId;
use core::fmt;

/// A request of a window, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {}", self.0)
    }
}

/// An operation that has not completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId {
    /// Its age: how many operations of the window were called up to this one.
    pub age: u64,
    /// Where the window finds it.
    pub(crate) at: u32,
}

impl OperationId {
    /// Its age, and where the window finds it: for hosts that keep the name in a form of their own.
    pub const fn parts(self) -> (u64, u32) {
        (self.age, self.at)
    }

    /// The name with these parts. A window knows its own names from all others.
    pub const fn of_parts(age: u64, at: u32) -> Self {
        Self { age, at }
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {}", self.age)
    }
}

/// What a blocking flush waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlushPoint {
    pub(crate) target: Option<RankId>,
    pub(crate) is_local: bool,
}
