//! Atomics by the adapter of the peer.
//!
//! The adapter has fetch-and-add and compare-and-swap. A swap is a compare-and-swap that is posted again with the value that
//! it has found until it has found what it expected. An attempt fails only if another operation has changed the word
//! since, so somebody always gets on; how many attempts one swap takes nothing bounds, and without contention it is two,
//! or one if the word was 0. Later atomics to the peer wait until it is over, as they have to come behind it; other
//! operations pass it, as they may pass any atomic that they do not wait for.
//!
//! The value that an attempt finds is written to memory of this process, which the adapter knows: there is room in
//! [`Results`] for a fixed number at a time, and an attempt without room waits.

use crate::Loss;
use crate::VerbsError;
use crate::attempts::{Attempt, Results};
use crate::ibv::{Parts, Request};
use crate::outbound::Out;
use crate::peer::{Peer, PeerState, Waiting};
use crate::shared::{Posted, Shared};
use carrousel_transport::{Atomic, AtomicsUnsupportedError, RankId};

impl Peer {
    /// Posts an atomic. False if it has to wait.
    pub(crate) fn atomic(&mut self, shared: &mut Shared, attempt: Attempt) -> Result<bool, VerbsError> {
        if self.swaps {
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
            // Without fences, it waits for reads and atomics before it anyway.
            fenced: attempt.atomic.fenced && rail.has_fences(),
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
