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
