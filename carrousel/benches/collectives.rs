//! Instructions of collectives through the whole library, which no other process disturbs. Needs valgrind
//! and gungraun-runner, of the version of gungraun in Cargo.lock; `cargo xtask test` installs that.
//!
//! Each benchmark counts 1,000 of them, the warm-up included: barriers of two ranks, from the first call until both are
//! complete, whose rounds are messages; and allreduces of 8 bytes by a rank that is alone, which is what a blocking
//! collective costs apart from its messages. All ranks are in one thread, so none waits. More than its limit is an error. A
//! change that makes something cheaper lowers the limit. Apart from the messages of `instructions.rs`: what else a program
//! calls changes which functions the compiler inlines there.

#![allow(missing_docs, reason = "the macros of the benchmark generate public items")]

use carrousel::{Communicator, in_one_thread};
use gungraun::prelude::*;
use gungraun::{Callgrind, EntryPoint, EventKind};
use std::hint::black_box;

/// The limit of each benchmark: its count when this was written, and one percent for other processors, on which the C
/// library copies memory in other ways.
const BARRIERS_MAX: u64 = 5_188_000;
const ALONE_MAX: u64 = 1_617_700;

const WARM_UP: u32 = 100;
const COUNTED: u32 = 1000 - WARM_UP;

type Ends = Vec<Communicator>;

/// The code that is counted: a barrier of two ranks.
#[inline(never)]
fn barrier(ends: &Ends) {
    let [first, second] = [&ends[0], &ends[1]].map(|end| end.ibarrier().expect("all are there"));
    first.wait().expect("all have entered");
    second.wait().expect("all have entered");
}

/// The code that is counted: a blocking collective without messages.
#[inline(never)]
fn alone(ends: &Ends, sum: &mut [u64; 1]) {
    ends[0].allreduce(black_box(&[1]), sum, |left, right| left + right).expect("nobody else is needed");
}

fn warm(ranks: u32, counted: fn(&Ends)) -> Ends {
    let ends = in_one_thread(ranks).expect("it can be set up");
    (0..WARM_UP).for_each(|_| counted(&ends));
    ends
}

fn two_ranks() -> Ends {
    warm(2, barrier)
}

fn one_rank() -> Ends {
    warm(1, |ends| alone(ends, &mut [0]))
}

#[library_benchmark(setup = two_ranks)]
#[bench::thousand()]
fn barriers(ends: Ends) -> Ends {
    for _ in 0..COUNTED {
        barrier(&ends);
    }
    black_box(ends)
}

#[library_benchmark(setup = one_rank)]
#[bench::thousand()]
fn allreduces(ends: Ends) -> Ends {
    let mut sum = [0];
    for _ in 0..COUNTED {
        alone(&ends, &mut sum);
    }
    black_box(sum);
    black_box(ends)
}

/// Counts what this function does, up to a limit.
fn counted(function: &str, max: u64) -> LibraryBenchmarkConfig {
    let mut tool = Callgrind::default();
    tool.entry_point(EntryPoint::Custom(format!("*::{function}"))).hard_limits([(EventKind::Ir, max)]);
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(tool);
    config
}

library_benchmark_group!(name = rounds, config = counted("barrier", BARRIERS_MAX), benchmarks = [barriers]);
library_benchmark_group!(name = fixed, config = counted("alone", ALONE_MAX), benchmarks = [allreduces]);
main!(library_benchmark_groups = [rounds, fixed]);
