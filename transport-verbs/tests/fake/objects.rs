//! What the functions make and hand out: each object begins with what the library's callers know of it.

use super::network::Way;
use rdma_sys as sys;
use rustix::event::{EventfdFlags, eventfd};
use std::alloc::{GlobalAlloc, Layout, System};
use std::mem::offset_of;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// An open device.
#[repr(C)]
pub(super) struct Context {
    pub(super) base: sys::ibv_context,
    pub(super) adapter: usize,
    pub(super) events: Ring<Told>,
    pub(super) bell: Bell,
    /// The next one of the list of all.
    pub(super) next: *mut Context,
}

/// An open device, behind what newer versions of the library have put in front of it: together they are a
/// `verbs_context`, if the context says so.
#[repr(C)]
pub(super) struct Extended {
    pub(super) front: [usize; FRONT],
    pub(super) context: Context,
}

/// Words of it.
const FRONT: usize = offset_of!(sys::verbs_context, context) / size_of::<usize>();
const _: () = assert!(offset_of!(Extended, context) == offset_of!(sys::verbs_context, context));

/// What an adapter has said, as the library says it.
#[derive(Clone, Copy)]
pub(super) struct Told {
    pub(super) kind: sys::ibv_event_type,
    /// Null if it is not about a queue pair.
    pub(super) pair: *mut sys::ibv_qp,
}

/// Wakes the threads that wait for completions.
#[repr(C)]
pub(super) struct Channel {
    pub(super) base: sys::ibv_comp_channel,
    pub(super) bell: Bell,
    pub(super) queue: *mut sys::ibv_cq,
}

/// A queue of completions.
#[repr(C)]
pub(super) struct Queue {
    pub(super) base: sys::ibv_cq,
    pub(super) done: Ring<Done>,
    pub(super) is_armed: bool,
}

/// A completion.
#[derive(Clone, Copy)]
pub(super) struct Done {
    pub(super) id: u64,
    pub(super) status: sys::ibv_wc_status::Type,
    pub(super) len: u32,
    /// In network byte order.
    pub(super) immediate: Option<u32>,
    pub(super) pair: u32,
    /// Of what was posted to a connection: how much that was by then. It is out of the queue when this is taken.
    pub(super) posted: Option<u32>,
}

/// A receive buffer.
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    pub(super) id: u64,
    pub(super) start: *mut u8,
    pub(super) len: usize,
}

/// Receive buffers that queue pairs share.
#[repr(C)]
pub(super) struct Receives {
    pub(super) base: sys::ibv_srq,
    pub(super) posted: Ring<Buffer>,
}

#[repr(C)]
pub(super) struct Pair {
    pub(super) base: sys::ibv_qp,
    /// Receive buffers of its own, if it shares none.
    pub(super) posted: Ring<Buffer>,
    /// What has to stand in datagrams to it.
    pub(super) key: u32,
    /// The number of the queue pair that it is connected to.
    pub(super) peer: u32,
    /// The way to it.
    pub(super) way: Option<Way>,
    /// The own port, counted from 1.
    pub(super) port: u8,
    /// The capacity in work requests.
    pub(super) depth: u32,
    /// Bytes that it takes into a work request.
    pub(super) inline: u32,
    /// The requests that were ever posted, and those of them that are known to be out of the queue.
    pub(super) sent: u32,
    pub(super) known: u32,
}

/// A way for datagrams.
#[repr(C)]
pub(super) struct Handle {
    pub(super) base: sys::ibv_ah,
    pub(super) way: Way,
}

/// Makes an object.
pub(super) fn make<T>(object: T) -> *mut T {
    const { assert!(size_of::<T>() > 0) };
    // SAFETY: the layout is not empty.
    let place = unsafe { System.alloc(Layout::new::<T>()) }.cast::<T>();
    assert!(!place.is_null(), "there is memory");
    // SAFETY: memory for one, which is nobody else's.
    unsafe { place.write(object) };
    place
}

/// An object, known by how it begins.
pub(super) fn object<'a, T>(base: *mut impl Sized) -> &'a mut T {
    // SAFETY: the callers of these functions hand back what they were given, of the kind that they were given, and only
    // before its end. All look at objects while they hold the lock of the world, and at one only as long as at no other
    // under the same name.
    unsafe { &mut *base.cast::<T>() }
}

/// Ends an object.
pub(super) fn end<T>(base: *mut impl Sized) {
    let place = base.cast::<T>();
    // SAFETY: from `make`, and ended once by its owner.
    unsafe {
        place.drop_in_place();
        System.dealloc(place.cast(), Layout::new::<T>());
    }
}

/// All zero, as the library's structures are to begin with.
pub(super) fn zero<T>() -> T {
    // SAFETY: only for structures of C, made of numbers, pointers, and functions that may be none.
    unsafe { std::mem::zeroed() }
}

/// A queue of bounded length.
pub(super) struct Ring<T> {
    start: *mut T,
    capacity: usize,
    first: usize,
    len: usize,
}

impl<T: Copy> Ring<T> {
    pub(super) fn new(capacity: usize) -> Self {
        // SAFETY: the layout is not empty, as there is room for one at least.
        let start = unsafe { System.alloc(layout::<T>(capacity)) }.cast::<T>();
        assert!(!start.is_null(), "there is memory");
        Self { start, capacity, first: 0, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, one: T) {
        assert!(self.len < self.capacity, "a queue of the adapter is full");
        let place = (self.first + self.len) % self.capacity;
        // SAFETY: within the memory.
        unsafe { self.start.add(place).write(one) };
        self.len += 1;
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        // SAFETY: within the memory, and written by `push`.
        let one = unsafe { self.start.add(self.first).read() };
        self.first = (self.first + 1) % self.capacity;
        self.len -= 1;
        Some(one)
    }
}

fn layout<T>(capacity: usize) -> Layout {
    Layout::array::<T>(capacity.max(1)).expect("it fits")
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: from `new`, with the same layout.
        unsafe { System.dealloc(self.start.cast(), layout::<T>(self.capacity)) };
    }
}

/// A descriptor that is readable as many times as it was rung.
pub(super) struct Bell(OwnedFd);

impl Bell {
    pub(super) fn new() -> Self {
        Self(eventfd(0, EventfdFlags::SEMAPHORE | EventfdFlags::CLOEXEC).expect("there are descriptors"))
    }

    pub(super) fn ring(&self) {
        rustix::io::write(&self.0, &1_u64.to_ne_bytes()).expect("it can be rung");
    }

    /// Itself, for a thread that waits while others may change the object that it belongs to.
    pub(super) fn share(&self) -> Self {
        Self(self.0.try_clone().expect("there are descriptors"))
    }

    /// Waits until it has been rung once more. False if it has not, and nobody is to wait for it.
    pub(super) fn hear(&self) -> bool {
        match rustix::io::read(&self.0, &mut [0; 8]) {
            Err(rustix::io::Errno::AGAIN) => false,
            heard => heard.is_ok_and(|bytes| bytes == 8),
        }
    }

    pub(super) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
