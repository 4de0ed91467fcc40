//! The process of a peer: whether it is still there.
//!
//! A descriptor of it tells, by a call for many at once, and of no other process that gets its number later. Where there
//! is none (Linux before 5.3, valgrind, filters of containers, too many open files), `/proc` does, of one at a time.

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};
use std::fs;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

/// Of all processes that ever were on this node, one: those with the same number have begun at other times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) pid: Pid,
    /// When it began, in ticks since the system did; 0 where that is not known.
    pub(super) began: u64,
    /// Whether `/proc` has it under this number, see [`is_in_proc`].
    pub(super) in_proc: bool,
}

impl Identity {
    /// Whether the process has ended. One that nobody has waited for yet has, too.
    pub(super) fn has_ended(self) -> bool {
        let Self { pid, began, .. } = self;
        match self.stat_line() {
            Some(line) => {
                Stat::parse(&line).is_some_and(|stat| stat.has_ended || began != 0 && stat.began != began)
            }
            // Without `/proc` the system is asked whether there is such a number.
            None => rustix::process::test_kill_process(pid) == Err(Errno::SRCH),
        }
    }

    /// What `/proc` says of it, if it is there.
    fn stat_line(self) -> Option<Vec<u8>> {
        let Self { pid, in_proc, .. } = self;
        in_proc.then(|| fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())))?.ok()
    }
}

/// Whether `/proc` is that of the PID namespace of this process. In a new namespace it is that of the old one until it is
/// mounted anew, and other processes are found there.
pub(super) fn is_in_proc() -> bool {
    let own = rustix::process::getpid().as_raw_nonzero().to_string();
    fs::read_link("/proc/self").is_ok_and(|name| name.as_os_str() == own.as_str())
}

/// When this process began, see [`Identity::began`].
pub(super) fn began() -> u64 {
    let line = fs::read("/proc/self/stat").unwrap_or_default();
    Stat::parse(&line).map_or(0, |stat| stat.began)
}

/// The number of the PID namespace of this process; 0 where that is not known.
pub(super) fn namespace() -> u64 {
    rustix::fs::stat("/proc/self/ns/pid").map_or(0, |stat| stat.st_ino)
}

/// What a line of `/proc/PID/stat` says, see proc_pid_stat(5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    has_ended: bool,
    /// By a signal, or by whoever traces it.
    is_stopped: bool,
    began: u64,
}

impl Stat {
    fn parse(line: &[u8]) -> Option<Self> {
        // The name of the program stands in front, in parentheses, and may be anything: cut off within a character, too.
        let name_ends = line.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(&line[name_ends + 1..]).ok()?.split_ascii_whitespace();
        let state = fields.next()?;
        let threads: u64 = fields.nth(16)?.parse().ok()?;
        let began = fields.nth(1)?.parse().ok()?;
        // A process whose first thread alone has ended goes on.
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
    /// The process that was told to be this one.
    ///
    /// # Errors
    /// When there is none, and none with its number.
    pub(super) fn open(identity: Identity) -> Result<Self, Errno> {
        match rustix::process::pidfd_open(identity.pid, PidfdFlags::empty()) {
            // Whether it is this one, its segment tells.
            Ok(pidfd) => Ok(Self { identity, pidfd: Some(pidfd) }),
            Err(Errno::SRCH) => Err(Errno::SRCH),
            Err(_) if identity.has_ended() => Err(Errno::SRCH),
            Err(_) => Ok(Self { identity, pidfd: None }),
        }
    }

    /// What tells when it ends, if there is such a thing.
    pub(super) fn pidfd(&self) -> Option<&OwnedFd> {
        self.pidfd.as_ref()
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&self) -> bool {
        match &self.pidfd {
            Some(pidfd) => ends_within(pidfd, Timespec::default()),
            None => self.identity.has_ended(),
        }
    }

    /// Whether it does nothing until somebody has it go on; false where that is not known.
    pub(super) fn is_stopped(&self) -> bool {
        self.identity.stat_line().and_then(|line| Stat::parse(&line)).is_some_and(|stat| stat.is_stopped)
    }

    /// Whether the process, of which something could not be opened, has ended, and its number is perhaps another one's. One that is ending has closed its files
    /// a moment before it is known to have ended: that moment is waited for.
    pub(super) fn is_ending(&self) -> bool {
        const MOMENT: Duration = Duration::from_millis(200);
        const STEP: Duration = Duration::from_millis(5);
        if self.identity.has_ended() {
            return true;
        }
        if let Some(pidfd) = &self.pidfd {
            let moment = Timespec { tv_sec: 0, tv_nsec: MOMENT.as_nanos() as i64 };
            return ends_within(pidfd, moment);
        }
        let began = Instant::now();
        while !self.identity.has_ended() {
            if began.elapsed() >= MOMENT {
                return false;
            }
            thread::sleep(STEP);
        }
        true
    }
}

/// Whether the process behind a descriptor has ended, or does in this time.
fn ends_within(process: &OwnedFd, time: Timespec) -> bool {
    let mut polled = [PollFd::new(process, PollFlags::IN)];
    rustix::event::poll(&mut polled, Some(&time)).is_ok_and(|ready| ready > 0)
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
        assert!(!elsewhere.has_ended(), "another process is found there");
        assert!(!Identity { began: 0, ..own }.has_ended(), "not known is not another one");
        assert!(Identity { began: own.began + 1, ..own }.has_ended(), "the number is another one's");
        let other = Process::open(Identity { began: own.began + 1, ..own });
        assert!(other.is_ok_and(|other| other.is_ending()), "once it is asked");
    }

    #[test]
    fn a_process_that_nobody_has_waited_for_has_ended() {
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
                thread::yield_now();
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
        // Names have 15 bytes: of the last character of this one, half is left.
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
        assert!(without.is_ending(), "nobody has waited for it");
        child.wait().expect("it is a child");
    }
}
