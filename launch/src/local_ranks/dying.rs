//! Processes that are dying: the system has begun to take their memory and descriptors, and has not said yet that they have
//! ended. With much memory that takes long.

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// The longest wait for dying processes: one that takes longer waits for a device.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// Between two questions whether one has ended.
const WAIT_STEP: Duration = Duration::from_micros(200);

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
    /// The name of the program of a process that lives; `None` for one that is dying, or of which the system says nothing.
    pub(super) fn name_of_living(process: Pid) -> Option<String> {
        let stat = fs::read(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
        let (begin, end) = (stat.iter().position(|byte| *byte == b'(')?, name_end(&stat)?);
        let lives = flags(&stat)? & EXITING == 0;
        lives.then(|| String::from_utf8_lossy(stat.get(begin + 1..end).unwrap_or_default()).into_owned())
    }

    /// `None` for a process that lives, or of which the system says nothing.
    pub(super) fn of(process: Pid) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?)
    }

    /// By the contents of `/proc/PID/stat`, see proc_pid_stat(5).
    fn parse(stat: &[u8]) -> Option<Self> {
        let flags = flags(stat)?;
        match (flags & EXITING != 0, flags & SIGNALED != 0) {
            (false, _) => None,
            (true, true) => Some(Self::OfSignal),
            (true, false) => Some(Self::OfExit),
        }
    }
}

/// Where the name of the program ends, which is in front, in parentheses, and may be anything.
fn name_end(stat: &[u8]) -> Option<usize> {
    stat.iter().rposition(|byte| *byte == b')')
}

fn flags(stat: &[u8]) -> Option<u32> {
    let mut fields = std::str::from_utf8(&stat[name_end(stat)? + 1..]).ok()?.split_ascii_whitespace();
    fields.nth(6)?.parse().ok()
}

/// Waits until these children, which stay to be reaped, have ended, but for at most a second.
pub(super) fn wait_for(children: impl Iterator<Item = Pid>) {
    let until = Instant::now() + WAIT_MAX;
    // A wait that fails costs the order of two endings.
    children.for_each(|child| await_end(child, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT, until));
}

/// Waits for the end of a child, which is reaped unless the options leave it. By its number: some systems give no descriptor
/// that would tell.
pub(super) fn await_end(child: Pid, options: WaitIdOptions, until: Instant) {
    let options = options | WaitIdOptions::NOHANG;
    while matches!(waitid(WaitId::Pid(child), options), Ok(None) | Err(Errno::INTR)) && Instant::now() < until
    {
        thread::sleep(WAIT_STEP);
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
