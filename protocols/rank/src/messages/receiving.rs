//! How receives are posted, find messages that have arrived before, and are cancelled.

use super::Messages;
use super::OfRound;
use super::entries::{Arrival, Offer, Posting};
use super::state::{End, State, collective_of, inner};
use crate::communicators::Communicators;
use crate::{Failure, Kept, ProtocolError, Receive, Sink, Speculation, Status, UsageError, Work};
use carrousel_matching::{Envelope, Handle, Pattern, Source, TagSelector};
use carrousel_rendezvous::{Memory, Packet, Protocol, ReceiveSide};

impl<P: Protocol> Messages<P> {
    #[inline]
    pub(crate) fn receive(
        &mut self,
        receive: &Receive,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) -> Handle {
        let Receive { from, communicator, len, memory, .. } = *receive;
        let pattern = receive.pattern();
        let request = self.requests.open(State::Posted { asked: None });
        let named = matches!(from, Source::Rank(_));
        let candidate =
            named && len > self.options.eager_threshold && self.options.speculation != Speculation::Off;
        match (self.unexpected.take_first(pattern), communicators.lost_for(from, communicator)) {
            (Some((envelope, arrival)), _) => {
                self.receive_arrived((request, len, memory, candidate), envelope, &arrival, out);
            }
            (None, Some(lost)) => self.fail(request, Failure::PeerLost(lost), out),
            (None, None) => {
                if let (Source::Rank(from), true) = (from, candidate) {
                    self.count_candidate(from, pattern.context);
                }
                self.posted.post(pattern, Posting { request, len, memory, candidate, rtr: None });
            }
        }
        request
    }

    /// Posts a receive of a round, or has it take its message.
    pub(crate) fn receive_of_round(&mut self, message: OfRound, out: &mut impl Sink) {
        let OfRound { own, peer, context, tag, len, memory } = message;
        let pattern = Pattern { source: Source::Rank(peer), tag: TagSelector::exact(tag), context };
        let request = inner(own, End::Receive);
        self.requests.open_of_round(request, State::Posted { asked: None });
        match self.unexpected.take_first(pattern) {
            Some((envelope, arrival)) => {
                self.receive_arrived((request, len, memory, false), envelope, &arrival, out);
            }
            None => {
                self.posted.post(pattern, Posting { request, len, memory, candidate: false, rtr: None });
            }
        }
    }

    /// A receive, of the application or of a round, finds a message that arrived before.
    #[inline(never)]
    pub(super) fn receive_arrived(
        &mut self,
        (request, len, into, candidate): (Handle, u64, Memory, bool),
        envelope: Envelope,
        arrival: &Arrival,
        out: &mut impl Sink,
    ) {
        let posting = &Posting { request, len, memory: into, candidate, rtr: None };
        match *arrival {
            Arrival::Kept { kept, data, len: sent } => {
                let status = self.take_data(request, (len, into), envelope, (kept, data, sent), out);
                self.over(request, status, out);
            }
            Arrival::Rts { send, data, len, memory } => {
                self.match_offer(posting, &envelope, send, false, out);
                self.transfer(posting, envelope, &Offer { send, data, len, memory }, out);
            }
        }
    }

    /// A receive with room for so many bytes gets the data of a message that was kept. Returns how the receive ends.
    #[inline]
    pub(super) fn take_data(
        &mut self,
        request: Handle,
        (room, into): (u64, Memory),
        envelope: Envelope,
        (kept, data, len): (Kept, Option<u64>, u64),
        out: &mut impl Sink,
    ) -> Status {
        let status = received(room, envelope, data, len);
        if is_kept(&envelope, len) {
            out.work(Work::Take { kept, into, len: status.len, request });
        }
        let flow = self.flows.with(envelope.source, envelope.context);
        flow.take_eager(&envelope, len, self.options.eager_window, out);
        status
    }

    pub(crate) fn cancel(&mut self, request: Handle, out: &mut impl Sink) -> Result<Handle, UsageError> {
        if collective_of(request).is_some() {
            return Err(UsageError::NoSuchRequest(request));
        }
        match self.requests.get(request) {
            None => return Err(UsageError::NoSuchRequest(request)),
            Some(State::Posted { asked: None }) => {}
            // It has its message already, or was asked for before: the request completes in either way.
            Some(
                State::Posted { .. } | State::Reading { .. } | State::Filling { .. } | State::Complete(_),
            ) => return Ok(request),
            Some(_) => return Err(UsageError::NotAReceive(request)),
        }
        let Some((pattern, posting)) = self.posted.get(request) else { return Ok(request) };
        match (posting.rtr, pattern.source) {
            (Some(rtr), Source::Rank(to)) if P::cancel_asks() => {
                let packet = Packet::Cancel { rtr };
                let context = pattern.context;
                self.requests.set(request, State::Posted { asked: Some(rtr) });
                out.work(Work::Send { to, context, packet, data: None });
            }
            _ => self.withdraw(request, out),
        }
        Ok(request)
    }

    /// Takes a receive that has no message out of the queue: its cancellation has succeeded.
    pub(super) fn withdraw(&mut self, request: Handle, out: &mut impl Sink) {
        let pattern = self.posted.get(request).map(|(pattern, _)| pattern);
        if let Some(posting) = self.posted.take(request)
            && let Some(Pattern { source: Source::Rank(from), context, .. }) = pattern
        {
            self.uncount_candidate(from, context, &posting);
            if posting.rtr.is_some() {
                self.flows.with(from, context).receiver.withdrawn();
            }
        }
        self.fail(request, Failure::Cancelled, out);
    }

    /// A read is complete.
    pub(crate) fn read(
        &mut self,
        request: Handle,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        let Some(State::Reading { from, context, then, status }) = self.requests.get(request) else {
            return Self::late_completion(request, communicators);
        };
        let (to, context, then, status) = (*from, *context, *then, *status);
        if let Some(send) = then {
            out.work(Work::Send { to, context, packet: Packet::Ats { send }, data: None });
        }
        self.over(request, status, out);
        Ok(())
    }
}

/// Whether there is data of a message that has no receive yet. Of an empty one of the library there is nothing to
/// keep, or to take.
pub(super) fn is_kept(envelope: &Envelope, len: u64) -> bool {
    len > 0 || !envelope.context.is_collective()
}

/// The status of a receive with room for so many bytes that gets a message of `len` bytes (MPI-4.1, 3.2.4: longer than the buffer is an error).
#[inline]
pub(super) fn received(room: u64, envelope: Envelope, data: Option<u64>, len: u64) -> Status {
    let failure = (len > room).then_some(Failure::Truncated { sent: len });
    Status { message: Some((envelope.source, envelope.tag)), data, len: len.min(room), failure }
}
