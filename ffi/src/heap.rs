//! The memory of objects: every block of an object comes from the allocator of its host, and goes back there.
//!
//! The protocols allocate by Rust's global allocator, which is one for the whole library. So the library's
//! own one asks which object its thread is at work for ([`Heap::enter`]), and that object's host. In front of
//! each block stands where it came from, so that it goes back there, whoever frees it. Outside of an object
//! (tests, and the message of a panic) it is the system's allocator.
//!
//! **An allocator may refuse.** Rust's collections abort the process then. So an object keeps a reserve: one
//! block of its host, from which a call is served that the host refuses memory. Before each call the reserve
//! is made whole, and a call whose reserve cannot be is refused before it has changed anything.

use crate::border::carrousel_allocator;
use crate::error::carrousel_error;
use core::ffi::c_void;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

/// Bytes of the reserve of an object without anything in it: the first blocks of the collections that one
/// call begins.
const RESERVE_MIN: usize = 16 << 10;

/// How many times as large as needed a reserve may be: calls differ in what they need, and one need not be
/// renewed for each.
const RESERVE_EXCESS: usize = 16;

thread_local! {
    /// The heap of the object that this thread is at work for.
    static CURRENT: Cell<*const Heap> = const { Cell::new(ptr::null()) };
}

type Allocate = unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void;
type Release = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, usize);

/// The functions of a host.
#[derive(Clone, Copy)]
pub(crate) struct Host {
    allocate: Allocate,
    release: Release,
    context: *mut c_void,
}

impl Host {
    /// Those of an allocator, or the system's without one.
    pub(crate) fn new(allocator: Option<&carrousel_allocator>) -> Result<Self, carrousel_error> {
        let Some(allocator) = allocator else {
            return Ok(Self { allocate: of_system, release: to_system, context: ptr::null_mut() });
        };
        let (Some(allocate), Some(release)) = (allocator.allocate, allocator.release) else {
            return Err(carrousel_error::NullPointer);
        };
        Ok(Self { allocate, release, context: allocator.context })
    }

    /// A block, or null. What the host does meanwhile is done for no object.
    pub(crate) fn allocate(&self, layout: Layout) -> *mut u8 {
        let outer = CURRENT.replace(ptr::null());
        // SAFETY: the host has given the function for this, and the context to call it with.
        let block = unsafe { (self.allocate)(self.context, layout.size(), layout.align()) };
        CURRENT.set(outer);
        block.cast()
    }

    /// Gives a block back.
    ///
    /// # Safety
    /// The block is one of this host, with this layout, and nothing uses it any more.
    pub(crate) unsafe fn release(&self, block: *mut u8, layout: Layout) {
        let outer = CURRENT.replace(ptr::null());
        // SAFETY: as `allocate`; the caller vouches for the block.
        unsafe { (self.release)(self.context, block.cast(), layout.size(), layout.align()) };
        CURRENT.set(outer);
    }
}

unsafe extern "C" fn of_system(_: *mut c_void, size: usize, align: usize) -> *mut c_void {
    match Layout::from_size_align(size, align) {
        // SAFETY: no layout of this module has size 0.
        Ok(layout) => unsafe { System.alloc(layout).cast() },
        Err(_) => ptr::null_mut(),
    }
}

unsafe extern "C" fn to_system(_: *mut c_void, block: *mut c_void, size: usize, align: usize) {
    if let Ok(layout) = Layout::from_size_align(size, align) {
        // SAFETY: `of_system` has given the block for the same size and alignment.
        unsafe { System.dealloc(block.cast(), layout) };
    }
}

/// The memory of one object.
pub(crate) struct Heap {
    host: Host,
    /// Bytes in use.
    live: Cell<usize>,
    reserve: Cell<*mut Reserve>,
}

/// The begin of a reserve, in front of its bytes.
struct Reserve {
    /// Of the bytes behind this.
    len: usize,
    used: usize,
    /// Blocks in it that are in use.
    blocks: usize,
}

/// What stands in front of each block.
#[derive(Clone, Copy)]
struct Origin {
    /// Null for the system's.
    heap: *const Heap,
    /// Null if it is a block of the host itself.
    reserve: *mut Reserve,
}

/// Alignment of blocks without a greater one, which is also the length of an [`Origin`].
const ALIGN: usize = 16;
const _: () = assert!(size_of::<Origin>() <= ALIGN && size_of::<Reserve>() <= 2 * ALIGN);
const RESERVE_HEAD: usize = 2 * ALIGN;

/// The block that contains an allocation, and where the allocation begins in it.
fn whole(layout: Layout) -> Option<(Layout, usize)> {
    let before = layout.align().max(ALIGN);
    let size = layout.size().checked_add(before)?;
    Some((Layout::from_size_align(size, before).ok()?, before))
}

fn reserve_layout(len: usize) -> Option<Layout> {
    Layout::from_size_align(len.checked_add(RESERVE_HEAD)?, ALIGN).ok()
}

impl Heap {
    /// Without blocks, and without a reserve.
    pub(crate) fn new(host: Host) -> Self {
        Self { host, live: Cell::new(0), reserve: Cell::new(ptr::null_mut()) }
    }

    pub(crate) fn host(&self) -> Host {
        self.host
    }

    /// Does something whose memory is this heap's.
    #[inline]
    pub(crate) fn enter<T>(&self, act: impl FnOnce() -> T) -> T {
        let outer = CURRENT.replace(self);
        let done = act();
        CURRENT.set(outer);
        done
    }

    /// Makes sure that a call can be served if the host refuses all of its memory: one that makes each block
    /// that there is `times` as large at most, and needs `extra` bytes for what it was given.
    #[inline]
    pub(crate) fn provide(&self, times: usize, extra: usize) -> Result<(), carrousel_error> {
        let needed = self.live.get().saturating_mul(times).saturating_add(extra).saturating_add(RESERVE_MIN);
        let reserve = self.reserve.get();
        if reserve.is_null() {
            return self.renew(needed);
        }
        // SAFETY: a reserve that is not null is alive until `give_up_reserve`.
        let (len, free) = unsafe { ((*reserve).len, (*reserve).len - (*reserve).used) };
        if free >= needed && len <= needed.saturating_mul(RESERVE_EXCESS) {
            return Ok(());
        }
        // It goes if it is too large, and can.
        self.renew(needed).or(if free >= needed { Ok(()) } else { Err(carrousel_error::OutOfMemory) })
    }

    #[cold]
    fn renew(&self, needed: usize) -> Result<(), carrousel_error> {
        // So that it is not renewed for each block that comes.
        let len = needed.saturating_mul(2);
        let layout = reserve_layout(len).ok_or(carrousel_error::OutOfMemory)?;
        let block = self.host.allocate(layout).cast::<Reserve>();
        if block.is_null() {
            return Err(carrousel_error::OutOfMemory);
        }
        // SAFETY: the host has given this many bytes, which nobody else knows.
        unsafe { block.write(Reserve { len, used: 0, blocks: 0 }) };
        self.give_up_reserve();
        self.reserve.set(block);
        Ok(())
    }

    /// Gives the reserve back, now or with the last of its blocks.
    pub(crate) fn give_up_reserve(&self) {
        let reserve = self.reserve.replace(ptr::null_mut());
        // SAFETY: it was this heap's until now, so that it is alive.
        if !reserve.is_null() && unsafe { (*reserve).blocks == 0 } {
            self.release_reserve(reserve);
        }
    }

    fn release_reserve(&self, reserve: *mut Reserve) {
        // SAFETY: the caller has seen that no block of it is in use, and that it is this heap's no longer.
        unsafe {
            if let Some(layout) = reserve_layout((*reserve).len) {
                self.host.release(reserve.cast(), layout);
            }
        }
    }

    fn allocate(&self, layout: Layout) -> *mut u8 {
        let Some((block, before)) = whole(layout) else { return ptr::null_mut() };
        let (mut base, mut reserve) = (self.host.allocate(block), ptr::null_mut());
        if base.is_null() {
            reserve = self.reserve.get();
            base = self.of_reserve(reserve, block);
        }
        if base.is_null() {
            return base;
        }
        self.live.set(self.live.get() + block.size());
        // SAFETY: the block has `before` bytes in front of the allocation, aligned for an `Origin`.
        unsafe { begin(base, before, Origin { heap: self, reserve }) }
    }

    fn of_reserve(&self, reserve: *mut Reserve, block: Layout) -> *mut u8 {
        if reserve.is_null() {
            return ptr::null_mut();
        }
        // SAFETY: the reserve is alive, and of its `len` bytes those from `used` on are in no block.
        unsafe {
            let first = reserve.cast::<u8>().add(RESERVE_HEAD + (*reserve).used);
            let gap = first.align_offset(block.align());
            let used = (*reserve).used.checked_add(gap).and_then(|used| used.checked_add(block.size()));
            let Some(used) = used.map(|used| used.next_multiple_of(ALIGN)) else { return ptr::null_mut() };
            if used > (*reserve).len {
                return ptr::null_mut();
            }
            (*reserve).used = used;
            (*reserve).blocks += 1;
            first.add(gap)
        }
    }

    /// # Safety
    /// The block is this heap's, with this layout, and nothing uses it any more.
    unsafe fn release(&self, base: *mut u8, block: Layout, reserve: *mut Reserve) {
        self.live.set(self.live.get() - block.size());
        if reserve.is_null() {
            // SAFETY: `allocate` has it from the host, with this layout.
            return unsafe { self.host.release(base, block) };
        }
        // SAFETY: a reserve is alive as long as one of its blocks is.
        let blocks = unsafe {
            (*reserve).blocks -= 1;
            (*reserve).blocks
        };
        if blocks > 0 {
            return;
        }
        if reserve == self.reserve.get() {
            // SAFETY: as above; nothing in it is in use.
            unsafe { (*reserve).used = 0 };
        } else {
            self.release_reserve(reserve);
        }
    }
}

/// Writes where a block comes from, and returns where its bytes begin.
///
/// # Safety
/// The block has `before` bytes, at least [`ALIGN`], in front of them, and is aligned to [`ALIGN`].
unsafe fn begin(base: *mut u8, before: usize, origin: Origin) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let bytes = base.add(before);
        bytes.sub(ALIGN).cast::<Origin>().write(origin);
        bytes
    }
}

/// The allocator of the library.
struct OfCurrent;

#[global_allocator]
static ALLOCATOR: OfCurrent = OfCurrent;

// SAFETY: each block is one of the system's or of a host's allocator, of the size and alignment that were
// asked for, and goes back to where it came from, which stands in front of it. Nothing here unwinds: what a
// host does unwinds into a function of C, which ends the process.
unsafe impl GlobalAlloc for OfCurrent {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let current = CURRENT.get();
        // The message of a panic may outlive the object, in the hands of the standard library.
        if !current.is_null() && !std::thread::panicking() {
            // SAFETY: a heap is alive while its thread is at work for it.
            return unsafe { (*current).allocate(layout) };
        }
        let Some((block, before)) = whole(layout) else { return ptr::null_mut() };
        // SAFETY: its size is not 0.
        let base = unsafe { System.alloc(block) };
        if base.is_null() {
            return base;
        }
        // SAFETY: the block has `before` bytes in front of the allocation.
        unsafe { begin(base, before, Origin { heap: ptr::null(), reserve: ptr::null_mut() }) }
    }

    unsafe fn dealloc(&self, bytes: *mut u8, layout: Layout) {
        let Some((block, before)) = whole(layout) else { return };
        // SAFETY: `alloc` has written it in front of these bytes, which begin `before` bytes into their
        // block. A heap is alive as long as one of its blocks is.
        unsafe {
            let Origin { heap, reserve } = bytes.sub(ALIGN).cast::<Origin>().read();
            let base = bytes.sub(before);
            if heap.is_null() {
                System.dealloc(base, block);
            } else {
                (*heap).release(base, block, reserve);
            }
        }
    }
}
