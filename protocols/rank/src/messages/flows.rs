//! The state that a rank keeps for each peer and communicator.

use super::entries::Posting;
use crate::{Sink, Work};
use alloc::vec::Vec;
use carrousel_matching::{Context, Envelope, RankId, Tag};
use carrousel_rendezvous::{
    Adaptation, EagerSent, EagerTaken, Fate, Matched, Packet, Protocol, ReceiveSide, SendSide, Violation,
};

/// A peer and a communicator in one word: the search compares it once for each flow that it looks at.
type Key = u64;

fn key(peer: RankId, context: Context) -> Key {
    u64::from(peer.0) << u16::BITS | u64::from(context.0)
}

/// Both ends that one rank has with one peer in one communicator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flow<P: Protocol> {
    key: Key,
    /// Matching messages from the peer that have been processed, modulo 2^32.
    pub(super) processed: u32,
    /// Posted receives that could be announced to the peer but for the rules and the adaptation.
    pub(super) candidates: u32,
    /// This rank's end of the flow to the peer.
    pub(super) sender: P::Sender,
    /// Of that: eager messages that the peer may hold.
    pub(super) eager_sent: EagerSent,
    /// This rank's end of the flow from the peer.
    pub(super) receiver: P::Receiver,
    /// Of that: eager messages that receives have taken.
    pub(super) eager_taken: EagerTaken,
}

impl<P: Protocol> Flow<P> {
    fn new(key: Key) -> Self {
        let (sender, receiver, eager_sent, eager_taken) = Default::default();
        Self { key, processed: 0, candidates: 0, sender, eager_sent, receiver, eager_taken }
    }

    /// The peer, if the flow is not one of collectives.
    #[cfg(feature = "checker")]
    fn own_peer(&self) -> Option<RankId> {
        (!Context(self.key as u16).is_collective()).then_some(RankId((self.key >> u16::BITS) as u32))
    }

    /// Whether the peer has room for an eager message (rule EAGER_FITS_WINDOW).
    #[inline]
    pub(super) fn admits(&self, len: u64, window: u64) -> bool {
        !P::eager_fits_window() || self.eager_sent.admits(len, window)
    }

    /// The peer has processed so many messages, and its receives have taken so much of the eager ones.
    pub(super) fn seen(&mut self, seen: u32, taken: u64) -> Result<(), Violation> {
        // Both are true, or nothing of it is acted upon.
        let mut eager_sent = self.eager_sent.clone();
        eager_sent.taken(taken)?;
        self.sender.seen(seen)?;
        self.eager_sent = eager_sent;
        Ok(())
    }

    /// A receive has taken an eager message of this flow (rule TAKEN_IS_TOLD).
    #[inline(always)]
    pub(super) fn take_eager(&mut self, envelope: &Envelope, len: u64, window: u64, out: &mut impl Sink) {
        if self.eager_taken.take(len, window) && P::taken_is_told() {
            let Envelope { source: to, context, .. } = *envelope;
            let packet = Packet::Ack { seen: self.processed, taken: self.eager_taken.tell() };
            out.work(Work::Send { to, context, packet, data: None });
        }
    }

    /// An eager message of this flow has met its receive.
    #[inline(always)]
    pub(super) fn meet_eager(
        &mut self,
        posting: &Posting,
        envelope: &Envelope,
        len: u64,
        adaptation: Adaptation,
        window: u64,
        out: &mut impl Sink,
    ) {
        self.matched(posting, envelope.tag, Fate::Mispredicted, false, adaptation);
        self.take_eager(envelope, len, window, out);
    }

    /// A receive has a message of this flow. `waited`: an announcement would have been of use, had there
    /// been one. True asks for an RTS-ACK.
    #[inline(always)]
    pub(super) fn matched(
        &mut self,
        posting: &Posting,
        tag: Tag,
        fate: Fate,
        waited: bool,
        adaptation: Adaptation,
    ) -> bool {
        if adaptation == Adaptation::Counting {
            if posting.rtr.is_some_and(|rtr| rtr.receive == posting.request) {
                self.receiver.usage().resolved(fate);
            } else if posting.is_unannounced() {
                self.receiver.usage().unannounced(waited);
            }
        }
        let announced = posting.rtr.is_some();
        self.receiver.matched(&Matched { tag, fate, announced, exempt: !posting.candidate })
    }
}

/// Flows by peer and communicator, created at first use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flows<P: Protocol> {
    flows: Vec<Flow<P>>,
}

impl<P: Protocol> Flows<P> {
    pub(super) const fn new() -> Self {
        Self { flows: Vec::new() }
    }

    #[inline(always)]
    pub(super) fn with(&mut self, peer: RankId, context: Context) -> &mut Flow<P> {
        let key = key(peer, context);
        let at = self.flows.binary_search_by_key(&key, |flow| flow.key).unwrap_or_else(|at| {
            self.begin(at, key);
            at
        });
        &mut self.flows[at]
    }

    /// Out of the way of messages on flows that exist.
    #[cold]
    fn begin(&mut self, at: usize, key: Key) {
        // Each new flow moves half of the others in any case. A list that doubles would be half empty in every state of a search.
        self.flows.reserve_exact(1);
        self.flows.insert(at, Flow::new(key));
    }

    /// Lets `change` try; a flow that it refuses to begin is not created.
    pub(super) fn attempt<E>(
        &mut self,
        peer: RankId,
        context: Context,
        change: impl FnOnce(&mut Flow<P>) -> Result<(), E>,
    ) -> Result<(), E> {
        let key = key(peer, context);
        match self.flows.binary_search_by_key(&key, |flow| flow.key) {
            Ok(at) => change(&mut self.flows[at]),
            Err(at) => {
                let mut flow = Flow::new(key);
                change(&mut flow)?;
                self.flows.insert(at, flow);
                Ok(())
            }
        }
    }

    /// The peer of each flow of the application's own messages, by ascending number.
    #[cfg(feature = "checker")]
    pub(super) fn own_peers(&self) -> impl Iterator<Item = RankId> {
        self.flows.iter().filter_map(Flow::own_peer)
    }

    /// Forgets those of a peer.
    #[cfg(feature = "checker")]
    pub(super) fn forget_own(&mut self, peer: RankId) {
        let is_its = |flow: &Flow<P>| flow.own_peer() == Some(peer);
        let of_peer = || self.flows.iter().filter(|flow| is_its(flow));
        debug_assert!(
            of_peer().all(|flow| flow.candidates == 0),
            "a receive that waits for the peer needs it"
        );
        self.flows.retain(|flow| !is_its(flow));
        self.flows.shrink_to_fit();
    }

    /// No receive waits for this peer any more. Returns how many could have been announced to it.
    pub(super) fn forget_candidates(&mut self, peer: RankId) -> u32 {
        let of_peer = |flow: &&mut Flow<P>| flow.key >> u16::BITS == u64::from(peer.0);
        self.flows.iter_mut().filter(of_peer).map(|flow| core::mem::take(&mut flow.candidates)).sum()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.flows.len()
    }

    /// The posted receives that could be announced, to all peers.
    pub(super) fn candidates(&self) -> u32 {
        self.flows.iter().map(|flow| flow.candidates).sum()
    }

    pub(super) fn get(&self, peer: RankId, context: Context) -> Option<&Flow<P>> {
        let at = self.flows.binary_search_by_key(&key(peer, context), |flow| flow.key).ok()?;
        Some(&self.flows[at])
    }
}
