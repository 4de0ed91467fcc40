//! Ranks that sleep until something arrives.

use super::NOW;
use super::edge_cases::{RANKS, Recorder};
use super::refused_syscalls::refuse_calls;
use carrousel_transport::*;
use carrousel_transport_shm::{Node, Settings};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than a wake-up takes on a busy machine: a rank that has slept for so long was not woken.
const TIMEOUT: Duration = Duration::from_secs(20);
const ROUNDS: usize = 3000;
/// A packet without data.
const ATS: Head =
    Head::new(Header::new(Protocol::Messages, Direction::ToSender, 2, Context::MESSAGES), [&[3; 8], &[]]);

/// Sleeps until a packet has arrived.
fn wait(node: &mut Node, recorder: &mut Recorder) {
    while recorder.arrivals.is_empty() {
        let began = Instant::now();
        node.sleep(NOW, recorder, TIMEOUT);
        assert!(began.elapsed() < TIMEOUT, "a wake-up is lost");
    }
    recorder.arrivals.clear();
}

#[test]
fn ranks_that_sleep_are_woken_by_each_message() {
    let nodes = RANKS.map(|me| Node::new(me, &RANKS, Settings::default()).expect("there is memory"));
    if !nodes[0].can_sleep() {
        return;
    }
    let addresses = [nodes[0].address(), nodes[1].address()];
    let start = Barrier::new(2);
    thread::scope(|scope| {
        for (me, mut node) in nodes.into_iter().enumerate() {
            let (start, peer) = (&start, 1 - me);
            scope.spawn(move || {
                let mut recorder = Recorder::of(Vec::new());
                start.wait();
                // The first message tells that its sender has connected, too.
                node.out().connect(RANKS[peer], &addresses[peer]).expect("it is there");
                for round in 0..ROUNDS {
                    if me == 0 {
                        node.out().send(RANKS[peer], &ATS, &[]);
                    }
                    wait(&mut node, &mut recorder);
                    if me == 1 {
                        // Now and then the peer is asleep for sure, most often it is about to be.
                        if round % 500 == 0 {
                            thread::sleep(Duration::from_millis(2));
                        }
                        node.out().send(RANKS[peer], &ATS, &[]);
                    }
                }
            });
        }
    });
}

#[test]
fn a_rank_without_messages_sleeps_for_its_time() {
    let mut node = Node::new(RANKS[0], &RANKS, Settings::default()).expect("there is memory");
    if !node.can_sleep() {
        return;
    }
    let (time, began) = (Duration::from_millis(50), Instant::now());
    assert_eq!(node.sleep(NOW, &mut Recorder::of(Vec::new()), time), 0);
    assert!(began.elapsed() >= time);
}

#[test]
fn a_rank_whose_peer_cannot_ring_does_not_sleep() {
    thread::scope(|scope| {
        let mut node = Node::new(RANKS[0], &RANKS, Settings::default()).expect("there is memory");
        let address = node.address();
        let peer = scope.spawn(move || {
            refuse_calls(&[libc::SYS_membarrier]);
            let mut node = Node::new(RANKS[1], &RANKS, Settings::default()).expect("there is memory");
            assert!(!node.can_sleep());
            node.out().connect(RANKS[0], &address).expect("it is there");
            node
        });
        let _peer = peer.join().expect("it does not panic");
        let began = Instant::now();
        assert_eq!(node.sleep(NOW, &mut Recorder::of(Vec::new()), TIMEOUT), 0);
        assert!(began.elapsed() < TIMEOUT);
    });
}
