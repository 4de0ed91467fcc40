//! Waiting for descriptors.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Waits until one of the descriptors is readable, if there is a `timeout` at most for that, and says which of them are:
/// none if it was late, or a signal has come.
///
/// # Errors
/// When the system refuses; [`Errno::NODEV`] when one of them will never be readable again, as its device was removed
/// (`ib_uverbs_event_poll` of Linux says so by `POLLERR`). To wait for it would be to spin.
pub(crate) fn wait<const N: usize>(
    fds: [BorrowedFd<'_>; N],
    timeout: Option<Duration>,
) -> Result<[bool; N], Errno> {
    let timeout = timeout.map(|rest| Timespec {
        tv_sec: rest.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: rest.subsec_nanos().into(),
    });
    let mut fds = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) => {}
        // Of what is ready nothing is known then.
        Err(Errno::INTR) => return Ok([false; N]),
        Err(why) => return Err(why),
    }
    let over = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    let is_over = |revents: PollFlags| !revents.contains(PollFlags::IN) && revents.intersects(over);
    if fds.iter().any(|fd| is_over(fd.revents())) {
        return Err(Errno::NODEV);
    }
    Ok(fds.map(|fd| fd.revents().contains(PollFlags::IN)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use std::io::{Write, pipe};
    use std::os::fd::AsFd;

    #[test]
    fn what_will_never_be_readable_is_not_waited_for() {
        let quiet = eventfd(0, EventfdFlags::empty()).expect("there are descriptors");
        let (reader, mut writer) = pipe().expect("there are descriptors");
        assert_eq!(wait([quiet.as_fd(), reader.as_fd()], Some(Duration::ZERO)), Ok([false, false]));
        writer.write_all(&[1]).expect("it is read by somebody");
        assert_eq!(wait([quiet.as_fd(), reader.as_fd()], Some(Duration::MAX)), Ok([false, true]));
        drop(reader);
        assert_eq!(wait([quiet.as_fd(), writer.as_fd()], Some(Duration::MAX)), Err(Errno::NODEV));
    }
}
