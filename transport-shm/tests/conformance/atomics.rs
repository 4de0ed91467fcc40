//! Atomics: what they find, what they wait for, and what is refused.

use super::NOW;
use super::edge_cases::{RANKS, Recorder, nodes, read, request, write};
use carrousel_transport::*;
use carrousel_transport_shm::{Node, Settings};

const RING: Settings = Settings { capacity: 64, direct: false };

/// A rank with words of memory, the first of which has an alignment of its own.
fn rank() -> (Recorder, Memory) {
    let recorder = Recorder::of(vec![0; 4096]);
    let memory = recorder.memory();
    let aligned = Memory { address: memory.address.next_multiple_of(Atomic::LEN), ..memory };
    (recorder, aligned)
}

fn post(node: &mut Node, index: u32, target: Memory, op: AtomicOp, fenced: bool) {
    let atomic = Atomic { to: RANKS[1], target, op, request: request(index), fenced };
    node.out().atomic(&atomic).expect("it has atomics");
}

fn word(recorder: &Recorder, word: Memory) -> u64 {
    let bytes = recorder.bytes(word, Atomic::LEN).expect("it is registered");
    u64::from_ne_bytes(bytes.try_into().expect("it has 8 bytes"))
}

#[test]
fn every_atomic_brings_back_what_it_has_found() {
    for settings in super::modes() {
        let [mut node, mut peer] = nodes(settings);
        let ((mut recorder, _), (mut theirs, target)) = (rank(), rank());
        let ops = [
            AtomicOp::FetchAdd(5),
            AtomicOp::CompareSwap { expected: 4, new: 1 },
            AtomicOp::CompareSwap { expected: 5, new: u64::MAX },
            AtomicOp::FetchAdd(3),
            AtomicOp::Swap(1 << 40),
        ];
        for (index, op) in (0..).zip(ops) {
            post(&mut node, index, target, op, index % 2 == 1);
        }
        for _ in 0..20 {
            peer.poll(NOW, &mut theirs);
            node.poll(NOW, &mut recorder);
        }
        let found = (0..).zip([0, 5, 5, u64::MAX, 2]);
        let expected: Vec<_> = found.map(|(index, found)| Arrival::Fetched(request(index), found)).collect();
        assert_eq!(recorder.arrivals, expected);
        assert_eq!(word(&theirs, target), 1 << 40);
    }
}

#[test]
fn an_atomic_with_a_fence_waits_for_reads_and_atomics_and_later_ones_behind_it() {
    let [mut node, mut peer] = nodes(RING);
    let ((mut recorder, own), (mut theirs, target)) = (rank(), rank());
    post(&mut node, 0, target, AtomicOp::FetchAdd(1), false);
    node.out().read(&read(1, 8, target, own), &mut recorder);
    post(&mut node, 2, target, AtomicOp::FetchAdd(1), true);
    post(&mut node, 3, target, AtomicOp::FetchAdd(1), false);
    while peer.poll(NOW, &mut theirs) > 0 {}
    assert_eq!(word(&theirs, target), 1, "the read is answered, and the answer has not been taken");
    node.poll(NOW, &mut recorder);
    while peer.poll(NOW, &mut theirs) > 0 {}
    assert_eq!(word(&theirs, target), 3);
    node.poll(NOW, &mut recorder);
    assert_eq!(word(&recorder, own), 1, "what was there before the fence");
    let fetched = [(0, 0), (2, 1), (3, 2)].map(|(index, found)| Arrival::Fetched(request(index), found));
    assert_eq!(
        recorder.arrivals.iter().filter(|arrival| **arrival != Arrival::Read(request(1))).collect::<Vec<_>>(),
        fetched.iter().collect::<Vec<_>>()
    );
}

#[test]
fn an_atomic_comes_behind_a_write_that_goes_in_fragments() {
    let [mut node, mut peer] = nodes(RING);
    let ((mut recorder, own), (mut theirs, target)) = (rank(), rank());
    recorder.bytes.fill(1);
    let last = Memory { address: target.address + 992, ..target };
    node.out().write(&write(0, 1000, own, target), &mut recorder);
    assert!(node.out().is_waiting());
    post(&mut node, 1, last, AtomicOp::FetchAdd(1), false);
    for _ in 0..100 {
        peer.poll(NOW, &mut theirs);
        node.poll(NOW, &mut recorder);
    }
    let ones = u64::from_ne_bytes([1; 8]);
    assert_eq!(recorder.arrivals, [Arrival::Written(request(0)), Arrival::Fetched(request(1), ones)]);
    assert_eq!(word(&theirs, last), ones + 1);
}

/// Each waits for answers of the other before it asks for more, while its ring is full of its own answers.
#[test]
fn two_peers_do_not_wait_for_each_other_s_fences() {
    let [mut node, mut peer] = nodes(Settings { capacity: super::TINY, direct: false });
    let ((mut recorder, own), (mut theirs, target)) = (rank(), rank());
    for index in 0..40 {
        for (node, recorder, to, into, from) in
            [(&mut node, &mut recorder, 1, own, target), (&mut peer, &mut theirs, 0, target, own)]
        {
            let into = Memory { address: into.address + 1000, ..into };
            let of = RANKS[to];
            let read = Read { of, from, into, len: 900, request: request(2 * index), notice: None };
            node.out().read(&read, recorder);
            let (op, request) = (AtomicOp::FetchAdd(1), request(2 * index + 1));
            let atomic = Atomic { to: of, target: from, op, request, fenced: true };
            node.out().atomic(&atomic).expect("it has atomics");
        }
    }
    for _ in 0..100_000 {
        node.poll(NOW, &mut recorder);
        peer.poll(NOW, &mut theirs);
    }
    assert_eq!([recorder.arrivals.len(), theirs.arrivals.len()], [80; 2]);
    assert_eq!([word(&recorder, own), word(&theirs, target)], [40; 2]);
}

#[test]
fn a_misaligned_atomic_loses_the_peer_at_the_call() {
    let [mut node, _peer] = nodes(RING);
    let ((mut recorder, _), (_, target)) = (rank(), rank());
    post(&mut node, 0, target, AtomicOp::Swap(1), false);
    post(&mut node, 1, Memory { address: target.address + 4, ..target }, AtomicOp::Swap(1), false);
    post(&mut node, 2, target, AtomicOp::Swap(1), false);
    node.poll(NOW, &mut recorder);
    let failed = [0, 1, 2].map(|index| Arrival::Fetched(request(index), 0));
    assert_eq!(recorder.arrivals, [&[Arrival::Lost(RANKS[1])], &failed[..]].concat());
}
