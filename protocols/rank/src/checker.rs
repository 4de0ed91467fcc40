//! What only the checker and tests ask of a rank: feature `checker`, which no program has that drives a rank for real.

use crate::{Context, Rank, Send};
use carrousel_matching::{Handle, RankId};
use carrousel_rendezvous::Protocol;

/// A rank whose orders are explored: it is asked what a driver could do, and told what it could as well have seen.
pub trait Explore {
    /// Whether nothing of any message is left: no receive waits, no message is unexpected, no request
    /// is incomplete.
    fn is_quiet(&self) -> bool;

    /// Whether a request has claimed a message that is neither received nor discarded.
    fn is_claimed(&self, request: Handle) -> bool;

    /// All receives among the oldest ones that may be announced now, oldest first. Announcing one may change whether the
    /// others may be. The first is the one that [`Rank::may_announce`] names.
    fn announceable(&self) -> impl Iterator<Item = Handle>;

    /// Whether a message would be written into an announced receive if [`Sink::agree_to_write`](crate::Sink::agree_to_write)
    /// said yes.
    fn could_write(&self, message: &Send) -> bool;

    /// Forgets in which order messages of different senders arrived. Changes nothing for a rank that will
    /// not receive from any source again, and lets the checker see that two states are one.
    fn forget_arrival_order(&mut self);

    /// The messages of a flow from `source` that have been processed, modulo 2^32, in the communicator of `context`.
    fn processed(&self, source: RankId, context: Context) -> u32;

    /// Whether the sending end of a flow has messages of which its receiver has not told that it has processed them.
    fn has_unseen(&self, to: RankId, context: Context) -> bool;

    /// Forgets the messages of a flow that its receiver has processed, as if that had told so. Changes nothing if it will do
    /// so before it matters, with each announcement that it sends from now on.
    fn forget_seen(&mut self, to: RankId, context: Context, processed: u32);

    /// The peers with which flows of the application's own messages have begun, each for each of its communicators.
    fn flow_peers(&self) -> impl Iterator<Item = RankId>;

    /// Forgets the flows of the application's own messages from and to a peer. Changes nothing if no message goes through them
    /// any more.
    fn forget_flows(&mut self, peer: RankId);

    /// Forgets whose message a receive has got that is complete. Changes nothing if nobody will ask.
    fn forget_message(&mut self, receive: Handle);

    /// Makes the messages of `source` the first to have arrived, as if those of other senders had been
    /// slower: for the checker, to which that is another MPI's right.
    fn arrived_first(&mut self, source: RankId);
}

impl<P: Protocol> Explore for Rank<P> {
    fn is_quiet(&self) -> bool {
        self.messages.has_no_receives_or_messages() && self.pending().next().is_none()
    }

    fn is_claimed(&self, request: Handle) -> bool {
        self.messages.is_claimed(request)
    }

    fn announceable(&self) -> impl Iterator<Item = Handle> {
        self.messages.announceable()
    }

    fn could_write(&self, message: &Send) -> bool {
        self.messages.could_write(message)
    }

    fn forget_arrival_order(&mut self) {
        self.messages.sort_arrived_by_key(|message| message.source);
    }

    fn processed(&self, source: RankId, context: Context) -> u32 {
        self.messages.processed(source, context)
    }

    fn has_unseen(&self, to: RankId, context: Context) -> bool {
        self.messages.has_unseen(to, context)
    }

    fn forget_seen(&mut self, to: RankId, context: Context, processed: u32) {
        self.messages.forget_seen(to, context, processed);
    }

    fn flow_peers(&self) -> impl Iterator<Item = RankId> {
        self.messages.flow_peers()
    }

    fn forget_flows(&mut self, peer: RankId) {
        self.messages.forget_flows(peer);
    }

    fn forget_message(&mut self, receive: Handle) {
        self.messages.forget_message(receive);
    }

    fn arrived_first(&mut self, source: RankId) {
        self.messages
            .sort_arrived_by_key(|message| !message.context.is_collective() && message.source != source);
    }
}
