//! The memory of a rank is its host's, and a host may refuse any of it.

mod pair;

use carrousel_error as E;
use carrousel_ffi::*;
use core::ffi::c_void;
use pair::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ptr;

thread_local! {
    static BLOCKS: RefCell<BTreeMap<usize, (usize, usize)>> = const { RefCell::new(BTreeMap::new()) };
    /// How many more blocks the host gives before it refuses.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    static REFUSED: Cell<u64> = const { Cell::new(0) };
}

extern "C" fn allocate(_: *mut c_void, size: usize, align: usize) -> *mut c_void {
    assert!(size > 0 && align.is_power_of_two());
    if LEFT.get() == 0 {
        REFUSED.set(REFUSED.get() + 1);
        return ptr::null_mut();
    }
    LEFT.set(LEFT.get() - 1);
    let layout = Layout::from_size_align(size, align).expect("it is one");
    // SAFETY: its size is not 0.
    let block = unsafe { System.alloc(layout) };
    BLOCKS.with_borrow_mut(|blocks| blocks.insert(block as usize, (size, align)));
    block.cast()
}

extern "C" fn release(_: *mut c_void, block: *mut c_void, size: usize, align: usize) {
    let known = BLOCKS.with_borrow_mut(|blocks| blocks.remove(&(block as usize)));
    assert_eq!(known, Some((size, align)), "it goes back as it was given");
    let layout = Layout::from_size_align(size, align).expect("it is one");
    // SAFETY: `allocate` has given it for this layout.
    unsafe { System.dealloc(block.cast(), layout) };
}

const HOST: carrousel_allocator =
    carrousel_allocator { allocate: Some(allocate), release: Some(release), context: ptr::null_mut() };

fn give_more() {
    LEFT.set(u64::MAX);
}

/// Messages of all kinds and a window: what a rank allocates for.
fn everything(pair: &mut Pair) {
    let mut requests = Vec::new();
    for tag in 0..40 {
        let len = if tag % 3 == 0 { 1 << 20 } else { 64 };
        let order = if tag % 2 == 0 { [0, 1] } else { [1, 0] };
        for me in order {
            let call = if me == 0 { send(tag, len) } else { receive(tag, len) };
            requests.push((me, pair.call(me, &call)));
        }
    }
    // Without a receive yet, of many tags.
    for tag in 100..200 {
        requests.push((0, pair.call(0, &send(tag, 8))));
    }
    pair.settle();
    for tag in (100..200).rev() {
        requests.push((1, pair.call(1, &receive(tag, 8))));
    }
    pair.settle();
    for me in [0, 1] {
        pair.step(|| done(carrousel_rank_define(pair.ranks[me], 5, [1, 0].as_ptr(), 2)))
            .expect("it is right");
        let call = carrousel_call {
            kind: carrousel_call_kind::Collective as u32,
            collective: carrousel_collective_kind::AllReduce as u32,
            communicator: 5,
            len: 64,
            element: 8,
            ..Default::default()
        };
        requests.push((me, pair.call(me, &call)));
    }
    pair.settle();
    for me in [0, 1] {
        pair.step(|| got(|window| carrousel_rank_create_window(pair.ranks[me], None, window)))
            .expect("it is right");
    }
    for me in [0, 1] {
        pair.window_call(me, &window_call(carrousel_window_call_kind::Fence));
    }
    for _ in 0..50 {
        for me in [0, 1] {
            let mut put = window_call(carrousel_window_call_kind::Transfer);
            put.transfer = carrousel_transfer {
                target: 1 - me as u32,
                kind: carrousel_transfer_kind::Put as u32,
                len: 8,
                count: 1,
                stride: 8,
                ..Default::default()
            };
            pair.window_call(me, &put);
        }
    }
    pair.settle();
    for me in [0, 1] {
        requests.push((me, pair.window_call(me, &window_call(carrousel_window_call_kind::Fence))));
    }
    pair.settle();
    for (me, request) in requests {
        let status = pair.release(me, request).expect("it is complete");
        assert_eq!(status.failure, carrousel_failure::None as u32);
    }
    for tag in 0..50 {
        pair.call(1, &receive(tag, 1 << 20));
    }
    pair.settle();
    let kind = carrousel_event_kind::Lost as u32;
    pair.event(1, &carrousel_event { kind, peer: 0, ..Default::default() });
}

fn blocks() -> usize {
    BLOCKS.with_borrow(BTreeMap::len)
}

#[test]
fn everything_comes_from_the_host_and_goes_back() {
    let mut pair = Pair::new(Some(&HOST));
    let at_first = blocks();
    everything(&mut pair);
    assert!(blocks() > at_first, "messages and windows need memory");
    drop(pair);
    assert_eq!(blocks(), 0);
}

/// From each block on, the host refuses until a call says that it has no memory. That call has changed
/// nothing: made again, with memory, it does all that it would have done.
#[test]
fn a_host_that_refuses_any_block_is_told_and_nothing_is_lost() {
    let mut told = 0;
    for left in 0.. {
        LEFT.set(left);
        let made = (create(Some(&HOST), 0, 2), create(Some(&HOST), 1, 2));
        let ranks = match made {
            (Ok(first), Ok(second)) => [first, second],
            (first, second) => {
                for rank in [first, second] {
                    match rank {
                        Ok(mut rank) => assert_eq!(carrousel_rank_free(Some(&mut rank)), E::None),
                        Err(error) => assert_eq!(error, E::OutOfMemory),
                    }
                }
                assert_eq!(blocks(), 0);
                continue;
            }
        };
        REFUSED.set(0);
        let mut pair = Pair { ranks, coming: Vec::new(), more: Some(|| LEFT.set(u64::MAX)) };
        everything(&mut pair);
        drop(pair);
        assert_eq!(blocks(), 0);
        if REFUSED.get() == 0 {
            assert!(left > 50 && told > 20, "{left} {told}");
            break;
        }
        told += 1;
    }
    give_more();
}

/// Not even for the reserve.
#[test]
fn a_message_of_steady_state_asks_for_no_memory() {
    let mut pair = Pair::new(Some(&HOST));
    let exchange = |pair: &mut Pair| {
        let requests = [(1, pair.call(1, &receive(1, 8))), (0, pair.call(0, &send(1, 8)))];
        pair.settle();
        for (me, request) in requests {
            assert_eq!(pair.release(me, request).map(|status| status.len), Ok(8));
        }
    };
    for _ in 0..200 {
        exchange(&mut pair);
    }
    LEFT.set(0);
    REFUSED.set(0);
    for _ in 0..1000 {
        exchange(&mut pair);
    }
    assert_eq!(REFUSED.get(), 0);
    give_more();
}
