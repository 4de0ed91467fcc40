//! The state of a window, and the small steps that several parts share.

use crate::calls::{Failure, Flush, GrantWord, Output, Transfer};
use crate::epoch::{Epoch, Target};
use crate::kinds::EpochKind;
use crate::names::{OperationId, RequestId};
use crate::peers::{Link, Peer};
use crate::rules::EpochRules;
use crate::setup::WindowSetup;
use crate::slab::Slab;
use crate::staging::{StagedQueue, StagingBuffers};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use carrousel_lock::{AllLockRules, LockManager, Mode};
use carrousel_wire::RankId;
use core::marker::PhantomData;

/// One rank's part of one window.
///
/// Each input is atomic. Outputs come into a sink of the caller, who carries them out, in order, before the next input.
/// After an error nothing has changed, and the sink is as it was.
///
/// Invariants:
/// - epochs are activated in the order in which they were opened: those in `deferred` were opened after all others;
/// - an entry of an active epoch that waits for a grant, or for Done, is linked in its peer's list, and no other is;
/// - `incomplete` of an epoch is the number of its operations, and the sum over its targets once it is active;
/// - a queue of `staged` is not empty, its first operation is staged, and `staged` of a target counts those of its epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Window<R> {
    pub(super) me: RankId,
    pub(super) setup: WindowSetup,
    pub(super) peers: Vec<Peer>,
    pub(super) epochs: Slab<Epoch>,
    /// Epochs that are not activated yet, in opening order.
    pub(super) deferred: VecDeque<u32>,
    /// Epochs that are active, by kind; and how many of these are closed.
    pub(super) active: [Vec<u32>; EpochKind::ALL.len()],
    pub(super) closing: [u32; EpochKind::ALL.len()],
    pub(super) open: OpenEpochs,
    pub(super) operations: Slab<Operation>,
    pub(super) flushes: Vec<OpenFlush>,
    /// By target: accumulates that wait for a staging buffer there, or behind one that does.
    pub(super) staged: BTreeMap<RankId, StagedQueue>,
    /// The buffers of this rank, for the operands of others.
    pub(super) staging: StagingBuffers,
    /// The lock of this rank's memory.
    pub(super) lock: LockManager<AllLockRules>,
    /// Lock requests that an exposure holds back, in order of arrival.
    pub(super) held_back: VecDeque<(RankId, Mode)>,
    pub(super) dead: BTreeSet<RankId>,
    /// Numbers of the next epoch, the next request, and the next flush; operations that were called.
    pub(super) next_epoch: u64,
    pub(super) next_request: u64,
    pub(super) next_flush: u64,
    pub(super) age: u64,
    pub(super) rules: PhantomData<R>,
}

/// The epochs that are open at the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct OpenEpochs {
    pub(super) access: Option<u32>,
    pub(super) exposure: Option<u32>,
    pub(super) fence: Option<u32>,
    pub(super) lock_all: Option<u32>,
    /// By target.
    pub(super) locks: BTreeMap<RankId, u32>,
}

/// An operation that is not complete.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Operation {
    pub(super) age: u64,
    pub(super) transfer: Transfer,
    pub(super) epoch: u32,
    /// The position of its target among those of the epoch.
    pub(super) target: u32,
    pub(super) is_issued: bool,
    pub(super) is_local: bool,
    /// Its own request, until that is complete.
    pub(super) request: Option<RequestId>,
}

/// A flush that is not complete.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct OpenFlush {
    pub(super) request: RequestId,
    pub(super) flush: Flush,
    /// The age of the operation called just before.
    pub(super) stamp: u64,
    /// Flushes that were called before, and epochs that had been opened.
    pub(super) number: u64,
    pub(super) opened: u64,
    /// Operations that are to complete.
    pub(super) left: u64,
    pub(super) failure: Option<Failure>,
}

impl<R: EpochRules> Window<R> {
    /// The part of rank `me` of a window of so many ranks: no epoch is open.
    pub fn new(me: RankId, ranks: u32, setup: impl Into<WindowSetup>) -> Self {
        let setup = setup.into();
        Self {
            me,
            staging: StagingBuffers::new(setup.staging.buffers),
            setup,
            peers: vec![Peer::NEW; ranks as usize],
            epochs: Slab::new(),
            deferred: VecDeque::new(),
            active: [const { Vec::new() }; EpochKind::ALL.len()],
            closing: [0; EpochKind::ALL.len()],
            open: OpenEpochs::default(),
            operations: Slab::new(),
            flushes: Vec::new(),
            staged: BTreeMap::new(),
            lock: LockManager::new(ranks),
            held_back: VecDeque::new(),
            dead: BTreeSet::new(),
            next_epoch: 0,
            next_request: 0,
            next_flush: 0,
            age: 0,
            rules: PhantomData,
        }
    }

    /// The ranks of the window.
    pub fn ranks(&self) -> u32 {
        // The number of ranks was a `u32`.
        self.peers.len() as u32
    }

    /// The grant word of the locks of this kind of epoch.
    pub(super) fn word(kind: EpochKind) -> GrantWord {
        if kind.locks() && R::locks_count_apart() { GrantWord::Locks } else { GrantWord::Exposures }
    }

    pub(super) fn new_request(&mut self) -> RequestId {
        self.next_request += 1;
        RequestId(self.next_request - 1)
    }

    pub(super) fn is_known(&self, rank: RankId) -> bool {
        (rank.0 as usize) < self.peers.len()
    }

    pub(super) fn target_mut(&mut self, link: Link) -> Option<&mut Target> {
        self.epochs.get_mut(link.slot)?.targets.get_mut(link.at as usize)
    }

    /// Begins an operation whose target has granted the access, and has a buffer for its operand if that is staged.
    pub(super) fn begin(&mut self, at: u32, is_staged: bool, out: &mut impl Extend<Output>) {
        let Some(operation) = self.operations.get_mut(at) else { return };
        operation.is_issued = true;
        let (age, transfer) = (operation.age, operation.transfer);
        let link = Link { slot: operation.epoch, at: operation.target };
        let Some(epoch) = self.epochs.get_mut(link.slot) else { return };
        if let Some(target) = epoch.targets.get_mut(link.at as usize) {
            target.reads += u32::from(transfer.kind.reads());
        }
        let operation = OperationId { age, at };
        out.extend([Output::Issue { operation, epoch: epoch.number, transfer, is_staged }]);
    }
}
