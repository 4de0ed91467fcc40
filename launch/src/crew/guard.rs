//! What ends the ranks when this process is killed and can do nothing any more.
//!
//! A rank with a client asks the system to die with its launcher; other programs do not. So a shell
//! waits for the end of a pipe that only this process writes to, and kills the groups that it has been told.

use rustix::process::Pid;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

/// Reads the numbers of groups, and kills those when no more can come.
const SCRIPT: &str = "while read -r group; do groups=\"$groups -$group\"; done; kill -s KILL -- $groups";

/// The shell.
#[derive(Debug)]
pub(super) struct Guard {
    shell: Child,
    pipe: ChildStdin,
}

impl Guard {
    /// Starts it. Where there is no shell, there is no guard, and everything else is as usual.
    pub(super) fn start() -> Option<Self> {
        let mut command = Command::new("/bin/sh");
        // A group of its own: what ends this process at the terminal must not end the guard. And no output,
        // which would keep a pipe open that someone reads to its end.
        command.args(["-c", SCRIPT]).process_group(0).env_clear();
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = command.spawn().ok()?;
        let pipe = shell.stdin.take()?;
        Some(Self { shell, pipe })
    }

    /// This group has to end with this process.
    pub(super) fn watch(&mut self, group: Pid) {
        let _ = writeln!(self.pipe, "{}", group.as_raw_nonzero());
    }

    /// This process ends in the ordinary way.
    pub(super) fn dismiss(mut self) {
        // Before the pipe is closed: that would be its sign.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
