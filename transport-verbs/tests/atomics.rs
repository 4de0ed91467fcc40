//! Atomics: what is posted for each, what waits, and what is left when a peer is lost.
#![cfg(feature = "verbs")]

mod fake;

use carrousel_transport::{
    Arrival, Atomic, AtomicOp, Direction, Handle, Memory, Outbound, RankId, Transport,
};
use carrousel_transport_verbs::Settings;
use fake::{End, FakeAdapter, Reports, connected, drive, head, meet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const PEER: RankId = RankId(1);

fn request(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

/// Posts an atomic on a word of this process, which is that of both ranks.
fn post(end: &mut End, word: &AtomicU64, index: u32, op: AtomicOp, fenced: bool) {
    let target = Memory { address: word.as_ptr().expose_provenance() as u64, key: 1 };
    let atomic = Atomic { to: PEER, target, op, request: request(index), fenced };
    end.verbs.out().atomic(&atomic).expect("the adapter has atomics");
}

fn fetched(found: &[u64]) -> Vec<Arrival> {
    (0..).zip(found).map(|(index, found)| Arrival::Fetched(request(index), *found)).collect()
}

#[test]
fn every_atomic_brings_what_was_there_and_swaps_come_in_their_order() {
    let [mut own, _other] = connected([FakeAdapter(0), FakeAdapter(1)]);
    let word = AtomicU64::new(40);
    let ops = [
        AtomicOp::FetchAdd(2),
        AtomicOp::CompareSwap { expected: 40, new: 1 },
        AtomicOp::CompareSwap { expected: 42, new: 7 },
        AtomicOp::Swap(9),
        AtomicOp::FetchAdd(1),
        AtomicOp::Swap(0),
        AtomicOp::Swap(5),
        AtomicOp::FetchAdd(1),
    ];
    (0..).zip(ops).for_each(|(index, op)| post(&mut own, &word, index, op, false));
    let mut reports = Reports::default();
    reports.hear(&mut own, 8);
    assert_eq!(reports.0, fetched(&[40, 42, 42, 7, 9, 10, 0, 5]));
    assert_eq!(word.load(Relaxed), 6);
    // Two attempts for a swap that finds something, one for the one that finds what it guesses.
    assert_eq!(FakeAdapter(0).atomics(), (8 + 2, 0));
}

#[test]
fn a_swap_holds_back_later_atomics_and_nothing_else() {
    let [mut own, mut other] = connected([FakeAdapter(2), FakeAdapter(3)]);
    let word = AtomicU64::new(3);
    FakeAdapter(2).stall(true);
    post(&mut own, &word, 0, AtomicOp::Swap(8), false);
    let before = other.heard.packets;
    own.send(1, &[1; 8]);
    while other.poll() > 0 {}
    assert_eq!(other.heard.packets, before + 1, "a packet need not wait");
    post(&mut own, &word, 1, AtomicOp::FetchAdd(1), false);
    assert_eq!(word.load(Relaxed), 3, "the first attempt has failed, and the next one is still to come");
    FakeAdapter(2).stall(false);
    let mut reports = Reports::default();
    reports.hear(&mut own, 2);
    assert_eq!(reports.0, fetched(&[3, 8]));
    assert_eq!(word.load(Relaxed), 9);
}

#[test]
fn a_swap_is_tried_again_until_nothing_comes_between() {
    let [mut own, _other] = connected([FakeAdapter(4), FakeAdapter(5)]);
    let word = AtomicU64::new(1);
    let mut reports = Reports::default();
    FakeAdapter(4).stall(true);
    post(&mut own, &word, 0, AtomicOp::Swap(100), false);
    for value in 2..6 {
        // Somebody else changes it before the attempt that expects what was there.
        word.store(value, Relaxed);
        FakeAdapter(4).stall(false);
        FakeAdapter(4).stall(true);
        while own.verbs.poll(own.now, &mut reports) > 0 {}
        assert_eq!(reports.0, []);
    }
    FakeAdapter(4).stall(false);
    reports.hear(&mut own, 1);
    assert_eq!((reports.0.clone(), word.load(Relaxed)), (fetched(&[5]), 100));
    assert_eq!(FakeAdapter(4).atomics(), (6, 0));
}

#[test]
fn a_fence_is_the_adapter_s_but_soft_roce_does_without() {
    let [mut own, _other] = connected([FakeAdapter(6), FakeAdapter(7)]);
    let word = AtomicU64::new(0);
    FakeAdapter(6).stall(true);
    own.read_nothing(1);
    post(&mut own, &word, 0, AtomicOp::FetchAdd(1), true);
    assert_eq!(FakeAdapter(6).atomics(), (1, 1), "it is posted, and the adapter holds it back");
    FakeAdapter(6).stall(false);

    let [mut own, _other] = connected([FakeAdapter(8).as_soft_roce(), FakeAdapter(9).as_soft_roce()]);
    FakeAdapter(8).stall(true);
    own.read_nothing(1);
    post(&mut own, &word, 0, AtomicOp::FetchAdd(1), true);
    assert_eq!(FakeAdapter(8).atomics(), (1, 0), "it is posted, and comes behind the read without a fence");
    assert_eq!(FakeAdapter(8).reads(), (1, 0, 1), "as it starts one at a time");
    FakeAdapter(8).stall(false);
    let mut reports = Reports::default();
    reports.hear(&mut own, 2);
    assert_eq!(reports.0, [Arrival::Read(request(1)), Arrival::Fetched(request(0), 1)]);
}

#[test]
fn more_than_there_is_room_for_wait() {
    let mut settings = Settings::default();
    settings.depth = 200;
    let mut own = End::new(FakeAdapter(10), 0, 2, settings.clone());
    let mut other = End::new(FakeAdapter(11), 1, 2, settings);
    meet(&mut own, &mut other, 0, 1);
    let word = AtomicU64::new(0);
    (0..200).for_each(|index| post(&mut own, &word, index, AtomicOp::FetchAdd(1), false));
    assert!(own.verbs.out().is_waiting());
    let mut reports = Reports::default();
    reports.hear(&mut own, 200);
    assert_eq!(reports.0, fetched(&(0..200).collect::<Vec<_>>()));
}

#[test]
fn atomics_of_a_lost_peer_complete_once_behind_the_loss() {
    let [mut own, _other] = connected([FakeAdapter(12), FakeAdapter(13)]);
    let word = AtomicU64::new(6);
    FakeAdapter(12).stall(true);
    post(&mut own, &word, 0, AtomicOp::FetchAdd(1), false);
    post(&mut own, &word, 1, AtomicOp::Swap(1), false);
    // It waits for the swap.
    post(&mut own, &word, 2, AtomicOp::FetchAdd(1), false);
    own.verbs.out().abandon(PEER);
    FakeAdapter(12).stall(false);
    let mut reports = Reports::default();
    reports.hear(&mut own, 4);
    assert_eq!(reports.0, [vec![Arrival::Lost(PEER)], fetched(&[0, 0, 0])].concat());
    post(&mut own, &word, 3, AtomicOp::FetchAdd(1), false);
    reports.hear(&mut own, 5);
    while own.verbs.poll(own.now, &mut reports) > 0 {}
    assert_eq!(reports.0[4..], [Arrival::Fetched(request(3), 0)]);
}

#[test]
fn an_adapter_without_atomics_says_so_and_what_is_no_word_is_a_loss() {
    let [mut own, mut other] = connected([FakeAdapter(14).without_atomics(), FakeAdapter(15)]);
    let word = AtomicU64::new(0);
    let target = Memory { address: word.as_ptr().expose_provenance() as u64, key: 1 };
    let atomic = Atomic { to: PEER, target, op: AtomicOp::FetchAdd(1), request: request(0), fenced: false };
    let error = own.verbs.out().atomic(&atomic).expect_err("it has none");
    assert_eq!(error.to_string(), "this transport has no atomics: the adapter does not support them");
    let mut reports = Reports::default();
    own.verbs.out().send(PEER, &head(Direction::ToSender, 2), &[]);
    while own.verbs.poll(own.now, &mut reports) > 0 {}
    assert_eq!(reports.0, []);
    let target = Memory { address: target.address + 4, ..target };
    let misaligned = Atomic { to: RankId(0), target, ..atomic };
    other.verbs.out().atomic(&misaligned).expect("it has some");
    // Behind the packet that the first rank has sent.
    reports.hear(&mut other, 3);
    assert_eq!(reports.0[1..], [Arrival::Lost(RankId(0)), Arrival::Fetched(request(0), 0)]);
    assert_eq!(word.load(Relaxed), 0);
}

/// Packets without data go by a second queue pair here, and nothing orders what is posted to two.
#[test]
fn an_atomic_waits_for_packets_that_went_by_the_other_way() {
    let mut settings = Settings::default();
    settings.control_service_level = settings.service_level + 1;
    let mut own = End::new(FakeAdapter(16), 0, 2, settings.clone());
    let mut other = End::new(FakeAdapter(17), 1, 2, settings);
    meet(&mut own, &mut other, 0, 1);
    drive(&mut [&mut own, &mut other], |ends| {
        ends.iter_mut().all(|end| end.verbs.unacknowledged().is_empty())
    });
    let word = AtomicU64::new(0);
    FakeAdapter(16).stall(true);
    own.verbs.out().send(PEER, &head(Direction::ToSender, 2), &[]);
    post(&mut own, &word, 0, AtomicOp::FetchAdd(1), false);
    let mut reports = Reports::default();
    while own.verbs.poll(own.now, &mut reports) > 0 {}
    assert_eq!(word.load(Relaxed), 0, "the packet is not acknowledged");
    FakeAdapter(16).stall(false);
    reports.hear(&mut own, 1);
    assert_eq!((reports.0, word.load(Relaxed)), (fetched(&[0]), 1));
}
