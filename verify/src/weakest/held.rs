//! The locks that ranks hold, of those for which ranks contend.

use super::names::EpochId;

/// What the weakest MPI knows of the locks for which ranks contend. All other locks are held from their call on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Weakest {
    /// Sorted.
    held: Vec<HeldLock>,
    /// Given back, though the close of the epoch has not returned. Sorted.
    freed: Vec<HeldLock>,
}

/// A lock that an epoch has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct HeldLock {
    window: u16,
    host: u16,
    epoch: EpochId,
}

/// A host gives a lock away, or has it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockStep {
    /// The window.
    pub window: u16,
    /// The rank whose memory it is.
    pub host: u16,
    /// The rank that gets it or had it.
    pub origin: u16,
    /// Its epoch, by its number there.
    pub epoch: u16,
    /// It is given away; otherwise it is given back.
    pub is_grant: bool,
}

impl Weakest {
    pub(super) fn is_held(&self, window: u16, epoch: EpochId, host: u16) -> bool {
        self.held.binary_search(&HeldLock { window, host, epoch }).is_ok()
    }

    pub(super) fn is_freed(&self, window: u16, epoch: EpochId, host: u16) -> bool {
        self.freed.binary_search(&HeldLock { window, host, epoch }).is_ok()
    }

    /// Carries out a step of a lock.
    pub(crate) fn take(&mut self, step: LockStep) {
        let LockStep { window, host, origin, epoch, is_grant } = step;
        let lock = HeldLock { window, host, epoch: (origin, epoch) };
        let list = if is_grant { &mut self.held } else { &mut self.freed };
        if let Err(at) = list.binary_search(&lock) {
            list.insert(at, lock);
        }
        if !is_grant {
            self.held.retain(|held| *held != lock);
        }
    }

    /// The close of an epoch has returned: all that it had is given back.
    pub(super) fn end(&mut self, epoch: EpochId) {
        self.held.retain(|lock| lock.epoch != epoch);
        self.freed.retain(|lock| lock.epoch != epoch);
    }
}
