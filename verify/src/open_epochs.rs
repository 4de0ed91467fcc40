//! What the program of a rank has open on windows, as it sees it.

use crate::program::Ordinal;
use carrousel_rank::RankId;
use carrousel_rank::epoch::Call;
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

impl EpochForm {
    /// The epochs to which an access to a target may belong, the first that is open before others.
    pub fn of_access(target: RankId) -> [Self; 4] {
        [Self::Lock(target.0 as u16), Self::Access, Self::LockAll, Self::Fence]
    }

    /// The epoch that a call opens, if it does.
    pub fn opened_by(call: Call<'_>) -> Option<Self> {
        match call {
            Call::Start(_) => Some(Self::Access),
            Call::Post(_) => Some(Self::Exposure),
            Call::Lock { target, .. } => Some(Self::Lock(target.0 as u16)),
            Call::LockAll => Some(Self::LockAll),
            Call::Fence => Some(Self::Fence),
            _ => None,
        }
    }

    /// The epoch that a call closes, if one is open.
    pub fn closed_by(call: Call<'_>) -> Option<Self> {
        match call {
            Call::Complete => Some(Self::Access),
            Call::Wait | Call::Test => Some(Self::Exposure),
            Call::Unlock(target) => Some(Self::Lock(target.0 as u16)),
            Call::UnlockAll => Some(Self::LockAll),
            Call::Fence => Some(Self::Fence),
            _ => None,
        }
    }

    /// Whether it is an epoch of a lock.
    pub fn locks(self) -> bool {
        matches!(self, Self::Lock(_) | Self::LockAll)
    }
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
    /// The requests of closes and flushes that complete it.
    pub covered_by: SmallVec<[Ordinal; 1]>,
}
