//! Instructions of a message through the whole library, which no other process disturbs. Needs valgrind
//! and gungraun-runner, of the version of gungraun in Cargo.lock; `cargo xtask test` installs that.
//!
//! Each benchmark counts 1,000 messages of 8 bytes, the warm-up included, from the sender's call to the return of the
//! receiver's call, through the ring. Both ranks are in one thread, so neither waits. More than [`INSTRUCTIONS_MAX`]
//! is an error. A change that makes messages cheaper lowers the limit.

#![allow(missing_docs, reason = "the macros of the benchmark generate public items")]

use carrousel::{Communicator, in_one_thread};
use gungraun::prelude::*;
use gungraun::{Callgrind, EntryPoint, EventKind};
use std::hint::black_box;

/// The limit of a benchmark: its count when this was written, and one percent for other processors, on which the C
/// library copies memory in other ways.
const INSTRUCTIONS_MAX: u64 = 849_900;

const WARM_UP: u32 = 100;
const MESSAGES: u32 = 1000 - WARM_UP;

type Ends = Vec<Communicator>;

/// The code that is counted: a send, and a receive that finds the message.
#[inline(never)]
fn message(ends: &Ends, ball: &mut [u8; 8]) {
    ends[0].send(black_box(ball), 1, 5).expect("rank 1 is there");
    ends[1].recv(black_box(ball), 0, 5).expect("it has come");
}

fn warm() -> Ends {
    let ends = in_one_thread(2).expect("it can be set up");
    for _ in 0..WARM_UP {
        message(&ends, &mut [7; 8]);
    }
    ends
}

#[library_benchmark(setup = warm)]
#[bench::thousand_messages()]
fn eager(ends: Ends) -> Ends {
    let mut ball = [7; 8];
    for _ in 0..MESSAGES {
        message(&ends, &mut ball);
    }
    black_box(ends)
}

library_benchmark_group!(name = messages, benchmarks = [eager]);
main!(
    config = LibraryBenchmarkConfig::default().tool(
        Callgrind::default()
            .entry_point(EntryPoint::Custom("*::message".to_owned()))
            .hard_limits([(EventKind::Ir, INSTRUCTIONS_MAX)])
    ),
    library_benchmark_groups = messages
);
