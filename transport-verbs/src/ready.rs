//! Waiting for descriptors.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Waits until one of the descriptors is readable, if there is a `timeout` at most for that, and says which of them are:
/// none if it was late, or a signal has come.
pub(crate) fn wait<const N: usize>(
    fds: [BorrowedFd<'_>; N],
    timeout: Option<Duration>,
) -> Result<[bool; N], Errno> {
    let timeout =
        timeout.map(|rest| Timespec { tv_sec: rest.as_secs() as i64, tv_nsec: rest.subsec_nanos().into() });
    let mut fds = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(fds.map(|fd| fd.revents().contains(PollFlags::IN))),
        Err(why) => Err(why),
    }
}
