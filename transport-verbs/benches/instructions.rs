//! Instructions of an eager message between nodes at the sender and at the receiver, which no other process disturbs.
//! Needs valgrind and gungraun-runner, of the version of gungraun in Cargo.lock; `cargo xtask test` installs that.
//!
//! Each benchmark counts what the transport does for 1,000 messages of steady state, over a fake adapter: what the
//! functions of the library take is not counted. At the sender that is posting; what it takes of completions,
//! one for several messages, is not. At the receiver it is taking the packet, posting its buffer again, and giving
//! credits back. More than the limits is an error: who makes messages cheaper lowers them. Nor may there be an instruction
//! that locks the bus, by which a lock is taken or a reference that threads share is counted.

#![allow(missing_docs, reason = "the macros of the benchmark generate public items")]

mod counter;
#[path = "../tests/fake/mod.rs"]
mod fake;

use counter::{MESSAGES, WARM_UP, at_most};
use fake::{End, FakeAdapter, connected, counted};
use gungraun::prelude::*;
use std::hint::black_box;

/// The limits: what it was when this was written, and one in a hundred for other processors, on which the C library
/// copies memory in other ways.
const POST_INLINE_MAX: u64 = 241_000;
const POST_COPIED_MAX: u64 = 727_000;
/// The data is not touched: it is handed over where it has arrived.
const RECEIVE_MAX: u64 = 377_100;

/// Copied into the work request.
const SMALL: [u8; 8] = [7; 8];
/// Copied into a slot.
const LARGE: [u8; 4 << 10] = [7; 4 << 10];

type Ends = [End; 2];

/// What is counted at the sender.
#[inline(never)]
fn post(sender: &mut End, data: &[u8]) {
    sender.send(1, black_box(data));
}

/// What is counted at the receiver.
#[inline(never)]
fn receive(receiver: &mut End) {
    assert!(receiver.poll() > 0);
}

fn posts(mut ends: Ends, data: &[u8]) -> Ends {
    let [sender, receiver] = &mut ends;
    for _ in 0..MESSAGES {
        counted(|| post(sender, data));
        receiver.poll();
        sender.poll();
    }
    ends
}

fn receives(mut ends: Ends, data: &[u8]) -> Ends {
    let [sender, receiver] = &mut ends;
    for _ in 0..MESSAGES {
        sender.send(1, data);
        counted(|| receive(receiver));
        sender.poll();
    }
    ends
}

/// In steady state: all lists are as long as they get.
fn warm(data: &[u8]) -> Ends {
    let mut ends = connected([FakeAdapter(0), FakeAdapter(1)]);
    let [sender, receiver] = &mut ends;
    for _ in 0..WARM_UP {
        sender.send(1, data);
        receiver.poll();
        sender.poll();
    }
    ends
}

#[library_benchmark(setup = warm, config = at_most("instructions::post", POST_INLINE_MAX))]
#[bench::thousand_messages(&SMALL)]
fn post_inline(ends: Ends) -> Ends {
    black_box(posts(ends, &SMALL))
}

#[library_benchmark(setup = warm, config = at_most("instructions::post", POST_COPIED_MAX))]
#[bench::thousand_messages(&LARGE)]
fn post_copied(ends: Ends) -> Ends {
    black_box(posts(ends, &LARGE))
}

#[library_benchmark(setup = warm, config = at_most("instructions::receive", RECEIVE_MAX))]
#[bench::thousand_messages(&SMALL)]
fn receive_small(ends: Ends) -> Ends {
    black_box(receives(ends, &SMALL))
}

#[library_benchmark(setup = warm, config = at_most("instructions::receive", RECEIVE_MAX))]
#[bench::thousand_messages(&LARGE)]
fn receive_large(ends: Ends) -> Ends {
    black_box(receives(ends, &LARGE))
}

library_benchmark_group!(name = eager, benchmarks = [post_inline, post_copied, receive_small, receive_large]);
main!(library_benchmark_groups = eager);
