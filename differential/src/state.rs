//! A state of an execution: what each rank has done, and how far accesses, epochs and locks are.

use crate::plan::{AccessId, EpochId, LockId, Plan};

/// Bytes of a state. A program that needs more is not explored.
const BYTES: usize = 72;

/// How far an access is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// It has not begun, or its call has not been made.
    Pending,
    /// It reads or writes the target's memory.
    UnderWay,
    /// What it fetches is there; what it writes may be on its way.
    Back,
    /// It is over, at the target and at the origin.
    Over,
}

/// How far the lock of one target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockPhase {
    /// It has not been asked for.
    Idle,
    /// The request is on its way.
    Requested,
    /// Held.
    Granted,
    /// Given back.
    Released,
    /// The request has arrived behind so many others.
    Queued(u8),
}

/// How far an epoch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EpochPhase {
    /// It has not been opened, or waits for earlier ones.
    Deferred,
    /// It may progress.
    Active,
    /// All that it has to do is done.
    Complete,
}

/// A state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    bytes: [u8; BYTES],
}

/// Where the parts of a state are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    epochs: usize,
    accesses: usize,
    locks: usize,
}

impl Layout {
    /// The layout of the states of a program, if they fit.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let epochs = usize::from(plan.ranks());
        let accesses = epochs + plan.epochs.len();
        let locks = accesses + plan.accesses.len();
        (locks + plan.locks.len() <= BYTES).then_some(Self { epochs, accesses, locks })
    }
}

impl State {
    /// Nothing has happened.
    pub(crate) fn new() -> Self {
        Self { bytes: [0; BYTES] }
    }

    /// The statement that a rank is at, and whether it has called it.
    pub(crate) fn at(&self, rank: u8) -> (u8, bool) {
        let byte = self.bytes[usize::from(rank)];
        (byte >> 1, byte & 1 == 1)
    }

    /// The rank is in the call of its statement.
    pub(crate) fn enter(&mut self, rank: u8) {
        self.bytes[usize::from(rank)] |= 1;
    }

    /// The rank is at its next statement.
    pub(crate) fn advance(&mut self, rank: u8) {
        let byte = &mut self.bytes[usize::from(rank)];
        *byte = ((*byte >> 1) + 1) << 1;
    }

    /// Whether a rank has called a statement.
    pub(crate) fn called(&self, rank: u8, at: u8) -> bool {
        self.bytes[usize::from(rank)] > at << 1
    }

    /// Whether a statement of a rank has returned.
    pub(crate) fn returned(&self, rank: u8, at: u8) -> bool {
        self.at(rank).0 > at
    }

    pub(crate) fn access(&self, layout: Layout, access: AccessId) -> Phase {
        match self.bytes[layout.accesses + access] {
            0 => Phase::Pending,
            1 => Phase::UnderWay,
            2 => Phase::Back,
            _ => Phase::Over,
        }
    }

    pub(crate) fn set_access(&mut self, layout: Layout, access: AccessId, phase: Phase) {
        self.bytes[layout.accesses + access] = phase as u8;
    }

    pub(crate) fn epoch(&self, layout: Layout, epoch: EpochId) -> EpochPhase {
        match self.bytes[layout.epochs + epoch] {
            0 => EpochPhase::Deferred,
            1 => EpochPhase::Active,
            _ => EpochPhase::Complete,
        }
    }

    pub(crate) fn set_epoch(&mut self, layout: Layout, epoch: EpochId, phase: EpochPhase) {
        self.bytes[layout.epochs + epoch] = phase as u8;
    }

    pub(crate) fn lock(&self, layout: Layout, lock: LockId) -> LockPhase {
        match self.bytes[layout.locks + lock] {
            0 => LockPhase::Idle,
            1 => LockPhase::Requested,
            2 => LockPhase::Granted,
            3 => LockPhase::Released,
            more => LockPhase::Queued(more - 4),
        }
    }

    pub(crate) fn set_lock(&mut self, layout: Layout, lock: LockId, phase: LockPhase) {
        self.bytes[layout.locks + lock] = match phase {
            LockPhase::Idle => 0,
            LockPhase::Requested => 1,
            LockPhase::Granted => 2,
            LockPhase::Released => 3,
            LockPhase::Queued(behind) => behind + 4,
        };
    }
}
