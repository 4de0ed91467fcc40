//! Messages of steady state allocate nothing.

use carrousel::in_one_thread;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's allocator, and how often it was asked for memory.
struct Counting;

/// Allocations of the whole process: this file has one test, so that nothing else allocates meanwhile.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on to `System` unchanged, which keeps the contract of `GlobalAlloc`; counting
// touches an atomic integer only, so it neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller promises a layout of non-zero size, which is all that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from `alloc` or `realloc` above, thus from `System`, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as for `dealloc`; the caller promises a size that is not zero and does not overflow.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const WARM_UP: usize = 300;
const MESSAGES: usize = 5_000;

#[test]
fn messages_of_steady_state_allocate_nothing() {
    let ends = in_one_thread(2).expect("it can be set up");
    let [one, other] = &ends[..] else { unreachable!("there are two") };
    // Eager, at the threshold, and a rendezvous; the buffers go to and fro.
    for size in [8, 16 << 10, 100_000] {
        let (mut sent, mut got) = (vec![1u8; size], vec![0u8; size]);
        let mut before = 0;
        for round in 0..WARM_UP + MESSAGES {
            if round == WARM_UP {
                before = ALLOCATIONS.load(Ordering::Relaxed);
            }
            let receive = other.irecv(got, 0, 3).expect("there is such a rank");
            let mut send = one.isend(sent, 1, 3).expect("there is such a rank");
            let mut receive = receive;
            // Both ranks are in this thread: neither may wait.
            while !receive.test() || !send.test() {}
            got = receive.wait().expect("it fits").0;
            sent = send.wait().expect("it is there").0;
        }
        assert_eq!(got, sent);
        assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0, "messages of {size} bytes");
        // An eager message that its receive is too late for.
        for _ in 0..10 {
            one.send(&[1u8; 8], 1, 4).expect("it is there");
        }
    }
}
