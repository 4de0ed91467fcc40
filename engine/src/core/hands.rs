//! Carrying out what the rank asks for.

use super::directory::Directory;
use super::kept::Store;
use crate::Error;
use crate::lend::Registry;
use carrousel_rank::{
    Call, Context, Event, Handle, Kept, Memory, Mirror, Packet, Rank, RankId, Sink, UsageError, Work,
};
use carrousel_trace::Recorder;
use carrousel_transport::{Arrival, Handler, Outbound, Payload, Read, Regions, Write};
use carrousel_transport_shm::Out;
use std::collections::VecDeque;

/// What is on its way from this process to itself.
#[derive(Debug)]
pub(super) enum Local {
    Packet(Context, Packet, Vec<u8>),
    Written(Handle),
    Read(Handle),
}

/// Combines what stands in the first bytes with the second ones, into the first.
pub(crate) type Operation = Box<dyn Fn(&mut [u8], &[u8])>;

/// What outputs are carried out with, but the transport.
pub(super) struct Tools {
    pub(super) me: RankId,
    pub(super) registry: Registry,
    pub(super) kept: Store,
    pub(super) local: VecDeque<Local>,
    pub(super) directory: Directory,
    /// The operation of the reduction that is under way.
    pub(super) operation: Option<Operation>,
    /// The first thing that went wrong beside a request.
    pub(super) trouble: Option<Error>,
}

/// The rank, and all that it is carried out with but the transport.
pub(super) struct Hands {
    pub(super) rank: Rank<Mirror>,
    pub(super) tools: Tools,
    /// Who writes down what the rank is given, if somebody does.
    pub(super) recorder: Option<Box<Recorder>>,
}

/// Carries out each output as it is made: in order, and before the next input. `data` is that of the packet
/// at hand.
pub(super) struct Performer<'a, D: ?Sized> {
    tools: &'a mut Tools,
    out: &'a mut Out,
    data: &'a D,
    /// The bytes of the call that is made, if it is an eager send: they need no name.
    lent: &'a [u8],
}

impl<D: Payload + ?Sized> Sink for Performer<'_, D> {
    #[inline(always)]
    fn work(&mut self, work: Work) {
        let Self { tools, out, data, lent } = self;
        match work {
            Work::Send { to, context, packet: Packet::Eager { tag, len }, data: Some(memory) } => {
                let named = memory != Registry::NONE;
                let bytes = if named { tools.registry.bytes(memory, len).unwrap_or_default() } else { *lent };
                if !out.send_now(to, context, tag, bytes) {
                    tools.send(to, context, &Packet::Eager { tag, len }, Some(memory), lent, out);
                }
            }
            Work::Send { to, context, packet, data: memory } => {
                tools.send(to, context, &packet, memory, lent, out);
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
                tools.write(&Write { to, from, into, len, request, notice }, out);
            }
            Work::Copy { from, into, len } => tools.registry.copy(from, into, len),
            Work::Combine { from, into, len, .. } => tools.combine(from, into, len),
            Work::Read { of, context, from, into, len, notice, request, .. } => {
                let notice = notice.map(|packet| (context, packet));
                tools.read(&Read { of, from, into, len, request, notice }, out);
            }
        }
    }
}

impl Tools {
    /// Whether a peer can be sent to; connects it if it is not yet.
    #[inline]
    pub(super) fn reaches(&mut self, peer: RankId, out: &mut Out) -> bool {
        out.is_connected(peer) || self.directory.connect(peer, out, &mut self.trouble)
    }

    #[inline(never)]
    fn send(
        &mut self,
        to: RankId,
        context: Context,
        packet: &Packet,
        memory: Option<Memory>,
        lent: &[u8],
        out: &mut Out,
    ) {
        let connected = to == self.me || self.reaches(to, out);
        let data = match (packet, memory) {
            (Packet::Eager { .. }, Some(Registry::NONE)) => lent,
            (Packet::Eager { len, .. }, Some(memory)) => {
                self.registry.bytes(memory, *len).unwrap_or_default()
            }
            _ => &[],
        };
        if to == self.me {
            self.local.push_back(Local::Packet(context, *packet, data.to_vec()));
        } else if connected {
            out.send(to, context, packet, data);
        }
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
    fn combine(&mut self, from: Memory, into: Memory, len: u64) {
        if let (Some(operation), Some((from, into))) = (&self.operation, self.registry.pair(from, into, len))
        {
            operation(into, from);
        }
    }

    /// Sends a notice to this process itself.
    fn notice(&mut self, notice: Option<(Context, Packet)>) {
        self.local.extend(notice.map(|(context, packet)| Local::Packet(context, packet, Vec::new())));
    }

    #[inline(never)]
    fn write(&mut self, write: &Write, out: &mut Out) {
        if write.to == self.me {
            self.registry.copy(write.from, write.into, write.len);
            self.local.push_back(Local::Written(write.request));
            self.notice(write.notice);
        } else if self.reaches(write.to, out) {
            out.write(write, &mut self.registry);
        }
    }

    #[inline(never)]
    fn read(&mut self, read: &Read, out: &mut Out) {
        if read.of == self.me {
            self.registry.copy(read.from, read.into, read.len);
            self.local.push_back(Local::Read(read.request));
            self.notice(read.notice);
        } else if self.reaches(read.of, out) {
            out.read(read, &mut self.registry);
        }
    }
}

impl Hands {
    /// The application calls, with `lent` bytes if it sends them eagerly: they have gone when this returns.
    #[inline(always)]
    pub(super) fn call(&mut self, call: Call, lent: &[u8], out: &mut Out) -> Result<Handle, UsageError> {
        if self.recorder.is_some() {
            return self.call_recorded(call, lent, out);
        }
        let request = self.make(call, lent, out)?;
        self.announce(out);
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

    /// Makes a call, which may have `lent` bytes.
    #[inline(always)]
    pub(super) fn make(&mut self, call: Call, lent: &[u8], out: &mut Out) -> Result<Handle, UsageError> {
        let Self { rank, tools, .. } = self;
        rank.call(call, &mut Performer { tools, out, data: &[] as &[u8], lent })
    }

    #[inline]
    fn event(&mut self, event: Event, data: &(impl Payload + ?Sized), out: &mut Out) {
        if self.recorder.is_some() {
            return self.event_recorded(event, data, out);
        }
        self.feed(event, data, out);
    }

    /// Tells the rank of an event.
    #[inline]
    pub(super) fn feed(&mut self, event: Event, data: &(impl Payload + ?Sized), out: &mut Out) {
        let Self { rank, tools, .. } = self;
        let result = rank.event(event, &mut Performer { tools, out, data, lent: &[] });
        self.announce(out);
        if let Err(error) = result {
            // Whatever it sends next, it does not speak this protocol.
            self.tools.trouble.get_or_insert(Error::from(error));
            out.abandon(error.peer);
        }
    }

    /// Announces what may be announced.
    #[inline]
    pub(super) fn announce(&mut self, out: &mut Out) {
        while let Some(request) = self.rank.may_announce() {
            if self.recorder.is_some() {
                self.record_event(Event::Announce(request));
            }
            let Self { rank, tools, .. } = self;
            let mut performer = Performer { tools, out, data: &[] as &[u8], lent: &[] };
            // There is no packet in it that a peer could have got wrong.
            let announced = rank.event(Event::Announce(request), &mut performer);
            debug_assert_eq!(announced, Ok(()));
        }
    }

    /// Feeds the rank what has come from this process itself. Returns how much.
    #[inline]
    pub(super) fn local(&mut self, out: &mut Out) -> usize {
        let mut count = 0;
        while let Some(local) = self.tools.local.pop_front() {
            count += 1;
            self.one_local(local, out);
        }
        count
    }

    #[inline(never)]
    fn one_local(&mut self, local: Local, out: &mut Out) {
        match local {
            Local::Packet(context, packet, data) => {
                let arrival = Arrival::Packet { from: self.tools.me, context, packet };
                self.arrival(arrival, &data[..], out);
            }
            Local::Written(request) => self.arrival(Arrival::Written(request), &[] as &[u8], out),
            Local::Read(request) => self.arrival(Arrival::Read(request), &[] as &[u8], out),
        }
    }
}

impl Handler<Out> for Hands {
    type Regions = Registry;

    #[inline]
    fn regions(&mut self) -> &mut Registry {
        &mut self.tools.registry
    }

    #[inline]
    fn arrival(&mut self, arrival: Arrival, data: &(impl Payload + ?Sized), out: &mut Out) {
        let event = match arrival {
            Arrival::Packet { from, context, packet } => Event::Packet { from, context, packet },
            Arrival::Written(request) => Event::Written(request),
            Arrival::Read(request) => Event::Read(request),
            Arrival::Lost(peer) => Event::Lost(peer),
        };
        self.event(event, data, out);
    }
}
