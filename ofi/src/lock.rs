//! The lock of a domain, for hosts whose threads need one.

#![allow(
    unsafe_code,
    reason = "a host that promises to use a domain from one thread at a time needs no lock"
)]

use carrousel_system::inherited::{self, Gate};
use carrousel_system::stderr;
use parking_lot::{Mutex, MutexGuard};
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};

/// The byte of the gate of a value that one thread uses.
const ONE_THREAD: u8 = 1;
/// The byte of one that many use.
const MANY_THREADS: u8 = 2;

/// A value that one thread uses at a time: by a lock, or because the host has promised it (`FI_THREAD_DOMAIN`).
pub(crate) struct Lock<T> {
    gate: Gate,
    /// Without the poison of the standard library's: a thread that panics ends the process, as no function that C calls
    /// unwinds.
    mutex: Mutex<()>,
    value: UnsafeCell<T>,
    locks: bool,
}

// SAFETY: the value is used through `with` only, by one thread at a time: as the mutex, or else the host, sees to it.
unsafe impl<T> Sync for Lock<T> {}
// SAFETY: what is not `Send` in a value are pointers of the host's, which may be used in any thread.
unsafe impl<T> Send for Lock<T> {}

impl<T> Lock<T> {
    /// With `locks` false, the host promises not to use the value from two threads at once (fi_domain(3)).
    pub(crate) fn new(value: T, locks: bool) -> Self {
        Self { gate: Gate::new(), mutex: Mutex::new(()), value: UnsafeCell::new(value), locks }
    }

    /// Lets the host's threads in.
    ///
    /// # Safety
    /// No other thread has the lock yet, and it is not moved any more.
    pub(crate) unsafe fn open(&self) {
        // In a child, it stays closed: the first use of the value says so.
        if inherited::keep().is_ok() {
            // SAFETY: as the caller promises.
            unsafe { self.gate.open(if self.locks { MANY_THREADS } else { ONE_THREAD }) };
        }
    }

    /// The value, until the guard is dropped. Not while this thread has another guard.
    /// A child that has inherited it ends here.
    #[inline(always)]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        // First of all: another thread may have had the mutex when the child was made, and nobody gives it back there.
        let byte = self.gate.byte();
        let guard = if byte == MANY_THREADS {
            Some(self.mutex.lock())
        } else {
            if byte != ONE_THREAD {
                end_child();
            }
            None
        };
        // SAFETY: nobody else has a reference: no other thread, by the mutex or the host's promise, nor this one, as no
        // use of a value calls the host.
        Guard { value: unsafe { &mut *self.value.get() }, _mutex: guard }
    }

    /// Uses the value. Not from within another use of it.
    #[inline(always)]
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        act(&mut self.lock())
    }
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
    value: &'a mut T,
    _mutex: Option<MutexGuard<'a, ()>>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns() {
        let lock = Lock::new(0u64, true);
        // SAFETY: it stays here, and the threads begin after this.
        unsafe { lock.open() };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| lock.with(|value| *value += 1)));
            }
        });
        assert_eq!(lock.with(|value| *value), 4000);
    }
}
