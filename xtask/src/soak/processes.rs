//! The processes of a job, as `/proc` has them: those that carry its mark in their environment.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The variable whose value is the job's mark. Its processes inherit it.
pub(super) const MARK: &str = "SOAK_JOB";

/// A process of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    /// The rank that it is, or that has started it.
    pub(super) rank: Option<u32>,
    /// Its program.
    program: PathBuf,
}

/// The processes with this mark that have not ended.
pub(super) fn of_job(mark: &str) -> Vec<Process> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| process(&entry.path(), mark)).collect()
}

fn process(place: &Path, mark: &str) -> Option<Process> {
    let pid = place.file_name()?.to_str()?.parse().ok()?;
    // Those of others cannot be read, and those of the kernel are empty; so is that of one that has ended.
    let environment = fs::read(place.join("environ")).ok()?;
    let variable = |name: &str| {
        let of_name =
            |pair: &[u8]| Some(String::from_utf8_lossy(pair.strip_prefix(name.as_bytes())?).into_owned());
        environment.split(|byte| *byte == 0).find_map(of_name)
    };
    (variable(&format!("{MARK}="))? == mark).then_some(())?;
    let rank = variable("PMI_RANK=").and_then(|rank| rank.parse().ok());
    Some(Process { pid, rank, program: fs::read_link(place.join("exe")).unwrap_or_default() })
}

/// The ranks of a job, by their program: not what they have started.
pub(super) fn ranks(mark: &str, program: &Path) -> Vec<Process> {
    let mut all = of_job(mark);
    all.retain(|process| process.rank.is_some() && process.is(program));
    all
}

impl Process {
    /// Sends a signal. It may have ended meanwhile, which is as well.
    pub(super) fn signal(&self, signal: Signal) {
        signal_to(self.pid, signal);
    }

    /// Whether it runs this program.
    pub(super) fn is(&self, program: &Path) -> bool {
        self.program == program
    }

    /// As a person knows it.
    pub(super) fn describe(&self) -> String {
        let rank = self.rank.map_or_else(String::new, |rank| format!(" of rank {rank}"));
        format!("process {} ({}){rank}", self.pid, self.program.display())
    }
}

/// Sends a signal to a process, if it is there.
pub(super) fn signal_to(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Waits until no process of a job is left, no longer than this. Those that are left then are killed, and returned.
pub(super) fn all_end(mark: &str, limit: Duration) -> Vec<Process> {
    let begun = Instant::now();
    // A process that is about to run another program has no environment for a moment: one look in vain proves nothing.
    let mut in_vain = 0;
    loop {
        let left = of_job(mark);
        in_vain = if left.is_empty() { in_vain + 1 } else { 0 };
        if in_vain == 3 {
            return left;
        }
        if begun.elapsed() > limit {
            kill(mark);
            return left;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Kills all processes of a job, and those that they start meanwhile.
pub(super) fn kill(mark: &str) {
    for _ in 0..100 {
        let all = of_job(mark);
        if all.is_empty() {
            return;
        }
        for process in all {
            process.signal(Signal::KILL);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_that_has_left_its_session_is_found_and_killed() {
        let mark = format!("test-{}", std::process::id());
        let mut shell = Command::new("sh");
        shell.args(["-c", "setsid sleep 60 & exec true"]).env(MARK, &mark).env("PMI_RANK", "3");
        assert!(shell.status().expect("there is a shell").success());
        let left = all_end(&mark, Duration::from_millis(300));
        assert_eq!(left.iter().map(|process| process.rank).collect::<Vec<_>>(), [Some(3)]);
        assert!(left[0].describe().ends_with("of rank 3"), "{left:?}");
        assert_eq!(of_job(&mark), []);
    }
}
