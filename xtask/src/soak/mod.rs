//! `cargo xtask soak`: random jobs, every byte of which is checked, and what can be done to them.

mod cases;
mod inject;
mod job;
mod moments;
mod processes;
mod random;
mod run;
mod tally;
mod traces;

use crate::bench::format::Format;
use crate::built::{Built, COMMAND, Kind};
use crate::guest::packages;
use fastrand::Rng;
use indicatif::{ProgressBar, ProgressStyle};
use job::SoakJob;
use run::Programs;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tally::{JobOutcome, Tally};

/// The program that the ranks run.
const SOAK: Built = Built { package: "carrousel", kind: Kind::Example, name: "soak" };

/// Random jobs, every byte of which is checked
///
/// First those that are the same each time, with bounds of memory and time. Then, until the time is over, random ones:
/// 2 to 64 ranks on whatever processors there are, with messages of sizes around every threshold, wildcards, probes,
/// cancelled receives, collectives on communicators that come and go, and any values of options. Ranks are stopped and
/// continued, or killed; the launcher is terminated or killed; the reader of its output leaves. Each job must end in
/// time, right or with the error that is due, and leave nothing behind; traces must be allowed, and changed ones
/// refused. The exit status is 0 if all of it holds; each failure is printed with the command that repeats it.
///
/// With `--inject`, each system call that asks for memory, a file or a process fails once, and each allocation, at
/// either rank of a small job and at the launcher.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Soak {
    /// How long; jobs that have begun are ended
    #[arg(long, default_value_t = 3.0)]
    minutes: f64,
    /// The number that all jobs are derived from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many ranks a random job has: LEAST-MOST
    #[arg(long, default_value = "2-64", value_parser = range)]
    ranks: RangeInclusive<u32>,
    /// Jobs at a time
    #[arg(long, default_value_t = 2)]
    at_once: usize,
    /// Only the random job of this seed, as a failure names it
    #[arg(long)]
    job: Option<u64>,
    /// Make calls fail instead: all of them, however long that takes
    #[arg(long)]
    inject: bool,
    /// How to print the results
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Test this command, instead of building it
    #[arg(long, value_name = "FILE", requires = "program")]
    carrousel: Option<PathBuf>,
    /// With this build of the example `soak`
    #[arg(long, value_name = "FILE", requires = "carrousel")]
    program: Option<PathBuf>,
}

fn range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    match (least.parse(), most.parse()) {
        (Ok(least), Ok(most)) if least >= 1 && least <= most => Ok(least..=most),
        _ => Err(format!("`{text}` is not LEAST-MOST, such as 2-64")),
    }
}

impl Soak {
    /// As a step of the tests.
    pub(crate) fn step() -> Self {
        Self {
            minutes: 3.0,
            seed: 1,
            ranks: 2..=64,
            at_once: 2,
            job: None,
            inject: false,
            format: Format::Table,
            carrousel: None,
            program: None,
        }
    }

    fn programs(&self) -> Result<Programs, String> {
        let absolute =
            |path: &PathBuf| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
        match (&self.carrousel, &self.program) {
            (Some(carrousel), Some(program)) => {
                Ok(Programs { carrousel: absolute(carrousel)?, soak: absolute(program)? })
            }
            _ => Ok(Programs { carrousel: COMMAND.build()?, soak: SOAK.build()? }),
        }
    }
}

/// `cargo xtask soak`.
pub(crate) fn run(soak: &Soak) -> Result<ExitCode, String> {
    let programs = soak.programs()?;
    let (tally, began) = (Mutex::new(Tally::new(soak.seed)), Instant::now());
    if let Some(seed) = soak.job {
        let job = SoakJob::of(seed, &soak.ranks);
        lock(&tally).add(job.run(&programs)?);
    } else if soak.inject {
        inject(soak, &programs, &tally, None)?;
    } else {
        soak_all(soak, &programs, &tally)?;
    }
    let mut tally = tally.into_inner().map_err(|_| "a thread has panicked".to_owned())?;
    tally.seconds = began.elapsed().as_secs();
    match soak.format {
        Format::Table => print!("seed {}\n{}", soak.seed, tally.table()),
        Format::Json => {
            let text = serde_json::to_string_pretty(&tally);
            println!("{}", text.map_err(|error| format!("cannot write JSON: {error}"))?);
        }
    }
    Ok(if tally.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// As a step of the tests: three minutes of jobs, and some calls that fail.
pub(crate) fn step() -> Result<(), String> {
    let soak = Soak::step();
    let programs = soak.programs()?;
    let tally = Mutex::new(Tally::new(soak.seed));
    soak_all(&soak, &programs, &tally)?;
    finished(tally)
}

/// As a step of the tests: calls that fail, as many as there is time for.
pub(crate) fn step_of_failing_calls() -> Result<(), String> {
    let soak = Soak { minutes: 1.0, ..Soak::step() };
    let programs = soak.programs()?;
    let tally = Mutex::new(Tally::new(soak.seed));
    inject(&soak, &programs, &tally, Some(soak.seed))?;
    finished(tally)
}

fn finished(tally: Mutex<Tally>) -> Result<(), String> {
    let tally = tally.into_inner().map_err(|_| "a thread has panicked".to_owned())?;
    print!("seed {}\n{}", tally.seed, tally.table());
    match tally.failures.len() {
        0 => Ok(()),
        failures => Err(format!("{failures} of {} jobs fail", tally.jobs)),
    }
}

fn lock(tally: &Mutex<Tally>) -> std::sync::MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn bar(length: u64, style: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Notes what came of a job, and shows a failure at once: the others may take an hour.
fn note(outcome: JobOutcome, tally: &Mutex<Tally>, bar: &ProgressBar) {
    if !outcome.wrong.is_empty() {
        let text =
            format!("failed: {}: {}\n  repeat: {}", outcome.kind, outcome.wrong.join("; "), outcome.repeat);
        bar.suspend(|| {
            // Standard error may be closed; the result is printed at the end.
            let _ = writeln!(io::stderr(), "{text}");
        });
    }
    let mut tally = lock(tally);
    tally.add(outcome);
    bar.set_message(format!("{} jobs, {} failures", tally.jobs, tally.failures.len()));
}

/// The cases, then random jobs until the time is over.
fn soak_all(soak: &Soak, programs: &Programs, tally: &Mutex<Tally>) -> Result<(), String> {
    let time = Duration::from_secs_f64(soak.minutes.max(0.0) * 60.0);
    let bar = bar(time.as_secs(), "{bar:30} {elapsed} of {len} s: {msg}");
    for case in 0..cases::COUNT {
        match cases::run(case, programs) {
            Ok(outcomes) => outcomes.into_iter().for_each(|outcome| note(outcome, tally, &bar)),
            Err(why) => lock(tally).skipped.push(why),
        }
    }
    let (began, seeds) = (Instant::now(), Mutex::new(Rng::with_seed(soak.seed)));
    let next = || seeds.lock().map(|mut seeds| seeds.u64(..)).unwrap_or_default();
    at_once(soak.at_once, || {
        while began.elapsed() < time {
            let outcome = SoakJob::of(next(), &soak.ranks).run(programs)?;
            note(outcome, tally, &bar);
            bar.set_position(began.elapsed().as_secs());
        }
        Ok(())
    })
}

/// Calls that fail: all, or in an order of this seed until the time is over.
fn inject(soak: &Soak, programs: &Programs, tally: &Mutex<Tally>, few: Option<u64>) -> Result<(), String> {
    if !inject::is_possible()
        && let Err(why) = packages::install(&["strace"])
    {
        lock(tally).skipped.push(why);
        return Ok(());
    }
    let (began, time) = (Instant::now(), Duration::from_secs_f64(soak.minutes.max(0.0) * 60.0));
    let all = inject::all(programs, few)?;
    let bar = bar(all.len() as u64, "{bar:30} {pos} of {len} calls: {msg}");
    let next = AtomicUsize::new(0);
    at_once(soak.at_once, || {
        while let Some(injection) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            if few.is_some() && began.elapsed() > time {
                break;
            }
            note(injection.run(programs)?, tally, &bar);
            bar.inc(1);
        }
        Ok(())
    })
}

/// Does it in several threads at a time; the first error of them.
fn at_once(threads: usize, work: impl Fn() -> Result<(), String> + Sync) -> Result<(), String> {
    thread::scope(|scope| {
        let all: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(&work)).collect();
        let ended =
            all.into_iter().map(|one| one.join().unwrap_or_else(|_| Err("a thread has panicked".to_owned())));
        ended.fold(Ok(()), Result::and)
    })
}
