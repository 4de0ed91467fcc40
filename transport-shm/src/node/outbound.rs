//! The sending half: rings of peers, and the sends that wait for room in them.

mod connecting;
mod losing;
mod moving;

use super::cooperative_copy;
use super::direct::DirectCopyError;
use super::frames::{GET_REQUEST, GetRequest, Transfer};
use super::local_ranks::LocalRanks;
use super::loss::Loss;
use super::memory::Budget;
use super::peer::{FragmentedOp, FragmentedSend, Peer, PendingRead, PendingSend};
use super::process::{self, Identity};
use crate::doorbell;
use crate::segment::Word;
use crate::sync::Ordering;
use crate::{PushError, Segment};
use carrousel_transport::{
    Arrival, Atomic, AtomicsUnsupportedError, Handle, Head, Header, Outbound, RankId, Read, Regions, Write,
};
use rustix::process::Pid;
use std::collections::{BTreeMap, VecDeque};
use zerocopy::IntoBytes;

/// The half of a [`Node`](super::Node) that takes operations.
#[derive(Debug)]
pub struct Out {
    pub(super) local_ranks: LocalRanks,
    /// By local rank.
    peers: Vec<Option<Box<Peer>>>,
    /// The local ranks of connected peers: few of those there may be, where peers are not known ahead.
    connected: Vec<usize>,
    /// By local rank: whether it is lost, so that operations have no effect any more.
    lost: Vec<bool>,
    /// By local rank, the processes that are probed one at a time: those of watched peers, and of connected peers that
    /// have no pidfd.
    probed: BTreeMap<usize, Identity>,
    /// By local rank, the words of watched peers that say whether they have finished: those of segments that could be
    /// opened.
    watched: BTreeMap<usize, Word>,
    /// The local rank that was probed last.
    last_probed: usize,
    /// The segment of this process. Its peers' have the same layout.
    pub(super) segment: Segment,
    budget: Budget,
    /// The PID namespace of this process, see [`process::namespace`].
    namespace: u64,
    /// Whether `/proc` is of that namespace.
    in_proc: bool,
    /// By local rank, the causes of losses that have one.
    losses: BTreeMap<usize, Loss>,
    /// The local ranks of lost peers that are to be reported.
    pub(super) to_report: VecDeque<usize>,
    /// Completions that have not been reported.
    pub(super) completions: VecDeque<Arrival>,
    /// Sends that wait for room, over all peers.
    pending: usize,
    /// What this process says of itself when it connects, where peers are not known ahead.
    pub(super) introduction: Vec<u8>,
    /// Whether direct copies are tried at all.
    direct: bool,
    /// The peer whose frame said last that it has moved to its second ring.
    pub(super) has_moved: Option<usize>,
    /// Bytes of peers' transfers that this process has copied.
    pub(super) helped: u64,
    /// Whether this process can be heard by peers that sleep, and can sleep itself: see [`doorbell::register`].
    pub(super) rings_doorbells: bool,
}

impl Out {
    pub(super) fn new(local_ranks: LocalRanks, segment: Segment, budget: Budget, direct: bool) -> Self {
        let count = local_ranks.count();
        Self {
            local_ranks,
            peers: (0..count).map(|_| None).collect(),
            connected: Vec::new(),
            lost: vec![false; count],
            probed: BTreeMap::new(),
            watched: BTreeMap::new(),
            last_probed: 0,
            segment,
            budget,
            namespace: process::namespace(),
            in_proc: process::is_in_proc(),
            losses: BTreeMap::new(),
            to_report: VecDeque::new(),
            completions: VecDeque::new(),
            pending: 0,
            introduction: Vec::new(),
            direct,
            has_moved: None,
            helped: 0,
            rings_doorbells: doorbell::register(),
        }
    }

    /// Whether operations can be posted to `rank`.
    #[inline]
    pub fn is_connected(&self, rank: RankId) -> bool {
        self.local_ranks
            .of(rank)
            .is_some_and(|local_rank| self.peers[local_rank].is_some() || self.lost[local_rank])
    }

    /// Whether `rank` is on this node.
    #[inline]
    pub fn serves(&self, rank: RankId) -> bool {
        self.local_ranks.of(rank).is_some()
    }

    /// Whether the application of `rank` may still receive messages: it neither [leaves](super::Node::leave), nor has it
    /// finished. True before it is connected.
    pub fn receives(&self, rank: RankId) -> bool {
        let peer = self.local_ranks.of(rank).and_then(|local_rank| self.peers[local_rank].as_deref());
        peer.is_none_or(Peer::receives)
    }

    /// The peers at which sends wait for room.
    pub fn waited_for(&self) -> impl Iterator<Item = RankId> {
        let connected = if self.is_waiting() { &self.connected[..] } else { &[] };
        let is_full = |peer: &Peer| !peer.pending.is_empty();
        let full = connected.iter().filter(move |at| self.peers[**at].as_deref().is_some_and(is_full));
        full.map(|local_rank| self.local_ranks.ranks[*local_rank])
    }

    /// Whether messages to `rank` are copied directly between the processes' memory; `None` when it is not
    /// connected.
    pub fn is_direct(&self, rank: RankId) -> Option<bool> {
        let local_rank = self.local_ranks.of(rank)?;
        self.peers[local_rank].as_ref().map(|peer| peer.direct)
    }

    /// The connected peer of this local rank.
    pub(super) fn peer_mut(&mut self, local_rank: usize) -> Option<&mut Peer> {
        self.peers[local_rank].as_deref_mut()
    }

    /// The process of `local_rank`, if its memory can be copied directly.
    pub(super) fn direct_to(&self, local_rank: usize) -> Option<Pid> {
        self.peers[local_rank].as_ref().filter(|peer| peer.direct).map(|peer| peer.pid)
    }

    /// Whether sends wait for room.
    pub fn is_waiting(&self) -> bool {
        self.pending > 0
    }

    /// Drops the sends that wait for room at peers that have finished, and take no messages any more.
    pub fn drop_for_finished(&mut self) {
        for local_rank in &self.connected {
            if let Some(peer) = self.peers[*local_rank].as_mut().filter(|peer| peer.has_finished()) {
                self.pending -= peer.drop_pending();
            }
        }
    }

    /// Whether one of the connected peers was last seen on the processor that this word names.
    pub(super) fn is_one_on(&self, processor: u64) -> bool {
        let is_there = |peer: &Peer| peer.processor.load(Ordering::Relaxed) == processor;
        let mut peers = self.connected.iter().filter_map(|local_rank| self.peers[*local_rank].as_deref());
        peers.any(|peer| is_there(peer) && peer.runs_elsewhere())
    }

    /// A peer has sent all bytes of a read. Returns false when it is not the read that the peer was asked for first.
    pub(super) fn get_completed(&mut self, local_rank: usize, read: Handle) -> bool {
        let asked = |first: &mut PendingRead| first.request == read && !first.is_empty;
        let Some(first) = self.pop_read_if(local_rank, asked) else { return false };
        self.complete_read(local_rank, &first);
        while let Some(next) = self.pop_read_if(local_rank, |next| next.is_empty) {
            self.complete_read(local_rank, &next);
        }
        self.ask_for_atomics(local_rank);
        true
    }

    /// Takes the oldest read out of a peer's queue, if `is_it` accepts it.
    fn pop_read_if(
        &mut self,
        local_rank: usize,
        is_it: impl FnOnce(&mut PendingRead) -> bool,
    ) -> Option<PendingRead> {
        self.peers[local_rank].as_mut()?.reads.pop_front_if(is_it)
    }

    /// Completes a read whose data is in place, and sends its notice.
    fn complete_read(&mut self, local_rank: usize, read: &PendingRead) {
        self.completions.push_back(Arrival::Read(read.request));
        if let Some(notice) = read.notice {
            self.push_packet(local_rank, &notice, &[]);
        }
    }

    /// Pushes a packet and its data.
    fn push_packet(&mut self, local_rank: usize, head: &Head, data: &[u8]) {
        self.push(local_rank, head.header().bits(), &[head.body(), data]);
    }

    /// Sends a peer the bytes that it has asked for. Returns false when they are not registered, or the peer is not
    /// connected.
    pub(super) fn serve_get(
        &mut self,
        local_rank: usize,
        request: &GetRequest,
        regions: &impl Regions,
    ) -> bool {
        let (from, into, len) =
            (request.transfer.source(), request.transfer.target(), request.transfer.len());
        if regions.bytes(from, len).is_none() {
            return false;
        }
        let op = FragmentedOp::GetReply(request.read());
        self.enqueue(local_rank, PendingSend::Fragmented(FragmentedSend { from, into, len, sent: 0, op }))
    }

    /// Appends a send to those that wait for room. Returns false when the peer is not connected.
    fn enqueue(&mut self, local_rank: usize, pending: PendingSend) -> bool {
        let Some(peer) = &mut self.peers[local_rank] else { return false };
        peer.pending.push_back(pending);
        self.pending += 1;
        true
    }

    /// Pushes a frame, or keeps it until there is room.
    #[inline]
    pub(super) fn push(&mut self, local_rank: usize, tag: u32, parts: &[&[u8]]) {
        let Some(peer) = &mut self.peers[local_rank] else { return };
        if peer.pending.is_empty() {
            match peer.ring.push(tag, parts) {
                Ok(()) => return,
                Err(why) if self.moves(local_rank, why) => return self.push(local_rank, tag, parts),
                Err(_) => {}
            }
        }
        self.enqueue(local_rank, PendingSend::Frame(tag, parts.concat()));
    }

    /// Sends a packet whose body is whole words, if the peer is connected and its ring has room; returns whether it did.
    /// Most packets are such, and cost the least this way: the header is the frame's tag, and nothing is put together in
    /// memory before it is in the ring.
    #[inline]
    pub fn send_now<const WORDS: usize>(
        &mut self,
        to: RankId,
        header: Header,
        body: [u64; WORDS],
        data: &[u8],
    ) -> bool {
        let Some(Some(peer)) = self.local_ranks.of(to).map(|local_rank| &mut self.peers[local_rank]) else {
            return false;
        };
        peer.pending.is_empty() && peer.ring.push_words(header.bits(), body, data).is_ok()
    }

    /// Pushes the sends that wait, as far as there is room. Returns how many frames were pushed.
    #[inline(always)]
    pub(super) fn flush(&mut self, regions: &impl Regions) -> usize {
        if self.pending == 0 { 0 } else { self.flush_all(regions) }
    }

    #[inline]
    fn flush_all(&mut self, regions: &impl Regions) -> usize {
        // The last first: a peer that is lost here leaves the list.
        (0..self.connected.len()).rev().map(|index| self.flush_one(self.connected[index], regions)).sum()
    }

    fn flush_one(&mut self, local_rank: usize, regions: &impl Regions) -> usize {
        let mut pushed_count = 0;
        while let Some(peer) = &mut self.peers[local_rank] {
            let Some(first) = peer.pending.front_mut() else { break };
            let pushed = match first {
                PendingSend::Frame(tag, bytes) => peer.ring.push(*tag, &[bytes]),
                PendingSend::Fragmented(fragmented) => fragmented.push(&mut peer.ring, regions),
            };
            match pushed {
                Ok(()) => pushed_count += 1,
                // As always when the peer does not look, and it has moved before.
                Err(PushError::Full) if peer.second.is_none() => break,
                Err(why) if self.moves(local_rank, why) => continue,
                Err(_) => break,
            }
            if matches!(first, PendingSend::Fragmented(fragmented) if fragmented.sent < fragmented.len) {
                continue;
            }
            // The notice of a write takes the write's position in the queue.
            let ended = match first {
                PendingSend::Fragmented(FragmentedSend {
                    op: FragmentedOp::Write(request, notice), ..
                }) => Some((*request, notice.take())),
                _ => None,
            };
            if let Some((request, notice)) = ended {
                self.completions.push_back(Arrival::Written(request));
                if let Some(notice) = notice {
                    *first = PendingSend::Frame(notice.header().bits(), notice.body().to_vec());
                    continue;
                }
            }
            peer.pending.pop_front();
            self.pending -= 1;
        }
        pushed_count
    }

    /// The local rank of a connected peer.
    #[inline]
    pub(super) fn connected(&self, rank: RankId) -> Option<usize> {
        self.local_ranks.of(rank).filter(|local_rank| self.peers[*local_rank].is_some())
    }
}

impl Outbound for Out {
    #[inline]
    fn send(&mut self, to: RankId, head: &Head, data: &[u8]) {
        if let Some(local_rank) = self.connected(to) {
            self.push_packet(local_rank, head, data);
        }
    }

    fn write(&mut self, write: &Write, regions: &mut impl Regions) {
        let Write { to, from, into, len, request, notice } = *write;
        let written = Arrival::Written(request);
        let Some(local_rank) = self.connected(to) else { return self.completions.push_back(written) };
        let Some(bytes) = regions.bytes(from, len) else { return self.completions.push_back(written) };
        // A write without data copies nothing, but completes after the writes before it.
        let at_once = |peer: &&mut Box<Peer>| peer.copies_directly() || len == 0 && peer.pending.is_empty();
        if let Some(peer) = self.peers[local_rank].as_mut().filter(at_once) {
            match cooperative_copy::write(peer, write, bytes) {
                Ok(()) => {
                    self.completions.push_back(written);
                    if let Some(notice) = notice {
                        self.push_packet(local_rank, &notice, &[]);
                    }
                    return;
                }
                Err(DirectCopyError::Forbidden) => peer.direct = false,
                Err(DirectCopyError::Busy) => {}
                Err(error) => {
                    self.lose_by_copy(local_rank, error, bytes.as_ptr().addr(), into.address, len);
                    return self.completions.push_back(written);
                }
            }
        }
        let op = FragmentedOp::Write(request, notice);
        self.enqueue(local_rank, PendingSend::Fragmented(FragmentedSend { from, into, len, sent: 0, op }));
        self.flush_one(local_rank, regions);
    }

    fn read(&mut self, read: &Read, regions: &mut impl Regions) {
        let Read { of, from, into, len, request, notice } = *read;
        let done = Arrival::Read(request);
        let Some(local_rank) = self.connected(of) else { return self.completions.push_back(done) };
        let Some(bytes) = regions.bytes_mut(into, len) else { return self.completions.push_back(done) };
        let Some(peer) = &mut self.peers[local_rank] else { return };
        let is_empty = len == 0;
        let reading = PendingRead { request, is_empty, notice };
        // Reads are complete in the order in which they are posted.
        if (peer.copies_directly() || is_empty) && peer.reads.is_empty() {
            match cooperative_copy::read(peer, read, bytes) {
                Ok(()) => return self.complete_read(local_rank, &reading),
                Err(DirectCopyError::Forbidden) => peer.direct = false,
                Err(DirectCopyError::Busy) => {}
                Err(error) => {
                    self.lose_by_copy(local_rank, error, bytes.as_ptr().addr(), from.address, len);
                    return self.completions.push_back(done);
                }
            }
        }
        peer.reads.push_back(reading);
        if !is_empty {
            let request = GetRequest::new(Transfer::new(from, into, len), request);
            self.push(local_rank, GET_REQUEST, &[request.as_bytes()]);
        }
    }

    fn atomic(&mut self, atomic: &Atomic) -> Result<(), AtomicsUnsupportedError> {
        self.post_atomic(atomic);
        Ok(())
    }
}
