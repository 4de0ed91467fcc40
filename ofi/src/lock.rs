//! The lock of a domain, for hosts whose threads need one.
//!
//! A host that promises to use a domain from one thread at a time (`FI_THREAD_DOMAIN`, fi_domain(3)) pays for no mutex: the
//! first thread that comes has the domain for itself. Some hosts break that promise. So a second thread is noticed, by the
//! address of its thread-local memory, and from then on all take the mutex: as in a biased lock, the one that comes second
//! does all of the work, and the first has no atomic instruction and no fence. It says that it is inside and looks then
//! whether the domain is still its own; the second says that it is not and looks then whether the first is inside. One of
//! them sees the other, as the kernel has a fence for the second that is one in all threads (membarrier(2)).

#![allow(unsafe_code, reason = "one thread uses a value at a time, by a mutex or because no other has come")]

use crate::tell::tell;
use carrousel_system::inherited::{self, Gate};
use carrousel_system::stderr;
use parking_lot::{Mutex, MutexGuard};
use rustix::thread::{MembarrierCommand, membarrier};
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};

/// The byte of the gate of a value that one thread has for itself.
const ONE_THREAD: u8 = 1;
/// The byte of one that threads share.
const MANY_THREADS: u8 = 2;
/// No thread.
const NOBODY: usize = 0;

/// A value that one thread uses at a time.
pub(crate) struct Lock<T> {
    gate: Gate,
    /// The thread that has the value for itself.
    owner: AtomicUsize,
    /// Whether that thread uses it.
    is_inside: AtomicBool,
    /// Without the poison of the standard library's: a thread that panics ends the process, as no function that C calls
    /// unwinds.
    mutex: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is used through `lock` only, by one thread at a time.
unsafe impl<T> Sync for Lock<T> {}
// SAFETY: what is not `Send` in a value are pointers of the host's, which may be used in any thread.
unsafe impl<T> Send for Lock<T> {}

impl<T> Lock<T> {
    /// A value that nobody uses until its lock is [open](Self::open).
    pub(crate) fn new(value: T) -> Self {
        Self {
            gate: Gate::new(),
            owner: AtomicUsize::new(NOBODY),
            is_inside: AtomicBool::new(false),
            mutex: Mutex::new(()),
            value: UnsafeCell::new(value),
        }
    }

    /// Lets the host's threads in. With `locks` false, it promises not to use the value from two at once (fi_domain(3)).
    ///
    /// # Safety
    /// No other thread has the lock yet, and it is not moved any more.
    pub(crate) unsafe fn open(&self, locks: bool) {
        // Without that fence a second thread could not be noticed in time.
        let has_fence = || membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok();
        let byte = if !locks && has_fence() { ONE_THREAD } else { MANY_THREADS };
        // In a child, it stays closed: the first use of the value says so.
        if inherited::keep().is_ok() {
            // SAFETY: as the caller promises.
            unsafe { self.gate.open(byte) };
        }
    }

    /// The value, until the guard is dropped. Not while this thread has another guard.
    /// A child that has inherited it ends here.
    #[inline(always)]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        let guard = if self.gate.load() == MANY_THREADS {
            Some(self.mutex.lock())
        } else if self.owner.load(Ordering::Relaxed) == this_thread() && self.enters_alone() {
            None
        } else {
            self.settle()
        };
        Guard { lock: self, mutex: guard }
    }

    /// Says that the owner is inside, unless the value is shared now.
    #[inline(always)]
    fn enters_alone(&self) -> bool {
        self.is_inside.store(true, Ordering::Relaxed);
        // A fence for the processor, too, where another thread asks the kernel for one.
        compiler_fence(Ordering::SeqCst);
        let is_alone = self.gate.load() == ONE_THREAD;
        if !is_alone {
            self.is_inside.store(false, Ordering::Release);
        }
        is_alone
    }

    /// Uses the value. Not from within another use of it.
    #[inline(always)]
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        act(&mut self.lock())
    }

    /// A first thread has the value for itself from now on; with a second one, all take the mutex. `None` for the first. A
    /// child ends.
    #[cold]
    #[inline(never)]
    fn settle(&self) -> Option<MutexGuard<'_, ()>> {
        // First of all: another thread may have had the mutex when the child was made, and nobody gives it back there.
        if inherited::is_child() {
            end_child();
        }
        let guard = self.mutex.lock();
        if self.gate.load() == MANY_THREADS {
            return Some(guard);
        }
        if self.owner.load(Ordering::Relaxed) == NOBODY {
            self.owner.store(this_thread(), Ordering::Relaxed);
            if self.enters_alone() {
                return None;
            }
        }
        self.share();
        Some(guard)
    }

    /// Has all threads take the mutex, which this one has, and waits until the owner is not inside.
    fn share(&self) {
        self.gate.store(MANY_THREADS);
        // It was registered when the lock was opened, so it is there.
        let _ = membarrier(MembarrierCommand::PrivateExpedited);
        if self.is_inside.load(Ordering::Acquire) {
            tell(PROMISE_BROKEN.to_owned());
            while self.is_inside.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        }
    }
}

/// What a user reads whose host breaks its promise.
const PROMISE_BROKEN: &str = "two threads call the provider at once, though this program has asked for a domain that one \
     thread at a time uses (FI_THREAD_DOMAIN); it takes a lock from now on. A program that calls MPI from several threads \
     has to say so: MPI_Init_thread with MPI_THREAD_MULTIPLE";

/// A number of this thread that no other has at the same time.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn this_thread() -> usize {
    let pointer: usize;
    // SAFETY: the first word of a thread's own memory is its address (System V ABI, thread-local storage, x86-64).
    unsafe {
        std::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, preserves_flags, readonly, pure))
    };
    pointer
}

/// A number of this thread that no other has at the same time.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn this_thread() -> usize {
    // SAFETY: it asks for nothing.
    unsafe { libc::pthread_self() as usize }
}

/// Ends a child that calls its parent's provider. An error would not do: libraries above have inherited more, such as the
/// connection to the launcher, and would leave the job, or end it, in their parent's name.
#[cold]
#[inline(never)]
fn end_child() -> ! {
    // Not by `tell`, whose lock another thread may have had.
    stderr::tell(format!("carrousel: {}; it ends here", inherited::in_child()));
    // SAFETY: what the child has printed is written; then it ends without the handlers that its parent has registered.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(1)
    }
}

/// A value that this thread uses.
pub(crate) struct Guard<'a, T> {
    lock: &'a Lock<T>,
    mutex: Option<MutexGuard<'a, ()>>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: as for a mutable reference.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: nobody else has a reference: no other thread, by the mutex, or as the owner is alone; nor this one, as no
        // use of a value calls the host.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.mutex.is_none() {
            self.lock.is_inside.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    fn lock(locks: bool) -> Box<Lock<u64>> {
        let lock = Box::new(Lock::new(0));
        // SAFETY: it stays in its box, and threads begin after this.
        unsafe { lock.open(locks) };
        lock
    }

    #[test]
    fn threads_take_turns() {
        for locks in [true, false] {
            let lock = lock(locks);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| (0..10_000).for_each(|_| lock.with(|value| *value += 1)));
                }
            });
            assert_eq!(lock.with(|value| *value), 40_000, "{locks}");
        }
    }

    /// Again and again, as which thread is where when another comes is chance.
    #[test]
    fn a_second_thread_is_never_inside_with_the_first_one() {
        let rounds = if cfg!(miri) { 10 } else { 20_000 };
        let locks: Vec<_> = (0..rounds).map(|_| lock(false)).collect();
        let (round, met) = (AtomicUsize::new(0), AtomicBool::new(false));
        // Long enough for another thread to be seen.
        let visit = |lock: &Lock<u64>| {
            let mut value = lock.lock();
            *value += 1;
            let seen = *value;
            (0..20).for_each(|_| std::hint::spin_loop());
            // SAFETY: the place of a value that is there.
            let now = unsafe { (&raw const *value).read_volatile() };
            met.fetch_or(now != seen, Ordering::Relaxed);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (at, lock) in locks.iter().enumerate() {
                    while round.load(Ordering::Acquire) <= at {
                        std::thread::yield_now();
                    }
                    visit(lock);
                }
            });
            for lock in &locks {
                visit(lock);
                round.fetch_add(1, Ordering::Release);
                (0..3).for_each(|_| visit(lock));
            }
        });
        assert!(!met.load(Ordering::Relaxed), "two threads were inside");
        assert!(locks.iter().all(|lock| lock.with(|value| *value == 5)));
    }

    #[test]
    fn a_second_thread_waits_until_the_first_one_has_left() {
        let lock = lock(false);
        let inside = lock.lock();
        let (done, is_done) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                lock.with(|value| *value += 1);
                done.send(()).expect("the test waits");
            });
            assert!(is_done.recv_timeout(Duration::from_millis(50)).is_err(), "{}", *inside);
            drop(inside);
            is_done.recv().expect("it has come in");
        });
        assert_eq!(lock.gate.load(), MANY_THREADS);
    }

    #[test]
    fn one_thread_has_the_value_for_itself() {
        let lock = lock(false);
        (0..3).for_each(|_| lock.with(|value| *value += 1));
        let alone = membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok();
        assert_eq!(lock.gate.load() == ONE_THREAD, alone);
        assert_ne!(lock.owner.load(Ordering::Relaxed), NOBODY);
    }
}
