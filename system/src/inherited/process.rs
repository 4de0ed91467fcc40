//! Whether this process is a child that has inherited another one's part in a job.
#![allow(unsafe_code, reason = "a gate is opened in a static")]

use super::gate::Gate;
use std::error::Error;
use std::fmt;
use std::sync::OnceLock;

/// The gate of a process, whose byte is [`KEPT_HERE`] in the one that has [kept](keep) what it has.
struct OfProcess(Gate);

// SAFETY: it is opened once, before anybody looks at it, and cleared by the kernel, in a new process.
unsafe impl Sync for OfProcess {}

static OF_PROCESS: OfProcess = OfProcess(Gate::new());
const KEPT_HERE: u8 = 1;

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
    if is_child() {
        return Err(in_child());
    }
    KEPT.get_or_init(|| {
        // SAFETY: a static does not move, and nobody looks at it before `KEPT` is set.
        unsafe { OF_PROCESS.0.open(KEPT_HERE) };
        std::process::id()
    });
    Ok(())
}

/// Whether this process is a child of one that has called [`keep`]. Hot paths ask a [`Gate`] of their own instead.
pub fn is_child() -> bool {
    KEPT.get().is_some() && OF_PROCESS.0.byte() != KEPT_HERE
}

/// The processes, in a [child](is_child).
pub fn in_child() -> Inherited {
    Inherited { parent: KEPT.get().copied().unwrap_or(0), child: std::process::id() }
}

#[cfg(all(test, not(miri)))]
pub(crate) mod tests {
    use super::*;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};
    use std::mem::ManuallyDrop;

    /// What a child finds, as its exit status.
    pub(crate) fn in_child(finds: impl FnOnce() -> i32) -> i32 {
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
        assert!(!is_child());
        let parent = std::process::id();
        let status = in_child(|| {
            let is_child = is_child() && super::in_child() == Inherited { parent, child: std::process::id() };
            i32::from(is_child) + 2 * i32::from(keep().is_err())
        });
        assert_eq!(status, 3);
        assert!(!is_child(), "the parent is as before");
    }

    /// The page of a gate that is gone belongs to something else, in a child and in its children.
    #[test]
    fn a_page_is_given_back() {
        let mut page = Box::new(ManuallyDrop::new(Gate::new()));
        let status = in_child(|| {
            // SAFETY: it is not moved, and dropped once.
            unsafe {
                page.open(1);
                ManuallyDrop::drop(&mut page);
                page.set(7);
            }
            in_child(|| i32::from(page.byte()))
        });
        assert_eq!(status, 7);
    }
}
