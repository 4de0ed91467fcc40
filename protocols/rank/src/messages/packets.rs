//! What a rank does with a packet.

use super::Messages;
use super::entries::{Arrival, Offer, Posting};
use super::flows::Flow;
use super::receiving::{is_kept, received};
use super::state::State;
use crate::communicators::Communicators;
use crate::{Failure, Kept, PacketError, Read, Sink, Status, Transfer, Work, Write};
use carrousel_matching::{Context, Envelope, Handle, RankId, Source};
use carrousel_rendezvous::{
    Fate, Hint, Memory, Packet, Protocol, ReceiveSide, Release, RtrId, SendSide, Unmark, Violation,
};

impl<P: Protocol> Messages<P> {
    // A driver that knows that a packet is an EAGER, and whether 8 bytes are beside its own, compiles what follows from that
    // alone.
    #[inline(always)]
    pub(crate) fn packet(
        &mut self,
        from: RankId,
        context: Context,
        packet: &Packet,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) -> Result<(), PacketError> {
        if !communicators.has(from) {
            return Err(PacketError::Peer);
        }
        match *packet {
            Packet::Eager { tag, data: None, len } => {
                self.eager(Envelope { source: from, tag, context }, None, len, out);
                Ok(())
            }
            Packet::Eager { tag, data: Some(beside), len } => {
                self.eager(Envelope { source: from, tag, context }, Some(beside), len, out);
                Ok(())
            }
            _ => self.rendezvous(from, context, packet, communicators, out),
        }
    }

    /// Apart from eager messages, which need none of its registers and stack.
    #[inline(never)]
    fn rendezvous(
        &mut self,
        from: RankId,
        context: Context,
        packet: &Packet,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) -> Result<(), PacketError> {
        let envelope = |tag| Envelope { source: from, tag, context };
        match *packet {
            // Nobody announces the receives of a collective.
            Packet::Fin { .. }
            | Packet::RtrAck { .. }
            | Packet::Rtr(_)
            | Packet::Cancel { .. }
            | Packet::CancelAck { .. }
                if context.is_collective() =>
            {
                Err(PacketError::Context)
            }
            // It does not come here.
            Packet::Eager { .. } => Err(PacketError::Context),
            Packet::Ack { seen, taken } => {
                self.flows.attempt(from, context, |flow| flow.seen(seen, taken))?;
                Ok(())
            }
            Packet::Rts { tag, data, len, send, memory, hint } => {
                self.rts(envelope(tag), &Offer { send, data, len, memory }, hint, communicators, out);
                Ok(())
            }
            Packet::Fin { rtr, tag, data, len } => self.fin(envelope(tag), rtr, data, len, out),
            Packet::RtrAck { rtr, tag, data, len } => self.rtr_ack(envelope(tag), rtr, data, len, out),
            Packet::Atp { receive } => match self.requests.get(receive) {
                Some(State::Filling { from: peer, status }) if *peer == from => {
                    let status = *status;
                    self.over(receive, status, out);
                    Ok(())
                }
                _ => Err(PacketError::Request(receive)),
            },
            Packet::CancelAck { rtr } => {
                let asked = |request: Handle| matches!(self.requests.get(request), Some(State::Posted { asked: Some(asked) }) if *asked == rtr);
                let theirs = self.posted.iter().filter(|(pattern, _)| pattern.source == Source::Rank(from));
                let pending = theirs.map(|(_, posting)| posting.request).find(|request| asked(*request));
                // None: the receive got its message before the answer, so the cancellation has failed.
                if let Some(request) = pending {
                    self.withdraw(request, out);
                }
                Ok(())
            }
            Packet::Rtr(rtr) => {
                let adaptation = self.adaptation();
                let limit = usize::from(self.options.rtr_limit);
                self.flows.attempt(from, context, |flow| {
                    if flow.sender.announcements() + usize::from(rtr.ahead) >= limit {
                        return Err(Violation::TooManyLines);
                    }
                    flow.sender.rtr(&rtr, adaptation)
                })?;
                Ok(())
            }
            Packet::Ats { send } => {
                let len = self.offered(send, from, context)?.0;
                self.flows.with(from, context).sender.finished(send);
                self.over(send, Status::without_message(len, None), out);
                Ok(())
            }
            Packet::RtsAck { send } => {
                self.offered(send, from, context)?;
                self.flows.with(from, context).sender.answered(send);
                Ok(())
            }
            Packet::Cts { send, receive, len, memory } => {
                let (offered, source) = self.offered(send, from, context)?;
                if len > offered {
                    return Err(PacketError::Length(send));
                }
                self.requests.set_any(send, State::Writing { to: from, context, len: offered, then: None });
                let notice = Some(Packet::Atp { receive });
                let write = Write { to: from, from: source, into: memory, len, request: send, notice };
                out.work(Work::Write { context, write, receive });
                Ok(())
            }
            Packet::Cancel { rtr } => {
                self.flows.with(from, context).sender.cancel(rtr);
                out.work(Work::Send { to: from, context, packet: Packet::CancelAck { rtr }, data: None });
                Ok(())
            }
        }
    }

    /// The message that `send` offers to `peer` in the communicator `here`: its length and memory.
    fn offered(&self, send: Handle, peer: RankId, here: Context) -> Result<(u64, Memory), PacketError> {
        match self.requests.get(send) {
            Some(State::Offered { to, context, len, memory }) if (*to, *context) == (peer, here) => {
                Ok((*len, *memory))
            }
            _ => Err(PacketError::Request(send)),
        }
    }

    /// Counts a matching message, and tells the sender of it if it is time. Returns the flow it came by.
    #[inline(always)]
    pub(super) fn arrived(&mut self, envelope: &Envelope, out: &mut impl Sink) -> &mut Flow<P> {
        let Envelope { source: to, context, .. } = *envelope;
        let credit_every = self.options.credit_every;
        let flow = self.flows.with(to, context);
        flow.processed = flow.processed.wrapping_add(1);
        let seen = flow.processed;
        if flow.receiver.arrived(seen, credit_every) {
            let taken = flow.eager_taken.told();
            out.work(Work::Send { to, context, packet: Packet::Ack { seen, taken }, data: None });
        }
        flow
    }

    // In the copy for messages without 8 bytes beside their own there are none to be carried along.
    #[inline(always)]
    fn eager(&mut self, envelope: Envelope, data: Option<u64>, len: u64, out: &mut impl Sink) {
        let posting = self.posted.take_first(&envelope);
        let (adaptation, window) = (self.adaptation(), self.options.eager_window);
        let flow = self.arrived(&envelope, out);
        let Some(posting) = posting else {
            let number = flow.processed;
            let kept = Kept { from: envelope.source, context: envelope.context, number };
            if is_kept(&envelope, len) {
                out.work(Work::Keep { kept, len });
            }
            self.unexpected.arrive(envelope, Arrival::Kept { kept, data, len });
            return;
        };
        flow.meet_eager(&posting, &envelope, len, adaptation, window, out);
        self.uncount_candidate(envelope.source, envelope.context, &posting);
        if envelope.context.is_collective() {
            return self.eager_of_round(posting.request, posting.memory, posting.len, len, out);
        }
        let status = place(&posting, envelope, data, len, out);
        self.complete(posting.request, status, out);
    }

    /// An eager message has met a receive of a round.
    #[inline(never)]
    fn eager_of_round(&mut self, request: Handle, into: Memory, room: u64, sent: u64, out: &mut impl Sink) {
        let (len, failure) = (sent.min(room), (sent > room).then_some(Failure::Truncated { sent }));
        if sent > 0 {
            out.work(Work::Place { into, len, request });
        }
        self.over(request, Status::without_message(len, failure), out);
    }

    fn rts(
        &mut self,
        envelope: Envelope,
        offer: &Offer,
        hint: Hint,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) {
        let flow = self.arrived(&envelope, out);
        if flow.receiver.hint(envelope.tag, hint) == Unmark::Envelope {
            self.unmark(&envelope);
        }
        match self.posted.take_first(&envelope) {
            Some(posting) => {
                self.uncount_candidate(envelope.source, envelope.context, &posting);
                self.match_offer(&posting, &envelope, offer.send, true, out);
                self.transfer(&posting, envelope, offer, out);
            }
            None if communicators.declines(envelope.context) => {
                let Envelope { source: to, context, .. } = envelope;
                let packet = Packet::Ats { send: offer.send };
                out.work(Work::Send { to, context, packet, data: None });
            }
            None => {
                let Offer { send, data, len, memory } = *offer;
                self.unexpected.arrive(envelope, Arrival::Rts { send, data, len, memory });
            }
        }
    }

    /// An RTS has met its receive, or is claimed. `waited`: the receive was there first, so that an announcement would have
    /// been of use.
    pub(super) fn match_offer(
        &mut self,
        posting: &Posting,
        envelope: &Envelope,
        send: Handle,
        waited: bool,
        out: &mut impl Sink,
    ) {
        let Envelope { source: to, context, tag } = *envelope;
        let adaptation = self.adaptation();
        if self.flows.with(to, context).matched(posting, tag, Fate::Dropped, waited, adaptation) {
            out.work(Work::Send { to, context, packet: Packet::RtsAck { send }, data: None });
        }
    }

    /// Has the data of an RTS moved into its receive.
    pub(super) fn transfer(
        &mut self,
        posting: &Posting,
        envelope: Envelope,
        offer: &Offer,
        out: &mut impl Sink,
    ) {
        let Offer { send, data, len, memory: from } = *offer;
        let Envelope { source: peer, context, .. } = envelope;
        let Posting { request, memory: into, .. } = *posting;
        let status = received(posting.len, envelope, data, len);
        if status.len == 0 {
            out.work(Work::Send { to: peer, context, packet: Packet::Ats { send }, data: None });
            self.over(request, status, out);
        } else if self.options.transfer == Transfer::Read {
            let done = Packet::Ats { send };
            let (notice, then) = match P::release() {
                Release::AtsBehindRead => (Some(done), None),
                Release::AtsAfterRead => (None, Some(send)),
                Release::AtsBesideRead => {
                    out.work(Work::Send { to: peer, context, packet: done, data: None });
                    (None, None)
                }
            };
            self.requests.set_any(request, State::Reading { from: peer, context, then, status });
            let read = Read { of: peer, from, into, len: status.len, request, notice };
            out.work(Work::Read { context, read, send });
        } else {
            self.requests.set_any(request, State::Filling { from: peer, status });
            let packet = Packet::Cts { send, receive: request, len: status.len, memory: into };
            out.work(Work::Send { to: peer, context, packet, data: None });
        }
    }

    /// The receive that a write of the peer has gone, or is going, into.
    fn written_into(&mut self, envelope: &Envelope, rtr: RtrId, len: u64) -> Result<Posting, PacketError> {
        let first = self.posted.first(envelope).map(|posting| posting.request);
        let named = self.posted.get(rtr.receive).filter(|(pattern, _)| pattern.context == envelope.context);
        let Some((_, posting)) = named else { return Err(PacketError::Request(rtr.receive)) };
        // The buffer of a receive that a later one's RTR announced is not known to the peer.
        if posting.rtr.is_none_or(|own| own.receive != rtr.receive) {
            return Err(PacketError::Request(rtr.receive));
        }
        if len > posting.len {
            return Err(PacketError::Length(rtr.receive));
        }
        if P::write_is_first_match() && first != Some(rtr.receive) {
            return Err(PacketError::NotFirstMatch(rtr.receive));
        }
        self.posted.take(rtr.receive).ok_or(PacketError::Request(rtr.receive))
    }

    /// FIN: the data is there.
    fn fin(
        &mut self,
        envelope: Envelope,
        rtr: RtrId,
        data: Option<u64>,
        len: u64,
        out: &mut impl Sink,
    ) -> Result<(), PacketError> {
        let (request, status) = self.match_write(envelope, rtr, data, len, out)?;
        self.complete(request, status, out);
        Ok(())
    }

    /// RTR-ACK: the data is on its way.
    fn rtr_ack(
        &mut self,
        envelope: Envelope,
        rtr: RtrId,
        data: Option<u64>,
        len: u64,
        out: &mut impl Sink,
    ) -> Result<(), PacketError> {
        let (request, status) = self.match_write(envelope, rtr, data, len, out)?;
        self.requests.set(request, State::Filling { from: envelope.source, status });
        Ok(())
    }

    /// A message that its sender writes into an announced receive has met it: the receive, and how it ends.
    fn match_write(
        &mut self,
        envelope: Envelope,
        rtr: RtrId,
        data: Option<u64>,
        len: u64,
        out: &mut impl Sink,
    ) -> Result<(Handle, Status), PacketError> {
        let posting = self.written_into(&envelope, rtr, len)?;
        let adaptation = self.adaptation();
        self.arrived(&envelope, out).matched(&posting, envelope.tag, Fate::Used, true, adaptation);
        Ok((posting.request, received(posting.len, envelope, data, len)))
    }

    /// Pending receives of this envelope count as not announced from now on.
    fn unmark(&mut self, envelope: &Envelope) {
        let Self { flows, posted, candidates, .. } = self;
        let flow = flows.with(envelope.source, envelope.context);
        posted.change(usize::MAX, |pattern, posting| {
            if pattern.is_exact() && pattern.matches(envelope) && posting.rtr.take().is_some() {
                flow.receiver.withdrawn();
                flow.candidates += u32::from(posting.candidate);
                *candidates += u32::from(posting.candidate);
            }
        });
    }
}

/// Has the data of an eager message placed into its receive. Returns how the receive ends.
#[inline(always)]
pub(super) fn place(
    posting: &Posting,
    envelope: Envelope,
    data: Option<u64>,
    len: u64,
    out: &mut impl Sink,
) -> Status {
    let status = received(posting.len, envelope, data, len);
    out.work(Work::Place { into: posting.memory, len: status.len, request: posting.request });
    status
}
