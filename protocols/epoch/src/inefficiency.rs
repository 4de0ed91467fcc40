//! The names of waits in epochs that a late rank causes.

use core::fmt;

/// Why a rank waits in an epoch for another: the patterns of nonblocking-rma-epochs III. By its clock, or by
/// the order of events, the observer of an execution decides when a rank is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Inefficiency {
    /// An origin has closed its access epoch, and a target has not posted.
    LatePost,
    /// A target waits for the end of its exposure epoch, has all data, and an origin has not closed its access epoch.
    LateComplete,
    /// A rank has closed its fence epoch while data was still on its way to it.
    EarlyFence,
    /// A rank has closed its fence epoch, and another has not.
    WaitAtFence,
    /// An origin waits for a lock that another holds.
    LateUnlock,
}

impl Inefficiency {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::LatePost, Self::LateComplete, Self::EarlyFence, Self::WaitAtFence, Self::LateUnlock];
}

/// `Late Post`.
impl fmt::Display for Inefficiency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LatePost => "Late Post",
            Self::LateComplete => "Late Complete",
            Self::EarlyFence => "Early Fence",
            Self::WaitAtFence => "Wait at Fence",
            Self::LateUnlock => "Late Unlock",
        })
    }
}
