//! Whether standard output was closed when this process began.
//!
//! Rust's runtime opens `/dev/null` in the place of a standard stream that is closed, so that no file that is opened later
//! takes its number. What is written there is lost without a word: so the number is looked at before the runtime begins.

use rustix::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};

static STDOUT: AtomicBool = AtomicBool::new(false);

/// Whether this process was started with standard output closed (`>&-`).
pub(crate) fn stdout() -> bool {
    STDOUT.load(Ordering::Relaxed)
}

#[allow(unsafe_code, reason = "a number that may be no descriptor")]
extern "C" fn look() {
    // SAFETY: the number is not -1, and nothing closes it during the call, as nothing else runs yet. If it is no
    // descriptor, the call says so.
    let stdout = unsafe { BorrowedFd::borrow_raw(1) };
    if rustix::io::fcntl_getfd(stdout).is_err() {
        STDOUT.store(true, Ordering::Relaxed);
    }
}

// SAFETY: what is called from this section has to be a function of this signature (its arguments are not needed) that uses
// nothing of the runtime, which has not begun: it makes one system call, and sets an atomic. Noticed by the test
// `output_that_nobody_can_get_is_an_error`.
#[allow(unsafe_code, reason = "a function that is called before the runtime begins")]
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;
