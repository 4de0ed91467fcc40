//! The barrier: a dissemination over empty messages of the collective context.
//!
//! In round `k` a rank sends to the one `2^k` after it and hears from the one `2^k` before it; after the
//! last round it has heard, through others, from everybody. Consecutive barriers use the same tags: MPI's
//! non-overtaking rule keeps them apart.

use crate::rank::{Posting, Rank};
use crate::requests::State;
use crate::{Failure, Sink, Status, Work};
use carrousel_matching::{Context, Handle, Pattern, RankId, Source, Tag, TagSelector};
use carrousel_rendezvous::{Memory, Outgoing, Packet, Protocol, Route, SendSide};

/// An empty message has no memory.
const NOWHERE: Memory = Memory { address: 0, key: 0 };

impl<P: Protocol> Rank<P> {
    pub(crate) fn barrier(&mut self, out: &mut impl Sink) -> Handle {
        let request = self.requests.open(State::Barrier { round: 0 });
        match self.lost() {
            Some(peer) => self.fail(request, Failure::PeerLost(peer), out),
            None => self.barrier_round(request, 0, out),
        }
        request
    }

    /// The message of the present round has arrived.
    pub(crate) fn barrier_heard(&mut self, request: Handle, out: &mut impl Sink) {
        if let Some(State::Barrier { round }) = self.requests.get(request) {
            let next = round + 1;
            self.requests.set(request, State::Barrier { round: next });
            self.barrier_round(request, next, out);
        }
    }

    /// Sends an empty message, which is no request of its own.
    fn tell(&mut self, to: RankId, tag: Tag, request: Handle, out: &mut impl Sink) {
        let context = Context::COLLECTIVES;
        let message = Outgoing { tag, len: 0, rendezvous: false, send: request };
        let adaptation = self.adaptation();
        let route = self.flows.with(to, context).sender.send(&message, adaptation, || false);
        debug_assert_eq!(route, Route::Eager, "an eager message goes out eagerly");
        let packet = Packet::Eager { tag, len: 0 };
        out.work(Work::Send { to, context, packet, data: Some(NOWHERE) });
    }

    fn barrier_round(&mut self, request: Handle, mut round: u32, out: &mut impl Sink) {
        let context = Context::COLLECTIVES;
        while let Some(distance) = 1u32.checked_shl(round).filter(|distance| *distance < self.ranks) {
            let place = |offset: u32| {
                RankId(((u64::from(self.me.0) + u64::from(offset)) % u64::from(self.ranks)) as u32)
            };
            let (to, from) = (place(distance), place(self.ranks - distance));
            // Each round has its tag; rounds are far fewer than tags.
            let tag = Tag(round);
            self.tell(to, tag, request, out);
            let pattern = Pattern { source: Source::Rank(from), tag: TagSelector::Tag(tag), context };
            if self.unexpected.take_first(&pattern).is_none() {
                let posting = Posting { request, len: 0, memory: NOWHERE, candidate: false, line: None };
                self.posted.post(pattern, posting);
                return;
            }
            round += 1;
            self.requests.set(request, State::Barrier { round });
        }
        self.complete(request, Status { message: None, len: 0, failure: None }, out);
    }
}
