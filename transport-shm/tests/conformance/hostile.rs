//! A peer that writes into the ring what no honest peer writes.

use super::processes::{ChildRank, say};
use super::{NOW, PATIENCE};
use carrousel_transport::*;
use carrousel_transport_shm::chunk_queue::Owner;
use carrousel_transport_shm::ring::{CONTROL_WORDS_START, POSITIONS};
use carrousel_transport_shm::{Node, Out, Producer, Ring, Segment, Settings};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Instant;

const SETTINGS: Settings = Settings { capacity: 64, direct: false };
const KEY: u32 = 77;
/// The registered bytes, in the middle of others.
const REGISTERED: std::ops::Range<usize> = 16..48;
const BEFORE: [u8; 64] = [0x11; 64];

/// A handler with memory, of which some is registered, and the arrivals that were reported.
#[repr(align(16))]
struct GuardedRecorder {
    bytes: [u8; 64],
    arrivals: Vec<Arrival>,
}

impl GuardedRecorder {
    fn new() -> Box<Self> {
        Box::new(Self { bytes: BEFORE, arrivals: Vec::new() })
    }

    /// The name of the first registered byte.
    fn memory(&self) -> Memory {
        Memory { address: self.bytes[REGISTERED].as_ptr() as u64, key: KEY }
    }

    fn range(&self, memory: Memory, len: u64) -> Option<std::ops::Range<usize>> {
        let start = memory.address.checked_sub(self.memory().address)?;
        let end = start.checked_add(len).filter(|end| *end <= REGISTERED.len() as u64)?;
        (memory.key == KEY).then_some(REGISTERED.start + start as usize..REGISTERED.start + end as usize)
    }
}

impl Regions for GuardedRecorder {
    fn bytes(&self, memory: Memory, len: u64) -> Option<&[u8]> {
        Some(&self.bytes[self.range(memory, len)?])
    }

    fn bytes_mut(&mut self, memory: Memory, len: u64) -> Option<&mut [u8]> {
        let range = self.range(memory, len)?;
        Some(&mut self.bytes[range])
    }
}

impl Handler<Out> for GuardedRecorder {
    type Regions = Self;

    fn regions(&mut self) -> &mut Self {
        self
    }

    fn arrival(&mut self, arrival: Arrival, _: &(impl Payload + ?Sized), _: &mut Out) {
        self.arrivals.push(arrival);
    }
}

/// Rank 0, its hostile peer 1, of which only the segment is used, and the honest one 2.
struct Fixture {
    node: Node,
    hostile: Node,
    honest: Node,
    recorder: Box<GuardedRecorder>,
}

const RANKS: [RankId; 3] = [RankId(0), RankId(1), RankId(2)];
/// A packet without data.
const ATS: Head =
    Head::new(Header::new(Protocol::Messages, Direction::ToSender, 2, Context::MESSAGES), [&[3; 8], &[]]);

impl Fixture {
    fn new() -> Self {
        Self::with(SETTINGS)
    }

    fn with(settings: Settings) -> Self {
        let [mut node, hostile, mut honest] =
            RANKS.map(|rank| Node::new(rank, &RANKS, settings).expect("there is memory"));
        honest.out().connect(RANKS[0], &node.address()).expect("it is there");
        for peer in [&hostile, &honest].into_iter().zip([1, 2]) {
            node.out().connect(RANKS[peer.1], &peer.0.address()).expect("it is there");
        }
        Self { node, hostile, honest, recorder: GuardedRecorder::new() }
    }

    /// The hostile peer's ring at rank 0.
    fn ring(&self) -> Ring {
        ring(&self.node.address().to_string())
    }

    fn poll(&mut self) {
        for _ in 0..5 {
            self.node.poll(NOW, &mut *self.recorder);
        }
    }

    /// Expects that the hostile peer is lost, once, that the honest one is not, and that no byte has changed.
    fn expect_loss(mut self, what: &str) {
        self.poll();
        assert_eq!(self.recorder.arrivals, [Arrival::Lost(RANKS[1])], "{what}");
        assert_eq!(self.recorder.bytes, BEFORE, "{what}");
        self.honest.out().send(RANKS[0], &ATS, &[]);
        self.poll();
        let packet = Arrival::Packet { from: RANKS[2], context: Context::MESSAGES, packet: ATS.header() };
        assert_eq!(self.recorder.arrivals[1..], [packet], "{what}");
    }
}

/// The ring of rank 1 in the segment at an address.
fn ring(address: &str) -> Ring {
    rings(address, 1)
}

/// The ring of a rank in the segment at an address.
fn rings(address: &str, of: usize) -> Ring {
    let segment = segment(address);
    let ring = segment.ring(of).expect("it has a ring for each rank");
    segment.announce(of).expect("it has a ring for each rank");
    ring
}

/// The segment at an address.
pub(super) fn segment(address: &str) -> Segment {
    let mut parts = address.split(':').skip(1);
    let (pid, fd) = (parts.next().expect("a process"), parts.next().expect("a descriptor"));
    let segment = Segment::open_of(pid.parse().expect("a number"), fd.parse().expect("a number"));
    segment.expect("it is a segment")
}

/// A sequence that looks random, the same in every run.
fn sequence(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// The task of a process that writes garbage, followed by a seed, an address and the position of the memory.
pub(super) const GARBAGE: &str = "garbage ";

/// The process with this task: it writes into its ring at another process, as no producer does, until it is ended.
pub(super) fn garbage(task: &str) {
    let words: Vec<&str> = task.split(' ').collect();
    let [seed, address, memory] = words[..] else { panic!("three words") };
    let (seed, memory): (u64, u64) = (seed.parse().expect("a number"), memory.parse().expect("a number"));
    let (ring, mut next) = (ring(address), sequence(seed | 1));
    say("ready".to_owned());
    let mut producer = Producer::new(ring.clone()).expect("it fits");
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        // Frames with a valid header, then words without a meaning.
        let target = memory.wrapping_add(next() % 80).wrapping_sub(40).to_le_bytes();
        let rest: Vec<u8> = (0..next() % 48).map(|_| next() as u8).collect();
        let _ = producer.push((next() % 8) as u32, &[&target, &KEY.to_le_bytes(), &rest]);
        if seed.is_multiple_of(2) {
            ring[(next() % ring.len() as u64) as usize].store(next() >> (next() % 64), Relaxed);
        }
    }
}

#[test]
fn garbage_of_another_process_does_no_harm() {
    for seed in 0..8 {
        let mut fixture = Fixture::new();
        let address = fixture.node.address();
        let task = format!("{GARBAGE}{seed} {address} {}", fixture.recorder.memory().address);
        let mut peer = ChildRank::start(&task);
        let began = std::time::Instant::now();
        while !fixture.recorder.arrivals.contains(&Arrival::Lost(RANKS[1])) {
            fixture.node.poll(NOW, &mut *fixture.recorder);
            assert!(began.elapsed() < super::PATIENCE, "it is noticed");
        }
        assert_eq!(peer.hear(), "ready");
        let heard = fixture.recorder.arrivals.len();
        fixture.honest.out().send(RANKS[0], &ATS, &[]);
        fixture.poll();
        let packet = Arrival::Packet { from: RANKS[2], context: Context::MESSAGES, packet: ATS.header() };
        assert_eq!(fixture.recorder.arrivals[heard..], [packet], "seed {seed}");
        let guards = [0..REGISTERED.start, REGISTERED.end..64];
        assert!(guards.into_iter().all(|guard| fixture.recorder.bytes[guard.clone()] == BEFORE[guard]));
    }
}

/// Pushes a packet as an honest peer does.
fn push_done(producer: &mut Producer<Ring>) {
    producer.push(ATS.header().bits(), &[ATS.body()]).expect("there is room");
}

fn memory_bytes(memory: Memory) -> Vec<u8> {
    [&memory.address.to_le_bytes()[..], &memory.key.to_le_bytes()].concat()
}

/// The head of a fragment, and bytes.
fn fragment(into: Memory, last: u32, read: Handle, bytes: &[u8]) -> Vec<u8> {
    let numbers = [last, read.index, read.generation].map(u32::to_le_bytes).concat();
    [&memory_bytes(into)[..], &numbers, bytes].concat()
}

fn get_request(from: Memory, len: u64) -> Vec<u8> {
    [&memory_bytes(from)[..], &memory_bytes(from), &len.to_le_bytes(), &[0; 8]].concat()
}

/// The help request for transfer 1, from and to this memory.
fn help_request(memory: Memory, len: u64, reads: u32) -> Vec<u8> {
    [
        &memory_bytes(memory)[..],
        &memory_bytes(memory),
        &len.to_le_bytes(),
        &1_u32.to_le_bytes(),
        &reads.to_le_bytes(),
    ]
    .concat()
}

/// The request for an atomic of this kind.
fn atomic_request(target: Memory, op: u32) -> Vec<u8> {
    [&memory_bytes(target)[..], &op.to_le_bytes(), &[1; 16], &[0; 8]].concat()
}

fn atomic_reply(request: Handle) -> Vec<u8> {
    [&7_u64.to_le_bytes()[..], &request.index.to_le_bytes(), &request.generation.to_le_bytes()].concat()
}

const NOBODY: Handle = Handle { index: 0, generation: 0 };
const READ: Handle = Handle { index: 9, generation: 2 };

#[test]
fn frames_that_no_honest_peer_sends_are_the_end_of_the_connection() {
    type Make = Box<dyn Fn(Memory) -> (u32, Vec<u8>)>;
    let at = |memory: Memory, add: u64| Memory { address: memory.address.wrapping_add(add), ..memory };
    let other = |memory: Memory| Memory { key: KEY + 1, ..memory };
    let cases: Vec<(&str, Make)> = vec![
        ("tag 0", Box::new(|_| (0, vec![1; 8]))),
        ("tag 1", Box::new(|_| (1, vec![1; 8]))),
        ("tag 4", Box::new(|_| (4, vec![1; 8]))),
        ("tag 5", Box::new(|_| (5, vec![1; 8]))),
        ("no version, and everything else", Box::new(|_| (0xffff_ff07, vec![1; 8]))),
        ("half a fragment", Box::new(|memory| (2, fragment(memory, 0, NOBODY, &[])[..23].to_vec()))),
        (
            "a fragment for another key",
            Box::new(move |memory| (2, fragment(other(memory), 0, NOBODY, &[7; 4]))),
        ),
        (
            "a fragment before",
            Box::new(move |memory| (2, fragment(at(memory, u64::MAX), 0, NOBODY, &[7; 4]))),
        ),
        ("a fragment behind", Box::new(move |memory| (2, fragment(at(memory, 29), 0, NOBODY, &[7; 4])))),
        (
            "a fragment at no address",
            Box::new(|_| (2, fragment(Memory { address: u64::MAX, key: KEY }, 0, NOBODY, &[7; 4]))),
        ),
        ("the end of a read of nobody", Box::new(|memory| (2, fragment(memory, 1, READ, &[])))),
        ("half a get request", Box::new(|memory| (3, get_request(memory, 4)[..39].to_vec()))),
        ("a get request for another key", Box::new(move |memory| (3, get_request(other(memory), 4)))),
        ("a get request for too much", Box::new(|memory| (3, get_request(memory, 33)))),
        ("a get request for everything", Box::new(|memory| (3, get_request(memory, u64::MAX)))),
        ("a get request behind", Box::new(move |memory| (3, get_request(at(memory, 32), 1)))),
        ("half an atomic", Box::new(|memory| (6, atomic_request(memory, 1)[..39].to_vec()))),
        ("an atomic of no kind", Box::new(|memory| (6, atomic_request(memory, 0)))),
        ("an atomic of an unknown kind", Box::new(|memory| (6, atomic_request(memory, 4)))),
        ("an atomic for another key", Box::new(move |memory| (6, atomic_request(other(memory), 1)))),
        (
            "an atomic before",
            Box::new(move |memory| (6, atomic_request(at(memory, 0_u64.wrapping_sub(8)), 2))),
        ),
        ("an atomic behind", Box::new(move |memory| (6, atomic_request(at(memory, 32), 3)))),
        ("a misaligned atomic", Box::new(move |memory| (6, atomic_request(at(memory, 4), 3)))),
        ("half an answer", Box::new(|_| (7, atomic_reply(READ)[..15].to_vec()))),
        ("the answer to nobody's atomic", Box::new(|_| (7, atomic_reply(READ)))),
        ("half a transfer to share", Box::new(|memory| (5, help_request(memory, 1 << 20, 0)[..39].to_vec()))),
        ("nothing to share", Box::new(|memory| (5, help_request(memory, 0, 0)))),
        ("everything to share", Box::new(|memory| (5, help_request(memory, u64::MAX, 1)))),
    ];
    for (what, make) in cases {
        let fixture = Fixture::new();
        let (tag, bytes) = make(fixture.recorder.memory());
        let mut producer = Producer::new(fixture.ring()).expect("it fits");
        producer.push(tag, &[&bytes]).expect("there is room");
        // Frames behind it are not handled.
        push_done(&mut producer);
        fixture.expect_loss(what);
    }
}

/// Whether a packet means anything is for the handler to say.
#[test]
fn a_packet_is_handed_over_whatever_its_header_says() {
    for bits in [8, 0xff, 1 << 3 | 7, 0xffff << 16 | 31 << 3, u32::MAX] {
        for len in [0, 3, 8, 100] {
            let mut fixture = Fixture::new();
            let mut producer = Producer::new(fixture.ring()).expect("it fits");
            producer.push(bits, &[&vec![7; len]]).expect("there is room");
            push_done(&mut producer);
            fixture.poll();
            let packets = [Header::from_bits(bits), ATS.header()];
            let expected =
                packets.map(|packet| Arrival::Packet { from: RANKS[1], context: packet.context(), packet });
            assert_eq!(fixture.recorder.arrivals, expected, "{bits:#x}, {len} bytes");
        }
    }
}

/// A peer moves to its second ring once.
#[test]
fn a_peer_that_moves_again_and_again_is_lost() {
    const MOVED: u32 = 1;
    let fixture = Fixture::with(Settings { capacity: 2048, ..SETTINGS });
    let address = fixture.node.address().to_string();
    let second =
        segment(&address).second_ring(1).expect("there is memory").expect("a small ring comes first");
    for ring in [fixture.ring(), second] {
        Producer::new(ring).expect("it fits").push(MOVED, &[]).expect("there is room");
    }
    fixture.expect_loss("it moves again");
}

#[test]
fn a_length_that_no_honest_peer_writes_is_the_end_of_the_connection() {
    for header in [u64::MAX, 1 << 32 | 1 << 20, u64::from(u32::MAX)] {
        let fixture = Fixture::new();
        fixture.ring()[POSITIONS].store(header, Relaxed);
        fixture.expect_loss(&format!("header {header:#x}"));
    }
}

#[test]
fn the_end_of_a_read_that_another_peer_was_asked_for_is_refused() {
    let mut fixture = Fixture::new();
    let memory = fixture.recorder.memory();
    let read = Read { of: RANKS[2], from: memory, into: memory, len: 4, request: READ, notice: None };
    fixture.node.out().read(&read, &mut *fixture.recorder);
    let mut producer = Producer::new(fixture.ring()).expect("it fits");
    producer.push(2, &[&fragment(memory, 1, READ, &[])]).expect("there is room");
    fixture.expect_loss("a read of another peer");
}

#[test]
fn the_answer_to_an_atomic_that_another_peer_was_asked_for_or_not_first_is_refused() {
    for (of, index) in [(2, 9), (1, 10)] {
        let mut fixture = Fixture::new();
        let target = fixture.recorder.memory();
        for (to, index) in [(of, 9), (of, 10)] {
            let request = Handle { index, generation: 2 };
            let atomic = Atomic { to: RANKS[to], target, op: AtomicOp::Swap(1), request, fenced: false };
            fixture.node.out().atomic(&atomic).expect("it has atomics");
        }
        let mut producer = Producer::new(fixture.ring()).expect("it fits");
        producer.push(7, &[&atomic_reply(Handle { index, generation: 2 })]).expect("there is room");
        fixture.poll();
        let failed = [9, 10].map(|index| Arrival::Fetched(Handle { index, generation: 2 }, 0));
        let failed = if of == 1 { &failed[..] } else { &[] };
        assert_eq!(fixture.recorder.arrivals, [&[Arrival::Lost(RANKS[1])], failed].concat());
    }
}

#[test]
fn an_honest_answer_completes_an_atomic() {
    let mut fixture = Fixture::new();
    let target = fixture.recorder.memory();
    let atomic = Atomic { to: RANKS[1], target, op: AtomicOp::Swap(1), request: READ, fenced: true };
    fixture.node.out().atomic(&atomic).expect("it has atomics");
    let mut producer = Producer::new(fixture.ring()).expect("it fits");
    producer.push(7, &[&atomic_reply(READ)]).expect("there is room");
    producer.push(6, &[&atomic_request(target, 3)]).expect("there is room");
    fixture.poll();
    assert_eq!(fixture.recorder.arrivals, [Arrival::Fetched(READ, 7)]);
    assert_eq!(fixture.recorder.bytes[REGISTERED][..9], [1, 1, 1, 1, 1, 1, 1, 1, BEFORE[0]]);
}

#[test]
fn frames_of_an_honest_peer_are_handled() {
    let mut fixture = Fixture::new();
    let memory = fixture.recorder.memory();
    let mut producer = Producer::new(fixture.ring()).expect("it fits");
    producer
        .push(2, &[&fragment(Memory { address: memory.address + 28, ..memory }, 0, NOBODY, &[7; 4])])
        .expect("room");
    producer.push(3, &[&get_request(memory, 32)]).expect("there is room");
    push_done(&mut producer);
    fixture.poll();
    let packet = Arrival::Packet { from: RANKS[1], context: Context::MESSAGES, packet: ATS.header() };
    assert_eq!(fixture.recorder.arrivals, [packet]);
    let mut expected = BEFORE;
    expected[44..48].fill(7);
    assert_eq!(fixture.recorder.bytes, expected);
    drop(fixture.hostile);
}

/// A help request for a transfer of memory that is not there, which its owner does not copy: the transfer fails for the
/// peer, and this process is not harmed.
#[test]
fn a_transfer_to_help_with_of_memory_that_is_not_there_has_failed() {
    for reads in [0, 1] {
        let mut fixture = Fixture::with(Settings { direct: true, ..SETTINGS });
        let memory = fixture.recorder.memory();
        let ring = fixture.ring();
        let mut producer = Producer::new(ring.clone()).expect("it fits");
        // Four chunks, all of which are left.
        let (_, first) = Owner::open(&ring[CONTROL_WORDS_START..], 1, 4);
        ring[CONTROL_WORDS_START].store(1 << 32, Relaxed);
        assert_eq!(first.count, 2);
        producer.push(5, &[&help_request(memory, 4 * (32 << 10), reads)]).expect("there is room");
        push_done(&mut producer);
        fixture.poll();
        let packet = Arrival::Packet { from: RANKS[1], context: Context::MESSAGES, packet: ATS.header() };
        assert_eq!(fixture.recorder.arrivals, [packet]);
        assert_eq!((fixture.recorder.bytes, fixture.node.helped()), (BEFORE, 0));
        if fixture.node.out().is_direct(RANKS[1]) == Some(true) {
            assert_eq!(
                ring[CONTROL_WORDS_START + 1].load(Relaxed),
                1 << 32 | 1 << 31 | 2,
                "half was taken, and failed"
            );
        }
    }
}

/// A helper that takes chunks that it never copies, counts chunks that it never took, or puts taken chunks back is given up.
#[test]
fn a_helper_that_lies_is_lost() {
    // No chunk of the transfer is left; or more chunks are copied than there are; or all chunks are left, always.
    for (word, lie) in [(0, 0x00ff_ffff), (1, 0x00ff_ffff), (0, 0)] {
        let mut fixture = Fixture::with(Settings::default());
        if fixture.node.out().is_direct(RANKS[1]) != Some(true) {
            return;
        }
        let ring = rings(&fixture.hostile.address().to_string(), 0);
        // The peer takes nothing: only the large ring has room for as many requests as it may take.
        fixture.node.out().send(RANKS[1], &ATS, &[0; 2000]);
        let bytes = vec![0; 1 << 20];
        let own = Memory { address: bytes.as_ptr() as u64, key: 0 };
        let mut all = super::edge_cases::Recorder::of(bytes);
        let lost = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !lost.load(Relaxed) {
                    let number = ring[CONTROL_WORDS_START].load(Relaxed) >> 32;
                    ring[CONTROL_WORDS_START + word].store(number << 32 | lie, Relaxed);
                }
            });
            let write =
                Write { to: RANKS[1], from: own, into: own, len: 1 << 20, request: READ, notice: None };
            // The scheduler decides whether the helper lies in time.
            let began = Instant::now();
            while !all.arrivals.contains(&Arrival::Lost(RANKS[1])) && began.elapsed() < PATIENCE {
                fixture.node.out().write(&write, &mut all);
                fixture.node.poll(NOW, &mut all);
            }
            lost.store(true, Relaxed);
        });
        let lost = all.arrivals.contains(&Arrival::Lost(RANKS[1]));
        assert!(lost, "{lie:#x} in word {word}");
    }
}

#[test]
fn random_frames_do_no_harm() {
    let mut next = sequence(0x5eed);
    for _ in 0..300 {
        let mut fixture = Fixture::new();
        let memory = fixture.recorder.memory();
        let mut producer = Producer::new(fixture.ring()).expect("it fits");
        for _ in 0..4 {
            let mut bytes: Vec<u8> = (0..next() % 64).map(|_| next() as u8).collect();
            // Half of them name memory that is nearly right.
            if next().is_multiple_of(2) && bytes.len() >= 12 {
                bytes[..8].copy_from_slice(
                    &memory.address.wrapping_add(next() % 80).wrapping_sub(40).to_le_bytes(),
                );
                bytes[8..12].copy_from_slice(&KEY.to_le_bytes());
            }
            // The peer can write the control words, too.
            fixture.ring()[CONTROL_WORDS_START].store(next() & 0x3_0000_000f, Relaxed);
            let _ = producer.push((next() % 6) as u32, &[&bytes]);
        }
        fixture.poll();
        let guards = [0..REGISTERED.start, REGISTERED.end..64];
        assert!(guards.into_iter().all(|guard| fixture.recorder.bytes[guard.clone()] == BEFORE[guard]));
        let others =
            fixture.recorder.arrivals.iter().filter(|arrival| **arrival == Arrival::Lost(RANKS[1])).count();
        assert!(others <= 1);
    }
}
