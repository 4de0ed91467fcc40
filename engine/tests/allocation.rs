//! Messages of steady state allocate nothing.

use carrousel::in_one_thread;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, and how often it was asked for memory.
struct Counting;

thread_local! {
    /// Allocations of this thread: that of the test harness allocates when it likes.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts an allocation of this thread; not one that it makes while it ends.
fn count() {
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

// SAFETY: every call is passed on to `System` unchanged, which keeps the contract of `GlobalAlloc`; counting
// touches an integer of this thread only, which needs no initialisation: it neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller promises a layout of non-zero size, which is all that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from `alloc` or `realloc` above, thus from `System`, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
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
                before = allocations();
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
        assert_eq!(allocations() - before, 0, "messages of {size} bytes");
        // An eager message that its receive is too late for.
        for _ in 0..10 {
            one.send(&[1u8; 8], 1, 4).expect("it is there");
        }
    }
}
