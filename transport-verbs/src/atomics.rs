//! Atomics by the adapter of the peer.
//!
//! The adapter has fetch-and-add and compare-and-swap. A swap is a compare-and-swap that is posted again with the value that
//! it has found until it has found what it expected. An attempt fails only if another operation has changed the word
//! since, so somebody always gets on; how many attempts one swap takes nothing bounds, and without contention it is two,
//! or one if the word was 0. Later atomics to the peer wait until it is over, as they have to come behind it; other
//! operations pass it, as they may pass any atomic that they do not wait for.
//!
//! The value that an attempt finds is written to memory of this process, which the adapter knows: there is room for
//! [`RESULTS`] at a time, and what finds none waits.

use crate::VerbsError;
use crate::ibv::{BounceBuffers, Device, Operation, Parts, Request, Sge};
use crate::outbound::Out;
use crate::peer::{Peer, PeerState, Waiting};
use crate::shared::{Posted, Shared};
use crate::{Access, Loss};
use carrousel_transport::{Arrival, Atomic, AtomicOp, AtomicsUnsupportedError, Memory, RankId};
use std::collections::VecDeque;
use std::sync::Arc;

/// Atomics that are posted at a time, to all peers.
const RESULTS: u32 = 64;

/// An atomic, or a swap that has failed so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    atomic: Atomic,
    /// What a swap expects to find.
    expected: u64,
}

impl Attempt {
    pub(crate) fn new(atomic: Atomic) -> Self {
        Self { atomic, expected: 0 }
    }

    fn is_swap(&self) -> bool {
        matches!(self.atomic.op, AtomicOp::Swap(_))
    }

    fn operation(&self) -> Operation {
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
    fn next(self, found: u64) -> Option<Self> {
        let is_over = !self.is_swap() || found == self.expected;
        (!is_over).then_some(Self { atomic: Atomic { fenced: false, ..self.atomic }, expected: found })
    }
}

/// The attempts that are posted, and the memory for what they find.
#[derive(Debug)]
pub(crate) struct Results {
    slots: BounceBuffers,
    free: Vec<u32>,
    /// By slot: the attempt that is posted, unless somebody was told that it has failed.
    attempts: Vec<Option<Attempt>>,
    /// What becomes of each swap whose last attempt is complete: the next one, or nothing.
    swaps: Vec<Option<Attempt>>,
}

impl Results {
    fn new(device: &Arc<Device>) -> Result<Self, VerbsError> {
        let slots = BounceBuffers::new(device, RESULTS, Atomic::LEN as usize, Access::Receive)?;
        let (free, attempts) = ((0..RESULTS).collect(), vec![None; RESULTS as usize]);
        Ok(Self { slots, free, attempts, swaps: Vec::new() })
    }

    fn take(&mut self, attempt: Attempt) -> Option<(u32, Sge)> {
        let slot = self.free.pop()?;
        self.attempts[slot as usize] = Some(attempt);
        Some((slot, self.slots.sge(slot, Atomic::LEN as usize)))
    }

    fn give_back(&mut self, slot: u32) -> Option<Attempt> {
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

impl Peer {
    /// Posts an atomic. False if it has to wait.
    pub(crate) fn atomic(&mut self, shared: &mut Shared, attempt: Attempt) -> Result<bool, VerbsError> {
        let has_fence = attempt.atomic.fenced;
        // Soft-RoCE loses count of what a fence waits for, see `Limits::reads_behind_fences`.
        let waits = !shared.reads_behind_fences && (self.is_fenced() || has_fence && self.has_fetches());
        if self.swaps || waits {
            return Ok(false);
        }
        let Self { state: PeerState::Up, data: Some(rail), control, .. } = self else { return Ok(false) };
        // A packet that went by the second rail is there when it is acknowledged.
        if let Some(control) = control.as_mut().filter(|control| !control.rail.is_empty()) {
            if control.rail.is_silent() {
                control.rail.probe(shared)?;
            }
            return Ok(false);
        }
        if !rail.fits(shared, 1) {
            return Ok(false);
        }
        let Some((slot, result)) = shared.results.as_mut().and_then(|results| results.take(attempt)) else {
            return Ok(false);
        };
        let request = Request {
            id: rail.id(0),
            operation: attempt.operation(),
            parts: Parts::Keyed(&[result]),
            signaled: true,
            fenced: has_fence && shared.reads_behind_fences,
        };
        if let Err(error) = rail.post(shared, [request], [Posted::Atomic(slot)]) {
            shared.results.as_mut().and_then(|results| results.give_back(slot));
            return Err(error);
        }
        self.swaps = attempt.is_swap();
        Ok(true)
    }
}

impl Out {
    pub(crate) fn post_atomic(&mut self, atomic: &Atomic) -> Result<(), AtomicsUnsupportedError> {
        if !self.device.limits.atomics {
            return Err(AtomicsUnsupportedError("the adapter does not support them"));
        }
        let (rank, attempt) = (atomic.to, Attempt::new(*atomic));
        if self.shared.results.is_none() {
            match Results::new(&self.device) {
                Ok(results) => self.shared.results = Some(Box::new(results)),
                Err(error) => self.lose(rank, Loss::System(error.to_string())),
            }
        }
        let Self { peers, shared, done, to_report, .. } = self;
        let Some(peer) = peers.get_mut(rank.0 as usize).and_then(Option::as_deref_mut) else {
            done.push_back(attempt.fetched(0));
            return Ok(());
        };
        if matches!(peer.state, PeerState::Lost(_)) {
            // As of a transfer to a peer that is lost.
            if std::mem::take(&mut peer.ended) {
                to_report.push_back(rank);
            }
            peer.waiting.push_back(Waiting::Atomic(attempt));
            peer.settle(done);
            return Ok(());
        }
        let posted = if peer.waiting.is_empty() { peer.atomic(shared, attempt) } else { Ok(false) };
        match posted {
            Ok(true) => {}
            Ok(false) => self.wait(rank, Waiting::Atomic(attempt)),
            Err(error) => {
                peer.waiting.push_back(Waiting::Atomic(attempt));
                self.refused(rank, &error);
            }
        }
        Ok(())
    }

    /// After work requests to a peer are complete: a swap among them that has failed is tried again, before all that waits;
    /// behind one that has not, the next atomic may go.
    #[cold]
    pub(crate) fn end_swaps(&mut self, rank: RankId) {
        while let Some(next) = self.shared.results.as_mut().and_then(|results| results.swaps.pop()) {
            let Some(peer) = self.peers.get_mut(rank.0 as usize).and_then(Option::as_deref_mut) else {
                continue;
            };
            peer.swaps = false;
            if let Some(attempt) = next {
                peer.waiting.push_front(Waiting::Atomic(attempt));
                self.list(rank);
            }
        }
    }
}
