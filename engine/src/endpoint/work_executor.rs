//! Carries out the work requests of the rank: memory and transports do what it has decided.

use super::address_resolver::AddressResolver;
use super::first_error::FirstErrors;
use super::reductions::Reductions;
use super::registry::Registry;
use super::transports::Transports;
use super::unexpected::UnexpectedBuffers;
use crate::Error;
use carrousel_rank::wire;
use carrousel_rank::{Context, Event, Handle, Kept, Memory, Packet, RankId, Read, Sink, Work, Write};
use carrousel_transport::{NetworkOut, Payload, Regions, ZcopySource};
use std::collections::VecDeque;

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

/// The data of the packet that is being processed: what of a payload is behind the body.
pub(super) struct Data<'a, D: ?Sized> {
    pub(super) payload: &'a D,
    /// Where it begins.
    pub(super) at: usize,
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

/// Carries out each work request when the rank makes it: in order, and before the next input.
pub(super) struct WorkExecutor<'a, 'b, D: ?Sized> {
    pub(super) resources: &'a mut Resources,
    pub(super) transports: &'a mut Transports<'b>,
    pub(super) data: Data<'a, D>,
    /// The bytes of the current call, if it is an eager send: they need not be registered.
    pub(super) lent: &'a [u8],
    /// The bytes of the current call, if it is a receive that is complete when it returns: the same.
    pub(super) room: &'a mut [u8],
}

impl<D: Payload + ?Sized> Sink for WorkExecutor<'_, '_, D> {
    #[inline(always)]
    fn work(&mut self, work: Work) {
        let Self { resources, transports, data, lent, room } = self;
        match work {
            Work::Send {
                to,
                context,
                packet: packet @ Packet::Eager { tag, data: beside, len },
                data: Some(memory),
            } => {
                let named = memory != Registry::NONE;
                let bytes =
                    if named { resources.registry.bytes(memory, len).unwrap_or_default() } else { *lent };
                let sent = match beside {
                    None => transports.send_now(to, wire::eager(context), [tag.0], bytes),
                    Some(beside) => {
                        transports.send_now(to, wire::eager_beside(context), [tag.0, beside], bytes)
                    }
                };
                if !sent {
                    resources.send(to, context, &packet, Some(memory), lent, transports);
                }
            }
            Work::Send { to, context, packet, data: memory } => {
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
