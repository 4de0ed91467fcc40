//! What a rank keeps for each peer that it is connected to between nodes: little beside the queue pair, which is the
//! adapter's, and no more for many peers than for few. Receive buffers are for all peers together.
//!
//! One rank exchanges messages with each peer, in turn, until the queues to it have been full. Then the peer goes, without
//! a word: so what has been allocated and is not freed is the rank's. That of its thread is counted, too.
#![cfg(feature = "verbs")]

mod fake;

use carrousel_transport_verbs::Settings;
use fake::{End, FakeAdapter, drive, meet};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The most bytes for a connected peer, beside its queue pair.
const BYTES_MAX: u64 = 8 << 10;
/// Peers after which it is looked.
const PEERS: [u32; 4] = [2, 64, 256, 1024];
/// Inline, and copied into a slot.
const SIZES: [usize; 2] = [8, 4000];

/// Bytes that are allocated.
fn allocated() -> u64 {
    let told = HEAP.stats();
    (told.bytes_allocated - told.bytes_deallocated) as u64
}

/// What a rank of a job of `ranks` takes that is connected to nobody.
fn alone(ranks: u32) -> u64 {
    let before = allocated();
    let end = End::new(FakeAdapter(0), 0, ranks, Settings::default());
    let bytes = allocated() - before;
    drop(end);
    bytes
}

/// Rank 0 and one of its peers exchange messages: twice as many as may be on their way, both ways. So half of them have to
/// wait. And rank 0 posts as many writes as may be outstanding.
fn exchange(one: &mut End, peer: u32, other: &mut End) {
    meet(one, other, 0, peer);
    let settings = Settings::default();
    let messages = 2 * u64::from(settings.window);
    for data in SIZES.map(|size| vec![1; size]) {
        let want = [one.heard.packets + messages, other.heard.packets + messages];
        for _ in 0..messages {
            one.send(peer, &data);
            other.send(0, &data);
        }
        drive(&mut [one, other], |ends| (0..2).all(|end| ends[end].heard.packets == want[end]));
    }
    let want = one.heard.written + u64::from(settings.depth);
    for _ in 0..settings.depth {
        one.write_nothing(peer);
    }
    drive(&mut [one, other], |ends| ends[0].heard.written == want);
}

#[test]
fn a_peer_costs_a_rank_little_memory_however_many_there_are() {
    let last = PEERS.into_iter().max().expect("there are some");
    let ranks = last + 1;
    // Once for what is made only once.
    let _ = alone(1);
    // Each rank has a place for each, connected or not.
    let place = (alone(ranks) - alone(1)).div_ceil(last.into());
    let mut rank = End::new(FakeAdapter(0), 0, ranks, Settings::default());
    println!("peers  connected  any  all, bytes a peer");
    let (before, mut all) = (allocated(), Vec::new());
    for peer in 1..=last {
        let mut other = End::new(FakeAdapter(1), peer, ranks, Settings::default());
        exchange(&mut rank, peer, &mut other);
        drop(other);
        if PEERS.contains(&peer) {
            let connected = (allocated() - before).div_ceil(peer.into());
            let sum = connected + place;
            println!("{peer:5}  {connected:9}  {place:3}  {sum:17}");
            all.push(sum);
        }
    }
    assert_eq!(rank.heard.lost, []);
    assert!(all.iter().all(|bytes| *bytes <= BYTES_MAX), "{all:?} bytes for each of {PEERS:?} peers");
    // Twice as much is asked for when a list is full, so what there is at a power of two is what is needed.
    assert!(all[3] * 100 <= all[1] * 102, "{all:?} bytes for each of {PEERS:?} peers");
}
