//! Instructions of a message through the provider, which no other process disturbs. Needs valgrind and gungraun-runner, of
//! the version of gungraun in Cargo.lock; `cargo xtask test` installs that.
//!
//! Each benchmark counts 1,000 messages of 8 bytes in steady state, as MPICH sends and receives them: a receive that names
//! its source, an injected message with 8 bytes of data beside its own, and a read of the queue that finds the completion;
//! or 1,000 reads that find nothing, and 500 while a send waits for room. An endpoint has one peer, of thousands that it
//! may have. Both endpoints are in one thread, so neither waits, and the clock stands. More than the limit is an error. A
//! change that makes messages cheaper lowers the limit.

#![allow(missing_docs, reason = "the macros of the benchmark generate public items")]
#![allow(unsafe_code, reason = "a host calls by pointers")]

mod clock;
#[path = "../tests/provider/host.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod host;

use carrousel_ofi::bindings as b;
use gungraun::prelude::*;
use gungraun::{Callgrind, EntryPoint, EventKind};
use host::{EAGAIN, End, Hints, Opened, call};
use std::ffi::c_void;
use std::hint::black_box;

/// The limits of the benchmarks: their counts when this was written, and one percent for other processors, on which the C
/// library copies memory in other ways.
const MESSAGES_MAX: u64 = 1_903_700;
/// Of reads that find nothing.
const READS_MAX: u64 = 242_700;
/// The same while a send waits for room.
const WAITING_MAX: u64 = 184_800;

const WARM_UP: u32 = 100;
const TIMES: u32 = 1000;
const TAG: u64 = 5;

/// Two endpoints that have exchanged messages.
struct Ends {
    _domain: Opened,
    sender: End,
    receiver: End,
    buffer: Box<[u8; 8]>,
}

/// A read of the queue, as `fi_cq_read` makes it.
fn read(end: End) -> isize {
    // SAFETY: zeros are a value of this structure of C.
    let mut entry: b::fi_cq_tagged_entry = unsafe { std::mem::zeroed() };
    black_box(call!(end.cq, ops.read((&raw mut entry).cast(), 1)))
}

/// A message whose receive is there before it.
#[inline(always)]
fn exchange(ends: &mut Ends) {
    let Ends { sender, receiver, buffer, .. } = ends;
    let null = std::ptr::null_mut::<c_void>();
    let room = black_box(buffer).as_mut_ptr().cast();
    assert_eq!(call!(receiver.ep, tagged.recv(room, 8, null, 0, TAG, 0, null)), 0);
    assert_eq!(call!(sender.ep, tagged.injectdata([7u8; 8].as_ptr().cast(), 8, 1, 0, TAG)), 0);
    assert_eq!(read(*receiver), 1);
}

/// Reads that find nothing, after which an endpoint has looked at the clock.
const LOOKS: u32 = 64;

/// The code that is counted: a message.
#[inline(never)]
fn message(ends: &mut Ends) {
    exchange(ends);
}

/// The code that is counted: a read that finds nothing.
#[inline(never)]
fn nothing(ends: &mut Ends) {
    assert_eq!(read(ends.receiver), EAGAIN);
}

/// The code that is counted: a read that finds nothing, while a send waits for room at its peer, which does not look.
#[inline(never)]
fn waiting(ends: &mut Ends) {
    assert_eq!(read(ends.sender), EAGAIN);
}

/// More messages than the ring to a peer has room for.
fn full() -> Ends {
    const MESSAGES: u32 = 10_000;
    let ends = warm();
    for _ in 0..MESSAGES {
        assert_eq!(call!(ends.sender.ep, tagged.inject([7u8; 8].as_ptr().cast(), 8, 0, TAG)), 0);
    }
    (0..16).for_each(|_| assert_eq!(read(ends.sender), EAGAIN));
    ends
}

fn warm() -> Ends {
    let mut hints = Hints::default();
    hints.info.caps = u64::from(b::FI_TAGGED) | u64::from(b::FI_MSG) | b::FI_DIRECTED_RECV;
    let domain = Opened::new(&hints);
    let (sender, receiver) = domain.pair();
    let mut ends = Ends { _domain: domain, sender, receiver, buffer: Box::default() };
    for _ in 0..WARM_UP {
        exchange(&mut ends);
        assert_eq!(read(ends.receiver), EAGAIN);
    }
    // What an endpoint does once a period is not of a message: no period ends from here on.
    clock::stop();
    // Neither does one that had ended before, and was not seen.
    for _ in 0..LOOKS {
        assert_eq!((read(ends.sender), read(ends.receiver)), (EAGAIN, EAGAIN));
    }
    ends
}

/// Counts a function of this file, at most so many.
fn counted(function: &str, max: u64) -> LibraryBenchmarkConfig {
    let mut tool = Callgrind::default();
    tool.entry_point(EntryPoint::Custom(format!("*::{function}"))).hard_limits([(EventKind::Ir, max)]);
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(tool);
    config
}

#[library_benchmark(setup = warm, config = counted("message", MESSAGES_MAX))]
#[bench::thousand_messages()]
fn injected(mut ends: Ends) -> Ends {
    for _ in 0..TIMES {
        message(&mut ends);
    }
    black_box(ends)
}

#[library_benchmark(setup = warm, config = counted("nothing", READS_MAX))]
#[bench::thousand_reads()]
fn empty(mut ends: Ends) -> Ends {
    for _ in 0..TIMES {
        nothing(&mut ends);
    }
    black_box(ends)
}

#[library_benchmark(setup = full, config = counted("waiting", WAITING_MAX))]
#[bench::five_hundred_reads()]
fn without_room(mut ends: Ends) -> Ends {
    for _ in 0..500 {
        waiting(&mut ends);
    }
    black_box(ends)
}

library_benchmark_group!(name = provider, benchmarks = [injected, empty, without_room]);
main!(library_benchmark_groups = provider);
