//! Instructions of a small message between nodes through the whole library, at its sender: copied, and lent to the adapter.
//! Needs what the other benchmark of this folder needs.
//!
//! Counted is a send that is waited for, from its call to its end, 1,000 times in steady state, over a fake adapter:
//! what the functions of its library take is not counted. A message that is lent has a completion of its own, which is
//! taken and counted, too; one that is copied has one together with others, and what comes of that is counted for
//! neither. More than the limits is an error, and so is an instruction that locks the bus.

#![allow(missing_docs, reason = "the macros of the benchmark generate public items")]

mod counter;
#[path = "../tests/fake/mod.rs"]
mod fake;

use counter::{MESSAGES, WARM_UP, at_most};
use fake::{FakeAdapter, RankPair, counted};
use gungraun::prelude::*;
use std::hint::black_box;

/// The limits: what it was when this was written, and one in a hundred for other processors, on which the C library
/// copies memory in other ways.
const COPIED_MAX: u64 = 1_425_000;
/// The data is not touched. 27 of each message ask the system whether the memory can still be written to, as the adapter pages
/// on demand; what the system takes is not counted.
const LENT_MAX: u64 = 2_275_300;

const SIZE: usize = 4 << 10;

/// What is counted.
#[inline(never)]
fn send(pair: &RankPair, data: &[u8]) {
    pair.send(black_box(data));
}

/// In steady state: all lists are as long as they get. The data is in memory that can be written to: other memory is never
/// lent.
fn warm(lends: bool) -> (RankPair, Vec<u8>) {
    let (pair, data, mut came) = (RankPair::new(FakeAdapter(0), lends), vec![7; SIZE], [0; SIZE]);
    for _ in 0..WARM_UP {
        pair.send(&data);
        pair.receive(&mut came);
    }
    (pair, data)
}

fn sends((pair, data): (RankPair, Vec<u8>)) -> RankPair {
    let mut came = [0; SIZE];
    for _ in 0..MESSAGES {
        counted(|| send(&pair, &data));
        pair.receive(&mut came);
    }
    pair
}

#[library_benchmark(setup = warm, config = at_most("library::send", COPIED_MAX))]
#[bench::thousand_messages(false)]
fn copied(warm: (RankPair, Vec<u8>)) -> RankPair {
    black_box(sends(warm))
}

#[library_benchmark(setup = warm, config = at_most("library::send", LENT_MAX))]
#[bench::thousand_messages(true)]
fn lent(warm: (RankPair, Vec<u8>)) -> RankPair {
    black_box(sends(warm))
}

library_benchmark_group!(name = sending, benchmarks = [copied, lent]);
main!(library_benchmark_groups = sending);
