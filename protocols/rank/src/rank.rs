//! One process: its messages, collectives and communicators, and which of them an input concerns.

use crate::collectives::{Collectives, schedule};
use crate::communicators::{Communicators, Members};
use crate::messages::Messages;
use crate::window_work::WindowIndex;
use crate::windows::{Called, WindowError, Windows};
use crate::{
    Arrived, Call, Collective, Event, Job, Options, ProtocolError, Receive, Schedule, Send, Sink, Status,
    UsageError,
};
use carrousel_epoch::{AllEpochRules, FlushPoint, Window, WindowSetup};
use carrousel_matching::{Communicator, Envelope, Handle, Pattern, RankId, Source, TagSelector};
use carrousel_rendezvous::Protocol;

/// One process of a job under protocol `P`.
///
/// Each part keeps what it knows to itself, with invariants of its own, which are asserted after each input in debug
/// builds: `Messages`; `Collectives`, whose rounds are messages; and `Communicators`, which know nothing of either.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rank<P: Protocol> {
    pub(crate) messages: Messages<P>,
    collectives: Collectives,
    communicators: Communicators,
    windows: Windows,
}

impl<P: Protocol> Rank<P> {
    /// The process `me` of `job` before its first call.
    pub fn new(me: RankId, job: &Job, options: &Options) -> Self {
        let (messages, collectives) = (Messages::new(options), Collectives::default());
        let (communicators, windows) = (Communicators::new(me, job.ranks), Windows::default());
        Self { messages, collectives, communicators, windows }
    }

    /// How many ranks its job has.
    pub fn ranks(&self) -> u32 {
        self.communicators.ranks()
    }

    /// What it was made with.
    pub fn options(&self) -> &Options {
        self.messages.options()
    }

    /// The application calls. Returns the request that the call opened, or that it is about.
    ///
    /// # Errors
    /// Usage errors, which change nothing.
    // Drivers know which call they make: inlined there, it needs not be put into memory and read again.
    #[inline(always)]
    pub fn call(&mut self, call: Call, out: &mut impl Sink) -> Result<Handle, UsageError> {
        let Self { messages, collectives, communicators, .. } = self;
        let request = match call {
            Call::Send(message) => {
                communicators.check(Source::Rank(message.to))?;
                Ok(messages.send(&message, communicators, out))
            }
            Call::Receive(receive) => {
                communicators.check(receive.from)?;
                Ok(messages.receive(&receive, communicators, out))
            }
            Call::Collective(call) => collectives.enter(&call, messages, communicators, out),
            Call::ReceiveClaimed(receive) => messages.receive_claimed(&receive, communicators, out),
            Call::Discard(request) => messages.discard(request, communicators, out),
            Call::Cancel(request) => messages.cancel(request, out),
        };
        self.check_invariants();
        request
    }

    /// Whether there is such a peer: sends to others, and receives from others, are refused.
    ///
    /// # Errors
    /// As the call's.
    #[inline(always)]
    pub fn check_peer(&self, peer: Source) -> Result<(), UsageError> {
        self.communicators.check(peer)
    }

    /// Sends a message with its data behind it, if that is possible now: then the send is complete, and no request is left
    /// of it. False if it is not, and nothing has been done. As [`Call::Send`] and the release of its request, to the
    /// last bit, so names depend on the calls of the application only, whichever way it sends.
    ///
    /// # Errors
    /// Usage errors, which change nothing.
    #[inline(always)]
    pub fn send_eagerly(&mut self, message: &Send, out: &mut impl Sink) -> Result<bool, UsageError> {
        self.communicators.check(Source::Rank(message.to))?;
        Ok(self.messages.send_eagerly(message, &self.communicators, out))
    }

    /// Receives a message that has arrived with its data, if there is one: then the receive is complete, and no request is left
    /// of it. `None` if there is none, and nothing has been done. As [`Call::Receive`] and the release of its request, to the
    /// last bit, so names depend on the calls of the application only, whichever way it receives.
    ///
    /// # Errors
    /// Usage errors, which change nothing.
    #[inline(always)]
    pub fn receive_kept(
        &mut self,
        receive: &Receive,
        out: &mut impl Sink,
    ) -> Result<Option<Status>, UsageError> {
        self.communicators.check(receive.from)?;
        let status = self.messages.receive_kept(receive, out);
        self.check_invariants();
        Ok(status)
    }

    /// Receives an eager message of `len` bytes, without 8 bytes beside its own, that has come just now: it is what a receive
    /// like this would get, if it had been posted before. Then the receive is complete, and no request is left of it. `None` if
    /// it cannot be told so simply, and nothing has been done: the message is an [`Event`] then. As [`Call::Receive`], the
    /// event and the release of the request, to the last bit.
    #[inline(always)]
    pub fn receive_next(
        &mut self,
        receive: &Receive,
        envelope: Envelope,
        len: u64,
        out: &mut impl Sink,
    ) -> Option<Status> {
        if !self.communicators.has(envelope.source) {
            return None;
        }
        let status = self.messages.receive_next(receive, envelope, len, &self.communicators, out);
        self.check_invariants();
        status
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
            Event::Packet { from, context, packet } => self
                .messages
                .packet(from, context, &packet, &self.communicators, out)
                .map_err(|wrong| ProtocolError { peer: from, wrong })?,
            Event::Written(request) => self.messages.written(request, &self.communicators, out)?,
            Event::Read(request) => self.messages.read(request, &self.communicators, out)?,
            // No work of a rank is an atomic, so this completes none of its requests.
            Event::Fetched(..) => {}
            Event::Announce(request) => self.messages.announce(request, out),
            Event::Lost(peer) => self.lose(peer, out),
        }
        if self.messages.has_ended() {
            self.collectives.go_on_with_ended(&mut self.messages, &self.communicators, out);
        }
        self.check_invariants();
        Ok(())
    }

    #[cold]
    fn lose(&mut self, peer: RankId, out: &mut impl Sink) {
        let Self { messages, collectives, communicators, windows } = self;
        communicators.lose(peer);
        messages.drop_offers_of(peer);
        collectives.give_up_with(peer, messages, communicators, out);
        messages.fail_with(peer, communicators, out);
        windows.lose(peer, messages, out);
    }

    /// Makes a window, whose memory all ranks of the job can access. Each rank makes the same ones in the same order.
    pub fn create_window(&mut self, setup: impl Into<WindowSetup>) -> WindowIndex {
        self.windows.create(self.communicators.me(), self.communicators.ranks(), setup.into())
    }

    /// The application calls on a window. None of these calls waits.
    ///
    /// # Errors
    /// Usage errors, which change nothing.
    pub fn call_window(
        &mut self,
        window: WindowIndex,
        call: carrousel_epoch::Call<'_>,
        out: &mut impl Sink,
    ) -> Result<Called, UsageError> {
        let called = self.windows.call(window, call, &mut self.messages, out);
        self.check_invariants();
        called
    }

    /// The transport reports what concerns a window: a packet, a grant, the completion of an operation.
    ///
    /// # Errors
    /// When it cannot be; nothing of it was acted upon.
    pub fn event_window(
        &mut self,
        window: WindowIndex,
        event: carrousel_epoch::Event,
        out: &mut impl Sink,
    ) -> Result<(), WindowError> {
        let done = self.windows.event(window, event, &mut self.messages, out);
        self.check_invariants();
        done
    }

    /// Whether a flush that has no request is over. A window that does not exist has nothing to flush.
    ///
    /// # Errors
    /// When an operation that it covers has failed.
    pub fn is_flushed(
        &self,
        window: WindowIndex,
        flush: FlushPoint,
    ) -> Result<bool, carrousel_epoch::Failure> {
        self.windows.get(window).map_or(Ok(true), |window| window.is_flushed(flush))
    }

    /// A window, to look at.
    pub fn window(&self, window: WindowIndex) -> Option<&Window<AllEpochRules>> {
        self.windows.get(window)
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
        self.messages.status(request)
    }

    /// Releases a complete request and tells how it ended; `None` leaves an incomplete one as it is.
    ///
    /// # Errors
    /// When there is no such request.
    #[inline(always)]
    pub fn release(&mut self, request: Handle) -> Result<Option<Status>, UsageError> {
        self.messages.release(request)
    }

    /// Releases a request that is complete and for whose end `read` has a value, which is returned: a look at how it
    /// ended and [`Rank::release`], in one. `None` leaves the request as it is.
    #[inline(always)]
    pub fn release_if<T>(&mut self, request: Handle, read: impl FnOnce(&Status) -> Option<T>) -> Option<T> {
        self.messages.release_if(request, read)
    }

    /// The first message that a receive with `pattern` would get now (`MPI_Iprobe`).
    pub fn probe(&self, pattern: &Pattern) -> Option<Arrived> {
        self.messages.probe(pattern)
    }

    /// Claims the first message that a receive like this would get now, if there is one: the request that receives or
    /// discards it, and what is known of it.
    pub fn claim(
        &mut self,
        from: Source,
        tag: TagSelector,
        communicator: Communicator,
        out: &mut impl Sink,
    ) -> Option<(Handle, Arrived)> {
        let claimed =
            self.messages.claim(Pattern { source: from, tag, context: communicator.messages() }, out);
        self.check_invariants();
        claimed
    }

    /// The lost peer because of which a receive from `from` that finds no message would fail: one that might have
    /// been for it (as `MPI_ERR_PROC_FAILED_PENDING` says).
    #[inline]
    pub fn lost_for(&self, from: Source, communicator: Communicator) -> Option<RankId> {
        self.communicators.lost_for(from, communicator)
    }

    /// Whether a message has arrived that has no receive.
    #[inline]
    pub fn has_unexpected(&self) -> bool {
        self.messages.has_unexpected()
    }

    /// Whether a receive waits for its message.
    #[inline]
    pub fn has_posted(&self) -> bool {
        self.messages.has_posted()
    }

    /// Messages that arrived and have no receive, oldest first.
    pub fn unexpected(&self) -> impl Iterator<Item = &Envelope> {
        self.messages.unexpected()
    }

    /// Requests of the application that are not complete.
    pub fn pending(&self) -> impl Iterator<Item = Handle> {
        self.messages.pending()
    }

    /// How far a request is, for a person; `None` if there is none.
    pub fn progress_of(&self, request: Handle) -> Option<&'static str> {
        self.messages.progress_of(request)
    }

    /// Whether a message would go with its data behind it, if it were sent now.
    #[inline]
    pub fn sends_eagerly(&self, message: &Send) -> bool {
        !self.messages.is_rendezvous(message)
    }

    /// Initial progress (speculative-rendezvous 4.2.1): whether the driver has to feed this rank all
    /// that has arrived at it before it makes this call. A send that may be a rendezvous finds the RTR of an early
    /// receiver then, a receive the RTS of an early sender, and the data moves while both compute. Without it nothing
    /// goes wrong, but neither early side overlaps anything.
    #[inline(always)]
    pub fn needs_initial_progress(&self, call: &Call) -> bool {
        match call {
            Call::Send(message) => P::send_progresses_first() && self.messages.is_rendezvous(message),
            Call::Receive(receive) => {
                P::receive_progresses_first() && receive.len > self.options().eager_threshold
            }
            Call::Collective(call) => call.len > self.options().eager_threshold,
            // What was claimed has arrived.
            Call::ReceiveClaimed(_) | Call::Discard(_) | Call::Cancel(_) => false,
        }
    }

    /// The first receive that may be announced now. Drivers that speculate ask after every call and event,
    /// and answer with [`Event::Announce`] until there is none; not announcing, or later, is safe.
    #[inline]
    pub fn may_announce(&self) -> Option<Handle> {
        self.messages.may_announce()
    }

    /// What a collective would do here: above all, how much scratch it needs.
    ///
    /// # Errors
    /// The usage errors of the call.
    pub fn schedule(&self, call: &Collective) -> Result<Schedule, UsageError> {
        schedule(call, &self.communicators)
    }

    /// Makes a communicator known, so that its collectives can be called. Each member defines it with the same `members`.
    /// Messages of its collectives may have come before: they have waited.
    ///
    /// [`Communicator::WORLD`] is known from the beginning. Nobody has to define a communicator that has no
    /// collectives. If a member is lost already, what others have offered in its collectives is not going to be taken,
    /// and they are told.
    ///
    /// # Errors
    /// When the communicator is defined already, a member does not exist, or this rank is not a member.
    pub fn define(
        &mut self,
        communicator: Communicator,
        members: Members,
        out: &mut impl Sink,
    ) -> Result<(), UsageError> {
        self.communicators.define(communicator, members)?;
        if self.communicators.lost_member(communicator).is_some() {
            self.messages.decline_offers(communicator.collectives(), out);
        }
        Ok(())
    }

    /// Forgets a communicator that no member uses any more, so that its number can be defined again, for other members:
    /// all of them [may](Rank::may_forget), and have agreed on it. A member that was told so sooner may have sent messages
    /// under that number again, which wait for the next definition.
    ///
    /// What has been counted of its messages stays: to the peers it is the same flow.
    ///
    /// # Errors
    /// When it is not defined, or is [`Communicator::WORLD`], or a request in it is not over.
    pub fn forget(&mut self, communicator: Communicator) -> Result<(), UsageError> {
        self.check_unused(communicator)?;
        self.communicators.forget(communicator);
        Ok(())
    }

    /// Whether a communicator can be forgotten, as far as this rank knows; messages of it may still be on their way to it.
    /// Not when a message of it waits, which nobody may find under that number later; nor while a peer writes into any
    /// receive; nor once a peer was lost, whose messages of a collective that was given up may still come.
    pub fn may_forget(&self, communicator: Communicator) -> bool {
        !self.communicators.has_lost_any()
            && self.check_unused(communicator).is_ok()
            && !self.messages.may_find(communicator)
    }

    fn check_unused(&self, communicator: Communicator) -> Result<(), UsageError> {
        self.communicators.check_forgettable(communicator)?;
        let is_used =
            self.messages.use_communicator(communicator) || self.collectives.use_communicator(communicator);
        if is_used { Err(UsageError::InUse(communicator)) } else { Ok(()) }
    }

    /// Asserts the invariants of the parts, in debug builds.
    #[inline(always)]
    fn check_invariants(&self) {
        if cfg!(debug_assertions) {
            self.messages.check_invariants();
            self.collectives.check_invariants();
            self.windows.check_invariants(&self.messages);
        }
    }
}
