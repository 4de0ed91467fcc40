//! A window as the checker and hang reports see it.

use super::state::Window;
use crate::calls::GrantWord;
use crate::epoch::{Epoch, Origin, Target};
use crate::errors::EpochName;
use crate::kinds::{EpochKind, Flags};
use crate::names::RequestId;
use crate::peers::Counts;
use crate::rules::EpochRules;
use carrousel_lock::{AllLockRules, LockManager, Mode};
use carrousel_wire::RankId;

/// An epoch that has not completed.
#[derive(Clone, Copy, Debug)]
pub struct EpochView<'a> {
    epoch: &'a Epoch,
}

/// A target of an active epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetView {
    /// The target.
    pub rank: RankId,
    /// The id of the access.
    pub access: u64,
    /// The target has granted it.
    pub is_granted: bool,
    /// Done or LockRelease is posted, or the target is dead.
    pub is_finished: bool,
    /// Operations that are not complete.
    pub incomplete: u32,
}

/// An origin of an active epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OriginView {
    /// The origin.
    pub rank: RankId,
    /// The id of the exposure.
    pub exposure: u64,
    /// The origin has said that it is done, or is dead.
    pub is_done: bool,
}

impl<'a> EpochView<'a> {
    /// Its kind and number.
    pub fn name(&self) -> EpochName {
        self.epoch.name()
    }

    /// Whether it has been activated.
    pub fn is_active(&self) -> bool {
        self.epoch.is_active
    }

    /// Whether the program has closed it.
    pub fn is_closed(&self) -> bool {
        self.epoch.closed.is_some()
    }

    /// Whether an operation was called in it.
    pub fn has_operations(&self) -> bool {
        self.epoch.has_operations
    }

    /// How it locks its targets; shared for an epoch without locks, which excludes nobody.
    pub fn mode(&self) -> Mode {
        self.epoch.mode
    }

    /// The request of its close.
    pub fn request(&self) -> Option<RequestId> {
        self.epoch.request
    }

    /// Its targets, once it is active.
    pub fn targets(&self) -> impl Iterator<Item = TargetView> + use<'a> {
        self.epoch.targets.iter().map(|target: &Target| TargetView {
            rank: target.rank,
            access: target.access,
            is_granted: target.is_granted,
            is_finished: target.is_finished,
            incomplete: target.incomplete.remote,
        })
    }

    /// Its origins, once it is active.
    pub fn origins(&self) -> impl Iterator<Item = OriginView> + use<'a> {
        self.epoch.origins.iter().map(|origin: &Origin| OriginView {
            rank: origin.rank,
            exposure: origin.exposure,
            is_done: origin.is_done,
        })
    }
}

impl<R: EpochRules> Window<R> {
    /// The epochs that have not completed, in no particular order.
    pub fn epochs(&self) -> impl Iterator<Item = EpochView<'_>> {
        self.epochs.iter().map(|(_, epoch)| EpochView { epoch })
    }

    /// Whether this rank has the lock of its own memory, if it has an epoch open that requests it: a blocking call that
    /// opens such an epoch waits for that, as the program may use the memory then (MPI-4.1 12.5.3).
    pub fn has_own_lock(&self) -> bool {
        self.epochs().all(|epoch| {
            let is_of_mine = match epoch.name().kind {
                EpochKind::LockAll => true,
                EpochKind::Lock => epoch.name().target == Some(self.me),
                EpochKind::Access | EpochKind::Exposure | EpochKind::Fence => false,
            };
            let is_granted = || epoch.targets().any(|target| target.rank == self.me && target.is_granted);
            !is_of_mine || epoch.is_closed() || is_granted()
        })
    }

    /// Its flags.
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// How many epochs are deferred.
    pub fn deferred(&self) -> usize {
        self.deferred.len()
    }

    /// The matching triple with a peer.
    pub fn counts(&self, peer: RankId, word: GrantWord) -> Option<Counts> {
        self.peers.get(peer.0 as usize).map(|peer| peer.triple(word).counts())
    }

    /// The lock of this rank's memory.
    pub fn lock(&self) -> &LockManager<AllLockRules> {
        &self.lock
    }

    /// Lock requests that an exposure holds back, in order of arrival.
    pub fn held_back(&self) -> impl Iterator<Item = RankId> {
        self.held_back.iter().map(|(origin, _)| *origin)
    }

    /// Whether nothing is open, pending or held: every epoch has completed, and every lock was released.
    pub fn is_quiet(&self) -> bool {
        self.epochs().next().is_none() && self.lock.is_free() && self.held_back.is_empty()
    }
}
