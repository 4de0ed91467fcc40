//! Drives the rank: feeds it calls and events, and has the work carried out that follows.

use super::recorder::EndpointRecorder;
use super::registry::Registry;
use super::send_sites::SendSites;
use super::transports::Transports;
use super::work_executor::{Data, Local, Resources, WorkExecutor};
use crate::Error;
use crate::site::{CallSite, Located};
use carrousel_rank::{
    Call, Communicator, Event, Handle, Members, Mirror, Rank, Receive, Send, Status, UsageError,
};
use carrousel_transport::Payload;
use std::collections::HashMap;

/// The rank and its resources, apart from the transports.
pub(super) struct Driver {
    pub(super) rank: Rank<Mirror>,
    pub(super) resources: Resources,
    /// Records the inputs of the rank, if the job is traced.
    pub(super) recorder: Option<Box<EndpointRecorder>>,
    /// For the recorder: the peers of which an arrival was waiting when the current call was made.
    pub(super) ignored: Vec<u32>,
    /// The call sites of sends, if `check_usage` is on.
    send_sites: Option<SendSites>,
    /// The call sites of requests, by position, where they are not the lines that call the library.
    call_sites: HashMap<u32, CallSite>,
    /// Whether calls or their call sites are recorded.
    observed: bool,
}

impl Driver {
    pub(super) fn new(rank: Rank<Mirror>, resources: Resources) -> Self {
        let (recorder, send_sites, call_sites) = (None, None, HashMap::new());
        Self { rank, resources, recorder, ignored: Vec::new(), send_sites, call_sites, observed: false }
    }

    /// From now on call sites are recorded: calls may be made on behalf of another line than the one that calls.
    pub(super) fn observe(&mut self) {
        self.observed = true;
    }

    /// Whether the inputs of the rank are recorded: then each call needs a request.
    #[inline]
    pub(super) fn is_recorded(&self) -> bool {
        self.recorder.is_some()
    }

    /// The call site of a request, if it is not the line that called the library.
    pub(super) fn call_site_of(&self, request: Handle) -> Option<CallSite> {
        self.call_sites.get(&request.index).copied()
    }

    /// From now on the inputs of the rank are recorded.
    pub(super) fn record(&mut self, recorder: EndpointRecorder) {
        self.recorder = Some(Box::new(recorder));
        self.observed = true;
    }

    /// Whether the call sites of sends are kept from now on.
    pub(super) fn log_sends(&mut self, logs: bool) {
        self.send_sites = logs.then(SendSites::default);
        self.observed |= logs;
    }

    /// The call sites of sends, if they are kept.
    pub(super) fn send_sites(&self) -> Option<&SendSites> {
        self.send_sites.as_ref()
    }

    /// A call that is recorded. Apart from [`Driver::call`], whose call site need not be kept in a register until the call
    /// returns.
    #[cold]
    #[inline(never)]
    fn call_observed(
        &mut self,
        call: Call,
        lent: &[u8],
        transports: &mut Transports<'_>,
        at: impl Located,
    ) -> Result<Handle, UsageError> {
        let site = at.site();
        let result = self.make(call, lent, transports);
        if let Ok(request) = result {
            if let (Some(sites), Call::Send(send)) = (&mut self.send_sites, &call) {
                sites.add(send, site);
            }
            // A cancelled request, and one whose message is discarded, keeps the call site that started it.
            if !matches!(call, Call::Cancel(_) | Call::Discard(_)) {
                self.opened_at(request, at);
            }
        }
        if self.recorder.is_some() {
            self.record_call(call, &result, site);
        }
        self.announce(transports);
        result
    }

    /// Keeps the call site of a new request, where it is not the line that calls the library.
    pub(super) fn opened_at(&mut self, request: Handle, at: impl Located) {
        if !self.observed {
            return;
        }
        let site = at.site();
        if site == CallSite::Source(at.location()) {
            self.call_sites.remove(&request.index);
        } else {
            self.call_sites.insert(request.index, site);
        }
    }

    /// Makes a call of the application. `lent` are the bytes of an eager send, which have been copied when this returns.
    #[inline(always)]
    pub(super) fn call(
        &mut self,
        call: Call,
        lent: &[u8],
        transports: &mut Transports<'_>,
        at: impl Located,
    ) -> Result<Handle, UsageError> {
        if self.observed {
            return self.call_observed(call, lent, transports, at);
        }
        let request = self.make(call, lent, transports)?;
        self.announce(transports);
        Ok(request)
    }

    /// Sends these bytes eagerly, see [`Rank::send_eagerly`]. False also if calls are observed, as this one would have no
    /// request to be told of.
    #[inline(always)]
    pub(super) fn send_eagerly(
        &mut self,
        send: &Send,
        bytes: &[u8],
        transports: &mut Transports<'_>,
    ) -> Result<bool, UsageError> {
        if self.observed {
            return Ok(false);
        }
        let Self { rank, resources, .. } = self;
        // It changes nothing for receives, so there is nothing new to be announced.
        let room = &mut [];
        rank.send_eagerly(
            send,
            &mut WorkExecutor { resources, transports, data: Data::NONE, lent: bytes, room },
        )
    }

    /// Receives a message that has arrived into these bytes, see [`Rank::receive_kept`].
    #[inline(always)]
    pub(super) fn receive_kept(
        &mut self,
        receive: &Receive,
        room: &mut [u8],
        transports: &mut Transports<'_>,
    ) -> Result<Option<Status>, UsageError> {
        let Self { rank, resources, .. } = self;
        // Then all messages that wait are offers of a rendezvous, which takes a request: one search is enough for it.
        if resources.kept.is_empty() {
            return Ok(None);
        }
        // It posts no receive, so there is nothing new to be announced.
        rank.receive_kept(
            receive,
            &mut WorkExecutor { resources, transports, data: Data::NONE, lent: &[], room },
        )
    }

    /// Releases a request that is complete.
    #[inline(always)]
    pub(super) fn release(&mut self, request: Handle) {
        if self.recorder.is_some() {
            return self.release_recorded(request);
        }
        // A handle without an entry belongs to a request that has ended.
        let _ = self.rank.release(request);
    }

    /// Has the rank do something whose work is carried out without data of an arrival or a call.
    pub(super) fn with_executor<'b, T>(
        &mut self,
        transports: &mut Transports<'b>,
        act: impl FnOnce(&mut Rank<Mirror>, &mut WorkExecutor<'_, 'b, [u8]>) -> T,
    ) -> T {
        let Self { rank, resources, .. } = self;
        act(rank, &mut WorkExecutor { resources, transports, data: Data::NONE, lent: &[], room: &mut [] })
    }

    /// Defines a communicator.
    pub(super) fn define(
        &mut self,
        communicator: Communicator,
        members: &Members,
        transports: &mut Transports<'_>,
    ) -> Result<(), UsageError> {
        let own = members.clone();
        self.with_executor(transports, |rank, executor| rank.define(communicator, own, executor))?;
        if self.recorder.is_some() {
            self.record_definition(communicator, members);
        }
        Ok(())
    }

    /// Forgets a communicator of which no handle is left. False if something of it is still under way.
    pub(super) fn forget(&mut self, communicator: Communicator) -> bool {
        let forgotten = self.rank.forget(communicator).is_ok();
        if forgotten && self.recorder.is_some() {
            self.record_forgotten(communicator);
        }
        forgotten
    }

    /// Makes a call; `lent` as for [`Driver::call`].
    #[inline(always)]
    pub(super) fn make(
        &mut self,
        call: Call,
        lent: &[u8],
        transports: &mut Transports<'_>,
    ) -> Result<Handle, UsageError> {
        let Self { rank, resources, .. } = self;
        rank.call(call, &mut WorkExecutor { resources, transports, data: Data::NONE, lent, room: &mut [] })
    }

    /// Feeds the rank an event, and records it if the job is traced.
    #[inline(always)]
    pub(super) fn event(
        &mut self,
        event: Event,
        data: Data<'_, impl Payload + ?Sized>,
        transports: &mut Transports<'_>,
    ) {
        if self.recorder.is_some() {
            return self.event_recorded(event, data, transports);
        }
        self.feed(event, data, transports);
    }

    /// Feeds the rank an event.
    #[inline(always)]
    pub(super) fn feed(
        &mut self,
        event: Event,
        data: Data<'_, impl Payload + ?Sized>,
        transports: &mut Transports<'_>,
    ) {
        let Self { rank, resources, .. } = self;
        let result = rank.event_inlined(
            event,
            &mut WorkExecutor { resources, transports, data, lent: &[], room: &mut [] },
        );
        self.announce(transports);
        if let Err(error) = result {
            // The peer does not follow the protocol, so nothing that it sends can be trusted.
            self.resources.errors.with(error.peer, Error::from(error));
            transports.abandon(error.peer);
        }
    }

    /// Announces all receives that may be announced: none, most often.
    #[inline(always)]
    pub(super) fn announce(&mut self, transports: &mut Transports<'_>) {
        if self.rank.may_announce().is_some() {
            self.announce_all(transports);
        }
    }

    #[inline(never)]
    fn announce_all(&mut self, transports: &mut Transports<'_>) {
        while let Some(request) = self.rank.may_announce() {
            if self.recorder.is_some() {
                self.record_event(Event::Announce(request));
            }
            let Self { rank, resources, .. } = self;
            let mut executor =
                WorkExecutor { resources, transports, data: Data::NONE, lent: &[], room: &mut [] };
            // The event contains no packet, so a peer cannot have made it invalid.
            let announced = rank.event(Event::Announce(request), &mut executor);
            debug_assert_eq!(announced, Ok(()));
        }
    }

    /// Feeds the rank the messages of this process to itself. Returns their number.
    #[inline]
    pub(super) fn local(&mut self, transports: &mut Transports<'_>) -> usize {
        let mut count = 0;
        while let Some(local) = self.resources.local.pop_front() {
            count += 1;
            self.one_local(local, transports);
        }
        count
    }

    #[inline(never)]
    fn one_local(&mut self, (event, data): Local, transports: &mut Transports<'_>) {
        self.event(event, Data { payload: &data[..], at: 0 }, transports);
    }

    /// The registered memory of this process.
    #[inline]
    pub(super) fn registry(&mut self) -> &mut Registry {
        &mut self.resources.registry
    }
}
