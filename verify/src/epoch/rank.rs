//! One rank: its window, how far its program is, and what an observer knows of its calls.

use super::program::{Blocking, EpochStep};
use super::window::ModelWindow;
use carrousel_epoch::{
    Call, EpochKind, EpochRules, Flags, Flush, FlushPoint, GrantWord, OperationId, Packet, RankId, RequestId,
    Returned, Staging, TransferKind, Window, WindowSetup,
};

/// Staging buffers of each rank.
pub(super) const BUFFERS: u16 = 1;

/// How a rank's window is made: no two ranks share a node.
fn setup(flags: Flags) -> WindowSetup {
    WindowSetup { staging: Staging { buffers: BUFFERS, ..Staging::default() }, ..WindowSetup::from(flags) }
}

pub(super) fn id(rank: usize) -> RankId {
    RankId(rank as u32)
}

pub(super) fn index(rank: RankId) -> usize {
    rank.0 as usize
}

/// What a request stands for.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) enum StandsFor {
    /// The close of an epoch.
    Close(u64),
    /// The end of these operations; only at this rank, if true.
    Flush(Vec<u8>, bool),
    /// One operation.
    Operation(u8),
}

/// What a rank waits for.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub(super) enum WaitsFor {
    Request(RequestId),
    Flush(FlushPoint),
}

/// An operation.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct WindowOperation {
    pub(super) kind: TransferKind,
    pub(super) target: usize,
    /// The number of its epoch.
    pub(super) epoch: u64,
    /// Once it is issued: its name, and the word and id of its access.
    pub(super) name: Option<OperationId>,
    pub(super) access: Option<(GrantWord, u64)>,
    /// Its operand goes through a staging buffer.
    pub(super) is_staged: bool,
    /// It has acted on the word of memory that is its own.
    pub(super) has_acted: bool,
    pub(super) is_local: bool,
    pub(super) is_complete: bool,
}

/// An epoch, from its opening on.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct ObservedEpoch {
    pub(super) kind: EpochKind,
    pub(super) is_open: bool,
    /// Its request is complete.
    pub(super) has_ended: bool,
    /// Epochs that were open when it was opened, by the bits of their numbers.
    pub(super) inside: u64,
    /// Fence calls of this rank up to its close.
    pub(super) fences: u8,
    /// Peers and ids, once it was active.
    pub(super) targets: Vec<(usize, u64)>,
    pub(super) origins: Vec<(usize, u64)>,
    lock_target: Option<RankId>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct EpochRank {
    pub(super) window: ModelWindow,
    /// The next step of its program.
    pub(super) at: u8,
    pub(super) waits_for: Option<WaitsFor>,
    pub(super) requests: Vec<(RequestId, StandsFor)>,
    pub(super) operations: Vec<WindowOperation>,
    /// By number.
    pub(super) epochs: Vec<ObservedEpoch>,
    pub(super) fences: u8,
}

impl EpochRank {
    pub(super) fn new<R: EpochRules>(me: usize, ranks: usize, flags: Flags) -> Self {
        Self {
            window: ModelWindow::new(Window::<R>::new(id(me), ranks as u32, setup(flags))),
            at: 0,
            waits_for: None,
            requests: Vec::new(),
            operations: Vec::new(),
            epochs: Vec::new(),
            fences: 0,
        }
    }

    /// Whether its program can go on.
    pub(super) fn is_free(&self) -> bool {
        match self.waits_for {
            None => true,
            Some(WaitsFor::Request(request)) => !self.requests.iter().any(|(open, _)| *open == request),
            Some(WaitsFor::Flush(point)) => self.window.is_flushed(point) == Ok(true),
        }
    }

    /// The open epoch of a kind; of lock epochs, that of the target.
    fn open_of(&self, kind: EpochKind, target: Option<RankId>) -> Option<u64> {
        let is_it =
            |epoch: &ObservedEpoch| epoch.is_open && epoch.kind == kind && epoch.lock_target == target;
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
        let open = (0u32..).zip(&self.epochs).filter(|(_, epoch)| epoch.is_open);
        let inside = open.map(|(number, _)| 1u64 << number).sum();
        self.epochs.push(ObservedEpoch {
            kind,
            is_open: true,
            has_ended: false,
            inside,
            fences: 0,
            targets: Vec::new(),
            origins: Vec::new(),
            lock_target,
        });
    }

    /// What has to be known before the window is called.
    pub(super) fn before_call(&mut self, call: Call<'static>) {
        if let Call::Transfer { transfer, .. } = call {
            self.operations.push(WindowOperation {
                kind: transfer.kind,
                target: index(transfer.target),
                epoch: self.epoch_of(transfer.target),
                name: None,
                access: None,
                is_staged: false,
                has_acted: false,
                is_local: false,
                is_complete: false,
            });
        }
    }

    pub(super) fn after_call(&mut self, call: Call<'static>, returned: Returned, blocking: Blocking) {
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
        let fences = self.fences;
        let closing = closed.filter(|_| returned != Returned::Nothing);
        if let Some(epoch) = closing.and_then(|number| self.epochs.get_mut(number as usize)) {
            epoch.is_open = false;
            epoch.fences = fences;
        }
        let stands_for = match call {
            Call::FlushWithRequest(flush) => {
                Some(StandsFor::Flush(self.covered_by(flush).collect(), flush.is_local))
            }
            Call::Transfer { .. } => Some(StandsFor::Operation(self.operations.len() as u8 - 1)),
            _ => closed.map(StandsFor::Close),
        };
        if call == Call::Fence {
            self.opens(EpochKind::Fence, None);
        }
        match returned {
            Returned::Request(request) => {
                self.requests.extend(stands_for.map(|stands_for| (request, stands_for)));
                self.waits_for = (blocking == Blocking::Waits && !matches!(call, Call::Transfer { .. }))
                    .then_some(WaitsFor::Request(request));
            }
            Returned::Flush(point) => self.waits_for = Some(WaitsFor::Flush(point)),
            Returned::Nothing => {}
        }
    }

    /// The operations that a flush would have to wait for now.
    pub(super) fn covered_by(&self, flush: Flush) -> impl Iterator<Item = u8> {
        let is_covered = move |(_, operation): &(u8, &WindowOperation)| {
            let has_ended = if flush.is_local { operation.is_local } else { operation.is_complete };
            let epoch = self.epochs.get(operation.epoch as usize);
            let is_open = epoch.is_some_and(|epoch| epoch.is_open && epoch.kind.locks());
            !has_ended && is_open && flush.target.is_none_or(|target| index(target) == operation.target)
        };
        (0..).zip(&self.operations).filter(is_covered).map(|(at, _)| at)
    }

    /// Notes the ids of epochs that are active now.
    pub(super) fn note_epochs(&mut self) {
        for view in self.window.epochs() {
            if let Some(epoch) = self.epochs.get_mut(view.name().number as usize) {
                if epoch.targets.is_empty() {
                    epoch.targets.extend(view.targets().map(|target| (index(target.rank), target.access)));
                }
                if epoch.origins.is_empty() {
                    epoch.origins.extend(view.origins().map(|origin| (index(origin.rank), origin.exposure)));
                }
            }
        }
    }

    /// The access that a packet ends.
    pub(super) fn ended_by(&self, packet: Packet) -> Option<(GrantWord, u64)> {
        match packet {
            Packet::Done { access } => Some((GrantWord::Exposures, access)),
            Packet::LockRelease { access } => Some((self.window.word(EpochKind::Lock), access)),
            Packet::LockRequest { .. } | Packet::StagingRequest | Packet::StagingGrant => None,
        }
    }

    /// The access of an epoch to a target.
    pub(super) fn access_of(&self, epoch: u64, target: RankId) -> Option<(GrantWord, u64)> {
        let epoch = self.epochs.get(epoch as usize)?;
        let (_, access) = epoch.targets.iter().find(|(rank, _)| *rank == index(target))?;
        Some((self.window.word(epoch.kind), *access))
    }

    /// What its program does next.
    pub(super) fn next_step(&self, steps: &[EpochStep]) -> Option<EpochStep> {
        steps.get(usize::from(self.at)).copied()
    }
}
