//! A window as the checker and hang reports see it.

use super::state::Window;
use crate::calls::{Call, GrantWord};
use crate::epoch::{Epoch, Origin, Target};
use crate::errors::EpochName;
use crate::kinds::{EpochKind, Flags};
use crate::names::{OperationId, RequestId};
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
        self.epoch.targets.iter().map(target_view)
    }

    /// Its target of this rank, once it is active.
    pub fn target(&self, rank: RankId) -> Option<TargetView> {
        let at = self.epoch.group.position(rank)?;
        self.epoch.targets.get(at as usize).map(target_view)
    }

    /// Its origins, once it is active.
    pub fn origins(&self) -> impl Iterator<Item = OriginView> + use<'a> {
        self.epoch.origins.iter().map(origin_view)
    }

    /// Its origin of this rank, once it is active.
    pub fn origin(&self, rank: RankId) -> Option<OriginView> {
        let at = self.epoch.group.position(rank)?;
        self.epoch.origins.get(at as usize).map(origin_view)
    }
}

fn target_view(target: &Target) -> TargetView {
    TargetView {
        rank: target.rank,
        access: target.access,
        is_granted: target.is_granted,
        is_finished: target.is_finished,
        incomplete: target.incomplete.remote,
    }
}

fn origin_view(origin: &Origin) -> OriginView {
    OriginView { rank: origin.rank, exposure: origin.exposure, is_done: origin.is_done }
}

impl<R: EpochRules> Window<R> {
    /// Whether the epoch of an operation that is not complete was closed.
    pub fn is_closed_around(&self, OperationId { age, at }: OperationId) -> bool {
        let operation = self.operations.get(at).filter(|operation| operation.age == age);
        let epoch = operation.and_then(|operation| self.epochs.get(operation.epoch));
        epoch.is_some_and(|epoch| epoch.closed.is_some())
    }

    /// The epochs that have not completed, in no particular order.
    pub fn epochs(&self) -> impl Iterator<Item = EpochView<'_>> {
        self.epochs.iter().map(|(_, epoch)| EpochView { epoch })
    }

    /// Whether a target has granted the open epoch that such a call has opened.
    ///
    /// Of those of `start`, `lock_all` and `fence` one at most is open, and of those of `lock` one for each target. Without
    /// any the call was refused, and waits for nothing: then it is true, as for all other calls.
    pub fn is_granted_by(&self, opening: Call<'_>, target: RankId) -> bool {
        let kind = match opening {
            Call::Start(_) => EpochKind::Access,
            Call::Lock { .. } => EpochKind::Lock,
            Call::LockAll => EpochKind::LockAll,
            Call::Fence => EpochKind::Fence,
            _ => return true,
        };
        let mut open = self.epochs().filter(|epoch| {
            let name = epoch.name();
            let is_of_target = kind != EpochKind::Lock || name.target == Some(target);
            name.kind == kind && is_of_target && !epoch.is_closed()
        });
        open.all(|epoch| epoch.target(target).is_some_and(|granted| granted.is_granted))
    }

    /// Whether a blocking call that has opened an epoch still has to wait for the lock of this rank's own memory: the program
    /// may use that memory by itself from the call's return on (MPI-4.1 12.5.3).
    pub fn lacks_own_lock(&self, opening: Call<'_>) -> bool {
        let locks_own = match opening {
            Call::Lock { target, .. } => target == self.me,
            Call::LockAll => true,
            _ => false,
        };
        locks_own && !self.is_granted_by(opening, self.me)
    }

    /// Its flags.
    pub fn flags(&self) -> Flags {
        self.setup.flags
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

    /// Whether nothing is open, pending or held: every epoch has completed, every lock was released, and every operand was
    /// applied.
    pub fn is_quiet(&self) -> bool {
        let is_unused = self.staging.is_unused() && self.staged.is_empty();
        self.epochs().next().is_none() && self.lock.is_free() && self.held_back.is_empty() && is_unused
    }
}
