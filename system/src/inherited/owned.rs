//! A value that a child has a copy of, but not the use.
#![allow(unsafe_code, reason = "a value is used through a gate, and not dropped in a child")]

use super::gate::Gate;
use super::process::{is_child, keep};
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// The byte of an [`Owned`]: the value may be used.
const FREE: u8 = 2;
/// It is in use.
const IN_USE: u8 = FREE - 1;

/// A value that only the process uses that has made it, in one thread and once at a time, and what its children may know too.
///
/// A child has a copy of the value. It cannot use that, nor gives it anything back of what its parent still uses: the copy is
/// not dropped.
#[repr(C)]
pub struct Owned<K, T> {
    gate: Gate,
    known: K,
    value: UnsafeCell<ManuallyDrop<T>>,
}

impl<K, T> Owned<K, T> {
    /// A value of this process; in a [child](is_child), one that it has inherited before this call.
    pub fn new(known: K, value: T) -> Rc<Self> {
        let value = UnsafeCell::new(ManuallyDrop::new(value));
        let owned = Rc::new(Self { gate: Gate::new(), known, value });
        if keep().is_ok() {
            // SAFETY: no thread but this one can have it, and what is in an `Rc` is not moved.
            unsafe { owned.gate.open(FREE) };
        }
        owned
    }

    /// What children may know, too.
    #[inline(always)]
    pub fn known(&self) -> &K {
        &self.known
    }

    /// The value, until the guard is dropped; `None` in a child.
    ///
    /// # Panics
    /// If it is in use.
    #[inline(always)]
    pub fn enter(&self) -> Option<InUse<'_, T>> {
        if self.gate.byte() != FREE {
            refuse();
            return None;
        }
        // SAFETY: an `Owned` is in one thread.
        unsafe { self.gate.set(IN_USE) };
        Some(InUse { gate: &self.gate, value: &self.value })
    }
}

/// A child, or this thread is within another use.
#[cold]
#[inline(never)]
fn refuse() {
    assert!(is_child(), "a call from within another one");
}

impl<K, T> Drop for Owned<K, T> {
    fn drop(&mut self) {
        if !is_child() {
            // SAFETY: nobody uses the value after this, and it is dropped here only.
            unsafe { ManuallyDrop::drop(self.value.get_mut()) };
        }
    }
}

/// A value in use.
pub struct InUse<'a, T> {
    gate: &'a Gate,
    value: &'a UnsafeCell<ManuallyDrop<T>>,
}

impl<T> Deref for InUse<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the gate lets in one at a time.
        unsafe { &*self.value.get() }
    }
}

impl<T> DerefMut for InUse<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the gate lets in one at a time.
        unsafe { &mut *self.value.get() }
    }
}

impl<T> Drop for InUse<'_, T> {
    /// One more, and not `FREE`: in a child that was made meanwhile it is 1 then, and the gate stays closed.
    #[inline(always)]
    fn drop(&mut self) {
        let byte = self.gate.byte();
        // SAFETY: an `Owned` is in one thread.
        unsafe { self.gate.set(byte.wrapping_add(FREE - IN_USE)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn one_use_at_a_time() {
        let owned = Owned::new(3, vec![1]);
        assert_eq!(*owned.known(), 3);
        let within = catch_unwind(AssertUnwindSafe(|| {
            let _outer = owned.enter();
            owned.enter().is_some()
        }));
        assert!(within.is_err(), "a use within another one panics");
        owned.enter().expect("the one before has ended, by a panic").push(2);
        assert_eq!(*owned.enter().expect("nobody uses it"), [1, 2]);
    }
}

#[cfg(all(test, not(miri)))]
mod children {
    use super::super::process::tests::in_child;
    use super::*;
    use std::cell::Cell;

    struct Told<'a>(&'a Cell<bool>);

    impl Drop for Told<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }

    #[test]
    fn a_child_is_not_let_in() {
        let owned = Owned::new((), 1);
        assert_eq!(in_child(|| i32::from(owned.enter().is_some())), 0);
        let outer = owned.enter();
        let status = in_child(|| {
            drop(outer);
            i32::from(owned.enter().is_some())
        });
        assert_eq!(status, 0, "made from within a use");
        assert!(owned.enter().is_some(), "the parent is as before");
    }

    #[test]
    fn a_child_gives_nothing_back() {
        let is_dropped = Cell::new(false);
        let told = || Owned::new((), Told(&is_dropped));
        let owned = told();
        let status = in_child(|| {
            drop(owned);
            i32::from(is_dropped.get())
        });
        assert_eq!(status, 0);
        drop(told());
        assert!(is_dropped.get());
    }
}
