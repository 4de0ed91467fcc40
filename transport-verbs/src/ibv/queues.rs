//! Where completions come, and where packets are received.

use super::{BounceBuffers, Device, checked, last, made};
use crate::{Access, VerbsError};
use rdma_sys as sys;
use std::fmt;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// One completion, as the library writes it.
#[repr(transparent)]
pub(crate) struct Completion(sys::ibv_wc);

impl Completion {
    /// What was posted.
    pub(crate) fn id(&self) -> u64 {
        self.0.wr_id
    }

    /// Nothing, if the work request has succeeded; else why not.
    #[inline]
    pub(crate) fn failure(&self) -> Option<Failure> {
        use sys::ibv_wc_status as status;
        match self.0.status {
            status::IBV_WC_SUCCESS => None,
            status::IBV_WC_RETRY_EXC_ERR | status::IBV_WC_RNR_RETRY_EXC_ERR => Some(Failure::Unacknowledged),
            status::IBV_WC_WR_FLUSH_ERR => Some(Failure::Flushed),
            other => Some(Failure::Other(describe(other))),
        }
    }

    /// The queue pair that it is of.
    #[inline]
    pub(crate) fn pair(&self) -> u32 {
        self.0.qp_num
    }

    /// Bytes received.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.byte_len as usize
    }

    /// The number that came with what was received; 0 if none did.
    #[inline]
    pub(crate) fn immediate(&self) -> u32 {
        const WITH_IMMEDIATE: u32 = sys::ibv_wc_flags::IBV_WC_WITH_IMM.0;
        if self.0.wc_flags & WITH_IMMEDIATE == 0 {
            return 0;
        }
        // SAFETY: the flag says which of the two it is; any bits are a number.
        u32::from_be(unsafe { self.0.imm_data_invalidated_rkey_union.imm_data })
    }
}

/// Why a work request has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The peer does not acknowledge.
    Unacknowledged,
    /// An earlier one of the same queue pair has failed.
    Flushed,
    Other(&'static str),
}

fn describe(status: sys::ibv_wc_status::Type) -> &'static str {
    use sys::ibv_wc_status as of;
    match status {
        of::IBV_WC_LOC_LEN_ERR => "a length that the local side does not take",
        of::IBV_WC_LOC_PROT_ERR => "local memory that is not registered for it",
        of::IBV_WC_REM_INV_REQ_ERR => "the peer's adapter does not take the request",
        of::IBV_WC_REM_ACCESS_ERR => "the peer's memory is not registered for it",
        of::IBV_WC_REM_OP_ERR => "the peer's adapter could not do it",
        of::IBV_WC_REM_ABORT_ERR => "the peer's adapter has aborted it",
        of::IBV_WC_FATAL_ERR => "the transport has failed",
        of::IBV_WC_RESP_TIMEOUT_ERR => "no response",
        _ => "an error of the adapter",
    }
}

/// A queue of completions, of sends and receives of any number of queue pairs.
pub(crate) struct Completions {
    queue: *mut sys::ibv_cq,
    channel: *mut sys::ibv_comp_channel,
    #[expect(dead_code, reason = "it has to outlive the queue")]
    device: Arc<Device>,
    capacity: u32,
}

impl fmt::Debug for Completions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completions").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

// SAFETY: libibverbs is thread safe, and the pointers are only handed to it.
unsafe impl Send for Completions {}
// SAFETY: as above.
unsafe impl Sync for Completions {}

impl Completions {
    /// A queue for at least `capacity` completions, if the device can have so many.
    pub(crate) fn new(device: &Arc<Device>, capacity: u32) -> Result<Self, VerbsError> {
        let capacity = capacity.min(device.limits.completions).max(2);
        // SAFETY: an open device.
        let channel = unsafe { sys::ibv_create_comp_channel(device.context()) };
        let channel = made("a completion channel", channel)?;
        // SAFETY: an open device and a channel of it; the context is not used.
        let queue = unsafe {
            sys::ibv_create_cq(device.context(), capacity as i32, std::ptr::null_mut(), channel, 0)
        };
        let queue = made("a completion queue", queue).inspect_err(|_| {
            // SAFETY: made above, and used by nobody.
            unsafe { sys::ibv_destroy_comp_channel(channel) };
        })?;
        Ok(Self { queue, channel, device: Arc::clone(device), capacity })
    }

    /// How many completions it has room for.
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    pub(super) fn raw(&self) -> *mut sys::ibv_cq {
        self.queue
    }

    /// Takes completions, oldest first, up to as many as there is room for in `into`.
    ///
    /// # Errors
    /// When the device fails.
    #[inline]
    pub(crate) fn poll<'a, const N: usize>(
        &self,
        into: &'a mut [MaybeUninit<Completion>; N],
    ) -> Result<&'a [Completion], VerbsError> {
        // SAFETY: a live queue, and room for N completions: `Completion` is a transparent `ibv_wc`, and so is
        // `MaybeUninit` of it.
        let count = unsafe { sys::ibv_poll_cq(self.queue, N as i32, into.as_mut_ptr().cast()) };
        let count = usize::try_from(count).map_err(|_| last("taking completions"))?;
        // SAFETY: the library has filled so many, the first ones.
        Ok(unsafe { std::slice::from_raw_parts(into.as_ptr().cast(), count.min(N)) })
    }

    /// Has the next completion make [`Completions::readable`] ready. Those that are there already do not: they have to be
    /// polled for afterwards.
    pub(crate) fn arm(&self) -> Result<(), VerbsError> {
        // SAFETY: a live queue.
        checked("arming a completion queue", unsafe { sys::ibv_req_notify_cq(self.queue, 0) })
    }

    /// Becomes readable when an armed queue gets a completion.
    pub(crate) fn readable(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor belongs to the channel, which lives as long as `self`.
        unsafe { BorrowedFd::borrow_raw((*self.channel).fd) }
    }

    /// Takes the notice that made it readable. Waits if it is not.
    pub(crate) fn noticed(&self) -> Result<(), VerbsError> {
        let (mut queue, mut context) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: a live channel, and memory for what it says.
        let result = unsafe { sys::ibv_get_cq_event(self.channel, &mut queue, &mut context) };
        checked("waiting for completions", result)?;
        // SAFETY: the queue that the event was of, which is this one: the channel has no other.
        unsafe { sys::ibv_ack_cq_events(queue, 1) };
        Ok(())
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        // SAFETY: every queue pair that uses it keeps it alive and is gone; all notices are acknowledged; both
        // were made by `new` and are given back once.
        unsafe {
            sys::ibv_destroy_cq(self.queue);
            sys::ibv_destroy_comp_channel(self.channel);
        }
    }
}

/// The receive buffers of all queue pairs of a rank.
#[derive(Debug)]
pub(crate) struct ReceiveBuffers {
    queue: Arc<ReceiveQueue>,
    slots: BounceBuffers,
    /// BounceBuffers that are not posted.
    free: Vec<u32>,
}

/// The queue itself, which queue pairs keep alive.
pub(crate) struct ReceiveQueue {
    queue: *mut sys::ibv_srq,
    #[expect(dead_code, reason = "it has to outlive the queue")]
    device: Arc<Device>,
}

impl fmt::Debug for ReceiveQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiveQueue").finish_non_exhaustive()
    }
}

// SAFETY: libibverbs is thread safe, and the pointer is only handed to it.
unsafe impl Send for ReceiveQueue {}
// SAFETY: as above.
unsafe impl Sync for ReceiveQueue {}

impl ReceiveQueue {
    pub(super) fn raw(&self) -> *mut sys::ibv_srq {
        self.queue
    }
}

impl Drop for ReceiveQueue {
    fn drop(&mut self) {
        // SAFETY: every queue pair that uses it keeps it alive and is gone; given back once.
        unsafe { sys::ibv_destroy_srq(self.queue) };
    }
}

/// BounceBuffers that are posted again together: a work request each, one doorbell.
const REFILL: usize = 16;

impl ReceiveBuffers {
    /// `count` buffers of `size` bytes, as far as the device can have so many, all of them posted.
    pub(crate) fn new(device: &Arc<Device>, count: u32, size: usize) -> Result<Self, VerbsError> {
        let count = count.min(device.limits.receives).max(1);
        let slots = BounceBuffers::new(device, count, size, Access::Receive)?;
        let mut attributes = sys::ibv_srq_init_attr {
            srq_context: std::ptr::null_mut(),
            attr: sys::ibv_srq_attr { max_wr: count, max_sge: 1, srq_limit: 0 },
        };
        // SAFETY: a live domain, and what the queue shall be.
        let queue = unsafe { sys::ibv_create_srq(device.domain(), &mut attributes) };
        let queue = made("a shared receive queue", queue)?;
        let queue = Arc::new(ReceiveQueue { queue, device: Arc::clone(device) });
        let mut receives = Self { queue, slots, free: (0..count).collect() };
        receives.refill(true)?;
        Ok(receives)
    }

    pub(crate) fn queue(&self) -> &Arc<ReceiveQueue> {
        &self.queue
    }

    pub(crate) fn count(&self) -> u32 {
        self.slots.count()
    }

    /// The first bytes of a slot that a completion has been taken for.
    #[inline]
    pub(crate) fn bytes(&self, slot: u32, len: usize) -> &[u8] {
        self.slots.bytes(slot, len)
    }

    /// A slot has been read. It is posted again with others, or, if there is nothing else to be done (`all`), at once.
    #[inline]
    pub(crate) fn done(&mut self, slot: u32) -> Result<(), VerbsError> {
        self.free.push(slot);
        if self.free.len() >= REFILL { self.refill(false) } else { Ok(()) }
    }

    /// Posts slots that have been read: whole batches, or all of them.
    pub(crate) fn refill(&mut self, all: bool) -> Result<(), VerbsError> {
        while self.free.len() >= if all { 1 } else { REFILL } {
            let count = self.free.len().min(REFILL);
            let at = self.free.len() - count;
            self.post(at)?;
            self.free.truncate(at);
        }
        Ok(())
    }

    /// Posts the slots from `at` on, at most [`REFILL`].
    fn post(&self, at: usize) -> Result<(), VerbsError> {
        let mut pieces = [sys::ibv_sge { addr: 0, length: 0, lkey: 0 }; REFILL];
        let mut requests = [const { MaybeUninit::<sys::ibv_recv_wr>::uninit() }; REFILL];
        let slots = &self.free[at..];
        let slots = &slots[..slots.len().min(REFILL)];
        let (pieces, first) = (pieces.as_mut_ptr(), requests.as_mut_ptr().cast::<sys::ibv_recv_wr>());
        for (place, slot) in slots.iter().enumerate() {
            let sge = self.slots.sge(*slot, self.slots.size());
            let piece = sys::ibv_sge { addr: sge.address, length: sge.len, lkey: sge.key };
            // SAFETY: all of it is within the two arrays, there being at most as many slots; the last request has
            // no next.
            unsafe {
                let next = if place + 1 < slots.len() { first.add(place + 1) } else { std::ptr::null_mut() };
                let sg_list = pieces.add(place);
                sg_list.write(piece);
                first.add(place).write(sys::ibv_recv_wr {
                    wr_id: u64::from(*slot),
                    next,
                    sg_list,
                    num_sge: 1,
                });
            }
        }
        let mut bad = std::ptr::null_mut();
        // SAFETY: a live queue; a chain of requests, each with a piece of a slot that nobody looks at until its
        // completion has been taken; the library reads chain and pieces before it returns.
        let result = unsafe { sys::ibv_post_srq_recv(self.queue.queue, first, &mut bad) };
        checked("posting receive buffers", result)
    }
}
