//! System calls and allocations that fail: the n-th one, for every n, of one rank or of the launcher.
//!
//! `strace` injects the errors of system calls, which are the ones that the kernel would return; the program itself has
//! an allocator of which a call fails. The job has to end soon: right, if there is another way, or with an error of
//! its own; never by a panic or a signal of memory.

use super::run::{Ended, Line, Programs, Running, signal_of};
use super::tally::Outcome;
use crate::tools::find;
use fastrand::Rng;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// How long a job may take of which a call fails.
const LIMIT: Duration = Duration::from_secs(60);
/// More calls than a job makes.
const NEVER: u64 = 1_000_000_000;

/// Whose calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Rank(u32),
    Launcher,
}

/// A call, and the error that it fails with.
const CALLS: [(&str, &str); 15] = [
    ("mmap", "ENOMEM"),
    ("mremap", "ENOMEM"),
    ("brk", "ENOMEM"),
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
    ("clone3", "EAGAIN"),
    ("epoll_create1", "EMFILE"),
];

/// One job of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Injection {
    of: Of,
    /// None: an allocation.
    call: Option<(&'static str, &'static str)>,
    number: u64,
}

/// All that can be injected: every number, or, where `few`, the first ones and some others.
pub(super) fn all(programs: &Programs, few: Option<u64>) -> Result<Vec<Injection>, String> {
    let mut all = Vec::new();
    let mut rng = Rng::with_seed(few.unwrap_or(0));
    for of in [Of::Rank(0), Of::Rank(1), Of::Launcher] {
        for call in CALLS {
            let count = Injection { of, call: Some(call), number: NEVER }.count(programs)?;
            all.extend(numbers(count, few.is_some(), &mut rng).map(|number| Injection {
                of,
                call: Some(call),
                number,
            }));
        }
    }
    for rank in [0, 1] {
        let of = Of::Rank(rank);
        let count = Injection { of, call: None, number: NEVER }.count(programs)?;
        all.extend(numbers(count, few.is_some(), &mut rng).map(|number| Injection {
            of,
            call: None,
            number,
        }));
    }
    if few.is_some() {
        rng.shuffle(&mut all);
    }
    Ok(all)
}

/// Which of so many calls.
fn numbers(count: u64, few: bool, rng: &mut Rng) -> impl Iterator<Item = u64> + use<> {
    let some = if few { 4 } else { count };
    let mut chosen: Vec<u64> = (1..=count).collect();
    if few {
        rng.shuffle(&mut chosen);
    }
    chosen.truncate(some as usize);
    chosen.into_iter()
}

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
                format!("--trace={call}"),
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

    fn start(&self, programs: &Programs, log: &Path) -> Result<(Ended, Line), String> {
        let line = self.line(programs, log);
        let running = Running::start(&line, None)?;
        let launcher = running.launcher(&programs.carrousel);
        Ok((running.end(LIMIT, launcher), line))
    }

    /// How many such calls there are where none fails.
    fn count(&self, programs: &Programs) -> Result<u64, String> {
        let place = tempfile::tempdir().map_err(|error| format!("cannot make a directory: {error}"))?;
        let log = place.path().join("strace");
        let (ended, line) = self.start(programs, &log)?;
        if ended.code() != Some(0) {
            return Err(format!("`{}` ended with {}: {}", line.shown(), ended.status(), ended.stderr));
        }
        let Some((call, _)) = self.call else {
            let told = ended.stderr.lines().find_map(|line| line.strip_prefix("soak: allocations: "));
            return told.and_then(|told| told.parse().ok()).ok_or("the program does not count".to_owned());
        };
        let text = fs::read_to_string(&log).unwrap_or_default();
        // A thread has its own numbers: so the largest number of a thread.
        let mut counts = std::collections::BTreeMap::<&str, u64>::new();
        for line in text.lines().filter(|line| line.contains(&format!("{call}("))) {
            let thread = line.split_whitespace().next().filter(|word| word.parse::<u32>().is_ok());
            *counts.entry(thread.unwrap_or_default()).or_default() += 1;
        }
        Ok(counts.values().copied().max().unwrap_or(0))
    }

    /// Runs it, and judges it.
    pub(super) fn run(&self, programs: &Programs) -> Result<Outcome, String> {
        let place = tempfile::tempdir().map_err(|error| format!("cannot make a directory: {error}"))?;
        let log = place.path().join("strace");
        let (ended, line) = self.start(programs, &log)?;
        let of = if self.of == Of::Launcher { "the launcher" } else { "a rank" };
        let kind = format!("{} of {of} fails", self.call.map_or("allocation", |(call, _)| call));
        let mut outcome = Outcome::of(&ended, &kind, 2, line.shown());
        outcome.repeat = line.shown();
        outcome.wrong.extend(self.judge(&ended));
        Ok(outcome)
    }

    fn judge(&self, ended: &Ended) -> Vec<String> {
        if ended.status.is_none() {
            return Vec::new();
        }
        let (code, text) = (ended.code(), &ended.stderr);
        let mut wrong = Vec::new();
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

/// Whether the program that injects errors is there.
pub(super) fn is_possible() -> bool {
    find("strace").is_some()
}
