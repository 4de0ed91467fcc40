//! What accesses, epochs and locks are called.

use carrousel_rank::epoch::Mode;

/// An access, by its rank and its index there.
pub(crate) type AccessName = (u16, u16);

/// An epoch, by its rank and its index there.
pub(crate) type EpochId = (u16, u16);

/// One of the locks of a host, by the epoch that asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LockName {
    pub(crate) epoch: EpochId,
    pub(crate) mode: Mode,
}
