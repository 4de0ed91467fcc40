//! The state of one process, and the application's calls.

use crate::entries::{Arrival, Offer, Posting};
use crate::flows::{Flow, Flows};
use crate::groups::Group;
use crate::requests::Requests;
use crate::state::{State, Then, collective_of};
use crate::{
    Arrived, Call, Event, Failure, Job, Options, ProtocolError, Receive, Send, Sink, Speculation, Status,
    UsageError, Work, Write, Wrong,
};
use alloc::vec::Vec;
use carrousel_matching::{
    Communicator, Context, Envelope, Handle, Pattern, Posted, RankId, Source, Unexpected,
};
use carrousel_rendezvous::{
    Adaptation, Memory, Notice, Outgoing, Packet, Protocol, ReceiveSide, Route, SendSide, Target,
};

/// One process of a job under protocol `P`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rank<P: Protocol> {
    pub(crate) me: RankId,
    pub(crate) ranks: u32,
    pub(crate) options: Options,
    pub(crate) requests: Requests,
    pub(crate) posted: Posted<Posting>,
    pub(crate) unexpected: Unexpected<Arrival>,
    pub(crate) flows: Flows<P>,
    /// Posted receives that could be announced but for the rules and the adaptation: the sum over the flows.
    pub(crate) candidates: u32,
    /// Communicators whose collectives can be called, sorted.
    pub(crate) groups: Vec<Group>,
    /// Peers whose connection is lost, sorted.
    pub(crate) lost: Vec<RankId>,
}

impl<P: Protocol> Rank<P> {
    /// The process `me` of `job` before its first call.
    pub fn new(me: RankId, job: &Job, options: &Options) -> Self {
        Self {
            me,
            ranks: job.ranks,
            options: *options,
            requests: Requests::default(),
            posted: Posted::new(),
            unexpected: Unexpected::new(),
            flows: Flows::new(),
            candidates: 0,
            groups: [Group::world(me, job.ranks)].into(),
            lost: Vec::new(),
        }
    }

    /// What it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The application calls. Returns the request that the call opened, or that it is about.
    ///
    /// # Errors
    /// Usage errors, which change nothing.
    // Drivers know which call they make: inlined there, it needs not be put into memory and read again.
    #[inline(always)]
    pub fn call(&mut self, call: Call, out: &mut impl Sink) -> Result<Handle, UsageError> {
        match call {
            Call::Send(message) => {
                self.check(Source::Rank(message.to))?;
                Ok(self.send(&message, out))
            }
            Call::Receive(receive) => {
                self.check(receive.from)?;
                Ok(self.receive(&receive, out))
            }
            Call::Collective(call) => self.collective(&call, out),
            Call::ReceiveClaimed(receive) => self.receive_claimed(&receive, out),
            Call::Discard(request) => self.discard(request, out),
            Call::Cancel(request) => self.cancel(request, out),
        }
    }

    /// The transport reports.
    ///
    /// # Errors
    /// When a packet is impossible; nothing of it was acted upon.
    pub fn event(&mut self, event: Event, out: &mut impl Sink) -> Result<(), ProtocolError> {
        self.event_inlined(event, out)
    }

    /// As [`Rank::event`], where the driver knows what the event is: of all that follows from one only this is compiled, and
    /// no event is made in memory. For an EAGER that saves 25 instructions.
    ///
    /// # Errors
    /// As [`Rank::event`].
    #[inline(always)]
    pub fn event_inlined(&mut self, event: Event, out: &mut impl Sink) -> Result<(), ProtocolError> {
        match event {
            Event::Packet { from, context, packet } => {
                self.packet(from, context, &packet, out).map_err(|wrong| ProtocolError { peer: from, wrong })
            }
            Event::Written(request) => self.written(request, out),
            Event::Read(request) => self.read(request, out),
            Event::Announce(request) => {
                self.announce(request, out);
                Ok(())
            }
            Event::Lost(peer) => {
                self.peer_lost(peer, out);
                Ok(())
            }
        }
    }

    /// Whether a request is over. False for one that does not exist.
    pub fn is_complete(&self, request: Handle) -> bool {
        matches!(self.status(request), Ok(Some(_)))
    }

    /// How a request ended; `None` if it has not.
    ///
    /// # Errors
    /// When there is no such request.
    #[inline(always)]
    pub fn status(&self, request: Handle) -> Result<Option<&Status>, UsageError> {
        match self.requests.get(request) {
            Some(State::Complete(status)) => Ok(Some(status)),
            Some(_) => Ok(None),
            None => Err(UsageError::NoSuchRequest(request)),
        }
    }

    /// Releases a complete request and tells how it ended; `None` leaves an incomplete one as it is.
    ///
    /// # Errors
    /// When there is no such request.
    pub fn release(&mut self, request: Handle) -> Result<Option<Status>, UsageError> {
        self.requests.release(request)
    }

    /// The first message that a receive with `pattern` would get now (`MPI_Iprobe`).
    pub fn probe(&self, pattern: &Pattern) -> Option<Arrived> {
        self.unexpected.first(pattern).map(|(envelope, arrival)| arrival.arrived(*envelope))
    }

    /// The lost peer because of which a receive from `from` that finds no message would fail: one that might have
    /// been for it (as `MPI_ERR_PROC_FAILED_PENDING` says).
    #[inline]
    pub fn lost_for(&self, from: Source, communicator: Communicator) -> Option<RankId> {
        if self.lost.is_empty() { None } else { self.lost_of(from, communicator) }
    }

    #[cold]
    fn lost_of(&self, from: Source, communicator: Communicator) -> Option<RankId> {
        match from {
            Source::Rank(rank) => self.lost.binary_search(&rank).is_ok().then_some(rank),
            Source::Any => self.lost.iter().copied().find(|peer| self.may_be_member(*peer, communicator)),
        }
    }

    /// Whether a peer may send messages in a communicator. Of one that was never defined the members are not known.
    fn may_be_member(&self, peer: RankId, communicator: Communicator) -> bool {
        self.group(communicator).is_none_or(|group| group.contains(peer))
    }

    /// Whether nothing of any message is left: no receive waits, no message is unexpected, no request
    /// is incomplete.
    pub fn is_quiet(&self) -> bool {
        self.posted.is_empty() && self.unexpected.is_empty() && self.pending().next().is_none()
    }

    /// Forgets in which order messages of different senders arrived. Changes nothing for a rank that will
    /// not receive from any source again, and lets the checker see that two states are one.
    pub fn forget_arrival_order(&mut self) {
        self.unexpected.sort_by_key(|message| message.source);
    }

    /// Makes the messages of `source` the first to have arrived, as if those of other senders had been
    /// slower: for the checker, to which that is another MPI's right.
    pub fn arrived_first(&mut self, source: RankId) {
        self.unexpected.sort_by_key(|message| !message.context.is_collective() && message.source != source);
    }

    /// Messages that arrived and have no receive, oldest first.
    pub fn unexpected(&self) -> impl Iterator<Item = &Envelope> {
        self.unexpected.iter().map(|(envelope, _)| envelope)
    }

    /// Requests of the application that are not complete.
    pub fn pending(&self) -> impl Iterator<Item = Handle> {
        self.requests
            .iter()
            .filter(|(_, state)| !matches!(state, State::Complete(_)))
            .map(|(handle, _)| handle)
    }

    /// How far a request is, for a person; `None` if there is none.
    pub fn progress_of(&self, request: Handle) -> Option<&'static str> {
        Some(match self.requests.get(request)? {
            State::Offered { .. } => "offered to the receiver, which has not taken it",
            State::Writing { .. } => "being written into the receiver's buffer",
            State::Posted { asked: Some(_) } => "being cancelled",
            State::Posted { asked: None } => {
                match self.posted.get(request).and_then(|(_, posting)| posting.line) {
                    Some(_) => "posted, and announced to the sender",
                    None => "posted; no message has matched",
                }
            }
            State::Claimed(_) => "claimed; neither received nor discarded",
            State::Reading { .. } => "matched, and being read from the sender",
            State::Filling { .. } => "matched, and being written by the sender",
            State::Collective => "under way; other members have not come as far",
            State::Complete(_) => "complete",
        })
    }

    /// Whether a message would be written into an announced receive if [`Sink::agree_to_write`] said yes.
    pub fn could_write(&self, message: &Send) -> bool {
        self.is_rendezvous(message)
            && self
                .flows
                .get(message.to, message.communicator.messages())
                .is_some_and(|flow| flow.sender.could_write(message.tag, message.len))
    }

    /// Whether a message goes by rendezvous: its size or its mode asks for it, or there is no room at the receiver.
    #[inline]
    fn is_rendezvous(&self, message: &Send) -> bool {
        let Send { to, communicator, len, .. } = *message;
        let admits = |flow: &Flow<P>| flow.admits(len, self.options.eager_window);
        self.asks_for_rendezvous(message) || !self.flows.get(to, communicator.messages()).is_none_or(admits)
    }

    /// Whether a message goes by rendezvous wherever it goes.
    #[inline]
    fn asks_for_rendezvous(&self, message: &Send) -> bool {
        message.synchronous || message.len > self.options.eager_threshold
    }

    /// Whether a message would go with its data behind it, if it were sent now.
    #[inline]
    pub fn sends_eagerly(&self, message: &Send) -> bool {
        !self.is_rendezvous(message)
    }

    /// Initial progress (speculative-rendezvous 4.2.1): whether the driver has to feed this rank all
    /// that has arrived at it before it makes this call. A send that may be a rendezvous finds the RTR of an early
    /// receiver then, a receive the RTS of an early sender, and the data moves while both compute. Without it nothing
    /// goes wrong, but neither early side overlaps anything.
    #[inline(always)]
    pub fn needs_initial_progress(&self, call: &Call) -> bool {
        match call {
            Call::Send(message) => P::SEND_PROGRESSES_FIRST && self.is_rendezvous(message),
            Call::Receive(receive) => {
                P::RECEIVE_PROGRESSES_FIRST && receive.len > self.options.eager_threshold
            }
            Call::Collective(call) => call.len > self.options.eager_threshold,
            // What was claimed has arrived.
            Call::ReceiveClaimed(_) | Call::Discard(_) | Call::Cancel(_) => false,
        }
    }

    pub(crate) fn adaptation(&self) -> Adaptation {
        if self.options.speculation == Speculation::Adaptive {
            Adaptation::Counting
        } else {
            Adaptation::Fixed
        }
    }

    /// Whether there is such a rank. Apart from what is done with them: that returns a name only, which
    /// needs no memory, see the comment at [`Rank::call`].
    #[inline(always)]
    fn check(&self, peer: Source) -> Result<(), UsageError> {
        match peer {
            Source::Rank(rank) if rank.0 >= self.ranks => {
                Err(UsageError::NoSuchRank { rank, ranks: self.ranks })
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn send(&mut self, message: &Send, out: &mut impl Sink) -> Handle {
        // In the copy for most messages there are no 8 bytes to be carried along.
        if message.data.is_some() {
            self.send_beside(message, out)
        } else {
            self.send_with(message, None, out)
        }
    }

    #[cold]
    #[inline(never)]
    fn send_beside(&mut self, message: &Send, out: &mut impl Sink) -> Handle {
        self.send_with(message, message.data, out)
    }

    #[inline(always)]
    fn send_with(&mut self, message: &Send, data: Option<u64>, out: &mut impl Sink) -> Handle {
        let Send { to, tag, communicator, len, memory, .. } = *message;
        let context = communicator.messages();
        let rendezvous = self.asks_for_rendezvous(message);
        if self.lost_for(Source::Rank(to), communicator).is_some() {
            let request = self.requests.open(State::Offered { to, context, len, memory });
            self.fail(request, Failure::PeerLost(to), out);
            request
        } else {
            let outgoing = Outgoing { tag, len, rendezvous, send: self.requests.next() };
            self.send_to_peer(to, context, &outgoing, memory, data, out)
        }
    }

    /// Sends what matching calls a message: its place among the flow's messages is its place in time.
    #[inline(always)]
    fn send_to_peer(
        &mut self,
        to: RankId,
        context: Context,
        message: &Outgoing,
        memory: Memory,
        data: Option<u64>,
        out: &mut impl Sink,
    ) -> Handle {
        let Outgoing { tag, len, .. } = *message;
        let adaptation = self.adaptation();
        let flow = self.flows.with(to, context);
        let rendezvous = message.rendezvous || !flow.admits(len, self.options.eager_window);
        let message = &Outgoing { rendezvous, ..*message };
        match flow.sender.send(message, adaptation, || out.agree_to_write()) {
            Route::Eager => {
                flow.eager_sent.sent(len);
                let packet = Packet::Eager { tag, data, len };
                out.work(Work::Send { to, context, packet, data: Some(memory) });
                let status = Status::without_message(len, None);
                let send = self.requests.open(State::Complete(status));
                out.work(Work::Complete { request: send, status });
                send
            }
            Route::Rts(hint) => {
                let send = self.requests.open(State::Offered { to, context, len, memory });
                let packet = Packet::Rts { tag, data, len, send, memory, hint };
                out.work(Work::Send { to, context, packet, data: None });
                send
            }
            Route::Write(target) => self.write((to, context), message, memory, data, target, out),
        }
    }

    /// Apart from eager messages, which need none of its registers and stack.
    #[inline(never)]
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
        let line = target.line;
        let (notice, then) = match P::NOTICE {
            Notice::FinBehindWrite => (Some(Packet::Fin { line, tag, data, len }), None),
            Notice::AckThenFilled => {
                let packet = Packet::RtrAck { line, tag, data, len };
                out.work(Work::Send { to, context, packet, data: None });
                (None, Some(Then::Filled(line.receive)))
            }
            Notice::FinAfterWrite => (None, Some(Then::Fin { line, tag, data })),
        };
        let request = self.requests.open(State::Writing { to, context, len, then });
        let write = Write { to, from, into: target.memory, len, request, notice };
        out.work(Work::Write { context, write, receive: line.receive });
        request
    }

    #[inline]
    fn receive(&mut self, receive: &Receive, out: &mut impl Sink) -> Handle {
        let Receive { from, tag, communicator, len, memory } = *receive;
        let context = communicator.messages();
        let pattern = Pattern { source: from, tag, context };
        let request = self.requests.open(State::Posted { asked: None });
        let named = matches!(from, Source::Rank(_));
        let candidate =
            named && len > self.options.eager_threshold && self.options.speculation != Speculation::Off;
        match (self.unexpected.take_first(pattern), self.lost_for(from, communicator)) {
            (Some((envelope, arrival)), _) => {
                self.receive_arrived((request, len, memory, candidate), envelope, &arrival, out);
            }
            (None, Some(lost)) => self.fail(request, Failure::PeerLost(lost), out),
            (None, None) => {
                if let (Source::Rank(from), true) = (from, candidate) {
                    self.count_candidate(from, context);
                }
                self.posted.post(pattern, Posting { request, len, memory, candidate, line: None });
            }
        }
        request
    }

    /// A receive, of the application or of a round, finds a message that arrived before.
    #[inline(never)]
    pub(crate) fn receive_arrived(
        &mut self,
        (request, len, into, candidate): (Handle, u64, Memory, bool),
        envelope: Envelope,
        arrival: &Arrival,
        out: &mut impl Sink,
    ) {
        let posting = &Posting { request, len, memory: into, candidate, line: None };
        match *arrival {
            Arrival::Kept { kept, data, len } => {
                let status = received(posting, envelope, data, len);
                if is_kept(&envelope, len) {
                    out.work(Work::Take { kept, into, len: status.len, request });
                }
                let flow = self.flows.with(envelope.source, envelope.context);
                flow.take_eager(&envelope, len, self.options.eager_window, out);
                self.over(request, status, out);
            }
            Arrival::Rts { send, data, len, memory } => {
                self.match_offer(posting, &envelope, send, false, out);
                self.transfer(posting, envelope, &Offer { send, data, len, memory }, out);
            }
        }
    }

    fn cancel(&mut self, request: Handle, out: &mut impl Sink) -> Result<Handle, UsageError> {
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
        match (posting.line, pattern.source) {
            (Some(line), Source::Rank(to)) if P::CANCEL_ASKS => {
                let packet = Packet::Cancel { line };
                let context = pattern.context;
                self.requests.set(request, State::Posted { asked: Some(line) });
                out.work(Work::Send { to, context, packet, data: None });
            }
            _ => self.withdraw(request, out),
        }
        Ok(request)
    }

    /// Takes a receive that has no message out of the queue: its cancellation has succeeded.
    pub(crate) fn withdraw(&mut self, request: Handle, out: &mut impl Sink) {
        let pattern = self.posted.get(request).map(|(pattern, _)| pattern);
        if let Some(posting) = self.posted.take(request)
            && let Some(Pattern { source: Source::Rank(from), context, .. }) = pattern
        {
            self.uncount_candidate(from, context, &posting);
            if posting.line.is_some() {
                self.flows.with(from, context).receiver.withdrawn();
            }
        }
        self.fail(request, Failure::Cancelled, out);
    }

    pub(crate) fn complete(&mut self, request: Handle, status: Status, out: &mut impl Sink) {
        self.requests.set(request, State::Complete(status));
        out.work(Work::Complete { request, status });
    }

    pub(crate) fn fail(&mut self, request: Handle, failure: Failure, out: &mut impl Sink) {
        self.complete(request, Status::without_message(0, Some(failure)), out);
    }

    fn written(&mut self, request: Handle, out: &mut impl Sink) -> Result<(), ProtocolError> {
        let Some(State::Writing { to, context, len, then }) = self.requests.get(request) else {
            return self.late_completion(request);
        };
        let (to, context, len, then) = (*to, *context, *len, *then);
        if let Some(then) = then {
            let packet = match then {
                Then::Filled(receive) => Packet::Filled { receive },
                Then::Fin { line, tag, data } => Packet::Fin { line, tag, data, len },
            };
            out.work(Work::Send { to, context, packet, data: None });
        }
        self.flows.with(to, context).sender.finished(request);
        self.over(request, Status::without_message(len, None), out);
        Ok(())
    }

    fn read(&mut self, request: Handle, out: &mut impl Sink) -> Result<(), ProtocolError> {
        let Some(State::Reading { from, context, then, status }) = self.requests.get(request) else {
            return self.late_completion(request);
        };
        let (to, context, then, status) = (*from, *context, *then, *status);
        if let Some(send) = then {
            out.work(Work::Send { to, context, packet: Packet::Done { send }, data: None });
        }
        self.over(request, status, out);
        Ok(())
    }

    /// A completion for a request that no longer waits: right only after its peer was lost.
    fn late_completion(&self, request: Handle) -> Result<(), ProtocolError> {
        if self.lost.is_empty() {
            Err(ProtocolError { peer: self.me, wrong: Wrong::Request(request) })
        } else {
            Ok(())
        }
    }

    fn peer_lost(&mut self, peer: RankId, out: &mut impl Sink) {
        if let Err(at) = self.lost.binary_search(&peer) {
            self.lost.insert(at, peer);
        }
        // The data behind an RTS is out of reach now; kept data is not.
        self.unexpected
            .retain(|envelope, arrival| envelope.source != peer || !matches!(arrival, Arrival::Rts { .. }));
        self.give_up_collectives(peer, out);
        // A receive from any source might have waited for this peer only (as MPI_ERR_PROC_FAILED_PENDING says).
        let concerned: Vec<Handle> = self
            .posted
            .iter()
            .filter(|(pattern, _)| match pattern.source {
                Source::Rank(source) => source == peer,
                Source::Any => self.may_be_member(peer, pattern.context.communicator()),
            })
            .map(|(_, posting)| posting.request)
            .collect();
        let mut failed = concerned.clone();
        self.posted.retain(|_, posting| !concerned.contains(&posting.request));
        self.candidates -= self.flows.forget_candidates(peer);
        failed.extend(
            self.requests
                .iter()
                .filter(|(_, state)| match state {
                    State::Offered { to, .. } | State::Writing { to, .. } => *to == peer,
                    State::Reading { from, .. } | State::Filling { from, .. } => *from == peer,
                    State::Posted { .. } | State::Claimed(_) | State::Collective | State::Complete(_) => {
                        false
                    }
                })
                .map(|(request, _)| request),
        );
        for request in failed {
            self.fail(request, Failure::PeerLost(peer), out);
        }
    }
}

/// Whether there is data of a message that has no receive yet. Of an empty one of the library there is nothing to
/// keep, or to take.
pub(crate) fn is_kept(envelope: &Envelope, len: u64) -> bool {
    len > 0 || !envelope.context.is_collective()
}

/// The status of a receive that gets a message of `len` bytes (MPI-4.1, 3.2.4: longer than the buffer is an error).
#[inline]
pub(crate) fn received(posting: &Posting, envelope: Envelope, data: Option<u64>, len: u64) -> Status {
    let failure = (len > posting.len).then_some(Failure::Truncated { sent: len });
    Status { message: Some((envelope.source, envelope.tag)), data, len: len.min(posting.len), failure }
}
