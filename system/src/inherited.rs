//! Whether this process is a child that has inherited another one's part in a job.
//!
//! A child made by `fork` has a copy of its parent's memory, and the same shared memory, descriptors and adapters. If both
//! used them, each would take what is meant for the other: so a child must not.
#![allow(unsafe_code, reason = "the kernel is asked to clear a page in children")]

use rustix::mm::{Advice, madvise};
use std::cell::UnsafeCell;
use std::error::Error;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

/// Bytes of a page, or of several: pages of other processors may have more.
const PAGE: usize = if cfg!(target_arch = "x86_64") { 4096 } else { 1 << 16 };

/// A page of its own: nothing else is cleared with it.
#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C, align(65536)))]
struct Page(UnsafeCell<[u8; PAGE]>);

// SAFETY: it is written within `KEPT` alone, before anybody relies on it, and by the kernel, in a new process.
unsafe impl Sync for Page {}

/// Begins with 1 in the process that has [kept](keep) what it has. It has zeros before, so that it is no part of a file: of
/// such memory alone the kernel clears a page.
static OWN: Page = Page(UnsafeCell::new([0; PAGE]));

/// The process that has kept what it has.
static KEPT: OnceLock<u32> = OnceLock::new();

/// A process has inherited from another one what only that one may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// The process that it is of.
    pub parent: u32,
    /// This process.
    pub child: u32,
}

impl fmt::Display for Inherited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parent, child } = self;
        write!(
            f,
            "process {child} is a child of process {parent}, which is part of the job, and no part of it itself: after a \
             fork, the parent alone may call the library (a child may `exec`, and start a job of its own)"
        )
    }
}

impl Error for Inherited {}

/// From now on, children of this process are known by [`is_child`]. Again and again is allowed.
///
/// # Errors
/// In such a child.
pub fn keep() -> Result<(), Inherited> {
    if has_inherited() {
        return Err(in_child());
    }
    KEPT.get_or_init(|| {
        let page = OWN.0.get();
        // Miri knows no such advice, nor does a kernel before 4.14: children are not noticed there.
        if !cfg!(miri) {
            // SAFETY: the page is this static alone, and aligned to it.
            let _ = unsafe { madvise(page.cast(), PAGE, Advice::LinuxWipeOnFork) };
        }
        // SAFETY: nobody reads it meanwhile, see `is_child`.
        unsafe { page.cast::<u8>().write(1) };
        std::process::id()
    });
    Ok(())
}

/// Whether this process is such a child, in one comparison. For those who have called [`keep`] before: of others it says that
/// they are.
#[inline(always)]
pub fn is_child() -> bool {
    // SAFETY: it is written once, before `keep` returns. No atomic, of which the compiler makes more instructions.
    unsafe { OWN.0.get().cast::<u8>().read() == 0 }
}

/// As [`is_child`], for those who may come before [`keep`].
fn has_inherited() -> bool {
    KEPT.get().is_some() && is_child()
}

/// The processes, in a [child](is_child).
#[cold]
#[inline(never)]
pub fn in_child() -> Inherited {
    Inherited { parent: KEPT.get().copied().unwrap_or(0), child: std::process::id() }
}

/// What only the process may give back that has made it: in a child it stays, as the parent still uses it.
#[derive(Debug)]
pub struct OfThisProcess<T>(ManuallyDrop<T>);

impl<T> OfThisProcess<T> {
    /// Of this process.
    pub fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }
}

impl<T> Deref for OfThisProcess<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for OfThisProcess<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for OfThisProcess<T> {
    fn drop(&mut self) {
        if !has_inherited() {
            // SAFETY: nobody uses the value after this, and it is dropped here only.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};
    use std::sync::atomic::{AtomicBool, Ordering};

    struct Told<'a>(&'a AtomicBool);

    impl Drop for Told<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// What a child finds, as its exit status.
    fn in_child(finds: impl FnOnce() -> i32) -> i32 {
        // SAFETY: the child allocates nothing and ends at once.
        match unsafe { fork() }.expect("there is room for a process") {
            ForkResult::Child => {
                let status = finds();
                // SAFETY: nothing of the parent's is flushed or dropped.
                unsafe { nix::libc::_exit(status) }
            }
            ForkResult::Parent { child } => match waitpid(child, None) {
                Ok(WaitStatus::Exited(_, status)) => status,
                other => panic!("{other:?}"),
            },
        }
    }

    #[test]
    fn a_child_knows_that_it_is_one() {
        keep().expect("this process is no child of one that has kept anything");
        assert_eq!(keep(), Ok(()), "again");
        assert!(!has_inherited());
        let parent = std::process::id();
        let status = in_child(|| {
            let is_child =
                has_inherited() && super::in_child() == Inherited { parent, child: std::process::id() };
            i32::from(is_child) + 2 * i32::from(keep().is_err())
        });
        assert_eq!(status, 3);
        assert!(!has_inherited(), "the parent is as before");
    }

    #[test]
    fn a_child_gives_nothing_back() {
        keep().expect("this process is no child of one that has kept anything");
        let is_dropped = AtomicBool::new(false);
        let status = in_child(|| {
            drop(OfThisProcess::new(Told(&is_dropped)));
            i32::from(is_dropped.load(Ordering::Relaxed))
        });
        assert_eq!(status, 0);
        drop(OfThisProcess::new(Told(&is_dropped)));
        assert!(is_dropped.load(Ordering::Relaxed));
    }
}
