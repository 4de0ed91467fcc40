//! How messages are sent: eagerly, as an offer, or into an announced receive.

use super::Messages;
use super::flows::Flow;
use super::state::{End, State, Then, inner};
use crate::communicators::Communicators;
use crate::{Failure, ProtocolError, Send, Sink, Status, Work, Write};
use carrousel_matching::{Context, Handle, RankId, Source, Tag};
use carrousel_rendezvous::{Hint, Memory, Notice, Outgoing, Packet, Protocol, Route, SendSide, Target};

/// A message of a collective's round, to a peer or from it.
#[derive(Clone, Copy)]
pub(crate) struct OfRound {
    /// The collective.
    pub(crate) own: Handle,
    pub(crate) peer: RankId,
    pub(crate) context: Context,
    pub(crate) tag: Tag,
    pub(crate) len: u64,
    pub(crate) memory: Memory,
}

impl<P: Protocol> Messages<P> {
    /// Whether a message would be written into an announced receive if [`Sink::agree_to_write`] said yes.
    #[cfg(feature = "checker")]
    pub(crate) fn could_write(&self, message: &Send) -> bool {
        self.is_rendezvous(message)
            && self
                .flows
                .get(message.to, message.communicator.messages())
                .is_some_and(|flow| flow.sender.could_write(message.tag, message.len))
    }

    /// The messages of a flow that have been processed.
    #[cfg(feature = "checker")]
    pub(crate) fn processed(&self, source: RankId, context: Context) -> u32 {
        self.flows.get(source, context).map_or(0, |flow| flow.processed)
    }

    /// Whether the sending end of a flow has messages that are not known to have been processed.
    #[cfg(feature = "checker")]
    pub(crate) fn has_unseen(&self, to: RankId, context: Context) -> bool {
        self.flows.get(to, context).is_some_and(|flow| flow.sender.unseen() > 0)
    }

    /// Forgets the messages of a flow that have been processed.
    #[cfg(feature = "checker")]
    pub(crate) fn forget_seen(&mut self, to: RankId, context: Context, processed: u32) {
        let told = self.flows.with(to, context).sender.seen(processed);
        debug_assert!(told.is_ok(), "no receiver processes more than was sent");
    }

    /// The peers of flows of the application's own messages.
    #[cfg(feature = "checker")]
    pub(crate) fn flow_peers(&self) -> impl Iterator<Item = RankId> {
        self.flows.own_peers()
    }

    /// Forgets these flows with a peer, for which no receive waits.
    #[cfg(feature = "checker")]
    pub(crate) fn forget_flows(&mut self, peer: RankId) {
        self.flows.forget_own(peer);
    }

    /// Whether a message goes by rendezvous: its size or its mode asks for it, or there is no room at the receiver.
    #[inline]
    pub(crate) fn is_rendezvous(&self, message: &Send) -> bool {
        let Send { to, communicator, len, .. } = *message;
        let admits = |flow: &Flow<P>| flow.admits(len, self.options.eager_window);
        self.asks_for_rendezvous(message) || !self.flows.get(to, communicator.messages()).is_none_or(admits)
    }

    /// Whether a message goes by rendezvous wherever it goes.
    #[inline]
    fn asks_for_rendezvous(&self, message: &Send) -> bool {
        message.synchronous || message.len > self.options.eager_threshold
    }

    /// See [`crate::Rank::send_eagerly`].
    #[inline(always)]
    pub(crate) fn send_eagerly(
        &mut self,
        message: &Send,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) -> bool {
        let sent = self.send_if_eager(message, communicators, out);
        if sent {
            self.requests.skip();
        }
        sent
    }

    #[inline]
    pub(crate) fn send(
        &mut self,
        message: &Send,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) -> Handle {
        if self.send_if_eager(message, communicators, out) {
            let status = Status::without_message(message.len, None);
            let request = self.requests.open(State::Complete(status));
            out.work(Work::Complete { request, status });
            request
        } else {
            self.send_by_rendezvous(message, communicators, out)
        }
    }

    /// Sends a message eagerly, by the request that would be opened next. False if it is a rendezvous, or its peer is lost.
    #[inline(always)]
    fn send_if_eager(&mut self, message: &Send, communicators: &Communicators, out: &mut impl Sink) -> bool {
        // A copy of what follows for messages with 8 bytes beside their own, and one for those without: callers know, when
        // they are compiled, which it is.
        match message.data {
            None => self.send_with(message, None, communicators, out),
            Some(beside) => self.send_with(message, Some(beside), communicators, out),
        }
    }

    #[inline(always)]
    fn send_with(
        &mut self,
        message: &Send,
        data: Option<u64>,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) -> bool {
        let Send { to, tag, communicator, len, memory, .. } = *message;
        if self.asks_for_rendezvous(message)
            || communicators.lost_for(Source::Rank(to), communicator).is_some()
        {
            return false;
        }
        let context = communicator.messages();
        let flow = self.flows.with(to, context);
        if !flow.admits(len, self.options.eager_window) {
            return false;
        }
        flow.sender.eager(tag, self.requests.next());
        flow.eager_sent.sent(len);
        let packet = Packet::Eager { tag, data, len };
        out.work(Work::Send { to, context, packet, data: Some(memory) });
        true
    }

    #[inline(never)]
    fn send_by_rendezvous(
        &mut self,
        message: &Send,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) -> Handle {
        let Send { to, tag, communicator, len, memory, data, .. } = *message;
        let context = communicator.messages();
        if communicators.lost_for(Source::Rank(to), communicator).is_some() {
            let request = self.requests.open(State::Offered { to, context, len, memory });
            self.fail(request, Failure::PeerLost(to), out);
            return request;
        }
        let message = &Outgoing { tag, len, send: self.requests.next() };
        let adaptation = self.adaptation();
        let flow = self.flows.with(to, context);
        match flow.sender.rendezvous(message, adaptation, || out.agree_to_write()) {
            Route::Rts(hint) => {
                let send = self.requests.open(State::Offered { to, context, len, memory });
                let packet = Packet::Rts { tag, data, len, send, memory, hint };
                out.work(Work::Send { to, context, packet, data: None });
                send
            }
            Route::Write(target) => self.write((to, context), message, memory, data, target, out),
        }
    }

    fn write(
        &mut self,
        (to, context): (RankId, Context),
        message: &Outgoing,
        from: Memory,
        data: Option<u64>,
        target: Target,
        out: &mut impl Sink,
    ) -> Handle {
        let Outgoing { tag, len, .. } = *message;
        let rtr = target.rtr;
        let (notice, then) = match P::notice() {
            Notice::FinBehindWrite => (Some(Packet::Fin { rtr, tag, data, len }), None),
            Notice::AckThenAtp => {
                let packet = Packet::RtrAck { rtr, tag, data, len };
                out.work(Work::Send { to, context, packet, data: None });
                (None, Some(Then::Atp(rtr.receive)))
            }
            Notice::FinAfterWrite => (None, Some(Then::Fin { rtr, tag, data })),
        };
        let request = self.requests.open(State::Writing { to, context, len, then });
        let write = Write { to, from, into: target.memory, len, request, notice };
        out.work(Work::Write { context, write, receive: rtr.receive });
        request
    }

    /// Sends a message of a round. True if its end has to be waited for.
    pub(crate) fn send_of_round(&mut self, message: OfRound, out: &mut impl Sink) -> bool {
        let OfRound { own, peer: to, context, tag, len, memory } = message;
        let send = inner(own, End::Send);
        let adaptation = self.adaptation();
        let flow = self.flows.with(to, context);
        if len <= self.options.eager_threshold && flow.admits(len, self.options.eager_window) {
            flow.sender.eager(tag, send);
            flow.eager_sent.sent(len);
            let packet = Packet::Eager { tag, data: None, len };
            out.work(Work::Send { to, context, packet, data: Some(memory) });
            return false;
        }
        // Nothing is announced in this context, so there is nothing to agree to.
        let hint = match flow.sender.rendezvous(&Outgoing { tag, len, send }, adaptation, || false) {
            Route::Rts(hint) => hint,
            Route::Write(_) => Hint::None,
        };
        self.requests.open_of_round(send, State::Offered { to, context, len, memory });
        let packet = Packet::Rts { tag, data: None, len, send, memory, hint };
        out.work(Work::Send { to, context, packet, data: None });
        true
    }

    /// A write is complete.
    pub(crate) fn written(
        &mut self,
        request: Handle,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        let Some(State::Writing { to, context, len, then }) = self.requests.get(request) else {
            return Self::late_completion(request, communicators);
        };
        let (to, context, len, then) = (*to, *context, *len, *then);
        if let Some(then) = then {
            let packet = match then {
                Then::Atp(receive) => Packet::Atp { receive },
                Then::Fin { rtr, tag, data } => Packet::Fin { rtr, tag, data, len },
            };
            out.work(Work::Send { to, context, packet, data: None });
        }
        self.flows.with(to, context).sender.finished(request);
        self.over(request, Status::without_message(len, None), out);
        Ok(())
    }
}
