//! An allocator that fails once: at the n-th call of a rank.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of calls before the one that fails; if the rank makes fewer, none fails.
static LEFT: AtomicU64 = AtomicU64::new(u64::MAX);

/// The system's allocator, with one failure.
pub(crate) struct Failing;

/// Lets the call fail that comes this many calls from now, counted from 1.
pub(crate) fn fail_at(call: u64) {
    LEFT.store(call, Ordering::Relaxed);
}

/// The number of calls before the one that fails.
pub(crate) fn left() -> u64 {
    LEFT.load(Ordering::Relaxed)
}

fn fails() -> bool {
    LEFT.fetch_sub(1, Ordering::Relaxed) == 1
}

// SAFETY: each call is the system allocator's with the same arguments, or returns null, which means that there is no
// memory, and changes nothing.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the contract of `alloc`, which is that of the system's allocator.
        if fails() { null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        if fails() { null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as in `alloc`; `memory` is the system allocator's, as is all memory that this one returns.
        if fails() { null_mut() } else { unsafe { System.realloc(memory, layout, size) } }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}
