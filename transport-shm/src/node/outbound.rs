//! The sending half: rings of peers, and what waits for room in them.

use super::address::Address;
use super::connect::ConnectError;
use super::direct::{self, Refused};
use super::frames::{self, ASK, Ask, PACKET, Transfer};
use super::memory::Budget;
use super::peer::{End, Peer, Reading, Stream, Waiting};
use super::places::Places;
use super::process::{self, Identity, Process};
use super::together;
use crate::{Layout, Producer, PushError, Segment, SegmentError};
use carrousel_transport::wire::{HEAD_MAX, encode};
use carrousel_transport::{Context, Handle, Outbound, Packet, RankId, Read, Regions, Tag, Write};
use nix::unistd::Pid;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Pid as ProcessId;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use zerocopy::IntoBytes;

/// A completion that has not been reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    Written(Handle),
    Read(Handle),
}

/// Processes that are looked for one at a time, at each [`Out::ended`]: that takes microseconds for each.
const LOOKS: usize = 8;

/// The half of a [`Node`](super::Node) that takes operations.
#[derive(Debug)]
pub struct Out {
    pub(super) places: Places,
    /// By place.
    peers: Vec<Option<Box<Peer>>>,
    /// By place: no operation has an effect any more.
    lost: Vec<bool>,
    /// By place, the processes that are looked for one at a time: of peers that are watched, and of connected ones of
    /// which there is no descriptor.
    looked_for: BTreeMap<usize, Identity>,
    /// The place that was looked for last.
    last_looked_for: usize,
    /// How peers' segments have to be made: as this process's own.
    layout: Layout,
    budget: Budget,
    /// The PID namespace of this process, see [`process::namespace`].
    namespace: u64,
    /// Whether `/proc` is of that namespace.
    in_proc: bool,
    /// By place, why some were lost.
    losses: BTreeMap<usize, SegmentError>,
    /// Lost, and not reported.
    pub(super) to_report: VecDeque<usize>,
    pub(super) done: VecDeque<Done>,
    /// How much waits for room, over all peers.
    waiting: usize,
    /// Whether direct copies are tried at all.
    direct: bool,
    /// Bytes of peers' transfers that this process has copied.
    pub(super) helped: u64,
}

impl Out {
    pub(super) fn new(places: Places, layout: Layout, budget: Budget, direct: bool) -> Self {
        let count = places.count();
        Self {
            places,
            peers: (0..count).map(|_| None).collect(),
            lost: vec![false; count],
            looked_for: BTreeMap::new(),
            last_looked_for: 0,
            layout,
            budget,
            namespace: process::namespace(),
            in_proc: process::is_in_proc(),
            losses: BTreeMap::new(),
            to_report: VecDeque::new(),
            done: VecDeque::new(),
            waiting: 0,
            direct,
            helped: 0,
        }
    }

    /// Whether operations can be posted to `rank`.
    #[inline]
    pub fn is_connected(&self, rank: RankId) -> bool {
        self.places.of(rank).is_some_and(|place| self.peers[place].is_some() || self.lost[place])
    }

    /// Connects to the peer that has published `address`; does nothing when it is connected, or lost. Who
    /// has not connected to a peer cannot answer its reads: pairs connect both ways before they read.
    ///
    /// # Errors
    /// When there is no such process, no segment of this version that has a ring for this one, or too little memory
    /// for that.
    pub fn connect(&mut self, rank: RankId, address: &Address) -> Result<(), ConnectError> {
        let place = self.places.of(rank).ok_or(ConnectError::NotHere(rank))?;
        // A second sending end would begin the ring anew.
        if self.is_connected(rank) {
            return Ok(());
        }
        let identity = self.identity(rank, address)?;
        let (process, segment) = found(rank, identity, address)?;
        let refused = |why| match process.is_ending() {
            true => ConnectError::Gone(rank),
            false => ConnectError::Segment { rank, why },
        };
        if segment.layout() != self.layout {
            return Err(ConnectError::Differs { rank, theirs: segment.layout(), own: self.layout });
        }
        self.budget.take()?;
        let ring = segment.ring(self.places.own).map_err(refused)?;
        // A layout has no ring that none could live in.
        let ring = Producer::new(ring).map_err(|_| ConnectError::NotHere(rank))?;
        segment.announce(self.places.own).map_err(refused)?;
        let pid = Pid::from_raw(address.pid as i32);
        let direct = self.direct && direct::is_permitted(pid, address.probe);
        if process.descriptor().is_some() {
            self.looked_for.remove(&place);
        } else {
            self.looked_for.insert(place, identity);
        }
        let (waiting, reads) = (VecDeque::new(), VecDeque::new());
        // Its descriptor is not needed any more, and many peers would have many.
        let finished = segment.finished();
        self.peers[place] =
            Some(Box::new(Peer { ring, transfer: 0, finished, pid, process, direct, waiting, reads }));
        Ok(())
    }

    /// Has the end of the peer that has published `address` noticed, by [`Node::check`](super::Node::check), without
    /// a connection: that would take memory. Does nothing when it is connected, watched, or lost.
    ///
    /// That such a peer had finished cannot be seen any more when it has ended: it is lost.
    ///
    /// # Errors
    /// When the process of that number is another one here, whose end would mean nothing.
    pub fn watch(&mut self, rank: RankId, address: &Address) -> Result<(), ConnectError> {
        let place = self.places.of(rank).ok_or(ConnectError::NotHere(rank))?;
        if !self.is_watched(rank) {
            let identity = self.identity(rank, address)?;
            match found(rank, identity, address) {
                // What it had sent is taken before its end is told.
                Ok(_) | Err(ConnectError::Gone(_)) => {}
                Err(error) if error.is_shortage() => {}
                Err(error) => return Err(error),
            }
            self.looked_for.insert(place, identity);
        }
        Ok(())
    }

    /// Whether the end of `rank` is noticed.
    pub fn is_watched(&self, rank: RankId) -> bool {
        let watched = |place| self.looked_for.contains_key(&place);
        self.is_connected(rank) || self.places.of(rank).is_some_and(watched)
    }

    /// Which process a peer is.
    fn identity(&self, rank: RankId, address: &Address) -> Result<Identity, ConnectError> {
        let (theirs, own) = (address.namespace, self.namespace);
        if theirs != own && theirs != 0 && own != 0 {
            return Err(ConnectError::Elsewhere { rank, theirs, own });
        }
        let pid = ProcessId::from_raw(address.pid as i32).ok_or(ConnectError::Gone(rank))?;
        Ok(Identity { pid, began: address.began, in_proc: self.in_proc })
    }

    /// Whether `rank` is one of those of this node.
    #[inline]
    pub fn serves(&self, rank: RankId) -> bool {
        self.places.of(rank).is_some()
    }

    /// Whether messages to `rank` are copied directly between the processes' memory; `None` when it is not
    /// connected.
    pub fn is_direct(&self, rank: RankId) -> Option<bool> {
        let place = self.places.of(rank)?;
        self.peers[place].as_ref().map(|peer| peer.direct)
    }

    /// The process at `place`, if its memory can be copied from and to.
    pub(super) fn direct_to(&self, place: usize) -> Option<Pid> {
        self.peers[place].as_ref().filter(|peer| peer.direct).map(|peer| peer.pid)
    }

    /// Gives a peer up, as if its connection had broken: it is reported as lost, and nothing of it is
    /// acted upon any more.
    pub fn abandon(&mut self, rank: RankId) {
        if let Some(place) = self.places.of(rank) {
            self.lose(place);
        }
    }

    /// Whether something waits for room.
    pub fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Drops what waits for room at peers that have finished, and take nothing any more.
    pub fn drop_for_finished(&mut self) {
        for peer in self.peers.iter_mut().flatten().filter(|peer| peer.has_finished()) {
            self.waiting -= peer.drop_waiting();
        }
    }

    /// The connected and the watched peers whose processes have ended. Of those that are looked for one at a time,
    /// some are at each call.
    pub(super) fn ended(&mut self) -> Vec<usize> {
        let descriptor = |(place, peer)| {
            let peer: &Peer = Option::as_deref(peer)?;
            Some((place, PollFd::new(peer.process.descriptor()?, PollFlags::IN)))
        };
        let peers = self.peers.iter().enumerate().filter_map(descriptor);
        let (places, mut polled): (Vec<usize>, Vec<PollFd<'_>>) = peers.unzip();
        let mut ended = Vec::new();
        if rustix::event::poll(&mut polled, Some(&Timespec::default())).is_ok() {
            let is_over = |(_, fd): &(usize, PollFd<'_>)| !fd.revents().is_empty();
            ended.extend(places.into_iter().zip(polled).filter(is_over).map(|(place, _)| place));
        }
        let behind = (Bound::Excluded(self.last_looked_for), Bound::Unbounded);
        let looked_for = self.looked_for.range(behind).chain(self.looked_for.range(..=self.last_looked_for));
        for (place, identity) in looked_for.take(LOOKS) {
            self.last_looked_for = *place;
            if identity.has_ended() {
                ended.push(*place);
            }
        }
        ended
    }

    /// Draws the conclusion from the end of the process at `place`, of which all messages have been taken: it
    /// is lost, unless it had finished and owes nothing. What waits for it then waits for nobody.
    pub(super) fn settle(&mut self, place: usize) {
        match &mut self.peers[place] {
            Some(peer) if peer.has_finished() && !peer.owes() => self.waiting -= peer.drop_waiting(),
            _ => self.lose(place),
        }
    }

    /// Whether the peer at `place` is lost.
    #[inline]
    pub(super) fn is_lost(&self, place: usize) -> bool {
        self.lost[place]
    }

    /// As [`Out::lose`], and remembers why.
    #[cold]
    pub(super) fn lose_because(&mut self, place: usize, why: SegmentError) {
        self.losses.entry(place).or_insert(why);
        self.lose(place);
    }

    /// Why `rank` is lost, where there is something to be said about it: for want of memory, most likely.
    pub fn loss_of(&self, rank: RankId) -> Option<&SegmentError> {
        self.losses.get(&self.places.of(rank)?)
    }

    /// Forgets a peer, and completes what was posted to it.
    pub(super) fn lose(&mut self, place: usize) {
        if std::mem::replace(&mut self.lost[place], true) {
            return;
        }
        self.to_report.push_back(place);
        self.looked_for.remove(&place);
        if let Some(peer) = self.peers[place].take() {
            self.waiting -= peer.waiting.len();
            for waiting in peer.waiting {
                if let Waiting::Stream(Stream { end: End::Written(request, _), .. }) = waiting {
                    self.done.push_back(Done::Written(request));
                }
            }
            self.done.extend(peer.reads.iter().map(|read| Done::Read(read.request)));
        }
    }

    /// A peer says that it has sent all bytes of a read. False when that is not what it was asked for.
    pub(super) fn answered(&mut self, place: usize, read: Handle) -> bool {
        let asked = |first: &mut Reading| first.request == read && !first.is_empty;
        let Some(first) = self.next_read(place, asked) else { return false };
        self.has_read(place, &first);
        while let Some(next) = self.next_read(place, |next| next.is_empty) {
            self.has_read(place, &next);
        }
        true
    }

    /// Takes the oldest read out of a peer's queue, if it is this one.
    fn next_read(&mut self, place: usize, is_it: impl FnOnce(&mut Reading) -> bool) -> Option<Reading> {
        self.peers[place].as_mut()?.reads.pop_front_if(is_it)
    }

    /// The data of a read is where it belongs.
    fn has_read(&mut self, place: usize, read: &Reading) {
        self.done.push_back(Done::Read(read.request));
        if let Some((context, packet)) = read.notice {
            self.push_packet(place, context, &packet);
        }
    }

    /// Pushes a packet without data.
    fn push_packet(&mut self, place: usize, context: Context, packet: &Packet) {
        let mut head = [0; HEAD_MAX];
        let len = encode(context, packet, &mut head);
        self.push(place, PACKET, &[&head[..len]]);
    }

    /// Answers a peer that has asked for bytes. False when it must not.
    pub(super) fn answer(&mut self, place: usize, ask: &Ask, regions: &impl Regions) -> bool {
        let (from, into, len) = (ask.transfer.source(), ask.transfer.target(), ask.transfer.len());
        if regions.bytes(from, len).is_none() {
            return false;
        }
        let end = End::Answered(ask.read());
        self.wait(place, Waiting::Stream(Stream { from, into, len, gone: 0, end }))
    }

    fn wait(&mut self, place: usize, waiting: Waiting) -> bool {
        let Some(peer) = &mut self.peers[place] else { return false };
        peer.waiting.push_back(waiting);
        self.waiting += 1;
        true
    }

    /// Pushes a frame, or keeps it until there is room.
    #[inline]
    fn push(&mut self, place: usize, tag: u32, parts: &[&[u8]]) {
        let Some(peer) = &mut self.peers[place] else { return };
        if peer.waiting.is_empty() {
            match peer.ring.push(tag, parts) {
                Ok(()) => return,
                Err(PushError::Full) => {}
                Err(PushError::TooLarge { .. } | PushError::Corrupt(_)) => return self.lose(place),
            }
        }
        self.wait(place, Waiting::Frame(tag, parts.concat()));
    }

    /// Sends an EAGER, if there is a connection and room; false if not.
    #[inline]
    pub fn send_now(&mut self, to: RankId, context: Context, tag: Tag, data: &[u8]) -> bool {
        let Some(Some(peer)) = self.places.of(to).map(|place| &mut self.peers[place]) else { return false };
        let frame = frames::eager(context);
        peer.waiting.is_empty() && peer.ring.push_word(frame, tag.0.into(), data).is_ok()
    }

    /// Pushes what waits, as far as there is room. Returns how much went.
    pub(super) fn flush(&mut self, regions: &impl Regions) -> usize {
        if self.waiting == 0 {
            return 0;
        }
        (0..self.peers.len()).map(|place| self.flush_one(place, regions)).sum()
    }

    fn flush_one(&mut self, place: usize, regions: &impl Regions) -> usize {
        let mut went = 0;
        while let Some(peer) = &mut self.peers[place] {
            let Some(first) = peer.waiting.front_mut() else { break };
            let pushed = match first {
                Waiting::Frame(tag, bytes) => peer.ring.push(*tag, &[bytes]),
                Waiting::Stream(stream) => stream.push(&mut peer.ring, regions),
            };
            match pushed {
                Ok(()) => went += 1,
                Err(PushError::Full) => break,
                Err(PushError::TooLarge { .. } | PushError::Corrupt(_)) => {
                    self.lose(place);
                    break;
                }
            }
            if matches!(first, Waiting::Stream(stream) if stream.gone < stream.len) {
                continue;
            }
            // What is behind a write goes where the write was.
            let ended = match first {
                Waiting::Stream(Stream { end: End::Written(request, notice), .. }) => {
                    Some((*request, notice.take()))
                }
                _ => None,
            };
            if let Some((request, notice)) = ended {
                self.done.push_back(Done::Written(request));
                if let Some((context, packet)) = notice {
                    let mut head = [0; HEAD_MAX];
                    let len = encode(context, &packet, &mut head);
                    *first = Waiting::Frame(PACKET, head[..len].to_vec());
                    continue;
                }
            }
            peer.waiting.pop_front();
            self.waiting -= 1;
        }
        went
    }

    /// The place of a peer that operations can be posted to.
    #[inline]
    fn place(&self, rank: RankId) -> Option<usize> {
        self.places.of(rank).filter(|place| self.peers[*place].is_some())
    }
}

/// The process and the segment of the peer that has published `address`.
fn found(rank: RankId, identity: Identity, address: &Address) -> Result<(Process, Segment), ConnectError> {
    // First, so that whoever is found under this number later is noticed to be another one.
    let process = Process::open(identity).map_err(|_| ConnectError::Gone(rank))?;
    match Segment::open_of(address.pid, address.fd) {
        Ok(segment) if segment.nonce() == address.nonce => Ok((process, segment)),
        // Who ends closes its files first, and others may get their numbers.
        _ if process.is_ending() => Err(ConnectError::Gone(rank)),
        Ok(_) => Err(ConnectError::Stranger { rank, pid: address.pid, why: None }),
        Err(why) if why.is_shortage() => Err(ConnectError::Segment { rank, why }),
        Err(why) => Err(ConnectError::Stranger { rank, pid: address.pid, why: Some(why) }),
    }
}

impl Outbound for Out {
    #[inline]
    fn send(&mut self, to: RankId, context: Context, packet: &Packet, data: &[u8]) {
        let Some(place) = self.place(to) else { return };
        if let Packet::Eager { tag, .. } = packet {
            if !self.send_now(to, context, *tag, data) {
                self.push(place, frames::eager(context), &[&u64::from(tag.0).to_le_bytes(), data]);
            }
            return;
        }
        self.push_packet(place, context, packet);
    }

    fn write(&mut self, write: &Write, regions: &mut impl Regions) {
        let Write { to, from, into, len, request, notice } = *write;
        let written = Done::Written(request);
        let Some(place) = self.place(to) else { return self.done.push_back(written) };
        let Some(bytes) = regions.bytes(from, len) else { return self.done.push_back(written) };
        // Without data there is nothing to be copied, but a turn to be waited for.
        let at_once = |peer: &&mut Box<Peer>| peer.direct || len == 0 && peer.waiting.is_empty();
        if let Some(peer) = self.peers[place].as_mut().filter(at_once) {
            match together::write(peer, write, bytes) {
                Ok(()) => {
                    self.done.push_back(written);
                    if let Some((context, packet)) = notice {
                        self.send(to, context, &packet, &[]);
                    }
                    return;
                }
                Err(Refused::Forbidden) => peer.direct = false,
                Err(Refused::Broken) => {
                    self.lose(place);
                    return self.done.push_back(written);
                }
            }
        }
        let end = End::Written(request, notice);
        self.wait(place, Waiting::Stream(Stream { from, into, len, gone: 0, end }));
        self.flush_one(place, regions);
    }

    fn read(&mut self, read: &Read, regions: &mut impl Regions) {
        let Read { of, from, into, len, request, notice } = *read;
        let done = Done::Read(request);
        let Some(place) = self.place(of) else { return self.done.push_back(done) };
        let Some(bytes) = regions.bytes_mut(into, len) else { return self.done.push_back(done) };
        let Some(peer) = &mut self.peers[place] else { return };
        let is_empty = len == 0;
        let reading = Reading { request, is_empty, notice };
        if peer.direct || is_empty && peer.reads.is_empty() {
            match together::read(peer, read, bytes) {
                Ok(()) => return self.has_read(place, &reading),
                Err(Refused::Forbidden) => peer.direct = false,
                Err(Refused::Broken) => {
                    self.lose(place);
                    return self.done.push_back(done);
                }
            }
        }
        peer.reads.push_back(reading);
        if !is_empty {
            let ask = Ask::new(Transfer::new(from, into, len), request);
            self.push(place, ASK, &[ask.as_bytes()]);
        }
    }
}
