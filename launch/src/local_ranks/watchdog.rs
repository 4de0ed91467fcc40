//! A watchdog process that ends the ranks if the launcher is killed and cannot do it itself.
//!
//! A rank with a client asks the system to die with its launcher; other programs do not. So a shell waits for
//! end-of-file on a pipe that only the launcher writes to. Then it kills the process groups that it has been told,
//! and after them every process whose environment names this job: that includes processes that have left their
//! group and their session. A process that has also emptied its environment, or runs as another user, cannot be
//! told from processes of other jobs, and stays.
//!
//! The watchdog lives until no process of the job is left. Once the ranks have been reaped, the system may give
//! their group numbers to other processes: from then on, the watchdog goes by the environment alone.

use super::dying::await_end;
use rustix::process::{Pid, WaitIdOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// The environment variable that names the job in every rank. Not `CARROUSEL_...`: those are options, and the
/// command refuses unknown ones.
pub(super) const JOB: &str = "LAUNCHED_BY_CARROUSEL_JOB";

/// Reads process group numbers, or `forget`, which drops the numbers before it, or `dismiss`, which ends it. At end-of-file
/// it kills these groups; then, as long as there are any, the processes of the job `$1`. Neither the shell nor its children
/// have the job in their environment.
const SCRIPT: &str = r#"
while read -r group; do
    case $group in forget) groups=;; dismiss) exit;; *) groups="$groups -$group";; esac
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

/// How long a dismissed watchdog has to end: one that somebody has stopped ends when it is continued.
const DISMISSAL_MAX: Duration = Duration::from_secs(1);

/// The watchdog's shell.
#[derive(Debug)]
pub(super) struct Watchdog {
    pid: Pid,
    pipe: ChildStdin,
}

impl Watchdog {
    /// Starts the watchdog of this job. Where there is no shell, there is no watchdog, and the job runs without one.
    pub(super) fn start(job: &str) -> Option<Self> {
        let mut command = Command::new("/bin/sh");
        // A group of its own: a key at the terminal that ends this process must not end the watchdog. And no output:
        // it would keep a pipe open whose reader waits for its end.
        command.args(["-c", SCRIPT, "watchdog", &format!("{JOB}={job}")]).process_group(0);
        command.env_clear().env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = command.spawn().ok()?;
        let pid = Pid::from_child(&shell);
        let pipe = shell.stdin.take()?;
        Some(Self { pid, pipe })
    }

    /// The watchdog's process, which the reaper must not count among the ranks' descendants.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Adds a process group that has to end with the launcher.
    pub(super) fn watch(&mut self, group: Pid) {
        let _ = writeln!(self.pipe, "{}", group.as_raw_nonzero());
    }

    /// Forgets all groups: the ranks are about to be reaped.
    pub(super) fn forget(&mut self) {
        let _ = writeln!(self.pipe, "forget");
    }

    /// Ends the watchdog: the launcher ends in the ordinary way. It is asked to, and not killed: the reaper waits for any
    /// child, so that a watchdog that has died is reaped too, and its number may be another process's.
    pub(super) fn dismiss(mut self) {
        let _ = writeln!(self.pipe, "dismiss");
        await_end(self.pid, WaitIdOptions::EXITED, Instant::now() + DISMISSAL_MAX);
    }
}

/// A unique name for the job.
pub(super) fn job_name() -> String {
    let random = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    match random.trim() {
        "" => format!("{}-{}", std::process::id(), since.as_nanos()),
        random => random.to_owned(),
    }
}
