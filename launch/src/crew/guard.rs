//! What ends the ranks when this process is killed and can do nothing any more.
//!
//! A rank with a client asks the system to die with its launcher; other programs do not. So a shell
//! waits for the end of a pipe that only this process writes to. Then it kills the groups that it has been told,
//! and after them every process whose environment says that it belongs to this job: so also those that have left
//! their group and their session. What has done that and has emptied its environment as well, or runs as another
//! user, cannot be told from others, and stays.
//!
//! It is there until nothing is left. When the ranks are collected, the numbers of their groups may become those of
//! others: from then on, it goes by the environment alone.

use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::time::SystemTime;

/// Set for all ranks: what no other job has. Not `CARROUSEL_...`: those are options, and the command refuses what
/// it does not know.
pub(super) const JOB: &str = "LAUNCHED_BY_CARROUSEL_JOB";

/// Reads the numbers of groups, or that those before are to be forgotten, and kills them when no more can come; then,
/// as long as there are some, the processes of the job `$1`. It is no part of the script's own environment, nor of what
/// it starts.
const SCRIPT: &str = r#"
while read -r group; do
    case $group in forget) groups=;; *) groups="$groups -$group";; esac
done
[ -z "$groups" ] || kill -s KILL -- $groups
cd /proc || exit
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    found=$(grep -ls -- "$1" [0-9]*/environ)
    [ -n "$found" ] || exit
    for file in $found; do kill -s KILL "${file%%/*}"; done
    sleep 0.05
done
"#;

/// The shell.
#[derive(Debug)]
pub(super) struct Guard {
    pid: Pid,
    /// Whoever collects all children collects this one, too, should it have died: then its number is another's.
    pidfd: OwnedFd,
    pipe: ChildStdin,
}

impl Guard {
    /// Starts it for the processes of this job. Where there is no shell, there is no guard, and everything else is
    /// as usual.
    pub(super) fn start(job: &str) -> Option<Self> {
        let mut command = Command::new("/bin/sh");
        // A group of its own: what ends this process at the terminal must not end the guard. And no output,
        // which would keep a pipe open that someone reads to its end.
        command.args(["-c", SCRIPT, "guard", &format!("{JOB}={job}")]).process_group(0);
        command.env_clear().env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = command.spawn().ok()?;
        let pid = Pid::from_child(&shell);
        let pipe = shell.stdin.take()?;
        Some(Self { pid, pidfd: pidfd_open(pid, PidfdFlags::empty()).ok()?, pipe })
    }

    /// Its process, which is none that the ranks have left.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// This group has to end with this process.
    pub(super) fn watch(&mut self, group: Pid) {
        let _ = writeln!(self.pipe, "{}", group.as_raw_nonzero());
    }

    /// The ranks are about to be collected.
    pub(super) fn forget(&mut self) {
        let _ = writeln!(self.pipe, "forget");
    }

    /// This process ends in the ordinary way.
    pub(super) fn dismiss(self) {
        // Before the pipe is closed: that would be its sign.
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
        while let Err(Errno::INTR) = waitid(WaitId::PidFd(self.pidfd.as_fd()), WaitIdOptions::EXITED) {}
    }
}

/// A name for the processes of this launcher that no others have.
pub(super) fn job_name() -> String {
    let random = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    match random.trim() {
        "" => format!("{}-{}", std::process::id(), since.as_nanos()),
        random => random.to_owned(),
    }
}
