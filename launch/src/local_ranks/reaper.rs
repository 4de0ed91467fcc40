//! Ends the processes that ranks have left behind. The launcher is the subreaper of all its descendants: a process that
//! loses its parent becomes the launcher's child, so that no children means no descendants.

use super::watchdog::Watchdog;
use crate::job::ESCALATION_DELAY;
use crate::process_group::process_group;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group, set_child_subreaper, waitid,
};
use std::fs;
use std::time::Duration;

/// How long to wait for a killed process: one that has not ended by then waits for a device.
pub(crate) const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// The time between two checks whether the last descendants have ended.
pub(crate) const REAP_INTERVAL: Duration = Duration::from_millis(2);

/// From now on, orphans among this process's descendants become its children.
pub(crate) fn adopt() {
    // A kernel without subreapers is older than the other system calls that are used here.
    let _ = set_child_subreaper(Some(getpid()));
}

/// Ends the remaining descendants, step by step.
#[derive(Debug, Default)]
pub(super) struct Reaper {
    begun: Option<Duration>,
    pub(super) left: Vec<Pid>,
}

impl Reaper {
    /// Reaps the children that have ended, and ends the others: first by SIGTERM, then by SIGKILL. `true` when none is
    /// left, or the time is over; otherwise to be called again after [`REAP_INTERVAL`].
    pub(super) fn step(&mut self, now: Duration, mut watchdog: Option<&mut Watchdog>) -> bool {
        if self.begun.is_none()
            && let Some(watchdog) = &mut watchdog
        {
            watchdog.forget();
        }
        let watchdog = watchdog.map(|watchdog| watchdog.pid());
        let others = || children().into_iter().filter(|child| Some(*child) != watchdog);
        if reap() || watchdog.is_some_and(|watchdog| children() == [watchdog]) {
            return true;
        }
        let Some(begun) = self.begun else {
            self.begun = Some(now);
            signal(others(), Signal::TERM);
            signal(others(), Signal::CONT);
            return false;
        };
        if now >= begun + ESCALATION_DELAY {
            signal(others(), Signal::KILL);
        }
        let is_over = now >= begun + KILL_TIMEOUT;
        if is_over {
            self.left = others().collect();
        }
        is_over
    }

    /// The processes that could not be ended. Returned once.
    pub(super) fn take_left(&mut self) -> Vec<Pid> {
        std::mem::take(&mut self.left)
    }
}

/// A description of a process: `process 123 (sleep)`.
pub(super) fn name(process: Pid) -> String {
    let process = process.as_raw_nonzero();
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    format!("process {process} ({})", name.trim_end())
}

/// Reaps the children that have ended. Returns whether there are no others.
fn reap() -> bool {
    loop {
        match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            // No children.
            Err(_) => return true,
        }
    }
}

/// Sends a signal to these children, and to the groups that they are in.
fn signal(children: impl Iterator<Item = Pid>, signal: Signal) {
    let own = process_group(None);
    for child in children {
        // As long as the child has not been reaped, its numbers are given to no other process.
        let _ = match process_group(Some(child)) {
            Some(group) if Some(group) != own => kill_process_group(group, signal),
            _ => kill_process(child, signal),
        };
    }
}

pub(super) fn children() -> Vec<Pid> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let of = |list: String| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>();
    lists.flat_map(of).filter_map(Pid::from_raw).collect()
}
