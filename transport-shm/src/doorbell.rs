//! The doorbell of a process: a peer that has pushed a message rings it, if the process sleeps.
//!
//! The owner says that it sleeps ([`fall_asleep`]), polls once more, and only then blocks. A peer pushes its message, and
//! then looks whether the owner sleeps ([`is_asleep`]). Each stores a word of its own before it loads the other's; with a
//! full memory barrier in between, on both sides, one of them sees the other: the owner the message, or the peer the
//! sleeper, which it wakes ([`wake`]).
//!
//! A peer would pay for its barrier with every message. So the owner pays for both: it asks the system to execute one on
//! every processor that runs a process of the job (`membarrier`, of Linux 4.16), and the peer only keeps the compiler from
//! swapping its store and its load.

pub use crate::sync::Sound;
use crate::sync::{AtomicU64, Ordering};
#[cfg(not(loom))]
use carrousel_system::{SYSTEM, System};

/// The owner does not sleep: what memory is when it is new.
const AWAKE: u64 = 0;
const ASLEEP: u64 = 1;

/// The barriers, see [`crate::ring::RingOrders`].
pub trait DoorbellOrders {
    /// The owner's, behind its store.
    const OWNER_BARRIER: bool = true;
    /// The peer's, behind its push.
    const PEER_BARRIER: bool = true;
}

impl DoorbellOrders for Sound {}

/// A barrier on all processors that run a process of the job.
#[cfg(not(loom))]
fn owner_barrier() {
    SYSTEM.barrier();
}

/// The peer's part of that barrier.
#[cfg(not(loom))]
#[inline(always)]
fn peer_barrier() {
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

#[cfg(loom)]
fn owner_barrier() {
    loom::sync::atomic::fence(Ordering::SeqCst);
}

#[cfg(loom)]
fn peer_barrier() {
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// Prepares this process for [`fall_asleep`], its own and that of its peers. Returns whether the system can do it: without,
/// this process must not sleep, and its peers do not know when it pushes.
#[cfg(not(loom))]
pub fn register() -> bool {
    SYSTEM.register_barrier()
}

/// The owner is about to sleep. It has to poll once more before it does, and to call [`wake_up`] behind.
pub fn fall_asleep<O: DoorbellOrders>(doorbell: &AtomicU64) {
    doorbell.store(ASLEEP, Ordering::Relaxed);
    if O::OWNER_BARRIER {
        owner_barrier();
    }
}

/// The owner is awake again.
pub fn wake_up(doorbell: &AtomicU64) {
    doorbell.store(AWAKE, Ordering::Relaxed);
}

/// Whether the owner sleeps, or is about to: asked by a peer that has pushed a message.
#[inline(always)]
pub fn is_asleep<O: DoorbellOrders>(doorbell: &AtomicU64) -> bool {
    if O::PEER_BARRIER {
        peer_barrier();
    }
    doorbell.load(Ordering::Relaxed) != AWAKE
}

/// Tells the owner to wake up. Returns whether this peer has to ask the system for it: of several, one does.
pub fn wake(doorbell: &AtomicU64) -> bool {
    doorbell.swap(AWAKE, Ordering::Relaxed) != AWAKE
}

/// The value of the word for which the system lets the owner sleep.
#[cfg(not(loom))]
pub(crate) const SLEEPS: u32 = ASLEEP as u32;
