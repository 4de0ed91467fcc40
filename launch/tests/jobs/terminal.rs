//! Launchers at a terminal.

use crate::programs::wait_without_output;
use crate::support::*;
use rustix::fd::OwnedFd;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};

/// A terminal: the end of its user, and its name.
fn terminal() -> (File, String) {
    let ours: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are terminals");
    grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("it is ours");
    let name = ptsname(&ours, Vec::new()).expect("it has a name");
    (ours.into(), name.to_str().expect("it is text").to_owned())
}

/// A shell at this terminal, for which the launcher is `"$0" "$@"`.
fn shell(terminal: &str, script: &str, launcher: &Command) -> Command {
    let mut command = Command::new("setsid");
    // The first process of a session that opens a terminal makes it the controlling terminal of the session.
    command.args(["sh", "-c", &format!("exec <{terminal}; set -m; {script}")]);
    command.arg(launcher.get_program()).args(launcher.get_args());
    command.envs(launcher.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn in_the_background_of_a_terminal_a_launcher_goes_on_and_reads_when_it_comes_to_the_front() {
    let (mut looking, name) = terminal();
    looking.write_all(b"typed\n").expect("it is taken");
    // The third word is the state; a name in parentheses has no blank here.
    let script = r#""$0" "$@" & sleep 1; cut -d ' ' -f 3 /proc/$!/stat; fg >/dev/null"#;
    let rank = launcher("1 prefix", &["sh", "-c", "read line; echo got $line"]);
    let done = finish(shell(&name, script, &rank));
    assert_eq!(done.status, 0, "{}", done.stderr);
    let said = |what: &str| done.stdout.lines().any(|line| line == what);
    assert!(!said("T") && said("[0] got typed"), "{}{}", done.stdout, done.stderr);
}

#[test]
fn a_terminal_that_takes_nothing_does_not_stop_a_launcher() {
    let (looking, _) = terminal();
    let at = ioctl_tiocgptpeer(&looking, OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("it is there");
    // More output than a terminal keeps without a reader.
    let script = "trap '' PIPE; while :; do echo yyyyyyyyyyyyyyyyyyy; done";
    let running = launcher("2 timeout=500", &["sh", "-c", script]).stdout(at).spawn();
    let done = wait_without_output(Running(running.expect("it can be started")));
    assert_eq!(done.status, 124, "{}", done.stderr);
}
