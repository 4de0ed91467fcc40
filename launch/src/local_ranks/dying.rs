//! Processes that are dying: the system has begun to take their memory and descriptors, and has not said yet that they have
//! ended. With much memory that takes long.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::retry_on_intr;
use rustix::process::Pid;
use std::fs;
use std::time::{Duration, Instant};

/// The longest wait for dying processes: one that takes longer waits for a device.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// `PF_EXITING` and `PF_SIGNALED` of the kernel's `linux/sched.h`.
const EXITING: u32 = 0x4;
const SIGNALED: u32 = 0x400;

/// How a process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dying {
    /// A signal has killed it.
    OfSignal,
    /// It has left by itself.
    OfExit,
}

impl Dying {
    /// `None` for a process that lives, or of which the system says nothing.
    pub(super) fn of(process: Pid) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?)
    }

    /// By the contents of `/proc/PID/stat`, see proc_pid_stat(5).
    fn parse(stat: &[u8]) -> Option<Self> {
        // The name of the program is in front, in parentheses, and may be anything.
        let name_ends = stat.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(&stat[name_ends + 1..]).ok()?.split_ascii_whitespace();
        let flags: u32 = fields.nth(6)?.parse().ok()?;
        match (flags & EXITING != 0, flags & SIGNALED != 0) {
            (false, _) => None,
            (true, true) => Some(Self::OfSignal),
            (true, false) => Some(Self::OfExit),
        }
    }
}

/// Waits until these processes have ended, but for at most a second.
pub(super) fn wait_for<'a>(pidfds: impl Iterator<Item = &'a OwnedFd>) {
    let begun = Instant::now();
    for pidfd in pidfds {
        // A wait that fails costs the order of two endings.
        let _ = retry_on_intr(|| {
            let left = WAIT_MAX.saturating_sub(begun.elapsed());
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&timeout))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::Dying;

    #[test]
    fn flags_are_read_behind_any_name() {
        let of = |flags| Dying::parse(format!("7 (a) 1 2) R 1 7 7 0 -1 {flags} 0 0").as_bytes());
        assert_eq!([of(0x400), of(0x4), of(0x404)], [None, Some(Dying::OfExit), Some(Dying::OfSignal)]);
        assert_eq!((Dying::parse(b"7 (sh) R 1"), Dying::parse(b"")), (None, None));
    }
}
