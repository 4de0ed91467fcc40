//! Instructions of an empty poll, as in a call that may be a rendezvous (speculative-rendezvous 4.2.1): with one peer
//! on the node, and with 63 of which none has connected. Needs valgrind and gungraun-runner, as the other benchmark
//! does. More than the limits is an error. A change that makes polls cheaper lowers them.

#![allow(missing_docs, reason = "the macros of the benchmark generate public items")]

use carrousel::{Any, Communicator, in_one_thread_over};
use carrousel_transport_shm::Settings;
use gungraun::prelude::*;
use gungraun::{Callgrind, EntryPoint, EventKind};
use std::hint::black_box;

const CALLS: u64 = 1000;
/// The limits for one poll, with one peer and with 63.
const ONE_PEER_MAX: u64 = 52;
const MANY_PEERS_MAX: u64 = 52;

type Ends = Vec<Communicator>;

fn quiet(ranks: u32) -> Ends {
    let settings = Settings { capacity: 1 << 10, ..Settings::default() };
    in_one_thread_over(ranks, settings).expect("it can be set up")
}

/// Receives that may be a rendezvous. They are from any source, so they are not announced, and cancelling one
/// concerns no peer.
fn receives(ends: &Ends) {
    for _ in 0..CALLS {
        drop(ends[0].irecv(vec![0u8; 64 << 10], Any, 7).expect("it can be posted"));
    }
}

/// Counts the instructions of the poll.
fn looks(most: u64) -> LibraryBenchmarkConfig {
    let mut callgrind = Callgrind::default();
    callgrind
        .entry_point(EntryPoint::Custom("*::poll_until_idle".to_owned()))
        .hard_limits([(EventKind::Ir, most * CALLS)]);
    LibraryBenchmarkConfig::default().tool(callgrind).clone()
}

#[library_benchmark(config = looks(ONE_PEER_MAX))]
#[bench::of_two(quiet(2))]
fn one_peer(ends: Ends) -> Ends {
    receives(&ends);
    black_box(ends)
}

#[library_benchmark(config = looks(MANY_PEERS_MAX))]
#[bench::of_sixty_four(quiet(64))]
fn many_peers(ends: Ends) -> Ends {
    receives(&ends);
    black_box(ends)
}

library_benchmark_group!(name = idle, benchmarks = [one_peer, many_peers]);
main!(library_benchmark_groups = idle);
