//! Instructions of a message through the whole library, among many that are outstanding: 10, 1,000 and 100,000 sends
//! that no receive has taken, which their receiver holds as unexpected messages; and as many receives that have no
//! message yet. The order of completion is unrelated to the order in which they were started. And a few eager messages,
//! the last of which is received first. Needs valgrind and gungraun-runner, as the other benchmarks do.
//!
//! Claim: the cost of a message does not depend on their number; more than the limits is an error.

#![allow(missing_docs, reason = "the macros of the benchmark generate public items")]

use carrousel::{Communicator, Request, in_one_thread};
use gungraun::prelude::*;
use gungraun::{Callgrind, EntryPoint, EventKind};
use std::hint::black_box;
use std::mem;

const MESSAGES: u32 = 100;
/// The limits for one message: to a receive that comes late, and to one of the receives that wait.
const UNEXPECTED_MAX: u64 = 5_450;
const POSTED_MAX: u64 = 2_850;
/// Eager messages that have come before, and are received in reverse order.
const REVERSED: u32 = 10;
/// The limit for their receives: the count when this was written, and one percent.
const REVERSED_MAX: u64 = 6_490;

struct Ends {
    ranks: Vec<Communicator>,
    /// By tag.
    open: Vec<Option<Request<u8>>>,
    /// The tag of the next message.
    tag: u32,
}

impl Ends {
    fn new() -> Self {
        Self { ranks: in_one_thread(2).expect("it can be set up"), open: Vec::new(), tag: 0 }
    }

    /// All tags in turn, in an order that is neither that of their messages nor the reverse.
    fn next(&mut self) -> u32 {
        let count = self.open.len() as u32;
        // 61,803 and the numbers of messages here have no factor in common.
        self.tag = (self.tag + 61_803) % count;
        self.tag
    }

    fn send(&mut self, tag: u32) {
        let send = self.ranks[0].issend(vec![7; 1], 1, tag).expect("rank 1 is there");
        self.open[tag as usize] = Some(send);
    }

    /// A receive takes one of the messages that have come before, and another one is sent.
    #[inline(never)]
    fn reach_late_receive(&mut self) {
        let tag = self.next();
        let mut ball = [0];
        self.ranks[1].recv(&mut ball, 0, tag).expect("it has come");
        let send = self.open[tag as usize].take().expect("it was sent");
        send.wait().expect("it was received");
        self.send(tag);
    }

    /// Ten messages come, and another one, whose receive takes them out of the ring.
    fn bring(&mut self) {
        for tag in 0..=REVERSED {
            self.ranks[0].send(&[7u8; 8], 1, tag).expect("rank 1 is there");
        }
        self.ranks[1].recv(&mut [0u8; 8], 0, REVERSED).expect("it has come");
    }

    /// Each is received, the last one first.
    #[inline(never)]
    fn receive_in_reverse(&mut self) {
        let mut ball = [0u8; 8];
        for tag in (0..REVERSED).rev() {
            self.ranks[1].recv(black_box(&mut ball), 0, tag).expect("it has come");
        }
    }

    /// A message comes to one of the receives that wait, and another one is posted.
    #[inline(never)]
    fn reach_posted_receive(&mut self) {
        let tag = self.next();
        self.ranks[0].send(&[7u8], 1, tag).expect("rank 1 is there");
        let receive = self.open[tag as usize].take().expect("it was posted");
        receive.wait().expect("its message has come");
        self.open[tag as usize] = Some(self.ranks[1].irecv(vec![0; 1], 0, tag).expect("rank 0 is there"));
    }
}

fn sends(count: u32) -> Ends {
    let mut ends = Ends::new();
    ends.open.resize_with(count as usize, || None);
    for tag in 0..count {
        ends.send(tag);
        // The peer takes in its arrivals; otherwise there would be no room.
        ends.ranks[1].iprobe(0, count).expect("rank 0 is there");
    }
    (0..MESSAGES).for_each(|_| ends.reach_late_receive());
    ends
}

fn receives(count: u32) -> Ends {
    let mut ends = Ends::new();
    for tag in 0..count {
        ends.open.push(Some(ends.ranks[1].irecv(vec![0; 1], 0, tag).expect("rank 0 is there")));
    }
    (0..MESSAGES).for_each(|_| ends.reach_posted_receive());
    ends
}

fn early() -> Ends {
    let mut ends = Ends::new();
    for _ in 0..MESSAGES {
        ends.bring();
        ends.receive_in_reverse();
    }
    ends
}

/// Counts the instructions of the benchmark's function for a message.
fn message(function: &str, most: u64) -> LibraryBenchmarkConfig {
    let mut callgrind = Callgrind::default();
    // The warm-up before is counted, too.
    let most = 2 * u64::from(MESSAGES) * most;
    callgrind.entry_point(EntryPoint::Custom(format!("*::{function}"))).hard_limits([(EventKind::Ir, most)]);
    LibraryBenchmarkConfig::default().tool(callgrind).clone()
}

/// Leaves the job without waiting for the open requests.
fn leave(ends: Ends) {
    mem::forget(black_box(ends));
}

#[library_benchmark(config = message("reach_late_receive", UNEXPECTED_MAX))]
#[bench::among_ten(sends(10))]
#[bench::among_a_thousand(sends(1000))]
#[bench::among_a_hundred_thousand(sends(100_000))]
fn unexpected(mut ends: Ends) {
    (0..MESSAGES).for_each(|_| ends.reach_late_receive());
    leave(ends);
}

#[library_benchmark(config = message("reach_posted_receive", POSTED_MAX))]
#[bench::among_ten(receives(10))]
#[bench::among_a_thousand(receives(1000))]
#[bench::among_a_hundred_thousand(receives(100_000))]
fn posted(mut ends: Ends) {
    (0..MESSAGES).for_each(|_| ends.reach_posted_receive());
    leave(ends);
}

#[library_benchmark(config = message("receive_in_reverse", REVERSED_MAX))]
#[bench::ten(early())]
fn reversed(mut ends: Ends) {
    for _ in 0..MESSAGES {
        ends.bring();
        ends.receive_in_reverse();
    }
    leave(ends);
}

library_benchmark_group!(name = outstanding, benchmarks = [unexpected, posted, reversed]);
main!(library_benchmark_groups = outstanding);
