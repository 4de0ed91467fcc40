//! Instructions of a message, which no other process disturbs. Needs valgrind and
//! gungraun-runner, of the version of gungraun in Cargo.lock; `cargo xtask test` installs that.
//!
//! Claim: an eager message to a posted receive (send call, packet at the receiver, completion test and
//! release there, and what the driver does in `BenchedEnds::message`) costs 534 instructions or less. Each
//! benchmark counts 1,000 of them, the warm-up included; posting the receive is not counted. More than
//! [`INSTRUCTIONS_MAX`] is an error.

#![allow(missing_docs, reason = "the macros of the benchmark generate public items")]

use carrousel_rank::*;
use gungraun::prelude::*;
use gungraun::{Callgrind, EntryPoint, EventKind};
use std::hint::black_box;

/// The limit of a benchmark: the claim, times its messages.
const INSTRUCTIONS_MAX: u64 = 534 * 1000;

const WARM_UP: u32 = 100;
const MESSAGES: u32 = 1000 - WARM_UP;
const LEN: u64 = 8;
const MEMORY: Memory = Memory { address: 0x1000, key: 7 };

/// Two ranks in steady state, and the receive that waits at the second.
struct BenchedEnds<P: Protocol> {
    sender: Rank<P>,
    receiver: Rank<P>,
    work: Vec<Work>,
    receive: Handle,
}

impl<P: Protocol> BenchedEnds<P> {
    fn post(&mut self) {
        let (from, tag) = (Source::Rank(RankId(0)), TagSelector::exact(Tag(5)));
        let receive = Receive { from, tag, communicator: Communicator::WORLD, len: LEN, memory: MEMORY };
        self.receive = self.receiver.call(black_box(Call::Receive(receive)), &mut self.work).expect("right");
    }

    /// What is counted.
    #[inline(never)]
    fn message(&mut self) {
        let send = Send {
            to: RankId(1),
            tag: Tag(5),
            communicator: Communicator::WORLD,
            len: LEN,
            memory: MEMORY,
            synchronous: false,
            data: None,
        };
        assert!(self.sender.send_eagerly(black_box(&send), &mut self.work).expect("right"));
        let packet = match self.work.first() {
            Some(Work::Send { packet, .. }) => *packet,
            _ => unreachable!("a small message is sent at once"),
        };
        self.work.clear();
        let event = Event::Packet { from: RankId(0), context: Context::MESSAGES, packet };
        self.receiver.event(black_box(event), &mut self.work).expect("right");
        let over = |status: Option<Status>| status.is_some_and(|status| status.failure.is_none());
        assert!(over(self.receiver.release(self.receive).expect("it is open")));
        // Once in a while there is an ACK.
        for work in self.work.drain(..) {
            if let Work::Send { packet, .. } = work {
                let event = Event::Packet { from: RankId(1), context: Context::MESSAGES, packet };
                self.sender.event(black_box(event), &mut Vec::new()).expect("right");
            }
        }
    }
}

fn warm<P: Protocol>() -> BenchedEnds<P> {
    let rank = |me| Rank::new(RankId(me), &Job { ranks: 2 }, &Options::default());
    let receive = Handle { index: 0, generation: 0 };
    let mut ends =
        BenchedEnds::<P> { sender: rank(0), receiver: rank(1), work: Vec::with_capacity(16), receive };
    for _ in 0..WARM_UP {
        ends.post();
        ends.message();
    }
    ends
}

fn posts<P: Protocol>(mut ends: BenchedEnds<P>) -> BenchedEnds<P> {
    for _ in 0..MESSAGES {
        ends.post();
        ends.message();
    }
    ends
}

#[library_benchmark(setup = warm::<Mirror>)]
#[bench::thousand_messages()]
fn eager_mirror(ends: BenchedEnds<Mirror>) -> BenchedEnds<Mirror> {
    black_box(posts(ends))
}

#[library_benchmark(setup = warm::<Published>)]
#[bench::thousand_messages()]
fn eager_published(ends: BenchedEnds<Published>) -> BenchedEnds<Published> {
    black_box(posts(ends))
}

library_benchmark_group!(name = eager, benchmarks = [eager_mirror, eager_published]);
main!(
    config = LibraryBenchmarkConfig::default().tool(
        Callgrind::default()
            .entry_point(EntryPoint::Custom("*::message".to_owned()))
            .hard_limits([(EventKind::Ir, INSTRUCTIONS_MAX)])
    ),
    library_benchmark_groups = eager
);
