//! System calls and allocations that fail: the n-th one, for every n, of one rank or of the launcher.
//!
//! `strace` injects the errors of system calls, which are the ones that the kernel would return; the program itself has
//! an allocator of which a call fails. The job has to end soon: right, if there is another way, or with an error of
//! its own; never by a panic or a signal of memory.

use super::run::{JobEnd, Line, Programs, Running, signal_of};
use super::tally::JobOutcome;
use crate::tools::find;
use fastrand::Rng;
use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

/// How long a job may take of which a call fails.
const LIMIT: Duration = Duration::from_secs(60);
/// More calls than a job makes, and the most that `strace` counts.
const NEVER: u64 = 65_535;

/// The process whose calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Rank(u32),
    Launcher,
}

/// A call, and the error that it fails with. Not `brk`, which has none: it returns where the heap ends.
const CALLS: [(&str, &str); 20] = [
    ("mmap", "ENOMEM"),
    ("mremap", "ENOMEM"),
    ("openat", "EMFILE"),
    ("memfd_create", "EMFILE"),
    ("ftruncate", "ENOSPC"),
    ("fallocate", "ENOSPC"),
    ("pidfd_open", "EMFILE"),
    ("socket", "EMFILE"),
    ("socketpair", "EMFILE"),
    ("connect", "ECONNREFUSED"),
    ("process_vm_readv", "EPERM"),
    ("process_vm_writev", "EPERM"),
    ("process_vm_readv", "ENOMEM"),
    ("process_vm_writev", "ENOMEM"),
    ("process_vm_readv", "EAGAIN"),
    ("process_vm_writev", "EAGAIN"),
    ("process_vm_readv", "EINTR"),
    ("process_vm_writev", "EINTR"),
    ("clone3", "EAGAIN"),
    ("epoll_create1", "EMFILE"),
];

/// Calls for which there is another way, whatever their error: the job is right.
const OTHER_WAY: [&str; 2] = ["process_vm_readv", "process_vm_writev"];

/// One job of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Injection {
    of: Of,
    /// None: an allocation.
    call: Option<(&'static str, &'static str)>,
    number: u64,
}

/// All that can be injected: every number, or, where `few`, some of them.
pub(super) fn all(programs: &Programs, few: Option<u64>) -> Result<Vec<Injection>, String> {
    let mut all = Vec::new();
    let mut rng = Rng::with_seed(few.unwrap_or(0));
    let calls = [Of::Rank(0), Of::Rank(1), Of::Launcher].map(|of| CALLS.map(|call| (of, Some(call))));
    let allocations = [0, 1].map(|rank| (Of::Rank(rank), None));
    for (of, call) in calls.into_iter().flatten().chain(allocations) {
        let mut numbers: Vec<u64> = Injection { of, call, number: NEVER }.numbers(programs)?.collect();
        if few.is_some() {
            rng.shuffle(&mut numbers);
            numbers.truncate(SOME);
        }
        all.extend(numbers.into_iter().map(|number| Injection { of, call, number }));
    }
    if few.is_some() {
        rng.shuffle(&mut all);
    }
    Ok(all)
}

/// How many of the calls of a kind are taken where there is no time for all.
const SOME: usize = 8;

impl Injection {
    fn line(&self, programs: &Programs, log: &Path) -> Line {
        let program = |line: &mut Line, failing: bool| {
            line.push([programs.soak.as_os_str()]);
            line.push(["--case", "small"]);
            if let (true, None, Of::Rank(rank)) = (failing, self.call, self.of) {
                line.push(["--fail-allocation", &format!("{rank}:{}", self.number)]);
            }
        };
        let strace = |line: &mut Line| {
            let Some((call, error)) = self.call else { return };
            line.push(["strace", "-f", "-qq", "-o"]);
            line.push([log.as_os_str()]);
            line.push([
                format!("--trace={call},{LAST_BEFORE_MAIN}"),
                format!("--inject={call}:error={error}:when={}", self.number),
            ]);
            line.push(["--"]);
        };
        let mut line = Line::default();
        if self.of == Of::Launcher {
            // Only the launcher is looked at, and no process that it starts.
            strace(&mut line);
            line.words.retain(|word| word != "-f");
        }
        line.push([programs.carrousel.as_os_str()]);
        line.push(["run", "-n", "1", "--"]);
        for rank in 0..2 {
            if rank > 0 {
                line.push([":", "-n", "1", "--"]);
            }
            let failing = self.of == Of::Rank(rank);
            if failing {
                strace(&mut line);
            }
            program(&mut line, failing);
        }
        line
    }

    fn start(&self, programs: &Programs, log: &Path) -> Result<(JobEnd, Line), String> {
        let line = self.line(programs, log);
        let running = Running::start(&line, None)?;
        let launcher = running.launcher(&programs.carrousel);
        Ok((running.end(LIMIT, launcher), line))
    }

    /// Which of these calls can fail. Those before `main` are the dynamic linker's and the runtime's, which end the process
    /// in ways of their own.
    fn numbers(&self, programs: &Programs) -> Result<RangeInclusive<u64>, String> {
        let place = tempfile::tempdir().map_err(|error| format!("cannot make a directory: {error}"))?;
        let log = place.path().join("strace");
        let (ended, line) = self.start(programs, &log)?;
        if ended.code() != Some(0) {
            return Err(format!("`{}` ended with {}: {}", line.shown(), ended.status(), ended.stderr));
        }
        let Some((call, _)) = self.call else {
            let told = ended.stderr.lines().find_map(|line| line.strip_prefix("soak: allocations: "));
            let made = told.and_then(|told| told.parse().ok());
            return made.map(|made| 1..=made).ok_or("the program does not count its allocations".to_owned());
        };
        let text = fs::read_to_string(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        if !text.contains(LAST_BEFORE_MAIN) {
            return Err(format!("`{}` does not say where `main` begins", line.shown()));
        }
        Ok(after_main(&text, call))
    }

    /// Runs it, and judges it.
    pub(super) fn run(&self, programs: &Programs) -> Result<JobOutcome, String> {
        let place = tempfile::tempdir().map_err(|error| format!("cannot make a directory: {error}"))?;
        let log = place.path().join("strace");
        let (ended, line) = self.start(programs, &log)?;
        let of = if self.of == Of::Launcher { "the launcher" } else { "a rank" };
        let kind = format!(
            "{} of {of} fails",
            self.call.map_or("allocation".to_owned(), |(call, error)| format!("{call} ({error})"))
        );
        let mut outcome = JobOutcome::of(&ended, &kind, 2, line.shown());
        outcome.repeat = line.shown().replace(&log.display().to_string(), "/tmp/strace.log");
        outcome.wrong.extend(self.judge(&ended));
        Ok(outcome)
    }

    fn judge(&self, ended: &JobEnd) -> Vec<String> {
        if ended.status.is_none() {
            return Vec::new();
        }
        let (code, text) = (ended.code(), &ended.stderr);
        let mut wrong = Vec::new();
        if self.call.is_some_and(|(call, _)| OTHER_WAY.contains(&call)) && code != Some(0) {
            wrong.push(format!("ended with {}, though there is another way", ended.status()));
        }
        // Where there is no memory, Rust says so and aborts.
        let aborts = text.contains("memory allocation of");
        match (code, signal_of(ended)) {
            (Some(101 | 139 | 135), _) => wrong.push(format!("ended with {}", ended.status())),
            (Some(134), _) | (None, Some(6)) if aborts => {}
            (Some(134), _) | (None, _) => wrong.push(format!("ended with {}", ended.status())),
            (Some(0), _) => {}
            (Some(_), _) if text.trim().is_empty() => {
                wrong.push(format!("ended with {}, and nothing is said", ended.status()));
            }
            (Some(_), _) => {
                if let Of::Rank(rank) = self.of
                    && !text.contains(&format!("rank {rank} "))
                {
                    wrong.push(format!("ended with {}, and rank {rank} is not named", ended.status()));
                }
            }
        }
        wrong
    }
}

/// The call of Rust's runtime that comes last before `main`, for the second time: it says which stack signals have.
const LAST_BEFORE_MAIN: &str = "sigaltstack";

/// The numbers of the calls that a program makes from `main` on, in what `strace` has written. It counts those of each
/// thread apart: the largest number of a thread is the last one.
fn after_main(log: &str, call: &str) -> RangeInclusive<u64> {
    let (call, mark) = (format!("{call}("), format!("{LAST_BEFORE_MAIN}("));
    let thread = |line: &str| line.split_whitespace().next().and_then(|word| word.parse::<u32>().ok());
    // The main thread is the one that is there first.
    let main = log.lines().next().and_then(thread);
    let (mut before, mut marks) = (0, 0);
    let mut counts = BTreeMap::<Option<u32>, u64>::new();
    for line in log.lines() {
        let its = thread(line);
        if line.contains(&call) {
            *counts.entry(its).or_default() += 1;
            before += u64::from(marks < 2);
        }
        marks += u32::from(its == main && line.contains(&mark));
    }
    before + 1..=counts.into_values().max().unwrap_or(0)
}

/// Whether the program that injects errors is there.
pub(super) fn is_possible() -> bool {
    find("strace").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_from_main_on() {
        let log = "7 mmap(NULL, 1) = 0x1\n7 sigaltstack(NULL, {}) = 0\n7 mmap(NULL, 2) = 0x2\n\
                   7 sigaltstack({}, NULL) = 0\n7 mmap(NULL, 3) = 0x3\n9 mmap(NULL, 4) = 0x4\n9 sigaltstack(NULL, {}) = 0\n\
                   7 mmap(NULL, 5) = 0x5\n";
        assert_eq!(after_main(log, "mmap"), 3..=4);
        let alone = log.lines().map(|line| format!("{}\n", &line[2..])).collect::<String>();
        assert_eq!(after_main(&alone, "mmap"), 3..=5);
        assert!(after_main(log, "openat").is_empty());
    }
}
