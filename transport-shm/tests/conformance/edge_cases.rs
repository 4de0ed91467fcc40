//! Edge cases of single operations: without data, to a peer that is gone, and given up in the middle.

use super::NOW;
use carrousel_transport::*;
use carrousel_transport_shm::{Node, Out, Settings};

pub(super) const RANKS: [RankId; 2] = [RankId(0), RankId(1)];
const RING: Settings = Settings { capacity: 64, direct: false };
/// A packet without data.
const ATS: Head =
    Head::new(Header::new(Protocol::Messages, Direction::ToSender, 2, Context::MESSAGES), [&[3; 8], &[]]);

/// A handler that notes all arrivals; all of its memory is registered.
pub(super) struct Recorder {
    pub(super) bytes: Vec<u8>,
    pub(super) arrivals: Vec<Arrival>,
    /// The ranks to give up at each packet, or at each loss if `at_losses` is set.
    gives_up: Vec<RankId>,
    at_losses: bool,
    /// So many arrivals are enough.
    enough: usize,
}

impl Recorder {
    fn new() -> Self {
        Self::of(vec![0; 1000])
    }

    pub(super) fn of(bytes: Vec<u8>) -> Self {
        Self { bytes, arrivals: Vec::new(), gives_up: Vec::new(), at_losses: false, enough: usize::MAX }
    }

    pub(super) fn memory(&self) -> Memory {
        Memory { address: self.bytes.as_ptr() as u64, key: 0 }
    }
}

impl Regions for Recorder {
    fn bytes(&self, memory: Memory, len: u64) -> Option<&[u8]> {
        let start = memory.address.checked_sub(self.memory().address)?;
        self.bytes.get(start as usize..(start.checked_add(len)?) as usize)
    }

    fn bytes_mut(&mut self, memory: Memory, len: u64) -> Option<&mut [u8]> {
        let start = memory.address.checked_sub(self.memory().address)?;
        self.bytes.get_mut(start as usize..(start.checked_add(len)?) as usize)
    }
}

impl Handler<Out> for Recorder {
    type Regions = Self;

    fn regions(&mut self) -> &mut Self {
        self
    }

    fn arrival(&mut self, arrival: Arrival, _: &(impl Payload + ?Sized), out: &mut Out) {
        self.arrivals.push(arrival);
        match arrival {
            Arrival::Packet { .. } if !self.at_losses => {}
            Arrival::Lost(_) if self.at_losses => {}
            _ => return,
        }
        self.gives_up.iter().for_each(|rank| out.abandon(*rank));
    }

    fn has_enough(&self) -> bool {
        self.arrivals.len() >= self.enough
    }
}

pub(super) fn request(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn pair(settings: Settings) -> [(Node, Recorder); 2] {
    nodes(settings).map(|node| (node, Recorder::new()))
}

pub(super) fn nodes(settings: Settings) -> [Node; 2] {
    let mut nodes = RANKS.map(|rank| Node::new(rank, &RANKS, settings).expect("there is memory"));
    let addresses = [nodes[0].address(), nodes[1].address()];
    nodes[0].out().connect(RANKS[1], &addresses[1]).expect("it is there");
    nodes[1].out().connect(RANKS[0], &addresses[0]).expect("it is there");
    nodes
}

pub(super) fn read(at: u32, len: u64, from: Memory, into: Memory) -> Read {
    Read { of: RANKS[1], from, into, len, request: request(at), notice: None }
}

pub(super) fn write(at: u32, len: u64, from: Memory, into: Memory) -> Write {
    Write { to: RANKS[1], from, into, len, request: request(at), notice: None }
}

#[test]
fn an_empty_read_waits_for_the_reads_before_it() {
    let [(mut node, mut recorder), (mut peer, mut theirs)] = pair(RING);
    let (own, other) = (recorder.memory(), theirs.memory());
    for (at, len) in [(0, 500), (1, 0), (2, 0), (3, 1), (4, 0)] {
        node.out().read(&read(at, len, other, own), &mut recorder);
    }
    for _ in 0..100 {
        node.poll(NOW, &mut recorder);
        peer.poll(NOW, &mut theirs);
    }
    assert_eq!(recorder.arrivals, [0, 1, 2, 3, 4].map(|at| Arrival::Read(request(at))));
}

#[test]
fn an_empty_write_waits_for_the_writes_before_it() {
    let [(mut node, mut recorder), (mut peer, mut theirs)] = pair(RING);
    let (own, other) = (recorder.memory(), theirs.memory());
    for (at, len) in [(0, 900), (1, 0), (2, 10), (3, 0)] {
        node.out().write(&write(at, len, own, other), &mut recorder);
    }
    for _ in 0..100 {
        node.poll(NOW, &mut recorder);
        peer.poll(NOW, &mut theirs);
    }
    assert_eq!(recorder.arrivals, [0, 1, 2, 3].map(|at| Arrival::Written(request(at))));
    assert!(!node.out().is_waiting());
}

/// In thousands of fragments, by ranks that take turns: however busy the machine is.
#[test]
fn a_large_transfer_goes_through_the_smallest_ring() {
    const LEN: usize = 100_003;
    let settings = Settings { capacity: super::TINY, direct: false };
    let [mut node, mut peer] = nodes(settings);
    let bytes: Vec<u8> = (0..LEN).map(|at| (at * 31 + (at >> 8)) as u8).collect();
    for is_read in [false, true] {
        let (mut recorder, mut theirs) = (Recorder::of(bytes.clone()), Recorder::of(bytes.clone()));
        let (own, other) = (recorder.memory(), theirs.memory());
        if is_read {
            recorder.bytes.fill(0);
            node.out().read(&read(0, LEN as u64, other, own), &mut recorder);
        } else {
            theirs.bytes.fill(0);
            node.out().write(&write(0, LEN as u64, own, other), &mut recorder);
        }
        for _ in 0..10 * LEN {
            peer.poll(NOW, &mut theirs);
            node.poll(NOW, &mut recorder);
        }
        let done = if is_read { Arrival::Read(request(0)) } else { Arrival::Written(request(0)) };
        assert_eq!(recorder.arrivals, [done]);
        assert!(recorder.bytes == bytes && theirs.bytes == bytes, "all of it, where it belongs");
    }
}

#[test]
fn operations_on_a_peer_complete_after_its_loss() {
    let [(mut node, mut recorder), (peer, theirs)] = pair(RING);
    let (own, other) = (recorder.memory(), theirs.memory());
    drop(peer);
    for at in 0..3 {
        node.out().read(&read(at, 100, other, own), &mut recorder);
        node.out().write(&write(10 + at, 900, own, other), &mut recorder);
    }
    node.out().abandon(RANKS[1]);
    node.out().read(&read(3, 100, other, own), &mut recorder);
    for _ in 0..5 {
        node.poll(NOW, &mut recorder);
    }
    assert_eq!(recorder.arrivals[0], Arrival::Lost(RANKS[1]), "a completion before it would mean success");
    let mut rest = recorder.arrivals[1..].to_vec();
    rest.sort_by_key(|arrival| match arrival {
        Arrival::Read(request) | Arrival::Written(request) => request.index,
        _ => u32::MAX,
    });
    let reads = [0, 1, 2, 3].map(|at| Arrival::Read(request(at)));
    let writes = [10, 11, 12].map(|at| Arrival::Written(request(at)));
    assert_eq!(rest, [&reads[..], &writes[..]].concat());
    assert!(!node.out().is_waiting());
}

#[test]
fn a_notice_is_sent_without_polling() {
    for (settings, notices) in [(Settings { direct: true, ..RING }, true), (RING, false)] {
        let [(mut node, mut recorder), (mut peer, mut theirs)] = pair(settings);
        let (own, other) = (recorder.memory(), theirs.memory());
        for (at, len) in [(0, 500), (1, 0)] {
            let notice = Some(ATS);
            node.out().read(&Read { notice, ..read(at, len, other, own) }, &mut recorder);
        }
        let told = Arrival::Packet { from: RANKS[0], context: Context::MESSAGES, packet: ATS.header() };
        peer.poll(NOW, &mut theirs);
        if notices && node.out().is_direct(RANKS[1]) == Some(true) {
            assert_eq!(theirs.arrivals, [told; 2], "the copies are made");
        } else {
            assert_eq!(theirs.arrivals, [], "the data is on its way");
        }
        for _ in 0..100 {
            peer.poll(NOW, &mut theirs);
            node.poll(NOW, &mut recorder);
        }
        assert_eq!(theirs.arrivals, [told; 2]);
        assert_eq!(recorder.arrivals, [0, 1].map(|at| Arrival::Read(request(at))));
    }
}

#[test]
fn a_read_that_fails_has_no_notice() {
    let [(mut node, mut recorder), (mut peer, mut theirs)] = pair(RING);
    let (own, other) = (recorder.memory(), theirs.memory());
    let notice = Some(ATS);
    node.out().read(&Read { notice, ..read(0, 100, other, own) }, &mut recorder);
    // The memory is no longer registered.
    let nowhere = Memory { address: 8, key: 0 };
    node.out().read(&Read { notice, ..read(1, 100, other, nowhere) }, &mut recorder);
    node.out().abandon(RANKS[1]);
    node.out().read(&Read { notice, ..read(2, 100, other, own) }, &mut recorder);
    for _ in 0..5 {
        node.poll(NOW, &mut recorder);
        peer.poll(NOW, &mut theirs);
    }
    assert_eq!(theirs.arrivals, []);
    assert_eq!(recorder.arrivals.len(), 4, "{:?}", recorder.arrivals);
}

#[test]
fn a_direct_copy_that_fails_is_no_success() {
    let [(mut node, mut recorder), (mut peer, _)] = pair(Settings { direct: true, ..RING });
    if node.out().is_direct(RANKS[1]) != Some(true) {
        // The system forbids direct copies: there is nothing to test.
        return;
    }
    let own = recorder.memory();
    // Between polls: the loss has to be reported first all the same.
    let notice = Some(ATS);
    let nowhere = Memory { address: 8, key: 0 };
    node.out().read(&Read { notice, ..read(0, 100, nowhere, own) }, &mut recorder);
    node.poll(NOW, &mut recorder);
    node.poll(NOW, &mut recorder);
    let mut theirs = Recorder::new();
    peer.poll(NOW, &mut theirs);
    assert_eq!(theirs.arrivals, [], "nothing was read");
    assert_eq!(recorder.arrivals, [Arrival::Lost(RANKS[1]), Arrival::Read(request(0))]);
}

#[test]
fn a_peer_that_is_given_up_says_nothing_more() {
    let [(mut node, mut recorder), (mut peer, _)] = pair(RING);
    recorder.gives_up.push(RANKS[1]);
    for _ in 0..5 {
        peer.out().send(RANKS[0], &ATS, &[]);
    }
    for _ in 0..5 {
        node.poll(NOW, &mut recorder);
    }
    let packet = Arrival::Packet { from: RANKS[1], context: Context::MESSAGES, packet: ATS.header() };
    assert_eq!(recorder.arrivals, [packet, Arrival::Lost(RANKS[1])]);
    assert!(!node.linger(), "what is left in its ring is no arrival");
}

/// In both cases: at a packet of the other one, and at its loss.
#[test]
fn a_peer_that_another_ones_end_gives_up_says_nothing_more() {
    let all = [RankId(0), RankId(1), RankId(2)];
    for at_losses in [false, true] {
        let [mut node, mut first, mut second] =
            all.map(|rank| Node::new(rank, &all, RING).expect("there is memory"));
        for peer in [&mut first, &mut second] {
            peer.out().connect(all[0], &node.address()).expect("it is there");
        }
        let mut recorder = Recorder::new();
        node.poll(NOW, &mut recorder);
        (recorder.gives_up, recorder.at_losses) = (vec![all[2]], at_losses);
        let expected = if at_losses {
            node.out().abandon(all[1]);
            vec![Arrival::Lost(all[1]), Arrival::Lost(all[2])]
        } else {
            first.out().send(all[0], &ATS, &[]);
            vec![
                Arrival::Packet { from: all[1], context: Context::MESSAGES, packet: ATS.header() },
                Arrival::Lost(all[2]),
            ]
        };
        if at_losses {
            node.poll(NOW, &mut recorder);
        }
        for _ in 0..5 {
            second.out().send(all[0], &ATS, &[]);
        }
        for _ in 0..5 {
            node.poll(NOW, &mut recorder);
        }
        assert_eq!(recorder.arrivals, expected, "at losses: {at_losses}");
    }
}

#[test]
fn what_a_handler_does_not_want_yet_stays_in_the_ring() {
    let [(mut node, mut recorder), (mut peer, _)] = pair(RING);
    for _ in 0..5 {
        peer.out().send(RANKS[0], &ATS, &[]);
    }
    // One of each peer is taken in any case.
    for (enough, taken) in [(0, 1), (1, 2), (4, 4), (usize::MAX, 5)] {
        recorder.enough = enough;
        node.poll(NOW, &mut recorder);
        assert_eq!(recorder.arrivals.len(), taken, "{enough}");
    }
}

#[test]
fn what_a_node_lingers_for_stays_in_the_ring() {
    let [(mut node, mut recorder), (mut peer, _)] = pair(RING);
    // So that the peer's ring is known.
    node.poll(NOW, &mut recorder);
    assert!(!node.linger());
    peer.out().send(RANKS[0], &ATS, &[]);
    assert!(node.linger() && node.linger());
    assert_eq!(node.poll(NOW, &mut recorder), 1);
    assert!(!node.linger());
}

#[test]
fn connecting_twice_changes_nothing() {
    let [(mut node, mut recorder), (mut peer, _)] = pair(RING);
    for _ in 0..20 {
        peer.out().send(RANKS[0], &ATS, &[]);
        let address = node.address();
        peer.out().connect(RANKS[0], &address).expect("it is there");
    }
    for _ in 0..30 {
        node.poll(NOW, &mut recorder);
        peer.poll(NOW, &mut Recorder::new());
    }
    let packet = Arrival::Packet { from: RANKS[1], context: Context::MESSAGES, packet: ATS.header() };
    assert_eq!(recorder.arrivals, [packet; 20]);
    assert!(!peer.out().is_waiting());
}

#[test]
fn memory_that_was_released_meanwhile_is_read_as_zeros() {
    let [(mut node, mut recorder), (mut peer, mut theirs)] = pair(RING);
    theirs.bytes.fill(7);
    recorder.bytes.fill(9);
    let (own, other) = (recorder.memory(), theirs.memory());
    node.out().read(&read(0, 1000, other, own), &mut recorder);
    peer.poll(NOW, &mut theirs);
    // The request has ended; its memory is not registered from now on.
    let mut gone = Recorder::new();
    gone.bytes.clear();
    for _ in 0..100 {
        node.poll(NOW, &mut recorder);
        peer.poll(NOW, &mut gone);
    }
    assert_eq!(recorder.arrivals, [Arrival::Read(request(0))]);
    assert!(recorder.bytes.iter().all(|byte| *byte == 7 || *byte == 0), "no byte is left out");
}
