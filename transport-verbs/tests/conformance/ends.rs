//! Single operations at the edges: without data, to a peer that is gone, and what only adapters do.

use super::PATIENCE;
use super::meeting::Meeting;
use carrousel_transport::{
    Arrival, Atomic, AtomicOp, Context, Direction, Handle, Handler, Head, Header, Memory, OnlyKeys, Outbound,
    Payload, Protocol, RankId, Read, Transport, Write,
};
use carrousel_transport_verbs::{Access, Address, Loss, Out, Region, Settings, Verbs};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

const RANKS: [RankId; 2] = [RankId(0), RankId(1)];
/// A packet without data.
const ATS: Head =
    Head::new(Header::new(Protocol::Messages, Direction::ToSender, 2, Context::MESSAGES), [&[0; 8], &[]]);

/// A rank: its memory, all of it registered, and what was reported.
pub(super) struct Watch {
    pub(super) words: Box<[u64; 64]>,
    pub(super) arrivals: Vec<Arrival>,
    region: Region,
    memory: OnlyKeys,
}

impl Watch {
    fn new(verbs: &Verbs) -> Self {
        let mut words = Box::new([0; 64]);
        // SAFETY: the memory goes with the region, after it is dropped or with nothing outstanding.
        #[allow(unsafe_code, reason = "the test hands its memory to the adapter")]
        let region = unsafe {
            Region::register(
                verbs.device(),
                words.as_mut_ptr().cast(),
                size_of_val(&*words),
                Access::Write,
                false,
            )
        };
        let region = region.expect("it can be registered");
        let memory = OnlyKeys(Some(region.keys()));
        Self { words, arrivals: Vec::new(), region, memory }
    }

    pub(super) fn word(&self, at: usize) -> Memory {
        let address = self.words.as_ptr().wrapping_add(at) as u64;
        Memory { address, key: self.region.keys().remote }
    }

    /// The first bytes of its memory.
    pub(super) fn bytes(&self, len: usize) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_ne_bytes()).take(len).collect()
    }

    /// Replaces the first bytes: of as many words as they are.
    pub(super) fn set(&mut self, bytes: &[u8]) {
        for (word, bytes) in self.words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
    }
}

impl Handler<Out> for Watch {
    type Regions = OnlyKeys;

    fn regions(&mut self) -> &mut OnlyKeys {
        &mut self.memory
    }

    fn arrival(&mut self, arrival: Arrival, _: &(impl Payload + ?Sized), _: &mut Out) {
        self.arrivals.push(arrival);
    }
}

pub(super) fn request(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.patience = Duration::from_secs(5);
    settings
}

/// Two ranks that are connected to each other.
pub(super) fn pair() -> [(Verbs, Watch); 2] {
    let mut ranks = RANKS.map(|me| {
        let verbs = Verbs::new(me, 2, &settings()).expect("there is a device");
        let watch = Watch::new(&verbs);
        (verbs, watch)
    });
    let addresses = [ranks[0].0.address(), ranks[1].0.address()];
    ranks[0].0.out().connect(RANKS[1], &addresses[1]);
    ranks[1].0.out().connect(RANKS[0], &addresses[0]);
    for (verbs, _) in &mut ranks {
        let to = RANKS[usize::from(verbs.address() == addresses[0])];
        verbs.out().send(to, &ATS, &[]);
    }
    drive(&mut ranks, |ranks| ranks.iter().all(|(_, watch)| watch.arrivals.len() == 1));
    ranks.iter_mut().for_each(|(_, watch)| watch.arrivals.clear());
    ranks
}

/// The time that all ranks of this process poll with.
pub(super) fn now() -> Duration {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGAN.elapsed()
}

pub(super) fn drive<const N: usize>(
    ranks: &mut [(Verbs, Watch); N],
    until: impl Fn(&[(Verbs, Watch); N]) -> bool,
) {
    let began = Instant::now();
    while !until(ranks) {
        for (verbs, watch) in ranks.iter_mut() {
            if verbs.poll(now(), watch) == 0 {
                thread::yield_now();
            }
        }
        let heard: Vec<_> = ranks.iter().map(|(_, watch)| &watch.arrivals).collect();
        assert!(began.elapsed() < PATIENCE, "what was waited for has not come; there are {heard:?}");
    }
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn operations_without_data_wait_for_those_before_them() {
    let mut ranks = pair();
    let [(verbs, watch), (_, peer)] = &mut ranks;
    for (index, len) in [(0, 500), (1, 0), (2, 8), (3, 0)] {
        let (from, into, to) = (watch.word(0), peer.word(0), RANKS[1]);
        verbs
            .out()
            .write(&Write { to, from, into, len, request: request(index), notice: None }, watch.regions());
    }
    for (index, len) in [(4, 500), (5, 0), (6, 8), (7, 0)] {
        let (from, into, of) = (peer.word(0), watch.word(0), RANKS[1]);
        verbs
            .out()
            .read(&Read { of, from, into, len, request: request(index), notice: None }, watch.regions());
    }
    drive(&mut ranks, |ranks| ranks[0].1.arrivals.len() == 8);
    let written = (0..4).map(|index| Arrival::Written(request(index)));
    let read = (4..8).map(|index| Arrival::Read(request(index)));
    assert_eq!(ranks[0].1.arrivals, written.chain(read).collect::<Vec<_>>());
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn atomics_bring_what_was_there() {
    let mut ranks = pair();
    let [(verbs, _), (_, peer)] = &mut ranks;
    peer.words[7] = 40;
    let target = peer.word(7);
    let swap = |expected, new| AtomicOp::CompareSwap { expected, new };
    let ops =
        [AtomicOp::FetchAdd(2), swap(41, 1), swap(42, 100), AtomicOp::Swap(7), AtomicOp::FetchAdd(u64::MAX)];
    for (index, op) in (0..).zip(ops) {
        let atomic = Atomic { to: RANKS[1], target, op, request: request(index), fenced: index % 2 == 1 };
        verbs.out().atomic(&atomic).expect("the device has atomics");
    }
    drive(&mut ranks, |ranks| ranks[0].1.arrivals.len() == 5);
    let found = (0..).zip([40, 42, 42, 100, 7]).map(|(index, found)| Arrival::Fetched(request(index), found));
    assert_eq!(ranks[0].1.arrivals, found.collect::<Vec<_>>());
    assert_eq!(ranks[1].1.words[7], 6);
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn an_atomic_on_what_is_no_word_of_the_peer_is_a_loss() {
    for is_misaligned in [false, true] {
        let mut ranks = pair();
        let [(verbs, _), (_, peer)] = &mut ranks;
        let word = peer.word(7);
        let target = if is_misaligned {
            Memory { address: word.address + 4, ..word }
        } else {
            Memory { key: !word.key, ..word }
        };
        let op = AtomicOp::FetchAdd(1);
        let atomic = Atomic { to: RANKS[1], target, op, request: request(0), fenced: false };
        verbs.out().atomic(&atomic).expect("the device has atomics");
        drive(&mut ranks, |ranks| ranks[0].1.arrivals.len() == 2);
        assert_eq!(ranks[0].1.arrivals, [Arrival::Lost(RANKS[1]), Arrival::Fetched(request(0), 0)]);
    }
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn who_only_waits_notices_that_a_peer_is_gone() {
    let [(verbs, watch), (peer, _)] = pair();
    drop(peer);
    let mut rank = [(verbs, watch)];
    drive(&mut rank, |rank| !rank[0].1.arrivals.is_empty());
    let [(mut verbs, watch)] = rank;
    assert_eq!(watch.arrivals, [Arrival::Lost(RANKS[1])]);
    assert_eq!(verbs.out().loss_of(RANKS[1]), Some(&Loss::Silent));
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn the_end_of_who_has_finished_is_no_loss() {
    let [(mut verbs, mut watch), (mut peer, mut theirs)] = pair();
    peer.finish();
    while !peer.unacknowledged().is_empty() {
        peer.poll(now(), &mut theirs);
        verbs.poll(now(), &mut watch);
    }
    drop((peer, theirs));
    let began = Instant::now();
    // Longer than it takes to notice.
    while began.elapsed() < Duration::from_secs(4) {
        if verbs.poll(now(), &mut watch) == 0 {
            thread::yield_now();
        }
    }
    assert_eq!(watch.arrivals, []);
    // What is posted to it nobody takes.
    let (from, into, to) = (watch.word(0), watch.word(1), RANKS[1]);
    verbs.out().write(&Write { to, from, into, len: 8, request: request(1), notice: None }, watch.regions());
    let mut rank = [(verbs, watch)];
    drive(&mut rank, |rank| rank[0].1.arrivals.len() == 2);
    assert_eq!(rank[0].1.arrivals, [Arrival::Lost(RANKS[1]), Arrival::Written(request(1))]);
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn who_looks_no_more_need_not_take_every_goodbye() {
    const RECEIVES: u32 = 4;
    const PEERS: u32 = 2 * RECEIVES;
    let mut few = settings();
    (few.receives, few.window) = (RECEIVES, 2);
    let make = |me| {
        let verbs = Verbs::new(RankId(me), PEERS + 1, &few).expect("there is a device");
        let watch = Watch::new(&verbs);
        (verbs, watch)
    };
    let mut last = [make(0)];
    let mut peers: Vec<_> = (1..=PEERS).map(make).collect();
    for (rank, (peer, watch)) in (1..).map(RankId).zip(&mut peers) {
        let [(verbs, heard)] = &mut last;
        verbs.out().connect(rank, &peer.address());
        peer.out().connect(RankId(0), &verbs.address());
        verbs.out().send(rank, &ATS, &[]);
        peer.out().send(RankId(0), &ATS, &[]);
        let began = Instant::now();
        while watch.arrivals.is_empty()
            || heard.arrivals.len() < rank.0 as usize
            || !verbs.unacknowledged().is_empty()
            || !peer.unacknowledged().is_empty()
        {
            verbs.poll(now(), heard);
            peer.poll(now(), watch);
            assert!(began.elapsed() < PATIENCE, "they meet");
        }
    }
    let [(verbs, heard)] = &mut last;
    verbs.finish();
    let began = Instant::now();
    while !verbs.unacknowledged().is_empty() {
        verbs.poll(now(), heard);
        assert!(began.elapsed() < PATIENCE, "its own goodbyes are taken by the adapters of its peers");
    }
    // It looks no more, and has fewer buffers than there are goodbyes to come.
    peers.iter_mut().for_each(|(peer, _)| peer.finish());
    let began = Instant::now();
    while peers.iter_mut().any(|(peer, _)| !peer.unacknowledged().is_empty()) {
        for (peer, watch) in &mut peers {
            peer.poll(now(), watch);
        }
        assert!(began.elapsed() < PATIENCE, "a goodbye is waited for that is not taken");
    }
    assert!(peers.iter().all(|(_, watch)| watch.arrivals.len() == 1), "nobody is lost");
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn what_is_posted_to_nobody_completes_after_the_loss() {
    let mut verbs = Verbs::new(RANKS[0], 2, &settings()).expect("there is a device");
    let mut watch = Watch::new(&verbs);
    let nobody = Address { queue: 0xff_fff0, ..verbs.address() };
    verbs.out().connect(RANKS[1], &nobody);
    let (own, other, to) = (watch.word(0), watch.word(1), RANKS[1]);
    verbs.out().send(RANKS[1], &ATS, &[]);
    let write = Write { to, from: own, into: other, len: 8, request: request(0), notice: None };
    verbs.out().write(&write, watch.regions());
    let read = Read { of: to, from: other, into: own, len: 8, request: request(1), notice: None };
    verbs.out().read(&read, watch.regions());
    let mut rank = [(verbs, watch)];
    drive(&mut rank, |rank| rank[0].1.arrivals.len() == 3);
    let [(mut verbs, watch)] = rank;
    let completions = [Arrival::Written(request(0)), Arrival::Read(request(1))];
    assert_eq!(watch.arrivals, [&[Arrival::Lost(RANKS[1])], &completions[..]].concat());
    assert_eq!(verbs.out().loss_of(RANKS[1]), Some(&Loss::NoAnswer));
    assert!(verbs.unacknowledged().is_empty());
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn memory_that_is_not_registered_is_the_end_of_the_connection() {
    let mut ranks = pair();
    let [(verbs, watch), (_, peer)] = &mut ranks;
    let wrong = Memory { key: peer.region.keys().remote ^ 0x0101, ..peer.word(0) };
    let write =
        Write { to: RANKS[1], from: watch.word(0), into: wrong, len: 8, request: request(0), notice: None };
    verbs.out().write(&write, watch.regions());
    drive(&mut ranks, |ranks| ranks[0].1.arrivals.len() == 2);
    assert_eq!(ranks[0].1.arrivals, [Arrival::Lost(RANKS[1]), Arrival::Written(request(0))]);
    assert_eq!(ranks[1].1.words[..], [0; 64]);
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn who_sleeps_is_woken() {
    let [(mut verbs, mut watch), (mut peer, mut theirs)] = pair();
    let sleeper = thread::spawn(move || {
        let began = Instant::now();
        while watch.arrivals.is_empty() && began.elapsed() < PATIENCE {
            verbs.sleep(now(), &mut watch, PATIENCE);
        }
        (watch.arrivals, began.elapsed())
    });
    thread::sleep(Duration::from_millis(200));
    peer.out().send(RANKS[0], &ATS, &[]);
    while !peer.unacknowledged().is_empty() {
        peer.poll(now(), &mut theirs);
    }
    let (arrivals, slept) = sleeper.join().expect("it does not panic");
    let packet = Arrival::Packet { from: RANKS[1], context: Context::MESSAGES, packet: ATS.header() };
    assert_eq!(arrivals, [packet]);
    assert!(slept < PATIENCE, "a packet has woken it");
}

/// Needs two nodes, of which the first one's network is taken down when both wait.
#[test]
#[ignore = "needs two nodes, and takes down the network of one"]
fn between_nodes_who_waits_is_told_that_its_port_is_down() {
    let meeting = Meeting::new("port");
    assert_eq!(meeting.nodes, 2, "the other one loses its peer");
    let (me, other) = (meeting.node, RankId(1 - meeting.node));
    let mut verbs = Verbs::new(RankId(me), 2, &settings()).expect("there is a device");
    let watch = Watch::new(&verbs);
    meeting.say("address", me, &verbs.address().to_string());
    let address = meeting.hear("address", other.0).parse().expect("an address");
    verbs.out().connect(other, &address);
    verbs.out().send(other, &ATS, &[]);
    let mut rank = [(verbs, watch)];
    drive(&mut rank, |rank| rank[0].1.arrivals.len() == 1);
    meeting.say("waits", me, "");
    drive(&mut rank, |rank| rank[0].1.arrivals.len() == 2);
    let [(mut verbs, watch)] = rank;
    assert_eq!(watch.arrivals[1], Arrival::Lost(other));
    let port = format!("port 1 of {} is down", verbs.device().name());
    let loss = verbs.out().loss_of(other).expect("it is lost");
    assert_eq!(*loss, if me == 0 { Loss::Device(port) } else { Loss::Silent });
    println!("it is lost: {loss}");
}
