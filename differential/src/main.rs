//! `cargo xtask differential`: random programs, each judged by the oracle and by the checker.
#![forbid(unsafe_code)]

use carrousel_differential::tally::{DifferenceReport, Tally};
use carrousel_differential::{Bounds, CHECKS, Comparison, Mode, compare, generate, judge, read, shrink};
use clap::{Parser, Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Compare verdicts on random programs with those of an oracle
#[derive(Debug, Parser)]
#[command(name = "cargo xtask differential", bin_name = "cargo xtask differential")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    Windows(Windows),
    Judge(Judge),
}

/// Random programs with windows, of 2 and 3 ranks
///
/// Each is judged by `verify`, and by an oracle that knows the rules of MPI and nothing of `verify`: it takes every step
/// that may be taken, in every order. The verdicts are compared check by check. A program on which they differ is made
/// smaller as long as they do, and printed with the command that repeats it. The exit status is 0 if they agree on
/// all programs and enough was tried, 1 if not.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct Windows {
    /// How many programs: 1000, unless the time is given
    #[arg(long, value_name = "N")]
    programs: Option<u64>,
    /// Ends after so many seconds
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// The seed of the first program; that of each next one is one more
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Only programs of so many ranks
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=3))]
    ranks: Option<u8>,
    /// The library under which programs are judged
    #[arg(long, value_enum, default_value_t = Modes::Both)]
    mode: Modes,
    /// Programs at a time; by default, as many as there are processors
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print so many of the programs on which the verdicts differ
    #[arg(long, value_name = "N", default_value_t = 5)]
    shown: usize,
    /// Write these to a directory, too, as scenarios that expect what the oracle says
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    /// How to print the results
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Judge scenario files by the oracle alone
///
/// A line for each: the checks that it violates, and whether the file expects these. Files with statements that the oracle
/// does not know are skipped. The exit status is 0 if each file that was judged expects what the oracle says, 1 if not.
#[derive(Debug, clap::Args)]
struct Judge {
    /// The files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Under the weakest MPI
    #[arg(long)]
    portable: bool,
    /// Print an execution for each check that is violated
    #[arg(long)]
    steps: bool,
    /// States, at most
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    max_states: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Modes {
    /// That of this project
    Default,
    /// The weakest MPI
    Portable,
    /// Either, one after the other
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

const EXAMPLES: &str = "Examples:
  cargo xtask differential windows                                  1,000 programs
  cargo xtask differential windows --programs 20000                 as many as before a release
  cargo xtask differential windows --seconds 600 --seed 1000000     others, for ten minutes
  cargo xtask differential windows --seed 42 --programs 1 --mode portable
  cargo xtask differential judge --portable --steps program.scn";

impl Modes {
    fn all(self) -> &'static [Mode] {
        match self {
            Self::Default => &[Mode::Default],
            Self::Portable => &[Mode::Portable],
            Self::Both => &Mode::ALL,
        }
    }
}

fn main() -> ExitCode {
    let done = match Cli::parse().chore {
        Chore::Windows(windows) => run(&windows),
        Chore::Judge(asked) => judge_files(&asked),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Programs, if neither their number nor the time is given.
const PROGRAMS: u64 = 1000;

fn run(windows: &Windows) -> Result<bool, String> {
    let began = Instant::now();
    let programs = windows.programs.unwrap_or(if windows.seconds.is_some() { u64::MAX } else { PROGRAMS });
    let end = windows.seconds.map(|seconds| began + Duration::from_secs(seconds));
    let bar = progress(programs, end.is_some());
    let (tally, next) = (Mutex::new(Tally::default()), AtomicU64::new(0));
    let work = || {
        while end.is_none_or(|end| Instant::now() < end) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= programs {
                break;
            }
            one(windows, windows.seed.wrapping_add(number), &tally);
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            tally.programs += 1;
            bar.inc(1);
            let differing: u64 = tally.modes.values().map(|mode| mode.differing).sum();
            bar.set_message(format!("{differing} differ"));
        }
    };
    let threads =
        windows.threads.or_else(|| thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    bar.finish_and_clear();
    let mut tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    tally.seconds = began.elapsed().as_secs_f64();
    tally.differences.sort_by_key(|difference| (difference.seed, difference.mode));
    if let Some(directory) = &windows.write {
        write(directory, &tally)?;
    }
    let text = match windows.format {
        Format::Table => tally.table(),
        Format::Json => {
            serde_json::to_string_pretty(&tally).map_err(|error| format!("cannot write JSON: {error}"))?
                + "\n"
        }
    };
    print(&text)?;
    Ok(tally.is_good())
}

fn progress(programs: u64, is_timed: bool) -> ProgressBar {
    // Draws nothing unless standard error is a terminal.
    let bar = match is_timed {
        true => ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()),
        false => ProgressBar::with_draw_target(Some(programs), ProgressDrawTarget::stderr()),
    };
    let template = match is_timed {
        true => "{spinner} {pos} programs, {elapsed}: {msg}",
        false => "{bar:30} {pos} of {len} programs, {eta} left: {msg}",
    };
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Makes the program of a seed, and compares the verdicts on it.
fn one(windows: &Windows, seed: u64, tally: &Mutex<Tally>) {
    let program = generate(seed, windows.ranks.unwrap_or(2 + (seed % 2) as u8));
    for mode in windows.mode.all() {
        let comparison = compare(&program, *mode, Bounds::default());
        let is_shown = {
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            tally.add(seed, *mode, &comparison);
            let differing: u64 = tally.modes.values().map(|mode| mode.differing).sum();
            differing <= windows.shown as u64
        };
        let Comparison::Different { oracle, checker } = comparison else { continue };
        if !is_shown {
            continue;
        }
        // What only one of the two finds stays so, and nothing comes in addition.
        let differs = |candidate: &_| match compare(candidate, *mode, Bounds::default()) {
            Comparison::Different { oracle: its, checker: other } => {
                its.violated.within(oracle.violated)
                    && other.within(checker)
                    && its.violated.without(other) == oracle.violated.without(checker)
                    && other.without(its.violated) == checker.without(oracle.violated)
            }
            _ => false,
        };
        let smallest = shrink(&program, &differs);
        let Comparison::Different { oracle, checker } = compare(&smallest, *mode, Bounds::default()) else {
            continue;
        };
        let expected = oracle.violated.names();
        let ranks = windows.ranks.map_or(String::new(), |ranks| format!(" --ranks {ranks}"));
        let name = mode.name();
        let report = DifferenceReport {
            seed,
            mode: name,
            program: smallest.text(&format!("the two differ ({name}, seed {seed})"), &expected),
            oracle: expected,
            checker: checker.names(),
            executions: oracle.executions.into_iter().filter(|(check, _)| !checker.has(check)).collect(),
            repeat: format!(
                "cargo xtask differential windows --seed {seed} --programs 1 --mode {name}{ranks}"
            ),
        };
        tally.lock().unwrap_or_else(PoisonError::into_inner).differences.push(report);
    }
}

fn write(directory: &Path, tally: &Tally) -> Result<(), String> {
    let said = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(directory).map_err(|error| said(directory, error))?;
    for difference in &tally.differences {
        let path = directory.join(format!("{}-{}.scn", difference.mode, difference.seed));
        std::fs::write(&path, &difference.program).map_err(|error| said(&path, error))?;
    }
    Ok(())
}

fn judge_files(asked: &Judge) -> Result<bool, String> {
    let mode = if asked.portable { Mode::Portable } else { Mode::Default };
    let mut is_good = true;
    for path in &asked.files {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| format!("{name}: {error}"))?;
        let scenario = carrousel_scenario::load_with(&name, &bytes, &carrousel_options::vocabulary())
            .map_err(|error| error.to_string())?;
        let program = match read(&scenario) {
            Ok(program) => program,
            Err(unknown) => {
                print(&format!("{name}: skipped: the oracle does not know {unknown}\n"))?;
                continue;
            }
        };
        let Some(judgement) = judge(&program, mode, asked.max_states) else {
            print(&format!("{name}: skipped: more than {} states\n", asked.max_states))?;
            continue;
        };
        let expected = scenario.expects.iter().map(|expect| expect.check.name());
        let expected: Vec<&str> =
            CHECKS.into_iter().filter(|check| expected.clone().any(|name| name == *check)).collect();
        let violated = judgement.violated.names();
        let words = if violated.is_empty() { "violates nothing".to_owned() } else { violated.join(", ") };
        let differs = if violated == expected { "" } else { ": NOT AS EXPECTED" };
        is_good &= violated == expected;
        print(&format!("{name}: {words} ({} states){differs}\n", judgement.states))?;
        for (check, steps) in judgement.executions.iter().filter(|_| asked.steps) {
            print(&format!("  an execution that violates {check}:\n    {}\n", steps.join("\n    ")))?;
        }
    }
    Ok(is_good)
}

/// A reader that leaves early is no failure: the status is that of the comparison.
fn print(text: &str) -> Result<(), String> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}
