//! Two or more ranks, their memory, and an ordered network between them. What a reduction combines are bytes,
//! two of which are an element, and it adds them.

use carrousel_rank::*;
use std::collections::{BTreeMap, VecDeque};

/// Bytes of the largest message that goes eagerly, in these tests.
pub(crate) const THRESHOLD: u64 = 16;
/// The length of an eager message.
pub(crate) const SMALL: usize = 8;
/// The length of a message that goes by rendezvous.
pub(crate) const LARGE: usize = 64;
/// Steps after which a driver that still has something to do reports a hang.
const STEPS_MAX: usize = 200_000;
/// Behind every receive buffer; never written.
const GUARD: [u8; 8] = [0xEE; 8];

/// `len` bytes that tell `seed` apart.
pub(crate) fn bytes(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(7).wrapping_add(seed)).collect()
}

/// Options with small sizes, so that data stays readable.
pub(crate) fn options() -> Options {
    Options { eager_threshold: THRESHOLD, speculation: Speculation::Always, ..Options::default() }
}

pub(crate) fn from(rank: u32) -> Source {
    Source::Rank(RankId(rank))
}

pub(crate) fn tag(tag: u32) -> TagSelector {
    mpi::selector(Some(tag))
}

/// The operation of all reductions here.
pub(crate) fn add(into: &mut [u8], from: &[u8]) {
    for (into, from) in into.chunks_exact_mut(2).zip(from.chunks_exact(2)) {
        let sum = u16::from_le_bytes([into[0], into[1]]).wrapping_add(u16::from_le_bytes([from[0], from[1]]));
        into.copy_from_slice(&sum.to_le_bytes());
    }
}

/// What travels in a lane.
enum Frame {
    /// A packet, with the data of an eager message.
    Packet(Packet, Vec<u8>),
    /// A write, the notice behind it, and the writer's request.
    Write { into: Memory, receive: Handle, data: Vec<u8>, notice: Option<Packet>, request: Handle },
}

/// What a rank is told without a packet.
enum Completion {
    Written(Handle),
    Read {
        of: u32,
        from: Memory,
        send: Handle,
        into: Memory,
        len: u64,
        request: Handle,
        notice: Notice,
    },
    /// The data of a read is there, and its notice has left; the reader is not told yet.
    Landed(Handle),
}

/// The packet behind a read.
type Notice = Option<(Context, Packet)>;

type LaneOf = (u32, u32, Context, Direction);

/// The driver. Memory is named by its position in the owner's list of buffers, in the upper half of the address.
pub(crate) struct Pair<P: Protocol> {
    pub(crate) ranks: Vec<Rank<P>>,
    /// Announce every receive that may be, as soon as it may be.
    announce: bool,
    /// Requests have failed whose transfers may still land.
    late: bool,
    /// The packets and transfers so far, as `rank name`.
    log: Vec<String>,
    buffers: Vec<Vec<Vec<u8>>>,
    kept: BTreeMap<(u32, Kept), Vec<u8>>,
    lanes: BTreeMap<LaneOf, VecDeque<Frame>>,
    completions: Vec<VecDeque<Completion>>,
    memory_of: BTreeMap<(u32, Handle), Memory>,
}

impl<P: Protocol> Pair<P> {
    /// Two ranks.
    pub(crate) fn new() -> Self {
        Self::with(2, &options())
    }

    /// Two ranks that announce their receives.
    pub(crate) fn announcing() -> Self {
        Self::new().announce(true)
    }

    pub(crate) fn announce(mut self, announce: bool) -> Self {
        self.announce = announce;
        self
    }

    pub(crate) fn with(ranks: u32, options: &Options) -> Self {
        let rank = |me| Rank::new(RankId(me), &Job { ranks }, options);
        let each = || 0..ranks as usize;
        Self {
            ranks: (0..ranks).map(rank).collect(),
            announce: false,
            late: false,
            log: Vec::new(),
            buffers: each().map(|_| Vec::new()).collect(),
            kept: BTreeMap::new(),
            lanes: BTreeMap::new(),
            completions: each().map(|_| VecDeque::new()).collect(),
            memory_of: BTreeMap::new(),
        }
    }

    fn allocate(&mut self, owner: u32, bytes: Vec<u8>) -> Memory {
        let buffers = &mut self.buffers[owner as usize];
        buffers.push(bytes);
        Memory { address: (buffers.len() as u64 - 1) << 32, key: owner }
    }

    fn buffer(&mut self, memory: Memory) -> &mut Vec<u8> {
        &mut self.buffers[memory.key as usize][(memory.address >> 32) as usize]
    }

    /// Bytes of a buffer; panics when they are outside of it.
    fn bytes(&mut self, memory: Memory, len: u64) -> &mut [u8] {
        let offset = memory.address as u32 as usize;
        &mut self.buffer(memory)[offset..offset + len as usize]
    }

    fn store(&mut self, into: Memory, data: &[u8]) {
        self.bytes(into, data.len() as u64).copy_from_slice(data);
    }

    pub(crate) fn call(&mut self, rank: u32, call: Call) -> Result<Handle, UsageError> {
        let mut work = Vec::new();
        let result = self.ranks[rank as usize].call(call, &mut work);
        self.perform(rank, work, &[]);
        self.announce_all(rank);
        result
    }

    pub(crate) fn define(
        &mut self,
        rank: u32,
        communicator: Communicator,
        members: &[u32],
    ) -> Result<(), UsageError> {
        let members: Vec<RankId> = members.iter().copied().map(RankId).collect();
        let members = Members::new(&members, self.ranks.len() as u32)?;
        let mut work = Vec::new();
        let result = self.ranks[rank as usize].define(communicator, members, &mut work);
        self.perform(rank, work, &[]);
        result
    }

    /// Feeds one event, with the data of an eager packet, and performs what follows.
    pub(crate) fn event(&mut self, rank: u32, event: Event, data: &[u8]) -> Result<(), ProtocolError> {
        let mut work = Vec::new();
        let result = self.ranks[rank as usize].event(event, &mut work);
        self.perform(rank, work, data);
        self.announce_all(rank);
        result
    }

    /// A packet that `by` never sent.
    pub(crate) fn forge(&mut self, by: u32, to: u32, packet: Packet) -> Result<(), ProtocolError> {
        let event = Event::Packet { from: RankId(by), context: Context::MESSAGES, packet };
        self.event(to, event, &[])
    }

    pub(crate) fn send(&mut self, by: u32, to: u32, tag: u32, data: &[u8]) -> Handle {
        self.send_in_mode(Communicator::WORLD, (by, to), mpi::tag(tag), data, false)
    }

    pub(crate) fn ssend(&mut self, by: u32, to: u32, tag: u32, data: &[u8]) -> Handle {
        self.send_in_mode(Communicator::WORLD, (by, to), mpi::tag(tag), data, true)
    }

    /// Sends with tag 5, and with 8 bytes beside the data.
    pub(crate) fn send_beside(
        &mut self,
        by: u32,
        to: u32,
        bytes: &[u8],
        synchronous: bool,
        data: Option<u64>,
    ) -> Handle {
        let (memory, tag) = (self.allocate(by, bytes.to_vec()), mpi::tag(5));
        let (to, len, communicator) = (RankId(to), bytes.len() as u64, Communicator::WORLD);
        let send = Send { to, tag, communicator, len, memory, synchronous, data };
        self.call(by, Call::Send(send)).expect("the send is right")
    }

    /// Sends with a tag of any layout.
    pub(crate) fn send_tagged(&mut self, by: u32, to: u32, tag: Tag, data: &[u8]) -> Handle {
        self.send_in_mode(Communicator::WORLD, (by, to), tag, data, false)
    }

    pub(crate) fn send_in(
        &mut self,
        communicator: Communicator,
        ends: (u32, u32),
        tag: u32,
        data: &[u8],
    ) -> Handle {
        self.send_in_mode(communicator, ends, mpi::tag(tag), data, false)
    }

    fn send_in_mode(
        &mut self,
        communicator: Communicator,
        (by, to): (u32, u32),
        tag: Tag,
        data: &[u8],
        synchronous: bool,
    ) -> Handle {
        let memory = self.allocate(by, data.to_vec());
        let len = data.len() as u64;
        let send = Send { to: RankId(to), tag, communicator, len, memory, synchronous, data: None };
        self.call(by, Call::Send(send)).expect("the send is right")
    }

    pub(crate) fn receive(&mut self, by: u32, from: Source, tag: TagSelector, len: usize) -> Handle {
        self.receive_in(Communicator::WORLD, by, from, tag, len)
    }

    pub(crate) fn receive_in(
        &mut self,
        communicator: Communicator,
        by: u32,
        from: Source,
        tag: TagSelector,
        len: usize,
    ) -> Handle {
        let memory = self.allocate(by, [vec![0xEE; len], GUARD.to_vec()].concat());
        let receive = Receive { from, tag, communicator, len: len as u64, memory };
        let request = self.call(by, Call::Receive(receive)).expect("the receive is right");
        self.memory_of.insert((by, request), memory);
        request
    }

    pub(crate) fn claim(&mut self, by: u32, from: Source, tag: TagSelector) -> Option<(Handle, Arrived)> {
        self.claim_in(Communicator::WORLD, by, from, tag)
    }

    pub(crate) fn claim_in(
        &mut self,
        communicator: Communicator,
        by: u32,
        from: Source,
        tag: TagSelector,
    ) -> Option<(Handle, Arrived)> {
        let mut work = Vec::new();
        let claimed = self.ranks[by as usize].claim(from, tag, communicator, &mut work);
        self.perform(by, work, &[]);
        claimed
    }

    pub(crate) fn receive_claimed(
        &mut self,
        by: u32,
        message: Handle,
        len: usize,
    ) -> Result<Handle, UsageError> {
        let memory = self.allocate(by, [vec![0xEE; len], GUARD.to_vec()].concat());
        self.memory_of.insert((by, message), memory);
        self.call(by, Call::ReceiveClaimed(ReceiveClaimed { message, len: len as u64, memory }))
    }

    pub(crate) fn barrier(&mut self, by: u32) -> Handle {
        let barrier = Collective::barrier(Communicator::WORLD);
        self.call(by, Call::Collective(barrier)).expect("a barrier is always right")
    }

    /// Enters a collective with memory of the right size, `source` in it; returns its target too.
    pub(crate) fn collective(&mut self, by: u32, call: &Collective, source: &[u8]) -> (Handle, Memory) {
        let schedule = self.ranks[by as usize].schedule(call).expect("the collective is right");
        let (bytes, target) = schedule.source_and_target_len();
        assert_eq!(source.len() as u64, bytes);
        let guarded = |len: u64| [vec![0xEE; len as usize], GUARD.to_vec()].concat();
        let source = self.allocate(by, source.to_vec());
        let target = self.allocate(by, guarded(target));
        let scratch = self.allocate(by, vec![0xDD; schedule.scratch_len() as usize]);
        let call = Collective { source, target, scratch, ..*call };
        (self.call(by, Call::Collective(call)).expect("it is right"), target)
    }

    /// What is in memory of [`Pair::collective`], of which nothing behind the end was written.
    pub(crate) fn target(&mut self, target: Memory) -> &[u8] {
        let buffer = self.buffer(target);
        let (target, guard) = buffer.split_at(buffer.len() - GUARD.len());
        assert_eq!(guard, GUARD);
        target
    }

    /// Whether a request is not complete, be it one of a collective's round.
    fn waits(&self, rank: u32, request: Handle) -> bool {
        let request = collective_of(request).unwrap_or(request);
        self.ranks[rank as usize].pending().any(|pending| pending == request)
    }

    pub(crate) fn is_complete(&self, rank: u32, request: Handle) -> bool {
        self.ranks[rank as usize].is_complete(request)
    }

    /// Releases a complete request.
    pub(crate) fn status(&mut self, rank: u32, request: Handle) -> Status {
        let status = self.ranks[rank as usize].release(request).expect("it is open");
        status.unwrap_or_else(|| panic!("{request} of rank {rank} is not complete; {}", self.told()))
    }

    /// Reuses all buffers of `rank`, as an application may once its sends are complete.
    pub(crate) fn overwrite_sent(&mut self, rank: u32) {
        self.buffers[rank as usize].iter_mut().for_each(|buffer| buffer.fill(0));
    }

    /// Releases a complete receive and asserts what it got, and that nothing else was written.
    pub(crate) fn got(&mut self, rank: u32, request: Handle, from: u32, tag: u32, data: &[u8]) {
        self.got_tagged(rank, request, from, mpi::tag(tag), data);
    }

    /// The same with a tag of any layout.
    pub(crate) fn got_tagged(&mut self, rank: u32, request: Handle, from: u32, tag: Tag, data: &[u8]) {
        let status = self.status(rank, request);
        let message = Some((RankId(from), tag));
        assert_eq!(
            status,
            Status { message, data: None, len: data.len() as u64, failure: None },
            "{}",
            self.told()
        );
        self.holds(rank, request, data);
    }

    /// Asserts that the buffer of a receive begins with `data` and has nothing behind it.
    pub(crate) fn holds(&mut self, rank: u32, request: Handle, data: &[u8]) {
        let memory = self.memory_of[&(rank, request)];
        let buffer = self.buffer(memory).clone();
        let (got, rest) = buffer.split_at(data.len());
        assert_eq!(got, data, "the data of {request}");
        assert!(rest.iter().all(|byte| *byte == 0xEE), "something was written past the end: {buffer:?}");
    }

    /// The packets and transfers since the last time, joined by commas.
    pub(crate) fn told(&mut self) -> String {
        std::mem::take(&mut self.log).join(", ")
    }

    /// Performs what a rank asks for; `at_hand` is the data of the packet that it was given.
    fn perform(&mut self, me: u32, work: Vec<Work>, at_hand: &[u8]) {
        for work in work {
            match work {
                Work::Send { to, context, packet, data } => {
                    self.log.push(format!("{me} {}", packet.name()));
                    let data = match (packet, data) {
                        (Packet::Eager { len, .. }, Some(data)) if len > 0 => self.bytes(data, len).to_vec(),
                        _ => Vec::new(),
                    };
                    let lane = self.lanes.entry((me, to.0, context, packet.direction())).or_default();
                    lane.push_back(Frame::Packet(packet, data));
                }
                Work::Write { context, write: Write { to, from, into, len, notice, request }, receive } => {
                    self.log.push(format!("{me} write"));
                    let data = self.bytes(from, len).to_vec();
                    let lane = self.lanes.entry((me, to.0, context, Direction::ToReceiver)).or_default();
                    lane.push_back(Frame::Write { into, receive, data, notice, request });
                }
                Work::Read { context, read: Read { of, from, into, len, notice, request }, send } => {
                    self.log.push(format!("{me} read"));
                    let (of, notice) = (of.0, notice.map(|packet| (context, packet)));
                    let read = Completion::Read { of, from, send, into, len, request, notice };
                    self.completions[me as usize].push_back(read);
                }
                Work::Place { into, len, .. } => self.store(into, &at_hand[..len as usize]),
                Work::Keep { kept, len } => {
                    assert_eq!(at_hand.len() as u64, len);
                    let before = self.kept.insert((me, kept), at_hand.to_vec());
                    assert!(before.is_none(), "{kept:?} is kept twice");
                }
                Work::Take { kept, into, len, .. } => {
                    let data = self.kept.remove(&(me, kept)).expect("it was kept");
                    // What is discarded goes nowhere.
                    if len > 0 {
                        self.store(into, &data[..len as usize]);
                    }
                }
                Work::Copy { from, into, len } => {
                    let data = self.bytes(from, len).to_vec();
                    self.store(into, &data);
                }
                Work::Combine { request, from, into, len } => {
                    assert_eq!(collective_of(request), None, "the driver knows the operation by the request");
                    assert!(len.is_multiple_of(2), "no element is divided");
                    let data = self.bytes(from, len).to_vec();
                    add(self.bytes(into, len), &data);
                }
                Work::Window { work, .. } => panic!("no window was made: {work:?}"),
                Work::Complete { request, .. } => assert!(self.is_complete(me, request)),
            }
        }
    }

    fn announce_all(&mut self, rank: u32) {
        while self.announce {
            let me = &mut self.ranks[rank as usize];
            let Some(request) = me.may_announce() else { return };
            let mut work = Vec::new();
            me.event(Event::Announce(request), &mut work).expect("an announcement cannot be wrong");
            assert_eq!(work.len(), 1, "what may be announced is announced");
            self.perform(rank, work, &[]);
        }
    }

    /// Delivers the next frame of one lane of messages.
    pub(crate) fn deliver(&mut self, by: u32, to: u32, lane: Direction) -> Result<(), ProtocolError> {
        self.deliver_in((by, to, Context::MESSAGES, lane))
    }

    /// The same in a communicator's context.
    pub(crate) fn deliver_in_context(
        &mut self,
        by: u32,
        to: u32,
        context: Context,
        lane: Direction,
    ) -> Result<(), ProtocolError> {
        self.deliver_in((by, to, context, lane))
    }

    fn deliver_in(&mut self, lane: LaneOf) -> Result<(), ProtocolError> {
        let (by, to, context, _) = lane;
        let frame = self.lanes.get_mut(&lane).and_then(VecDeque::pop_front).expect("something is under way");
        let packet = |packet| Event::Packet { from: RankId(by), context, packet };
        match frame {
            Frame::Packet(what, data) => self.event(to, packet(what), &data),
            Frame::Write { into, receive, data, notice, request } => {
                let waits = self.waits(to, receive);
                assert!(waits || self.late, "{receive} of rank {to} is written into though it does not wait");
                self.store(into, &data);
                self.completions[by as usize].push_back(Completion::Written(request));
                notice.map_or(Ok(()), |notice| self.event(to, packet(notice), &[]))
            }
        }
    }

    /// Reports the oldest completion of `rank`; of a read with a notice, first lets data and notice go.
    pub(crate) fn complete(&mut self, rank: u32) -> Result<(), ProtocolError> {
        match self.completions[rank as usize].pop_front().expect("something completes") {
            Completion::Written(request) => self.event(rank, Event::Written(request), &[]),
            Completion::Landed(request) => self.event(rank, Event::Read(request), &[]),
            Completion::Read { of, from, send, into, len, request, notice } => {
                let waits = self.waits(of, send);
                assert!(waits || self.late, "{send} of rank {of} is read though it does not wait");
                let data = self.bytes(from, len).to_vec();
                self.store(into, &data);
                let Some((context, packet)) = notice else {
                    return self.event(rank, Event::Read(request), &[]);
                };
                self.log.push(format!("{rank} {}", packet.name()));
                let lane = self.lanes.entry((rank, of, context, packet.direction())).or_default();
                lane.push_back(Frame::Packet(packet, Vec::new()));
                self.completions[rank as usize].push_front(Completion::Landed(request));
                Ok(())
            }
        }
    }

    /// Reports all completions of `rank`.
    pub(crate) fn complete_all(&mut self, rank: u32) -> Result<(), ProtocolError> {
        while !self.completions[rank as usize].is_empty() {
            self.complete(rank)?;
        }
        Ok(())
    }

    /// Delivers everything that is under way and reports every completion, until nothing is left.
    pub(crate) fn run(&mut self) {
        for _ in 0..STEPS_MAX {
            let lane = self.lanes.iter().find(|(_, frames)| !frames.is_empty()).map(|(lane, _)| *lane);
            let rank = self.completions.iter().position(|completions| !completions.is_empty());
            let result = match (lane, rank) {
                (Some(lane), _) => self.deliver_in(lane),
                (None, Some(rank)) => self.complete(rank as u32),
                (None, None) => return,
            };
            result.unwrap_or_else(|error| panic!("{error}; {}", self.told()));
        }
        panic!("not over after {STEPS_MAX} steps; {}", self.told());
    }

    /// The same in an order that `seed` draws.
    pub(crate) fn run_in_any_order(&mut self, seed: u64) {
        assert!(self.run_some_in_any_order(seed, STEPS_MAX), "not over after {STEPS_MAX} steps");
    }

    /// The same, but for at most so many steps; whether that was all.
    pub(crate) fn run_some_in_any_order(&mut self, mut seed: u64, steps: usize) -> bool {
        for _ in 0..steps {
            let lanes = self.lanes.iter().filter(|(_, frames)| !frames.is_empty()).map(|(lane, _)| *lane);
            let lanes: Vec<LaneOf> = lanes.collect();
            let ranks = (0..self.ranks.len()).filter(|rank| !self.completions[*rank].is_empty());
            let ranks: Vec<usize> = ranks.collect();
            if lanes.is_empty() && ranks.is_empty() {
                return true;
            }
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (seed >> 33) as usize % (lanes.len() + ranks.len());
            let result = match lanes.get(at) {
                Some(lane) => self.deliver_in(*lane),
                None => self.complete(ranks[at - lanes.len()] as u32),
            };
            result.unwrap_or_else(|error| panic!("{error}; {}", self.told()));
        }
        false
    }

    /// Runs on after a peer was lost: what lands in requests that have failed is nobody's business.
    pub(crate) fn run_late(&mut self) {
        self.late = true;
        self.run();
    }

    /// Asserts that no rank and no driver has anything left.
    pub(crate) fn is_over(&self) {
        for (me, rank) in self.ranks.iter().enumerate() {
            let pending: Vec<Handle> = rank.pending().collect();
            assert!(rank.is_quiet(), "rank {me} is left with {pending:?}");
        }
        assert!(self.kept.is_empty(), "{:?} is never taken", self.kept.keys());
        assert!(self.lanes.values().all(VecDeque::is_empty), "something is still under way");
    }
}
