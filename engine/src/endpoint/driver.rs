//! Drives the rank: carries out its work requests, and feeds it calls and events.

use super::address_resolver::AddressResolver;
use super::first_error::FirstErrors;
use super::recorder::EndpointRecorder;
use super::reductions::Reductions;
use super::registry::Registry;
use super::send_sites::SendSites;
use super::transports::Transports;
use super::unexpected::UnexpectedBuffers;
use crate::Error;
use crate::site::{CallSite, Located};
use carrousel_rank::wire::{self, Decoded, WireError};
use carrousel_rank::{
    Call, Communicator, Context, Envelope, Event, Handle, Kept, Members, Memory, Mirror, Packet, Rank,
    RankId, Read, Receive, Send, Sink, Status, Tag, UsageError, Work, Write,
};
use carrousel_transport::{Arrival, BODY_MAX, NetworkOut, Payload, Regions, ZcopySource};
use std::collections::{HashMap, VecDeque};

/// A report of this process to itself, which the rank has not been told of yet, and the data of its packet.
pub(super) type Local = (Event, Vec<u8>);

/// The resources for carrying out work requests, apart from the transports.
pub(super) struct Resources {
    pub(super) me: RankId,
    pub(super) registry: Registry,
    pub(super) kept: UnexpectedBuffers,
    pub(super) local: VecDeque<Local>,
    pub(super) resolver: AddressResolver,
    pub(super) reductions: Reductions,
    /// Errors that belong to no request.
    pub(super) errors: FirstErrors,
    /// The requests that have become complete, if they are listed.
    pub(super) completed: Completed,
}

/// The requests that have become complete, for a caller that has many and waits for none of them.
#[derive(Debug, Default)]
pub(super) struct Completed {
    /// Whether they are listed: not for callers that ask for each request.
    pub(super) listed: bool,
    pub(super) requests: VecDeque<Handle>,
}

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

/// The data of the packet that is being processed: what of a payload is behind the body.
pub(super) struct Data<'a, D: ?Sized> {
    payload: &'a D,
    /// Where it begins.
    at: usize,
}

impl Data<'static, [u8]> {
    /// No data.
    pub(super) const NONE: Self = Self { payload: &[], at: 0 };
}

impl<D: Payload + ?Sized> Data<'_, D> {
    #[inline(always)]
    fn copy_to(&self, into: &mut [u8]) {
        self.payload.copy_to(self.at, into);
    }
}

/// An eager message without 8 bytes beside its own.
struct Eager<'a, D: ?Sized> {
    envelope: Envelope,
    len: u64,
    data: Data<'a, D>,
}

impl<'a, D: Payload + ?Sized> Eager<'a, D> {
    /// That of an arrival, if it is one.
    #[inline(always)]
    fn of(arrival: Arrival, payload: &'a D) -> Option<Self> {
        let Arrival::Packet { from: source, context, packet: header } = arrival else { return None };
        if !wire::is_eager(header) {
            return None;
        }
        let (tag, at) = (Tag(payload.first_word()?), size_of::<u64>());
        let envelope = Envelope { source, tag, context };
        Some(Self { envelope, len: (payload.len() - at) as u64, data: Data { payload, at } })
    }
}

/// Carries out each work request when the rank makes it: in order, and before the next input.
pub(super) struct WorkExecutor<'a, 'b, D: ?Sized> {
    resources: &'a mut Resources,
    transports: &'a mut Transports<'b>,
    data: Data<'a, D>,
    /// The bytes of the current call, if it is an eager send: they need not be registered.
    lent: &'a [u8],
    /// The bytes of the current call, if it is a receive that is complete when it returns: the same.
    room: &'a mut [u8],
}

impl<D: Payload + ?Sized> Sink for WorkExecutor<'_, '_, D> {
    #[inline(always)]
    fn work(&mut self, work: Work) {
        let Self { resources, transports, data, lent, room } = self;
        match work {
            Work::Send {
                to,
                context,
                packet: Packet::Eager { tag, data: None, len },
                data: Some(memory),
            } => {
                let named = memory != Registry::NONE;
                let bytes =
                    if named { resources.registry.bytes(memory, len).unwrap_or_default() } else { *lent };
                if !transports.send_now(to, wire::eager(context), tag.0, bytes) {
                    resources.send(
                        to,
                        context,
                        &Packet::Eager { tag, data: None, len },
                        Some(memory),
                        lent,
                        transports,
                    );
                }
            }
            Work::Send { to, context, packet, data: memory } => {
                // A small message with 8 bytes beside its own is put together on the stack.
                if let Packet::Eager { tag, data: Some(beside), .. } = packet
                    && memory == Some(Registry::NONE)
                    && send_beside(to, context, (tag, beside), lent, transports)
                {
                    return;
                }
                resources.send(to, context, &packet, memory, lent, transports);
            }
            Work::Place { into, len, .. } if into == Registry::NONE => {
                if let Some(room) = room.get_mut(..len as usize) {
                    data.copy_to(room);
                }
            }
            Work::Place { into, len, .. } => {
                if let Some(bytes) = resources.registry.bytes_mut(into, len) {
                    data.copy_to(bytes);
                }
            }
            Work::Keep { kept, len } => data.copy_to(resources.kept.keep(kept, len as usize)),
            Work::Take { kept, into, len, .. } if into == Registry::NONE => {
                if let Some(room) = room.get_mut(..len as usize) {
                    resources.kept.take(kept, |data| room.copy_from_slice(&data[..room.len()]));
                }
            }
            Work::Take { kept, into, len, .. } => resources.take(kept, into, len),
            Work::Window { .. } => unreachable!("an endpoint makes no windows"),
            // Otherwise the call that waits for the request asks the rank.
            Work::Complete { request, .. } if resources.completed.listed => {
                resources.completed.requests.push_back(request);
            }
            Work::Complete { .. } => {}
            Work::Write { context, write, .. } => resources.write(context, write, transports),
            Work::Copy { from, into, len } => resources.registry.copy(from, into, len),
            Work::Combine { request, from, into, len } => resources.combine(request, from, into, len),
            Work::Read { context, read, .. } => resources.read(context, read, transports),
        }
    }
}

/// The body of a message with 8 bytes beside its own: its tag and these.
const BESIDE: usize = 2 * size_of::<u64>();
/// The largest message that is put together on the stack.
const SMALL: usize = 256;

/// Sends a small message with 8 bytes beside its own through shared memory, if there is room for it at once; false if not.
#[inline]
fn send_beside(
    to: RankId,
    context: Context,
    (tag, beside): (Tag, u64),
    bytes: &[u8],
    transports: &mut Transports<'_>,
) -> bool {
    const WORD: usize = size_of::<u64>();
    if bytes.len() > SMALL {
        return false;
    }
    let mut both = [0; WORD + SMALL];
    both[..WORD].copy_from_slice(&beside.to_le_bytes());
    both[WORD..WORD + bytes.len()].copy_from_slice(bytes);
    transports.send_now(to, wire::eager_beside(context), tag.0, &both[..WORD + bytes.len()])
}

impl Resources {
    /// Whether a peer can be sent to; connects to it if necessary.
    #[inline]
    pub(super) fn reaches(&mut self, peer: RankId, transports: &mut Transports<'_>) -> bool {
        transports.is_connected(peer) || self.resolver.connect(peer, transports, &mut self.errors)
    }

    /// Watches a peer, so that its end is noticed.
    #[cold]
    pub(super) fn watch(&mut self, peer: RankId, transports: &mut Transports<'_>) {
        self.resolver.watch(peer, transports, &mut self.errors);
    }

    #[inline(never)]
    fn send(
        &mut self,
        to: RankId,
        context: Context,
        packet: &Packet,
        memory: Option<Memory>,
        lent: &[u8],
        transports: &mut Transports<'_>,
    ) {
        if to != self.me && !self.reaches(to, transports) {
            return;
        }
        let exported;
        let packet = if transports.net_to(to).is_some() && packet.offers().is_some() {
            match self.registry.exported(packet) {
                Ok(packet) => exported = packet,
                Err(refused) => return self.refuse(to, refused, transports),
            }
            &exported
        } else {
            packet
        };
        let data = match (packet, memory) {
            (Packet::Eager { .. }, Some(Registry::NONE)) => lent,
            (Packet::Eager { len, .. }, Some(memory)) => {
                self.registry.bytes(memory, *len).unwrap_or_default()
            }
            _ => &[],
        };
        if to == self.me {
            return self.local.push_back((self.own(context, *packet), data.to_vec()));
        }
        let head = wire::encode(context, packet);
        if let Some(memory) = memory
            && let Some(key) = self.registry.offered(memory)
            && let Some(net) = transports.net_to(to)
        {
            if net.send_zcopy(to, &head, data, ZcopySource { key, name: memory.key }) {
                self.registry.begin_zcopy(memory.key);
            }
        } else {
            transports.send(to, &head, data);
        }
    }

    /// Whether a peer can be reached with this memory: if it is on another node, the adapter sees it from now on. A peer
    /// for which the adapter refuses that is given up, and gets nothing more.
    #[inline]
    fn exposes(
        &mut self,
        peer: RankId,
        memory: Memory,
        len: u64,
        writable: bool,
        transports: &mut Transports<'_>,
    ) -> bool {
        if !self.reaches(peer, transports) {
            return false;
        }
        if transports.net_to(peer).is_some()
            && let Err(refused) = self.registry.export(memory, len, writable)
        {
            self.refuse(peer, refused, transports);
            return false;
        }
        true
    }

    /// The adapter has refused to register memory: the peer that the operation was for is given up.
    #[cold]
    fn refuse(&mut self, peer: RankId, refused: Error, transports: &mut Transports<'_>) {
        self.errors.with(peer, refused);
        transports.abandon(peer);
    }

    #[inline(never)]
    fn take(&mut self, kept: Kept, into: Memory, len: u64) {
        let registry = &mut self.registry;
        self.kept.take(kept, |data| {
            if let Some(bytes) = registry.bytes_mut(into, len) {
                bytes.copy_from_slice(&data[..bytes.len()]);
            }
        });
    }

    #[inline(never)]
    fn combine(&mut self, request: Handle, from: Memory, into: Memory, len: u64) {
        let op = self.reductions.of(request);
        if let (Some(op), Some((from, into))) = (op, self.registry.pair(from, into, len)) {
            op.combine(into, from);
        }
    }

    /// What is reported of a packet of this process to itself.
    fn own(&self, context: Context, packet: Packet) -> Event {
        Event::Packet { from: self.me, context, packet }
    }

    /// An operation of this process on its own memory is complete; its notice is for this process, too.
    fn complete_local(&mut self, completion: Event, context: Context, notice: Option<Packet>) {
        self.local.push_back((completion, Vec::new()));
        if let Some(packet) = notice {
            self.local.push_back((self.own(context, packet), Vec::new()));
        }
    }

    #[inline(never)]
    fn write(&mut self, context: Context, write: Write<Packet>, transports: &mut Transports<'_>) {
        if write.to == self.me {
            self.registry.copy(write.from, write.into, write.len);
            self.complete_local(Event::Written(write.request), context, write.notice);
        } else if self.exposes(write.to, write.from, write.len, false, transports) {
            transports.write(&write.map(|packet| wire::encode(context, &packet)), &mut self.registry);
        }
    }

    #[inline(never)]
    fn read(&mut self, context: Context, read: Read<Packet>, transports: &mut Transports<'_>) {
        if read.of == self.me {
            self.registry.copy(read.from, read.into, read.len);
            self.complete_local(Event::Read(read.request), context, read.notice);
        } else if self.exposes(read.of, read.into, read.len, true, transports) {
            transports.read(&read.map(|packet| wire::encode(context, &packet)), &mut self.registry);
        }
    }
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

    /// Receives a message that arrives just now into these bytes, see [`Rank::receive_next`]. `None` of any other arrival, too.
    #[inline(always)]
    pub(super) fn receive_next(
        &mut self,
        receive: &Receive,
        room: &mut [u8],
        arrival: Arrival,
        payload: &(impl Payload + ?Sized),
        transports: &mut Transports<'_>,
    ) -> Option<Status> {
        let Eager { envelope, len, data } = Eager::of(arrival, payload)?;
        let Self { rank, resources, .. } = self;
        rank.receive_next(
            receive,
            envelope,
            len,
            &mut WorkExecutor { resources, transports, data, lent: &[], room },
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

    #[inline(always)]
    fn event(
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
}

impl Driver {
    /// The registered memory of this process.
    #[inline]
    pub(super) fn registry(&mut self) -> &mut Registry {
        &mut self.resources.registry
    }

    /// Takes an arrival of a transport.
    #[inline]
    pub(super) fn arrival(
        &mut self,
        arrival: Arrival,
        payload: &(impl Payload + ?Sized),
        transports: &mut Transports<'_>,
    ) {
        // Most packets are EAGERs, and need not be taken apart in memory.
        if let Some(Eager { envelope, len, data }) = Eager::of(arrival, payload) {
            let Envelope { source: from, tag, context } = envelope;
            let packet = Packet::Eager { tag, data: None, len };
            return self.event(Event::Packet { from, context, packet }, data, transports);
        }
        if let Arrival::Packet { from, context, packet: header } = arrival
            && wire::is_eager_beside(header)
            && let Some(len) = payload.len().checked_sub(BESIDE)
            && let Some(tag) = payload.first_word()
        {
            let mut beside = [0; size_of::<u64>()];
            payload.copy_to(size_of::<u64>(), &mut beside);
            let data = Some(u64::from_le_bytes(beside));
            let packet = Packet::Eager { tag: Tag(tag), data, len: len as u64 };
            return self.event(
                Event::Packet { from, context, packet },
                Data { payload, at: BESIDE },
                transports,
            );
        }
        self.other_arrival(arrival, payload, transports);
    }

    /// Takes an arrival other than most EAGERs.
    #[inline(never)]
    fn other_arrival(
        &mut self,
        arrival: Arrival,
        payload: &(impl Payload + ?Sized),
        transports: &mut Transports<'_>,
    ) {
        let mut at = 0;
        let event = arrival.decoded(|header| {
            let mut room = [0; BODY_MAX];
            let Decoded { packet, body } =
                wire::decode_body(header, payload.first(&mut room), payload.len())?;
            at = body;
            Ok(packet)
        });
        match event {
            Ok(event) => self.event(event, Data { payload, at }, transports),
            Err((peer, why)) => self.malformed(peer, why, transports),
        }
    }

    /// A peer has sent bytes that are no packet: nothing that it sends can be trusted.
    #[cold]
    fn malformed(&mut self, peer: RankId, why: WireError, transports: &mut Transports<'_>) {
        self.resources.errors.with(peer, Error::Malformed { rank: peer.0, why });
        transports.abandon(peer);
    }
}
