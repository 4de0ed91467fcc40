//! The epochs and accesses of a job, as far as its text tells: which belong together, which may race, and what is wrong in
//! every execution.

use super::names::{AccessName, EpochId, LockName};
use super::orders::Order;
use crate::open_epochs::EpochForm;
use crate::program::Ordinal;
use carrousel_rank::epoch::{EpochKind, Mode};
use std::collections::{BTreeMap, BTreeSet};

/// What the text of a job says of its windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowPlan {
    pub(super) ranks: Vec<RankPlan>,
    /// Windows, targets and numbers of fence epochs in which some rank accesses the target.
    pub(super) exposing: BTreeSet<(u16, u16, u32)>,
    /// By window and host: its locks that some rank may have to wait for.
    pub(super) contended: BTreeMap<(u16, u16), Vec<LockName>>,
    /// By window and host, if it is exposed, too, by `post` or between fences: all its locks.
    pub(super) mixed: BTreeMap<(u16, u16), Vec<LockName>>,
    /// Windows and hosts whose locks are brief: in which order ranks get them makes no difference.
    pub(super) brief: BTreeSet<(u16, u16)>,
    /// The accesses that may race: with another access, or with a load or store of the target.
    pub(crate) racing: Vec<AccessName>,
    /// Some epoch may have to wait for one before it that its rank has closed and not waited for.
    pub(crate) defers: bool,
    /// The order that is switched off.
    pub(crate) without: Option<Order>,
}

/// What one rank does with windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankPlan {
    /// In the order in which they are opened.
    pub(crate) epochs: Vec<EpochPlan>,
    /// By index.
    pub(crate) accesses: Vec<AccessPlan>,
    /// By request: the epoch that it closes, or the accesses that it flushes.
    pub(crate) requests: BTreeMap<Ordinal, RequestPlan>,
    /// By window: the steps of its fences.
    pub(crate) fences: BTreeMap<u16, Vec<u16>>,
    /// By step: a load or store, and the accesses of other ranks, or its own, that could race with it.
    pub(crate) touches: BTreeMap<u16, Vec<AccessName>>,
    /// By the step of a fence: an access in another epoch between this fence and the one before it.
    pub(crate) between_fences: BTreeMap<u16, u16>,
}

/// A call that ends accesses when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AccessEnd {
    pub(crate) rank: u16,
    pub(crate) step: u16,
    pub(crate) request: Ordinal,
    /// The epoch that it closes, if it is no flush.
    pub(crate) epoch: Option<u16>,
}

/// An epoch of a rank.
#[derive(Clone, Debug)]
pub(crate) struct EpochPlan {
    pub(crate) window: u16,
    pub(crate) form: EpochForm,
    pub(crate) mode: Mode,
    /// The step that opens it and its request, and the step that closes it.
    pub(crate) opened: u16,
    pub(crate) opening: Ordinal,
    pub(crate) closed: Option<u16>,
    /// The request of its close, and whether the rank waits for it at once.
    pub(crate) close: Option<Ordinal>,
    pub(crate) is_waited_for: bool,
    /// The fences of the window before the one that opens it.
    pub(crate) number: u32,
    /// Of an access epoch its targets, of an exposure its origins; each with its epoch that belongs to this one.
    pub(crate) peers: Vec<(u16, Option<u16>)>,
    /// The targets that it accesses, and those that it fetches from; ascending.
    pub(crate) used: Vec<u16>,
    pub(crate) fetched: Vec<u16>,
    /// Epochs of the same window that were closed before without waiting; `true` if a library may let this one pass.
    pub(crate) earlier: Vec<(u16, bool)>,
    /// The later epochs that this one holds back.
    pub(crate) later: Vec<u16>,
    /// The step that returns from the blocking lock of the own memory, if it is one.
    pub(crate) own_lock: Option<u16>,
}

/// An access of a rank.
#[derive(Clone, Debug)]
pub(crate) struct AccessPlan {
    pub(crate) step: u16,
    pub(crate) target: u16,
    pub(crate) epoch: Option<u16>,
    pub(crate) fetches: bool,
    /// It fetches, and changes nothing at its target.
    pub(crate) only_reads: bool,
    /// The calls of which each ends it when it returns.
    pub(crate) ends: Vec<AccessEnd>,
    /// If it fetches: the calls of which each tells that the data is here.
    pub(super) answers: Vec<AccessEnd>,
    /// The accesses with which it could be under way together, and conflicts.
    pub(crate) conflicts: Vec<AccessName>,
    /// The last steps at which ranks touch the same memory by themselves.
    pub(crate) touched: Option<u16>,
}

/// What a request is for.
#[derive(Clone, Debug)]
pub(crate) enum RequestPlan {
    /// The close of this epoch.
    Close(u16),
    /// A fence that ends this epoch, the `number`-th of the window from 0.
    Fence {
        window: u16,
        epoch: Option<u16>,
        number: u32,
        /// It is known to end no epoch.
        ends_none: bool,
    },
    /// A flush: the epochs that it looks at, each with a target, and whether it has accesses there.
    Flush { epochs: Vec<(u16, u16, Flushed)> },
    /// An access with a request of its own.
    Access(u16),
}

/// What a flush has to complete at one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flushed {
    /// Nothing, or only local buffers that a library may have copied.
    Nothing,
    /// Accesses.
    Accesses,
}

impl EpochPlan {
    pub(crate) fn locks(&self) -> bool {
        self.form.locks()
    }

    pub(crate) fn is_used(&self, target: u16) -> bool {
        self.used.binary_search(&target).is_ok()
    }

    /// Whether its close, which waits for the least, returns only if the epoch has begun. Nothing says that a lock without
    /// accesses is asked for at all; and of an access epoch, what is only written may have been copied (MPI-4.1, 12.5.2).
    pub(super) fn close_needs_begin(&self) -> bool {
        match self.form {
            EpochForm::Lock(_) | EpochForm::LockAll => !self.used.is_empty(),
            EpochForm::Access => !self.fetched.is_empty(),
            EpochForm::Exposure | EpochForm::Fence => true,
        }
    }

    pub(super) fn kind(&self) -> EpochKind {
        match self.form {
            EpochForm::Fence => EpochKind::Fence,
            EpochForm::Access => EpochKind::Access,
            EpochForm::Exposure => EpochKind::Exposure,
            EpochForm::Lock(_) => EpochKind::Lock,
            EpochForm::LockAll => EpochKind::LockAll,
        }
    }

    /// The ranks whose memory it locks.
    pub(crate) fn hosts(&self, ranks: u16) -> std::ops::Range<u16> {
        match self.form {
            EpochForm::Lock(host) => host..host + 1,
            EpochForm::LockAll => 0..ranks,
            _ => 0..0,
        }
    }

    /// The epoch of a peer that belongs to this one.
    pub(crate) fn peer(&self, peer: u16) -> Option<u16> {
        self.peers.iter().find(|(rank, _)| *rank == peer)?.1
    }
}

impl AccessPlan {
    /// Whether it could be under way together with something that conflicts with it.
    pub(super) fn may_race(&self) -> bool {
        !self.conflicts.is_empty() || self.touched.is_some()
    }
}

impl WindowPlan {
    pub(crate) fn rank(&self, rank: u16) -> &RankPlan {
        &self.ranks[usize::from(rank)]
    }

    pub(crate) fn ranks(&self) -> u16 {
        self.ranks.len() as u16
    }

    /// Whether some rank uses a window.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    pub(crate) fn epoch(&self, (rank, epoch): EpochId) -> &EpochPlan {
        &self.rank(rank).epochs[usize::from(epoch)]
    }

    pub(crate) fn access(&self, (rank, access): AccessName) -> &AccessPlan {
        &self.rank(rank).accesses[usize::from(access)]
    }

    /// Whether an order is not switched off.
    pub(crate) fn keeps(&self, order: Order) -> bool {
        self.without != Some(order)
    }

    /// The epoch of a rank that its fence with this number opens.
    pub(super) fn fence_epoch(&self, rank: u16, window: u16, number: u32) -> Option<u16> {
        let is_it = |it: &EpochPlan| (it.window, it.form, it.number) == (window, EpochForm::Fence, number);
        self.rank(rank).epochs.iter().position(is_it).map(|at| at as u16)
    }

    /// The epoch in which a target exposes its memory to the accesses of an epoch, if that needs one.
    pub(super) fn exposure(&self, epoch: &EpochPlan, target: u16) -> Option<u16> {
        match epoch.form {
            EpochForm::Fence => self.fence_epoch(target, epoch.window, epoch.number),
            EpochForm::Access => epoch.peer(target),
            _ => None,
        }
    }

    /// Whether some rank accesses a target in the fence epoch with this number.
    pub(crate) fn exposes(&self, window: u16, target: u16, number: u32) -> bool {
        self.exposing.contains(&(window, target, number))
    }

    /// The locks of a host, if some rank may have to wait for one of them.
    pub(crate) fn contended(&self, window: u16, host: u16) -> &[LockName] {
        self.contended.get(&(window, host)).map_or(&[], Vec::as_slice)
    }

    /// The hosts for whose locks ranks contend, with those locks.
    pub(crate) fn all_contended(&self) -> impl Iterator<Item = ((u16, u16), &[LockName])> {
        self.contended.iter().map(|(place, locks)| (*place, locks.as_slice()))
    }

    /// Whether epochs wait for earlier ones in a job in which orders of calls matter: which waits end which is not followed there.
    pub(crate) fn defers_in_conflict(&self) -> bool {
        self.defers && !(self.contended.is_empty() && self.mixed.is_empty() && self.racing.is_empty())
    }

    /// The hosts for whose locks ranks contend, and keep them briefly.
    pub(crate) fn brief(&self) -> impl Iterator<Item = (u16, u16)> {
        self.brief.iter().copied().filter(|place| self.contended.contains_key(place))
    }

    /// Whether a host's memory is locked, and exposed.
    pub(crate) fn is_mixed(&self, window: u16, host: u16) -> bool {
        self.mixed.contains_key(&(window, host))
    }

    /// The hosts whose memory is locked, and exposed, with all their locks.
    pub(crate) fn all_mixed(&self) -> impl Iterator<Item = ((u16, u16), &[LockName])> {
        self.mixed.iter().map(|(place, locks)| (*place, locks.as_slice()))
    }
}

impl RankPlan {
    /// The epoch that a request closes.
    pub(crate) fn closed_by(&self, request: Ordinal) -> Option<u16> {
        match self.requests.get(&request)? {
            RequestPlan::Close(epoch) => Some(*epoch),
            RequestPlan::Fence { epoch, .. } => *epoch,
            RequestPlan::Flush { .. } | RequestPlan::Access(_) => None,
        }
    }

    /// Whether a call has a request that may be incomplete: it closes an epoch, or flushes.
    pub(crate) fn closes(&self, request: Ordinal) -> bool {
        match self.requests.get(&request) {
            Some(RequestPlan::Fence { epoch, .. }) => epoch.is_some(),
            its => its.is_some(),
        }
    }
}
