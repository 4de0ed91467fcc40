//! Large transfers that both processes copy.

use super::edge_cases::{RANKS, Recorder, nodes, read, request, write};
use super::{NOW, PATIENCE};
use carrousel_transport::*;
use carrousel_transport_shm::{Node, Settings};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// Not a whole number of chunks.
const LEN: usize = (1 << 20) + 5;

/// Bytes that differ from those at every other position where a chunk could begin.
fn pattern(seed: usize) -> Vec<u8> {
    (0..LEN).map(|at| (at ^ at >> 8 ^ at >> 15).wrapping_mul(31).wrapping_add(seed) as u8).collect()
}

/// Whether memory can be copied directly here; if not, there is nothing to test.
fn is_direct(node: &mut Node) -> bool {
    node.out().is_direct(RANKS[1]) == Some(true)
}

#[test]
fn a_peer_that_waits_helps_with_reads_and_writes() {
    let [mut node, mut peer] = nodes(Settings::default());
    if !is_direct(&mut node) {
        return;
    }
    let (to_read, to_write) = (pattern(0), pattern(7));
    let (mut recorder, mut theirs) = (Recorder::of(vec![0; LEN]), Recorder::of(to_read.clone()));
    let (own, other) = (recorder.memory(), theirs.memory());
    let (over, helped) = (AtomicBool::new(false), AtomicU64::new(0));
    let began = Instant::now();
    thread::scope(|scope| {
        let helper = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                peer.poll(NOW, &mut theirs);
                helped.store(peer.helped(), Ordering::Relaxed);
                thread::yield_now();
            }
            theirs
        });
        for (at, is_read) in [(0, true), (1, false)] {
            let before = helped.load(Ordering::Relaxed);
            // The scheduler decides whether the peer polls in time: repeat until it has helped. After requests in vain it is
            // asked only now and then.
            while helped.load(Ordering::Relaxed) == before {
                assert!(began.elapsed() < PATIENCE, "the peer has not helped");
                recorder.arrivals.clear();
                if is_read {
                    recorder.bytes.fill(0);
                    node.out().read(&read(at, LEN as u64, other, own), &mut recorder);
                    assert!(recorder.bytes == to_read, "all is there when the call returns");
                } else {
                    recorder.bytes.copy_from_slice(&to_write);
                    node.out().write(&write(at, LEN as u64, recorder.memory(), other), &mut recorder);
                }
                node.poll(NOW, &mut recorder);
                let done = if is_read { Arrival::Read(request(at)) } else { Arrival::Written(request(at)) };
                assert_eq!(recorder.arrivals, [done]);
            }
        }
        over.store(true, Ordering::Relaxed);
        let theirs = helper.join().expect("it only polls");
        assert!(theirs.bytes == to_write);
        assert_eq!(theirs.arrivals, []);
    });
}

#[test]
fn a_peer_that_comes_too_late_has_nothing_to_do() {
    let [mut node, mut peer] = nodes(Settings::default());
    if !is_direct(&mut node) {
        return;
    }
    let (mut recorder, mut theirs) = (Recorder::of(vec![0; LEN]), Recorder::of(pattern(0)));
    node.out().read(&read(0, LEN as u64, theirs.memory(), recorder.memory()), &mut recorder);
    assert!(recorder.bytes == pattern(0));
    recorder.bytes = pattern(7);
    node.out().write(&write(1, LEN as u64, recorder.memory(), theirs.memory()), &mut recorder);
    assert!(theirs.bytes == pattern(7));
    node.poll(NOW, &mut recorder);
    assert_eq!(recorder.arrivals, [Arrival::Read(request(0)), Arrival::Written(request(1))]);
    // The memory has been released meanwhile: the late helper does not touch it.
    theirs.bytes = Vec::new();
    for _ in 0..10 {
        peer.poll(NOW, &mut theirs);
    }
    assert_eq!((peer.helped(), theirs.arrivals.len()), (0, 0));
}
