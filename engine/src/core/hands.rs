//! Carrying out what the rank asks for.

use super::directory::Directory;
use super::kept::Store;
use crate::Error;
use crate::lend::Registry;
use carrousel_rank::{Context, Event, Handle, Mirror, Packet, Rank, RankId, Work};
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

/// The rank, and all that it is carried out with but the transport.
#[derive(Debug)]
pub(super) struct Hands {
    pub(super) me: RankId,
    pub(super) rank: Rank<Mirror>,
    pub(super) registry: Registry,
    pub(super) kept: Store,
    pub(super) local: VecDeque<Local>,
    pub(super) directory: Directory,
    /// Outputs of the last input; empty between inputs.
    pub(super) work: Vec<Work>,
    /// The first thing that went wrong beside a request.
    pub(super) trouble: Option<Error>,
}

impl Hands {
    /// Performs the outputs of an input, and then announces what may be announced.
    #[inline]
    pub(super) fn perform(&mut self, data: &(impl Payload + ?Sized), out: &mut Out) {
        self.carry_out(data, out);
        while let Some(request) = self.rank.may_announce() {
            // Announcing is no packet: there is nothing in it that a peer could have got wrong.
            let announced = self.rank.event(Event::Announce(request), &mut self.work);
            debug_assert_eq!(announced, Ok(()));
            self.carry_out(&[] as &[u8], out);
        }
    }

    #[inline]
    fn carry_out(&mut self, data: &(impl Payload + ?Sized), out: &mut Out) {
        // Taken out, so that the rest can be borrowed; put back for its memory.
        let mut work = std::mem::take(&mut self.work);
        for one in work.drain(..) {
            self.one(&one, data, out);
        }
        self.work = work;
    }

    #[inline]
    fn one(&mut self, work: &Work, data: &(impl Payload + ?Sized), out: &mut Out) {
        match *work {
            Work::Send { to, context, ref packet, data: memory } => {
                let len = if let Packet::Eager { len, .. } = packet { *len } else { 0 };
                let bytes = memory.filter(|_| len > 0).and_then(|memory| self.registry.bytes(memory, len));
                let bytes = bytes.unwrap_or_default();
                if to == self.me {
                    self.local.push_back(Local::Packet(context, *packet, bytes.to_vec()));
                } else if out.is_connected(to) || self.directory.connect(to, out, &mut self.trouble) {
                    out.send(to, context, packet, bytes);
                }
            }
            Work::Place { into, len, .. } => {
                if let Some(bytes) = self.registry.bytes_mut(into, len) {
                    data.copy_to(bytes);
                }
            }
            Work::Keep { kept, len } => data.copy_to(self.kept.keep(kept, len as usize)),
            Work::Take { kept, into, len, .. } => {
                let registry = &mut self.registry;
                self.kept.take(kept, |data| {
                    if let Some(bytes) = registry.bytes_mut(into, len) {
                        bytes.copy_from_slice(&data[..bytes.len()]);
                    }
                });
            }
            // Whoever waits for the request asks the rank.
            Work::Complete { .. } => {}
            Work::Write { to, context, from, into, len, notice, request, .. } => {
                if to == self.me {
                    self.registry.copy(from, into, len);
                    self.local.push_back(Local::Written(request));
                    let notice = notice.map(|packet| Local::Packet(context, packet, Vec::new()));
                    self.local.extend(notice);
                } else if out.is_connected(to) || self.directory.connect(to, out, &mut self.trouble) {
                    let notice = notice.map(|packet| (context, packet));
                    out.write(&Write { to, from, into, len, request, notice }, &mut self.registry);
                }
            }
            Work::Read { of, from, into, len, request, .. } => {
                if of == self.me {
                    self.registry.copy(from, into, len);
                    self.local.push_back(Local::Read(request));
                } else if out.is_connected(of) || self.directory.connect(of, out, &mut self.trouble) {
                    out.read(&Read { of, from, into, len, request }, &mut self.registry);
                }
            }
        }
    }

    /// Feeds the rank what has come from this process itself. Returns how much.
    pub(super) fn local(&mut self, out: &mut Out) -> usize {
        let mut count = 0;
        while let Some(local) = self.local.pop_front() {
            count += 1;
            match local {
                Local::Packet(context, packet, data) => {
                    let arrival = Arrival::Packet { from: self.me, context, packet };
                    self.arrival(arrival, &data[..], out);
                }
                Local::Written(request) => self.arrival(Arrival::Written(request), &[] as &[u8], out),
                Local::Read(request) => self.arrival(Arrival::Read(request), &[] as &[u8], out),
            }
        }
        count
    }
}

impl Handler<Out> for Hands {
    type Regions = Registry;

    fn regions(&mut self) -> &mut Registry {
        &mut self.registry
    }

    #[inline]
    fn arrival(&mut self, arrival: Arrival, data: &(impl Payload + ?Sized), out: &mut Out) {
        let event = match arrival {
            Arrival::Packet { from, context, packet } => Event::Packet { from, context, packet },
            Arrival::Written(request) => Event::Written(request),
            Arrival::Read(request) => Event::Read(request),
            Arrival::Lost(peer) => Event::Lost(peer),
        };
        let result = self.rank.event(event, &mut self.work);
        self.perform(data, out);
        if let Err(error) = result {
            // Whatever it sends next, it does not speak this protocol.
            self.trouble.get_or_insert(Error::from(error));
            out.abandon(error.peer);
        }
    }
}
