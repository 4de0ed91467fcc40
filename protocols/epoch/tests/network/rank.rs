//! One rank: its window, how far its program is, and what an observer knows of its calls.

use super::{id, index};
use carrousel_epoch::*;
use carrousel_wire::RankId;
use std::collections::{BTreeMap, BTreeSet};

/// What a request stands for.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) enum Stands {
    /// The close of an epoch.
    Close(u64),
    /// Operations, and whether at this rank only.
    Flush(BTreeSet<usize>, bool),
    /// An operation of its own.
    Operation(usize),
}

/// What a rank waits for.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub(super) enum Waits {
    Request(RequestId),
    Flush(FlushPoint),
}

/// An operation, as the observer knows it.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct Op {
    pub(super) kind: TransferKind,
    pub(super) target: usize,
    pub(super) epoch: u64,
    /// Once it is issued.
    pub(super) name: Option<OperationId>,
    pub(super) access: Option<(GrantWord, u64)>,
    pub(super) has_acted: bool,
    pub(super) is_local: bool,
    pub(super) is_complete: bool,
}

/// An epoch, as the observer knows it.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct EpochInfo {
    pub(super) kind: EpochKind,
    pub(super) is_open: bool,
    /// Epochs that were open when it was opened.
    pub(super) inside: BTreeSet<u64>,
    /// Fence calls of this rank when it was closed.
    pub(super) fences: u32,
    pub(super) targets: BTreeMap<usize, u64>,
    pub(super) origins: BTreeMap<usize, u64>,
    lock_target: Option<RankId>,
}

#[derive(Clone, Debug, Hash)]
pub(super) struct Rank<R> {
    pub(super) window: Window<R>,
    pub(super) at: usize,
    pub(super) waits_for: Option<Waits>,
    pub(super) requests: BTreeMap<RequestId, Stands>,
    pub(super) ops: Vec<Op>,
    /// By number.
    pub(super) epochs: Vec<EpochInfo>,
    /// Calls of fence.
    pub(super) fences: u32,
}

impl<R: EpochRules> Rank<R> {
    pub(super) fn new(me: usize, ranks: usize, flags: Flags) -> Self {
        Self {
            window: Window::new(id(me), ranks as u32, flags),
            at: 0,
            waits_for: None,
            requests: BTreeMap::new(),
            ops: Vec::new(),
            epochs: Vec::new(),
            fences: 0,
        }
    }

    /// Whether the program goes on.
    pub(super) fn is_free(&self) -> bool {
        match self.waits_for {
            None => true,
            Some(Waits::Request(request)) => !self.requests.contains_key(&request),
            Some(Waits::Flush(point)) => self.window.is_flushed(point) == Ok(true),
        }
    }

    fn open_of(&self, kind: EpochKind, target: Option<RankId>) -> Option<u64> {
        let is_it = |info: &EpochInfo| {
            info.is_open && info.kind == kind && (target.is_none() || info.lock_target == target)
        };
        self.epochs.iter().rposition(is_it).map(|at| at as u64)
    }

    fn epoch_of(&self, target: RankId) -> u64 {
        let found = self
            .open_of(EpochKind::Lock, Some(target))
            .or_else(|| self.open_of(EpochKind::LockAll, None))
            .or_else(|| self.open_of(EpochKind::Access, None))
            .or_else(|| self.open_of(EpochKind::Fence, None));
        found.unwrap_or(u64::MAX)
    }

    fn opens(&mut self, kind: EpochKind, lock_target: Option<RankId>) {
        let open = (0..).zip(&self.epochs).filter(|(_, info)| info.is_open);
        let inside = open.map(|(number, _)| number).collect();
        self.epochs.push(EpochInfo {
            kind,
            is_open: true,
            inside,
            fences: 0,
            targets: BTreeMap::new(),
            origins: BTreeMap::new(),
            lock_target,
        });
    }

    fn closes(&mut self, number: Option<u64>) {
        let fences = self.fences;
        if let Some(info) = number.and_then(|number| self.epochs.get_mut(number as usize)) {
            info.is_open = false;
            info.fences = fences;
        }
    }

    /// What the observer has to know before the window does.
    pub(super) fn before_call(&mut self, call: Call<'static>) {
        if let Call::Transfer { transfer, .. } = call {
            self.ops.push(Op {
                kind: transfer.kind,
                target: index(transfer.target),
                epoch: self.epoch_of(transfer.target),
                name: None,
                access: None,
                has_acted: false,
                is_local: false,
                is_complete: false,
            });
        }
    }

    pub(super) fn after_call(&mut self, call: Call<'static>, returned: Returned, is_blocking: bool) {
        let closed = match call {
            Call::Post(_) => return self.opens(EpochKind::Exposure, None),
            Call::Start(_) => return self.opens(EpochKind::Access, None),
            Call::Lock { target, .. } => return self.opens(EpochKind::Lock, Some(target)),
            Call::LockAll => return self.opens(EpochKind::LockAll, None),
            Call::Wait | Call::Test => self.open_of(EpochKind::Exposure, None),
            Call::Complete => self.open_of(EpochKind::Access, None),
            Call::Unlock(target) => self.open_of(EpochKind::Lock, Some(target)),
            Call::UnlockAll => self.open_of(EpochKind::LockAll, None),
            Call::Fence => {
                self.fences += 1;
                self.open_of(EpochKind::Fence, None)
            }
            Call::Transfer { .. } | Call::Flush(_) | Call::FlushWithRequest(_) => None,
        };
        if returned != Returned::Nothing {
            self.closes(closed);
        }
        let stands = match call {
            Call::FlushWithRequest(flush) => {
                let is_covered = |(_, op): &(usize, &Op)| {
                    let is_done = if flush.is_local { op.is_local } else { op.is_complete };
                    let is_open = self
                        .epochs
                        .get(op.epoch as usize)
                        .is_some_and(|info| info.is_open && info.kind.locks());
                    !is_done && is_open && flush.target.is_none_or(|target| index(target) == op.target)
                };
                let covered = self.ops.iter().enumerate().filter(is_covered).map(|(at, _)| at);
                Some(Stands::Flush(covered.collect(), flush.is_local))
            }
            Call::Transfer { .. } => Some(Stands::Operation(self.ops.len() - 1)),
            _ => closed.map(Stands::Close),
        };
        if call == Call::Fence {
            self.opens(EpochKind::Fence, None);
        }
        match returned {
            Returned::Request(request) => {
                self.requests.extend(stands.map(|stands| (request, stands)));
                self.waits_for = is_blocking.then_some(Waits::Request(request));
            }
            Returned::Flush(point) => self.waits_for = is_blocking.then_some(Waits::Flush(point)),
            Returned::Nothing => {}
        }
    }

    /// Notes the ids of epochs that are active now.
    pub(super) fn note_epochs(&mut self) {
        for view in self.window.epochs() {
            if let Some(info) = self.epochs.get_mut(view.name().number as usize) {
                info.targets.extend(view.targets().map(|target| (index(target.rank), target.access)));
                info.origins.extend(view.origins().map(|origin| (index(origin.rank), origin.exposure)));
            }
        }
    }

    pub(super) fn word(kind: EpochKind) -> GrantWord {
        if kind.locks() && R::locks_count_apart() { GrantWord::Locks } else { GrantWord::Exposures }
    }

    pub(super) fn access_of(&self, epoch: u64, target: RankId) -> Option<(GrantWord, u64)> {
        let info = self.epochs.get(epoch as usize)?;
        Some((Self::word(info.kind), *info.targets.get(&index(target))?))
    }
}
