//! The descriptor of a queue in which a host may block (`FI_WAIT_FD`). Messages move in the host's calls only, so what it
//! waits for cannot wake it: a timer does, and the host looks.

#![allow(unsafe_code, reason = "makes a descriptor")]

use crate::fi::Errno;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// How long a blocked host waits before it looks: short for a host that has nothing to do, and a thousandth of a
/// processor's time.
const PERIOD: Duration = Duration::from_millis(1);

/// A timer that makes its descriptor readable once a period, from when it is [restarted](Timer::restart).
#[derive(Debug)]
pub(crate) struct Timer(OwnedFd);

impl Timer {
    pub(crate) fn new() -> Result<Self, Errno> {
        // SAFETY: it has no precondition; a descriptor that it returns belongs to nobody else.
        let fd = unsafe {
            let fd = libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC);
            if fd < 0 {
                return Err(Errno::NO_MEMORY);
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Self(fd))
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// From now on a period passes until the descriptor is readable.
    pub(crate) fn restart(&self) {
        let period = libc::timespec { tv_sec: 0, tv_nsec: i64::from(PERIOD.subsec_nanos()) };
        let both = libc::itimerspec { it_interval: period, it_value: period };
        // SAFETY: the descriptor is a timer's, and the structure is whole. Setting a timer takes back that it was readable.
        let set =
            unsafe { libc::timerfd_settime(self.descriptor(), 0, &raw const both, std::ptr::null_mut()) };
        debug_assert_eq!(set, 0);
    }
}
