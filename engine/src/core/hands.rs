//! Carrying out what the rank asks for.

use super::directory::Directory;
use super::kept::Store;
use super::reductions::Reductions;
use super::registry::Registry;
use super::send_sites::SendSites;
use super::trouble::Trouble;
use super::ways::Ways;
use crate::Error;
use crate::site::{CallSite, Located};
use carrousel_rank::{
    Call, Communicator, Context, Event, Handle, Kept, Memory, Mirror, Packet, Rank, RankId, Sink, UsageError,
    Work,
};
use carrousel_trace::Recorder;
use carrousel_transport::{Arrival, Payload, Read, Regions, Write};
use std::collections::{HashMap, VecDeque};

/// What is on its way from this process to itself.
#[derive(Debug)]
pub(super) enum Local {
    Packet(Context, Packet, Vec<u8>),
    Written(Handle),
    Read(Handle),
}

/// What outputs are carried out with, but the transport.
pub(super) struct Tools {
    pub(super) me: RankId,
    pub(super) registry: Registry,
    pub(super) kept: Store,
    pub(super) local: VecDeque<Local>,
    pub(super) directory: Directory,
    pub(super) reductions: Reductions,
    /// What went wrong beside a request.
    pub(super) trouble: Trouble,
}

/// The rank, and all that it is carried out with but the transport.
pub(super) struct Hands {
    pub(super) rank: Rank<Mirror>,
    pub(super) tools: Tools,
    /// Who writes down what the rank is given, if somebody does.
    pub(super) recorder: Option<Box<Recorder>>,
    /// For the recorder: peers of which something had arrived when the call at hand was made, and was not taken in.
    pub(super) ignored: Vec<u32>,
    /// Where messages were sent, if somebody wants to know.
    send_sites: Option<SendSites>,
    /// Where requests were started, by position, if the library was called on behalf of another place.
    call_sites: HashMap<u32, CallSite>,
    /// Whether calls are written down, or where they are.
    observed: bool,
}

/// Carries out each output as it is made: in order, and before the next input. `data` is that of the packet
/// at hand.
pub(super) struct Performer<'a, 'b, D: ?Sized> {
    tools: &'a mut Tools,
    ways: &'a mut Ways<'b>,
    data: &'a D,
    /// The bytes of the call that is made, if it is an eager send: they need no name.
    lent: &'a [u8],
}

impl<D: Payload + ?Sized> Sink for Performer<'_, '_, D> {
    #[inline(always)]
    fn work(&mut self, work: Work) {
        let Self { tools, ways, data, lent } = self;
        match work {
            Work::Send { to, context, packet: Packet::Eager { tag, len }, data: Some(memory) } => {
                let named = memory != Registry::NONE;
                let bytes = if named { tools.registry.bytes(memory, len).unwrap_or_default() } else { *lent };
                if !ways.send_now(to, context, tag, bytes) {
                    tools.send(to, context, &Packet::Eager { tag, len }, Some(memory), lent, ways);
                }
            }
            Work::Send { to, context, packet, data: memory } => {
                tools.send(to, context, &packet, memory, lent, ways);
            }
            Work::Place { into, len, .. } => {
                if let Some(bytes) = tools.registry.bytes_mut(into, len) {
                    data.copy_to(bytes);
                }
            }
            Work::Keep { kept, len } => data.copy_to(tools.kept.keep(kept, len as usize)),
            Work::Take { kept, into, len, .. } => tools.take(kept, into, len),
            // Whoever waits for the request asks the rank.
            Work::Complete { .. } => {}
            Work::Write { to, context, from, into, len, notice, request, .. } => {
                let notice = notice.map(|packet| (context, packet));
                tools.write(&Write { to, from, into, len, request, notice }, ways);
            }
            Work::Copy { from, into, len } => tools.registry.copy(from, into, len),
            Work::Combine { request, from, into, len } => tools.combine(request, from, into, len),
            Work::Read { of, context, from, into, len, notice, request, .. } => {
                let notice = notice.map(|packet| (context, packet));
                tools.read(&Read { of, from, into, len, request, notice }, ways);
            }
        }
    }
}

impl Tools {
    /// Whether a peer can be sent to; connects it if it is not yet.
    #[inline]
    pub(super) fn reaches(&mut self, peer: RankId, ways: &mut Ways<'_>) -> bool {
        ways.is_connected(peer) || self.directory.connect(peer, ways, &mut self.trouble)
    }

    /// Has the end of a peer noticed.
    #[cold]
    pub(super) fn watch(&mut self, peer: RankId, ways: &mut Ways<'_>) {
        self.directory.watch(peer, ways, &mut self.trouble);
    }

    #[inline(never)]
    fn send(
        &mut self,
        to: RankId,
        context: Context,
        packet: &Packet,
        memory: Option<Memory>,
        lent: &[u8],
        ways: &mut Ways<'_>,
    ) {
        if to != self.me && !self.reaches(to, ways) {
            return;
        }
        let packet = match ways.far_to(to).map(|_| self.registry.exported(packet)) {
            None => *packet,
            Some(Ok(packet)) => packet,
            Some(Err(refused)) => return self.refuse(to, refused, ways),
        };
        let data = match (packet, memory) {
            (Packet::Eager { .. }, Some(Registry::NONE)) => lent,
            (Packet::Eager { len, .. }, Some(memory)) => self.registry.bytes(memory, len).unwrap_or_default(),
            _ => &[],
        };
        if to == self.me {
            self.local.push_back(Local::Packet(context, packet, data.to_vec()));
        } else if let Some(memory) = memory
            && let Some(key) = self.registry.offered(memory)
            && let Some(far) = ways.far_to(to)
        {
            if far.lend(to, context, &packet, data, (key, memory.key)) {
                self.registry.lend(memory.key);
            }
        } else {
            ways.send(to, context, &packet, data);
        }
    }

    /// Memory cannot be shown to the adapter: what was to be done with it for this peer is not going to be.
    #[cold]
    fn refuse(&mut self, peer: RankId, refused: Error, ways: &mut Ways<'_>) {
        self.trouble.with(peer, refused);
        ways.abandon(peer);
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
            op(into, from);
        }
    }

    /// Sends a notice to this process itself.
    fn notice(&mut self, notice: Option<(Context, Packet)>) {
        self.local.extend(notice.map(|(context, packet)| Local::Packet(context, packet, Vec::new())));
    }

    #[inline(never)]
    fn write(&mut self, write: &Write, ways: &mut Ways<'_>) {
        if write.to == self.me {
            self.registry.copy(write.from, write.into, write.len);
            self.local.push_back(Local::Written(write.request));
            self.notice(write.notice);
        } else if self.reaches(write.to, ways) {
            if ways.far_to(write.to).is_some()
                && let Err(refused) = self.registry.export(write.from, write.len, false)
            {
                self.refuse(write.to, refused, ways);
            }
            ways.write(write, &mut self.registry);
        }
    }

    #[inline(never)]
    fn read(&mut self, read: &Read, ways: &mut Ways<'_>) {
        if read.of == self.me {
            self.registry.copy(read.from, read.into, read.len);
            self.local.push_back(Local::Read(read.request));
            self.notice(read.notice);
        } else if self.reaches(read.of, ways) {
            if ways.far_to(read.of).is_some()
                && let Err(refused) = self.registry.export(read.into, read.len, true)
            {
                self.refuse(read.of, refused, ways);
            }
            ways.read(read, &mut self.registry);
        }
    }
}

impl Hands {
    pub(super) fn new(rank: Rank<Mirror>, tools: Tools) -> Self {
        let (recorder, send_sites, call_sites) = (None, None, HashMap::new());
        Self { rank, tools, recorder, ignored: Vec::new(), send_sites, call_sites, observed: false }
    }

    /// From now on calls may be made on behalf of another place than that where the library is called.
    pub(super) fn observe(&mut self) {
        self.observed = true;
    }

    /// Where a request was started, if the library was called on behalf of another place.
    pub(super) fn call_site_of(&self, request: Handle) -> Option<CallSite> {
        self.call_sites.get(&request.index).copied()
    }

    /// From now on what the rank is given is written down.
    pub(super) fn record(&mut self, recorder: Recorder) {
        self.recorder = Some(Box::new(recorder));
        self.observed = true;
    }

    /// Whether it is kept in mind from now on where messages are sent.
    pub(super) fn log_sends(&mut self, logs: bool) {
        self.send_sites = logs.then(SendSites::default);
        self.observed |= logs;
    }

    /// Where messages were sent, if that is kept in mind.
    pub(super) fn send_sites(&self) -> Option<&SendSites> {
        self.send_sites.as_ref()
    }

    /// A call that is written down, or kept in mind: apart from others, so that theirs need not be kept until they are
    /// over.
    #[cold]
    #[inline(never)]
    fn call_observed(
        &mut self,
        call: Call,
        lent: &[u8],
        ways: &mut Ways<'_>,
        at: impl Located,
    ) -> Result<Handle, UsageError> {
        let site = at.site();
        let result = self.make(call, lent, ways);
        if let Ok(request) = result {
            if let (Some(sites), Call::Send(send)) = (&mut self.send_sites, &call) {
                sites.add(send, site);
            }
            // The place of what is cancelled is that where it was started.
            let is_new = !matches!(call, Call::Cancel(_));
            if is_new && site == CallSite::Source(at.location()) {
                self.call_sites.remove(&request.index);
            } else if is_new {
                self.call_sites.insert(request.index, site);
            }
        }
        if self.recorder.is_some() {
            self.record_call(call, &result, site);
        }
        self.announce(ways);
        result
    }

    /// The application calls, with `lent` bytes if it sends them eagerly: they have gone when this returns.
    #[inline(always)]
    pub(super) fn call(
        &mut self,
        call: Call,
        lent: &[u8],
        ways: &mut Ways<'_>,
        at: impl Located,
    ) -> Result<Handle, UsageError> {
        if self.observed {
            return self.call_observed(call, lent, ways, at);
        }
        let request = self.make(call, lent, ways)?;
        self.announce(ways);
        Ok(request)
    }

    /// Ends a request, if it is complete.
    #[inline(always)]
    pub(super) fn release(&mut self, request: Handle) {
        if self.recorder.is_some() {
            return self.release_recorded(request);
        }
        // One that there is not is no longer anybody's.
        let _ = self.rank.release(request);
    }

    /// Makes a communicator known.
    pub(super) fn define(
        &mut self,
        communicator: Communicator,
        members: &[RankId],
        ways: &mut Ways<'_>,
    ) -> Result<(), UsageError> {
        let Self { rank, tools, .. } = self;
        let mut performer = Performer { tools, ways, data: &[] as &[u8], lent: &[] };
        rank.define(communicator, members, &mut performer)?;
        if self.recorder.is_some() {
            let members: Vec<u32> = members.iter().map(|rank| rank.0).collect();
            self.record_definition(communicator, &members);
        }
        Ok(())
    }

    /// Forgets a communicator that nobody has any more. False if that cannot be done now.
    pub(super) fn forget(&mut self, communicator: Communicator) -> bool {
        let forgotten = self.rank.forget(communicator).is_ok();
        if forgotten && self.recorder.is_some() {
            self.record_forgotten(communicator);
        }
        forgotten
    }

    /// Makes a call, which may have `lent` bytes.
    #[inline(always)]
    pub(super) fn make(
        &mut self,
        call: Call,
        lent: &[u8],
        ways: &mut Ways<'_>,
    ) -> Result<Handle, UsageError> {
        let Self { rank, tools, .. } = self;
        rank.call(call, &mut Performer { tools, ways, data: &[] as &[u8], lent })
    }

    #[inline]
    fn event(&mut self, event: Event, data: &(impl Payload + ?Sized), ways: &mut Ways<'_>) {
        if self.recorder.is_some() {
            return self.event_recorded(event, data, ways);
        }
        self.feed(event, data, ways);
    }

    /// Tells the rank of an event.
    #[inline]
    pub(super) fn feed(&mut self, event: Event, data: &(impl Payload + ?Sized), ways: &mut Ways<'_>) {
        let Self { rank, tools, .. } = self;
        let result = rank.event(event, &mut Performer { tools, ways, data, lent: &[] });
        self.announce(ways);
        if let Err(error) = result {
            // Whatever it sends next, it does not speak this protocol.
            self.tools.trouble.with(error.peer, Error::from(error));
            ways.abandon(error.peer);
        }
    }

    /// Announces what may be announced.
    #[inline]
    pub(super) fn announce(&mut self, ways: &mut Ways<'_>) {
        while let Some(request) = self.rank.may_announce() {
            if self.recorder.is_some() {
                self.record_event(Event::Announce(request));
            }
            let Self { rank, tools, .. } = self;
            let mut performer = Performer { tools, ways, data: &[] as &[u8], lent: &[] };
            // There is no packet in it that a peer could have got wrong.
            let announced = rank.event(Event::Announce(request), &mut performer);
            debug_assert_eq!(announced, Ok(()));
        }
    }

    /// Feeds the rank what has come from this process itself. Returns how much.
    #[inline]
    pub(super) fn local(&mut self, ways: &mut Ways<'_>) -> usize {
        let mut count = 0;
        while let Some(local) = self.tools.local.pop_front() {
            count += 1;
            self.one_local(local, ways);
        }
        count
    }

    #[inline(never)]
    fn one_local(&mut self, local: Local, ways: &mut Ways<'_>) {
        match local {
            Local::Packet(context, packet, data) => {
                let arrival = Arrival::Packet { from: self.tools.me, context, packet };
                self.arrival(arrival, &data[..], ways);
            }
            Local::Written(request) => self.arrival(Arrival::Written(request), &[] as &[u8], ways),
            Local::Read(request) => self.arrival(Arrival::Read(request), &[] as &[u8], ways),
        }
    }
}

impl Hands {
    /// The registered memory of this process.
    #[inline]
    pub(super) fn registry(&mut self) -> &mut Registry {
        &mut self.tools.registry
    }

    /// Takes what a transport reports.
    #[inline]
    pub(super) fn arrival(&mut self, arrival: Arrival, data: &(impl Payload + ?Sized), ways: &mut Ways<'_>) {
        let event = match arrival {
            Arrival::Packet { from, context, packet } => Event::Packet { from, context, packet },
            Arrival::Written(request) => Event::Written(request),
            Arrival::Read(request) => Event::Read(request),
            Arrival::Lost(peer) => Event::Lost(peer),
        };
        self.event(event, data, ways);
    }
}
