//! Attempts of atomics, and the memory for the values that they find.

use crate::ibv::{BounceBuffers, Device, Operation, Sge};
use crate::{Access, VerbsError};
use carrousel_transport::{Arrival, Atomic, AtomicOp, Memory};
use std::collections::VecDeque;
use std::sync::Arc;

/// Atomics that are posted at a time, to all peers.
const RESULTS: u32 = 64;

/// An atomic, or a swap that has failed so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) atomic: Atomic,
    /// What a swap expects to find.
    pub(crate) expected: u64,
}

impl Attempt {
    pub(crate) fn new(atomic: Atomic) -> Self {
        Self { atomic, expected: 0 }
    }

    pub(crate) fn is_swap(&self) -> bool {
        matches!(self.atomic.op, AtomicOp::Swap(_))
    }

    pub(crate) fn operation(&self) -> Operation {
        let Memory { address, key } = self.atomic.target;
        match self.atomic.op {
            AtomicOp::FetchAdd(add) => Operation::Add { address, key, add },
            AtomicOp::CompareSwap { expected, new } => Operation::Swap { address, key, expected, new },
            AtomicOp::Swap(new) => Operation::Swap { address, key, expected: self.expected, new },
        }
    }

    /// What is reported when it has found a value, or has failed.
    pub(crate) fn fetched(&self, found: u64) -> Arrival {
        Arrival::Fetched(self.atomic.request, found)
    }

    /// The next attempt, if this one has found a value for which it has to be repeated. What the first one has waited for is
    /// complete.
    pub(crate) fn next(self, found: u64) -> Option<Self> {
        let is_over = !self.is_swap() || found == self.expected;
        (!is_over).then_some(Self { atomic: Atomic { fenced: false, ..self.atomic }, expected: found })
    }
}

/// The attempts that are posted, and the memory for what they find.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) slots: BounceBuffers,
    pub(crate) free: Vec<u32>,
    /// By slot: the attempt that is posted, unless somebody was told that it has failed.
    pub(crate) attempts: Vec<Option<Attempt>>,
    /// What becomes of each swap whose last attempt is complete: the next one, or nothing.
    pub(crate) swaps: Vec<Option<Attempt>>,
}

impl Results {
    pub(crate) fn new(device: &Arc<Device>) -> Result<Self, VerbsError> {
        let slots = BounceBuffers::new(device, RESULTS, Atomic::LEN as usize, Access::Receive)?;
        let (free, attempts) = ((0..RESULTS).collect(), vec![None; RESULTS as usize]);
        Ok(Self { slots, free, attempts, swaps: Vec::new() })
    }

    pub(crate) fn take(&mut self, attempt: Attempt) -> Option<(u32, Sge)> {
        let slot = self.free.pop()?;
        self.attempts[slot as usize] = Some(attempt);
        Some((slot, self.slots.sge(slot, Atomic::LEN as usize)))
    }

    pub(crate) fn give_back(&mut self, slot: u32) -> Option<Attempt> {
        self.free.push(slot);
        self.attempts[slot as usize].take()
    }

    /// The adapter has let go of a slot.
    pub(crate) fn over(&mut self, slot: u32, done: &mut VecDeque<Arrival>) {
        let mut word = [0; Atomic::LEN as usize];
        word.copy_from_slice(self.slots.bytes(slot, Atomic::LEN as usize));
        let Some(attempt) = self.give_back(slot) else { return };
        let found = u64::from_ne_bytes(word);
        let next = attempt.next(found);
        if next.is_none() {
            done.push_back(attempt.fetched(found));
        }
        if attempt.is_swap() {
            self.swaps.push(next);
        }
    }

    /// What is reported of an attempt whose peer is lost. Its slot is the adapter's still.
    pub(crate) fn give_up(&mut self, slot: u32) -> Option<Arrival> {
        self.attempts[slot as usize].take().map(|attempt| attempt.fetched(0))
    }
}
