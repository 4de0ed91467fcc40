//! The modes of a lock.

use carrousel_wire::RankId;
use core::fmt;

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// By one origin alone (`MPI_LOCK_EXCLUSIVE`).
    Exclusive,
    /// By any number of origins at once (`MPI_LOCK_SHARED`).
    Shared,
}

impl Mode {
    /// Whether a lock held so keeps another origin from holding it in `other` mode (MPI-4.1, 12.5.3).
    pub const fn excludes(self, other: Self) -> bool {
        matches!(self, Self::Exclusive) || matches!(other, Self::Exclusive)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exclusive => "exclusive",
            Self::Shared => "shared",
        })
    }
}

/// An origin has the lock, from now until it releases it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grant {
    /// The origin.
    pub origin: RankId,
    /// As it has requested.
    pub mode: Mode,
}
