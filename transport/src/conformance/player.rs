//! One rank of a plan: it posts the steps of the plan, and notes the events that it sees.

use super::plan::{MemoryMap, Plan, Post, Slot, UNTOUCHED, Word, fill, handle, position, sum};
use super::record::Event;
use crate::{
    Arrival, Atomic, Direction, Handle, Handler, Header, Keys, Memory, Outbound, Payload, RankId, Read,
    Regions, Transport, Write,
};
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

/// The key of all memory of players without an adapter.
const KEY: u32 = 0x5eed;
/// The byte that overwrites memory which a transport must not read any more.
const SPOILT: u8 = 0x5c;

/// The registered memory of one rank.
#[derive(Debug)]
pub struct RankMemory {
    /// With a few bytes in front of the slots, so that these begin with the alignment of words.
    bytes: Vec<u8>,
    /// Where the slots begin.
    start: usize,
    /// The keys under which an adapter knows it.
    keys: Option<Keys>,
}

impl RankMemory {
    /// The memory that rank `me` of the plan needs.
    pub fn new(plan: &Plan, me: u32) -> Self {
        let map = plan.map(me);
        const WORD: usize = Atomic::LEN as usize;
        let mut all = vec![UNTOUCHED; map.len() + WORD];
        // A vector of bytes has any alignment.
        let start = all.as_ptr().addr().next_multiple_of(WORD) - all.as_ptr().addr();
        all.truncate(start + map.len());
        let bytes = &mut all[start..];
        for range in map.ranges() {
            bytes[range].fill(0);
        }
        for (from, steps) in (0..).zip(&plan.steps) {
            for (at, step) in steps.iter().enumerate() {
                match step.post {
                    Post::Read { slot_of, .. } if step.to == me && slot_of == at => {
                        fill(from, at, &mut bytes[map.range(Slot::Remote { from, at })]);
                    }
                    Post::Write { .. } if from == me => {
                        fill(from, at, &mut bytes[map.range(Slot::Local { at })]);
                    }
                    _ => {}
                }
            }
        }
        Self { bytes: all, start, keys: None }
    }

    /// The same memory, with the keys under which an adapter knows it.
    pub fn known_as(self, keys: Keys) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// All of its bytes, for registration with an adapter.
    pub fn whole_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Its name, which the peers have to be told. It stays the same when the value is moved.
    pub fn memory(&self) -> Memory {
        let key = self.keys.map_or(KEY, |keys| keys.remote);
        Memory { address: self.slots().as_ptr() as u64, key }
    }

    fn slots(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    fn slots_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }

    fn range(&self, memory: Memory, len: u64) -> Option<core::ops::Range<usize>> {
        let start = memory.address.checked_sub(self.memory().address)?;
        let end = start.checked_add(len).filter(|end| *end <= self.slots().len() as u64)?;
        (memory.key == self.memory().key).then_some(start as usize..end as usize)
    }
}

impl Regions for RankMemory {
    fn bytes(&self, memory: Memory, len: u64) -> Option<&[u8]> {
        Some(&self.slots()[self.range(memory, len)?])
    }

    fn bytes_mut(&mut self, memory: Memory, len: u64) -> Option<&mut [u8]> {
        let range = self.range(memory, len)?;
        Some(&mut self.slots_mut()[range])
    }

    fn keys(&mut self, memory: Memory, len: u64, _writable: bool) -> Option<Keys> {
        self.range(memory, len)?;
        self.keys
    }
}

/// The state of one peer at a player.
#[derive(Clone, Debug)]
struct PeerState {
    memory: Memory,
    map: MemoryMap,
    /// Packets that have arrived, and all that the plan has.
    packets: u32,
    expected: u32,
    /// Reads from it, and atomics at it, that are not complete.
    fetches: usize,
    lost: bool,
    /// The memory of the peer's writes before this step has been checked.
    checked_until: usize,
    /// The sources of the peer's reads before this step are overwritten, as these reads are known to be over.
    spoilt_until: usize,
}

/// One rank of a plan.
#[derive(Debug)]
pub struct Player<'a> {
    plan: &'a Plan,
    me: u32,
    own_memory: RankMemory,
    map: MemoryMap,
    peers: Vec<PeerState>,
    /// The next step.
    next: usize,
    /// Writes and reads that are not complete.
    outstanding: usize,
    scratch: Vec<u8>,
    events: Vec<Event>,
}

impl<'a> Player<'a> {
    /// Rank `me` of the plan, with its memory, and the names of all ranks' memory.
    ///
    /// # Panics
    /// When there are not as many names as ranks.
    pub fn new(plan: &'a Plan, me: u32, own_memory: RankMemory, memories: &[Memory]) -> Self {
        assert_eq!(memories.len(), plan.steps.len(), "every rank names its memory");
        let peers = (0..).zip(memories).map(|(rank, memory)| {
            let packets = plan.between(rank, me).filter(|planned| planned.step.post.direction().is_some());
            let (expected, map) = (packets.count() as u32, plan.map(rank));
            let memory = *memory;
            PeerState {
                memory,
                map,
                packets: 0,
                expected,
                fetches: 0,
                lost: false,
                checked_until: 0,
                spoilt_until: 0,
            }
        });
        let (peers, map) = (peers.collect(), plan.map(me));
        let (scratch, events) = (Vec::new(), Vec::new());
        Self { plan, me, own_memory, map, peers, next: 0, outstanding: 0, scratch, events }
    }

    /// Posts the steps that can be posted, and polls. Time and result are those of [`Transport::poll`].
    pub fn drive<T: Transport>(&mut self, now: Duration, transport: &mut T) -> usize {
        self.post(transport.out());
        transport.poll(now, self)
    }

    /// Whether all steps are posted and complete, and all packets have arrived.
    pub fn is_done(&self) -> bool {
        let is_over = |peer: &PeerState| peer.lost || peer.packets >= peer.expected;
        self.next == self.plan.steps[self.me as usize].len()
            && self.outstanding == 0
            && self.peers.iter().all(is_over)
    }

    /// The events that this rank has noted so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The events that this rank has noted, and those of its memory's contents now that all ranks are done.
    pub fn finish(mut self) -> Vec<Event> {
        for from in 0..self.plan.ranks() {
            for write in self.plan.between(from, self.me) {
                if let Post::Write { slot_of, .. } = write.step.post {
                    let sum = sum(self.slot(Slot::Remote { from, at: slot_of }));
                    self.events.push(Event::FinalMemory { from, at: write.at, sum });
                }
            }
        }
        for word in self.map.shared_words() {
            let mut bytes = [0; Atomic::LEN as usize];
            bytes.copy_from_slice(self.slot(Slot::Shared(word)));
            self.events.push(Event::FinalWord { word, value: u64::from_ne_bytes(bytes) });
        }
        let mut end = 0;
        let mut untouched = true;
        for range in self.map.ranges() {
            untouched &= self.own_memory.slots()[end..range.start].iter().all(|byte| *byte == UNTOUCHED);
            end = range.end;
        }
        untouched &= self.own_memory.slots()[end..].iter().all(|byte| *byte == UNTOUCHED);
        if !untouched {
            self.events.push(Event::Stray);
        }
        self.events
    }

    fn slot(&self, slot: Slot) -> &[u8] {
        &self.own_memory.slots()[self.map.range(slot)]
    }

    fn spoil(&mut self, slot: Slot) {
        let range = self.map.range(slot);
        self.own_memory.slots_mut()[range].fill(SPOILT);
    }

    fn own(&self, at: usize) -> Memory {
        let start = self.map.range(Slot::Local { at }).start as u64;
        let own_memory = self.own_memory.memory();
        Memory { address: own_memory.address + start, ..own_memory }
    }

    /// Posts the steps that can be posted.
    fn post(&mut self, out: &mut impl Outbound) {
        while let Some(step) = self.plan.steps[self.me as usize].get(self.next) {
            let peer = &mut self.peers[step.to as usize];
            let has_own_fence = matches!(step.post, Post::Atomic { .. });
            let waits = step.fenced && !has_own_fence && peer.fetches > 0 || peer.packets < step.after;
            if waits && !peer.lost {
                return;
            }
            let at = self.next;
            self.next += 1;
            self.events.push(Event::Posted(at));
            let (to, len, request) = (RankId(step.to), step.post.len(), handle(at));
            let head = self.plan.head(self.me, at);
            let slot = match step.post {
                Post::Atomic { word: Word::Shared(word), .. } => Slot::Shared(word),
                post => Slot::Remote { from: self.me, at: post.slot_of().unwrap_or_default() },
            };
            let start = peer.map.range(slot).start as u64;
            let remote = Memory { address: peer.memory.address.wrapping_add(start), ..peer.memory };
            match step.post {
                Post::Send { .. } => {
                    let Some(head) = head else { return };
                    self.scratch.resize(len as usize, 0);
                    fill(self.me, at, &mut self.scratch);
                    out.send(to, &head, &self.scratch);
                    // Both may be reused.
                    self.scratch.fill(SPOILT);
                }
                Post::Write { .. } => {
                    self.outstanding += 1;
                    let (from, into) = (self.own(at), remote);
                    out.write(&Write { to, from, into, len, request, notice: head }, &mut self.own_memory);
                }
                Post::Read { .. } => {
                    peer.fetches += 1;
                    self.outstanding += 1;
                    let (from, into) = (remote, self.own(at));
                    out.read(&Read { of: to, from, into, len, request, notice: head }, &mut self.own_memory);
                }
                Post::Atomic { op, .. } => {
                    peer.fetches += 1;
                    self.outstanding += 1;
                    let atomic = Atomic { to, target: remote, op, request, fenced: step.fenced };
                    // An atomic that is refused never completes, which the check finds.
                    let _ = out.atomic(&atomic);
                }
            }
        }
    }

    /// A read from this peer, or an atomic at it, is complete.
    fn fetch_is_over(&mut self, peer: u32) {
        let fetches = &mut self.peers[peer as usize].fetches;
        *fetches = fetches.saturating_sub(1);
    }

    /// Notes a packet, and the memory that has to be in place because of it.
    fn packet(&mut self, from: u32, header: Header, payload: &(impl Payload + ?Sized)) {
        self.scratch.resize(payload.len(), 0);
        payload.copy_to(0, &mut self.scratch);
        let Some((at, data)) = self.plan.step_of(from, header, &self.scratch) else {
            return self.events.push(Event::Foreign(from));
        };
        self.events.push(Event::Packet { from, at, sum: sum(&self.scratch[data..]) });
        let plan = self.plan;
        let Some(step) = plan.planned_step(from, at).map(|planned| planned.step) else { return };
        let peer = &mut self.peers[from as usize];
        peer.packets += 1;
        let before = |first: usize| plan.between(from, self.me).skip_while(move |one| one.at < first);
        if step.post.direction() == Some(Direction::ToReceiver) {
            let checked_until = peer.checked_until;
            peer.checked_until = checked_until.max(at + 1);
            for write in before(checked_until).take_while(|write| write.at <= at) {
                if let Post::Write { slot_of, .. } = write.step.post {
                    let sum =
                        sum(&self.own_memory.slots()[self.map.range(Slot::Remote { from, at: slot_of })]);
                    self.events.push(Event::Memory { from, at: write.at, sum });
                }
            }
        }
        // A fenced packet says that all reads before the fence are complete; the notice of a read says that this read
        // and those before it are. Their sources may be overwritten.
        let is_notice = matches!(step.post, Post::Read { .. });
        if step.fenced || is_notice {
            let over = if is_notice { at + 1 } else { at };
            let peer = &mut self.peers[from as usize];
            let spoilt_until = peer.spoilt_until;
            peer.spoilt_until = spoilt_until.max(over);
            for read in plan.between(from, self.me).filter(|read| (spoilt_until..over).contains(&read.at)) {
                let is_own = matches!(read.step.post, Post::Read { slot_of, .. } if slot_of == read.at);
                // What atomics change has its contents from them.
                if is_own && !plan.has_atomics_on(from, read.at) {
                    self.spoil(Slot::Remote { from, at: read.at });
                }
            }
        }
    }

    fn completed(&mut self, request: Handle, kind: Completed) {
        if !self.completion(request, kind) {
            self.events.push(Event::Foreign(self.me));
        }
    }

    /// Notes a completion. Returns false if no step has this request.
    fn completion(&mut self, request: Handle, kind: Completed) -> bool {
        let Some(planned) = position(request).and_then(|at| self.plan.planned_step(self.me, at)) else {
            return false;
        };
        let at = planned.at;
        match (planned.step.post, kind) {
            (Post::Write { .. }, Completed::Write) => {
                self.events.push(Event::Written(at));
                // The source may be reused.
                self.spoil(Slot::Local { at });
            }
            (Post::Atomic { .. }, Completed::Atomic(value)) => {
                self.events.push(Event::Fetched { at, value });
                self.fetch_is_over(planned.step.to);
            }
            (Post::Read { .. }, Completed::Read) => {
                let sum = sum(self.slot(Slot::Local { at }));
                self.events.push(Event::Read { at, sum });
                self.fetch_is_over(planned.step.to);
            }
            _ => return false,
        }
        self.outstanding = self.outstanding.saturating_sub(1);
        true
    }
}

/// What a completion is of, and the value that an atomic has found.
#[derive(Clone, Copy, Debug)]
enum Completed {
    Write,
    Read,
    Atomic(u64),
}

impl<O: Outbound> Handler<O> for Player<'_> {
    type Regions = RankMemory;

    fn regions(&mut self) -> &mut RankMemory {
        &mut self.own_memory
    }

    fn arrival(&mut self, arrival: Arrival, payload: &(impl Payload + ?Sized), out: &mut O) {
        match arrival {
            Arrival::Packet { from, packet, .. } => self.packet(from.0, packet, payload),
            Arrival::Written(request) => self.completed(request, Completed::Write),
            Arrival::Read(request) => self.completed(request, Completed::Read),
            Arrival::Fetched(request, value) => self.completed(request, Completed::Atomic(value)),
            Arrival::Lost(peer) => {
                self.events.push(Event::Lost(peer.0));
                if let Some(peer) = self.peers.get_mut(peer.0 as usize) {
                    peer.lost = true;
                }
            }
        }
        self.post(out);
    }
}
