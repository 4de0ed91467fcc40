//! What the program of a rank has open on windows, as it sees it.

use crate::program::Ordinal;
use smallvec::SmallVec;

/// What the program has opened, as it sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EpochForm {
    /// Between two fences.
    Fence,
    /// From start to complete.
    Access,
    /// From post to wait.
    Exposure,
    /// From lock to unlock of this rank.
    Lock(u16),
    /// From lock_all to unlock_all.
    LockAll,
}

/// An epoch that the program has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpenEpoch {
    /// The window.
    pub window: u16,
    /// The epoch.
    pub form: EpochForm,
    /// Whether it has an access.
    pub is_used: bool,
    /// The step that opened it.
    pub opened_at: u16,
}

/// An access whose local buffer is the library's until one of some requests has been waited for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OpenAccess {
    /// Its index in the program.
    pub access: u16,
    /// Its epoch.
    pub form: EpochForm,
    /// Whether that is closed.
    pub is_closed: bool,
    /// Its data is here, if it fetches some. Followed under the weakest MPI only, where nothing else is waited for.
    pub is_fetched: bool,
    /// The requests of closes and flushes that complete it.
    pub covered_by: SmallVec<[Ordinal; 1]>,
}
