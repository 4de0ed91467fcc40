//! The process of a peer: whether it still runs.
//!
//! A pidfd tells when its process has ended, many of them in one call, and is never of another process that gets the
//! number later. Where there is no pidfd (Linux before 5.3, valgrind, filters of containers, too many open files),
//! `/proc` tells, of one process at a time.

use carrousel_system::{SYSTEM, System};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::Pid;
use std::fs;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Identifies one of all processes that ever ran on this node: others with the same number began at other times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) pid: Pid,
    /// When it began, in ticks since the system booted; 0 where that is not known.
    pub(super) began: u64,
    /// Whether `/proc` lists it under this number, see [`is_in_proc`].
    pub(super) in_proc: bool,
}

impl Identity {
    /// Whether the process has ended. A zombie has ended, too.
    pub(super) fn has_ended(self) -> bool {
        let Self { pid, began, .. } = self;
        match self.stat_line() {
            Some(line) => {
                Stat::parse(&line).is_some_and(|stat| stat.has_ended || began != 0 && stat.began != began)
            }
            // Without `/proc` the system is asked whether a process has this number.
            None => rustix::process::test_kill_process(pid) == Err(Errno::SRCH),
        }
    }

    /// Its line in `/proc`, if there is one.
    fn stat_line(self) -> Option<Vec<u8>> {
        let Self { pid, in_proc, .. } = self;
        in_proc.then(|| SYSTEM.stat_line(Some(pid)))?
    }
}

/// Whether `/proc` is that of the PID namespace of this process. In a new namespace it is that of the old one until it is
/// mounted anew, and lists other processes.
pub(super) fn is_in_proc() -> bool {
    let own = rustix::process::getpid().as_raw_nonzero().to_string();
    fs::read_link("/proc/self").is_ok_and(|name| name.as_os_str() == own.as_str())
}

/// When this process began, see [`Identity::began`].
pub(super) fn began() -> u64 {
    let line = SYSTEM.stat_line(None).unwrap_or_default();
    Stat::parse(&line).map_or(0, |stat| stat.began)
}

/// The number of the PID namespace of this process; 0 where that is not known.
pub(super) fn namespace() -> u64 {
    rustix::fs::stat("/proc/self/ns/pid").map_or(0, |stat| stat.st_ino)
}

/// The number of the user namespace that all processes are in until one makes another (`PROC_USER_INIT_INO`).
const FIRST_USER_NAMESPACE: u64 = 0xefff_fffd;

/// The number of the user namespace of this process, if it is why it may not look into the process with this number: it is
/// not the first one, which may look into all others, and that of the process is another, or is hidden, too.
pub(super) fn foreign_user_namespace(pid: u32) -> Option<u64> {
    let of = |process: &str| rustix::fs::stat(format!("/proc/{process}/ns/user"));
    let own = of("self").ok()?.st_ino;
    let is_same = match of(&pid.to_string()) {
        Ok(theirs) => theirs.st_ino == own,
        Err(Errno::ACCESS | Errno::PERM) => false,
        Err(_) => true,
    };
    (own != FIRST_USER_NAMESPACE && !is_same).then_some(own)
}

/// The contents of `/proc/PID/stat`, see proc_pid_stat(5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    has_ended: bool,
    /// By a signal, or by a tracer.
    is_stopped: bool,
    began: u64,
}

impl Stat {
    fn parse(line: &[u8]) -> Option<Self> {
        // The name of the program is in front, in parentheses, and may be anything, even cut within a character.
        let name_ends = line.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(&line[name_ends + 1..]).ok()?.split_ascii_whitespace();
        let state = fields.next()?;
        let threads: u64 = fields.nth(16)?.parse().ok()?;
        let began = fields.nth(1)?.parse().ok()?;
        // A process of which only the first thread has ended goes on.
        let has_ended = matches!(state, "Z" | "X" | "x") && threads <= 1;
        Some(Self { has_ended, is_stopped: matches!(state, "T" | "t"), began })
    }
}

/// The process of a peer.
#[derive(Debug)]
pub(super) struct Process {
    identity: Identity,
    pidfd: Option<OwnedFd>,
}

impl Process {
    /// Opens the process with this identity.
    ///
    /// # Errors
    /// When the process has ended, and no other process has its number.
    pub(super) fn open(identity: Identity) -> Result<Self, Errno> {
        match SYSTEM.pidfd(identity.pid) {
            // The peer's segment tells whether this is the peer's process.
            Ok(pidfd) => Ok(Self { identity, pidfd: Some(pidfd) }),
            Err(Errno::SRCH) => Err(Errno::SRCH),
            Err(_) if identity.has_ended() => Err(Errno::SRCH),
            Err(_) => Ok(Self { identity, pidfd: None }),
        }
    }

    /// The descriptor that tells when the process ends, if there is one.
    pub(super) fn pidfd(&self) -> Option<&OwnedFd> {
        self.pidfd.as_ref()
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&self) -> bool {
        match &self.pidfd {
            Some(pidfd) => ends_within(pidfd, Duration::ZERO),
            None => self.identity.has_ended(),
        }
    }

    /// Whether it is stopped until it gets a signal to continue; false where that is not known.
    pub(super) fn is_stopped(&self) -> bool {
        self.identity.stat_line().and_then(|line| Stat::parse(&line)).is_some_and(|stat| stat.is_stopped)
    }

    /// Whether the process has ended, after a file of it could not be opened; its number may be another process's by
    /// now. A process that is ending closes its files a moment before it is known to have ended: this call waits for
    /// that moment.
    pub(super) fn is_ending(&self) -> bool {
        const MOMENT: Duration = Duration::from_millis(200);
        const STEP: Duration = Duration::from_millis(5);
        if self.identity.has_ended() {
            return true;
        }
        if let Some(pidfd) = &self.pidfd {
            return ends_within(pidfd, MOMENT);
        }
        let began = SYSTEM.now();
        while !self.identity.has_ended() {
            if SYSTEM.now() - began >= MOMENT {
                return false;
            }
            SYSTEM.sleep(STEP);
        }
        true
    }
}

/// Whether the process behind a pidfd has ended, or ends within this time.
fn ends_within(process: &OwnedFd, time: Duration) -> bool {
    let mut polled = [PollFd::new(process, PollFlags::IN)];
    SYSTEM.poll(&mut polled, time).is_ok_and(|ready| ready > 0)
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use rustix::process::Signal;
    use std::env;
    use std::os::unix::fs::symlink;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_known_by_its_number_and_its_beginning() {
        let own = Identity { pid: rustix::process::getpid(), began: began(), in_proc: is_in_proc() };
        assert!(own.began > 0 && own.in_proc && !own.has_ended());
        let elsewhere = Identity { began: own.began + 1, in_proc: false, ..own };
        assert!(!elsewhere.has_ended(), "without `/proc` the beginning is not compared");
        assert!(!Identity { began: 0, ..own }.has_ended(), "an unknown beginning is not another one");
        assert!(Identity { began: own.began + 1, ..own }.has_ended(), "the number is another one's");
        let other = Process::open(Identity { began: own.began + 1, ..own });
        assert!(other.is_ok_and(|other| other.is_ending()), "once it is asked");
    }

    #[test]
    fn a_zombie_has_ended() {
        let mut child = Command::new("sleep").arg("1000").spawn().expect("it can be started");
        let pid = Pid::from_raw(child.id() as i32).expect("it is one");
        let identity = Identity { pid, began: 0, in_proc: true };
        let without = Process { identity, pidfd: None };
        assert!(!identity.has_ended() && !without.is_ending());
        child.kill().expect("it can be killed");
        assert!(without.is_ending() && without.has_ended());
        child.wait().expect("it is a child");
        assert!(identity.has_ended());
    }

    #[test]
    fn a_process_that_is_stopped_has_not_ended() {
        let mut child = Command::new("sleep").arg("1000").spawn().expect("it can be started");
        let pid = Pid::from_raw(child.id() as i32).expect("it is one");
        let signal = |signal| rustix::process::kill_process(pid, signal).expect("it is a child");
        let process = Process { identity: Identity { pid, began: 0, in_proc: true }, pidfd: None };
        assert!(!process.is_stopped());
        for (sent, is_stopped) in [(Signal::STOP, true), (Signal::CONT, false)] {
            signal(sent);
            while process.is_stopped() != is_stopped {
                std::thread::yield_now();
            }
            assert!(!process.has_ended());
        }
        child.kill().expect("it can be killed");
        child.wait().expect("it is a child");
    }

    #[test]
    fn the_name_of_a_program_does_not_matter() {
        let of = |state: &str, threads: u32| {
            let rest = format!(" {state} 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 4711 1 2");
            Stat::parse(&[b"7 (a) Z 1 ) \xc3)", rest.as_bytes()].concat())
        };
        let stat = Stat { has_ended: false, is_stopped: false, began: 4711 };
        assert_eq!(of("S", 3), Some(stat));
        assert_eq!(of("Z", 1), Some(Stat { has_ended: true, ..stat }));
        assert_eq!(of("Z", 2), Some(stat), "another thread goes on");
        for state in ["T", "t"] {
            assert_eq!(of(state, 1), Some(Stat { is_stopped: true, ..stat }), "{state}");
        }
        for text in ["", "7 (a", "7 (a) S", "7 (a) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 x 0 4711"] {
            assert_eq!(Stat::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_name_that_is_cut_within_a_character_hides_no_end() {
        // Names have 15 bytes: half of the last character of this one is left.
        let name = format!("{:-<14}\u{e4}", format!("carr{}", std::process::id()));
        let program = env::temp_dir().join(name);
        let _ = fs::remove_file(&program);
        symlink("/bin/sh", &program).expect("it can be made");
        let mut command = Command::new(&program);
        let started = command.arg0("sh").args(["-c", "read line"]).stdin(Stdio::piped()).spawn();
        let _ = fs::remove_file(&program);
        let mut child = started.expect("it can be started");
        let pid = Pid::from_raw(child.id() as i32).expect("it is one");
        let identity = Identity { pid, began: 0, in_proc: true };
        let line = fs::read(format!("/proc/{}/stat", child.id())).expect("it is there");
        assert!(std::str::from_utf8(&line).is_err() && !identity.has_ended());
        child.kill().expect("it can be killed");
        let without = Process { identity, pidfd: None };
        assert!(without.is_ending(), "it is a zombie");
        child.wait().expect("it is a child");
    }
}
