//! Jobs whose launcher gets a signal at a moment that chance would rarely hit. They are the same each time.

use super::processes::{self, signal_to};
use super::run::{JobEnd, Line, Programs, Running, signal_of};
use super::tally::JobOutcome;
use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;
use std::cell::RefCell;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Runs such a job, and judges it.
type Moment = fn(&Programs) -> Result<JobOutcome, String>;

/// How long a launcher that got a signal may take to end: its grace periods, on a busy machine.
const END: Duration = Duration::from_secs(40);
/// How long to wait for the moment.
const MOMENT: Duration = Duration::from_secs(30);
/// The ranks of a job that has some.
const RANKS: u32 = 3;

pub(super) const ALL: [Moment; 2] = [killed_with_processes_left_behind, asked_to_end_before_its_ranks];

/// Each rank has left a process behind that has left its session; then the launcher is killed.
fn killed_with_processes_left_behind(programs: &Programs) -> Result<JobOutcome, String> {
    let mut line = Line::new([programs.carrousel.as_os_str()]);
    line.push(["run", "-n", &RANKS.to_string(), "--"]);
    line.push(["sh", "-c", "setsid sleep 600 & exec \"$@\"", "sh"]);
    line.push([programs.soak.as_os_str()]);
    line.push(["--seed", "1", "--steps", "1000000"]);
    let there = |running: &Running| {
        let ranks = processes::ranks(&running.mark, &programs.soak).len();
        let of_ranks =
            processes::of_job(&running.mark).iter().filter(|process| process.rank.is_some()).count();
        (ranks, of_ranks) == (RANKS as usize, 2 * RANKS as usize)
    };
    let judge = |ended: &JobEnd| match signal_of(ended) {
        Some(signal) if signal == Signal::KILL.as_raw() => None,
        _ => Some(format!("the launcher ended with {}, expected SIGKILL", ended.status())),
    };
    at("launcher killed, ranks have left processes", RANKS, &line, there, Signal::KILL, judge)
}

/// The launcher reads its file, a pipe without a writer, and gets SIGTERM.
fn asked_to_end_before_its_ranks(programs: &Programs) -> Result<JobOutcome, String> {
    let place = tempfile::tempdir().map_err(|error| format!("cannot make a directory: {error}"))?;
    let pipe = place.path().join("late.scn");
    let made = Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        return Err("launcher terminated before its ranks: `mkfifo` fails here".to_owned());
    }
    let mut line = Line::new([programs.carrousel.as_os_str()]);
    line.push(["run".as_ref(), pipe.as_os_str()]);
    // It can be opened as soon as it has a reader, and is kept open: its end would be that of the file.
    let writer = RefCell::new(None);
    let there = |_: &Running| {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        *writer.borrow_mut() = rustix::fs::open(&pipe, flags, Mode::empty()).ok();
        writer.borrow().is_some()
    };
    let judge = |ended: &JobEnd| {
        let expected = 128 + Signal::TERM.as_raw();
        let told = ended.stderr.contains("ended by SIGTERM before any rank was started");
        (ended.code() != Some(expected) || !told)
            .then(|| format!("the launcher ended with {}, expected {expected} and a message", ended.status()))
    };
    at("launcher terminated before its ranks", 0, &line, there, Signal::TERM, judge)
}

/// Starts a job, and sends its launcher a signal as soon as `there` holds.
fn at(
    name: &str,
    ranks: u32,
    line: &Line,
    there: impl Fn(&Running) -> bool,
    signal: Signal,
    judge: impl Fn(&JobEnd) -> Option<String>,
) -> Result<JobOutcome, String> {
    let running = Running::start(line, None)?;
    let launcher = running.child.id() as i32;
    while !there(&running) && running.begun.elapsed() < MOMENT {
        thread::sleep(Duration::from_millis(1));
    }
    let in_time = running.begun.elapsed() < MOMENT;
    signal_to(launcher, signal);
    let ended = running.end(END, launcher);
    let mut outcome = JobOutcome::of(&ended, name, ranks, line.shown());
    outcome.repeat = "cargo xtask soak --minutes 0".to_owned();
    outcome.wrong.extend((!in_time).then(|| "the moment has not come".to_owned()));
    outcome.wrong.extend(judge(&ended));
    Ok(outcome)
}
