//! `cargo xtask simulate`: jobs of the library under a system that a seed decides, in processes of some seeds each.

use crate::bench::format::Format;
use crate::table;
use crate::tools::{self, cargo, root, target};
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Simulate jobs: who runs, stalls, leaves or dies, and which calls fail, is decided by a seed
///
/// Ranks and launcher run in one thread, under a scheduler, in virtual time. Every byte is checked, an error needs a fault
/// that explains it, a rank must not sleep while there is a message for it, and each job has to end. The exit status is 0
/// if all of it holds; each failure is printed with the command that repeats it, event by event.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Simulate {
    /// How many seeds: 1000 by default, and at most 20000 for each defect
    #[arg(long)]
    seeds: Option<u64>,
    /// The first of them
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Only this seed, with every event and a chart
    #[arg(long, conflicts_with_all = ["first", "defects"])]
    seed: Option<u64>,
    /// Put a defect of the past back, by its name
    #[arg(long, value_name = "NAME")]
    defect: Option<String>,
    /// Put each defect of the past back in turn, and say how many seeds it takes to find it
    #[arg(long, conflicts_with = "defect")]
    defects: bool,
    /// Seeds at a time; by default, as many as there are processors
    #[arg(long)]
    at_once: Option<usize>,
    /// How to print the results
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Seeds, if nobody says how many.
const SEEDS: u64 = 1000;
/// Seeds until a defect counts as not found: each was found within some 1,600 when it was put in.
const SEEDS_OF_A_DEFECT: u64 = 20_000;
/// Seeds of one process: what a rank that dies leaves behind stays until its process ends.
const BATCH: u64 = 100;
/// The time after which a seed does not come back: thousands of times as long as any takes.
const PATIENCE: Duration = Duration::from_secs(120);
/// The flag under which the system of a build is a simulation's.
const FLAG: &str = "--cfg carrousel_simulated";

/// The result of a seed, as the program prints it.
#[derive(Clone, Debug, Deserialize)]
struct SeedResult {
    seed: u64,
    wrong: Option<String>,
    kind: String,
    ranks: u64,
    steps: u64,
    time_us: u64,
    trace: String,
}

/// A seed whose job was wrong.
#[derive(Clone, Debug, Serialize)]
struct SeedFailure {
    seed: u64,
    wrong: String,
    repeat: String,
}

/// A defect that was put back.
#[derive(Clone, Debug, Serialize)]
struct DefectFound {
    defect: String,
    /// Seeds until it was found; none if it was not.
    seeds: Option<u64>,
    wrong: Option<String>,
}

/// Everything so far.
#[derive(Clone, Debug, Default, Serialize)]
struct SimulationTally {
    seeds: u64,
    /// By the kind of their faults.
    kinds: BTreeMap<String, u64>,
    ranks: u64,
    /// Calls of the system, and other places at which ranks may be interrupted.
    steps: u64,
    /// Of all jobs together.
    virtual_seconds: f64,
    seconds: f64,
    defects: Vec<DefectFound>,
    failures: Vec<SeedFailure>,
}

impl SimulationTally {
    fn add(&mut self, result: &SeedResult, defect: Option<&str>) {
        self.seeds += 1;
        *self.kinds.entry(result.kind.clone()).or_default() += 1;
        self.ranks += result.ranks;
        self.steps += result.steps;
        self.virtual_seconds += result.time_us as f64 / 1e6;
        if let Some(wrong) = &result.wrong {
            self.fail(result.seed, wrong, defect);
        }
    }

    fn fail(&mut self, seed: u64, wrong: &str, defect: Option<&str>) {
        let defect = defect.map_or_else(String::new, |name| format!(" --defect {name}"));
        let repeat = format!("cargo xtask simulate --seed {seed}{defect}");
        self.failures.push(SeedFailure { seed, wrong: wrong.to_owned(), repeat });
    }

    /// For a person.
    fn table(&self) -> String {
        let mut table = table::table();
        let mut row = |name: &str, count: String| {
            table.add_row([name.to_owned(), count]);
        };
        row("seeds", self.seeds.to_string());
        for (kind, seeds) in &self.kinds {
            row(&format!("  {kind}"), seeds.to_string());
        }
        row("ranks", self.ranks.to_string());
        row("steps", self.steps.to_string());
        row("virtual seconds", format!("{:.1}", self.virtual_seconds));
        row("seconds", format!("{:.1}", self.seconds));
        row("failures", self.failures.len().to_string());
        let mut text = table::render(table, 1..2);
        for DefectFound { defect, seeds, wrong } in &self.defects {
            let found = seeds.map_or("NOT FOUND".to_owned(), |seeds| format!("found with {seeds} seeds"));
            text += &format!("defect {defect}: {found}: {}\n", wrong.as_deref().unwrap_or("-"));
        }
        for SeedFailure { seed, wrong, repeat } in &self.failures {
            text += &format!("failed: seed {seed}: {wrong}\n  repeat: {repeat}\n");
        }
        text
    }

    fn is_good(&self) -> bool {
        self.failures.is_empty() && self.defects.iter().all(|defect| defect.seeds.is_some())
    }
}

/// `cargo xtask simulate`.
pub(crate) fn run(simulate: &Simulate) -> Result<ExitCode, String> {
    let program = build()?;
    if let Some(name) = &simulate.defect {
        let names = tools::output_of(Command::new(&program).arg("--defects"))?;
        if !names.lines().any(|known| known == name) {
            let names = names.lines().collect::<Vec<_>>().join(", ");
            return Err(format!("no defect is called `{name}`: there are {names}"));
        }
    }
    if let Some(seed) = simulate.seed {
        let mut command = command(&program, seed, 1, simulate.defect.as_deref());
        let status = command.arg("--show").status();
        let status = status.map_err(|error| format!("the simulation cannot be started: {error}"))?;
        return Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let (mut tally, began) = (SimulationTally::default(), Instant::now());
    if simulate.defects {
        find_defects(&program, simulate, &mut tally)?;
    } else {
        tally = simulate_all(&program, simulate)?;
    }
    tally.seconds = began.elapsed().as_secs_f64();
    match simulate.format {
        Format::Table => print!("{}", tally.table()),
        Format::Json => {
            let text = serde_json::to_string_pretty(&tally);
            println!("{}", text.map_err(|error| format!("cannot write JSON: {error}"))?);
        }
    }
    Ok(if tally.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// As a step of the tests: 1,000 seeds, some of them twice, and the defects of the past.
pub(crate) fn step() -> Result<(), String> {
    let simulate = Simulate {
        seeds: None,
        first: 0,
        seed: None,
        defect: None,
        defects: false,
        at_once: None,
        format: Format::Table,
    };
    let (program, began) = (build()?, Instant::now());
    let mut tally = simulate_all(&program, &simulate)?;
    find_defects(&program, &simulate, &mut tally)?;
    tally.seconds = began.elapsed().as_secs_f64();
    tools::show(tally.table().trim_end());
    if !tally.is_good() {
        return Err("a job is wrong, or a defect is not found".to_owned());
    }
    let traces = || -> Result<Vec<String>, String> {
        Ok(batch(&program, 0, BATCH, None)?.into_iter().map(|result| result.trace).collect())
    };
    match traces()? == traces()? {
        true => Ok(()),
        false => Err("a seed is not the same job each time".to_owned()),
    }
}

/// Builds the program, in a directory of its own: the flag changes every crate.
fn build() -> Result<PathBuf, String> {
    let directory = target().join("simulated");
    let mut build = cargo(&["build", "--locked", "--quiet", "--package", "carrousel-simulate"]);
    build.env("RUSTFLAGS", FLAG).env("CARGO_TARGET_DIR", &directory);
    tools::run(build)?;
    Ok(directory.join("debug").join("simulate"))
}

fn command(program: &Path, first: u64, count: u64, defect: Option<&str>) -> Command {
    let mut command = Command::new(program);
    command.args(["--first", &first.to_string(), "--count", &count.to_string()]).current_dir(root());
    if let Some(defect) = defect {
        command.args(["--defect", defect]);
    }
    command
}

/// Runs some seeds in a process. One that ends, or does not come back, has failed with the seed that it was at.
fn batch(program: &Path, first: u64, count: u64, defect: Option<&str>) -> Result<Vec<SeedResult>, String> {
    let failed = |error: io::Error| format!("the simulation cannot be run: {error}");
    let mut command = command(program, first, count, defect);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?;
    let (tell, told) = mpsc::channel();
    let stdout = child.stdout.take();
    let reader = thread::spawn(move || {
        for line in stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).lines()).map_while(Result::ok)
        {
            if tell.send(line).is_err() {
                break;
            }
        }
    });
    let (mut results, mut at, mut patient) = (Vec::new(), None, true);
    loop {
        match told.recv_timeout(PATIENCE) {
            Ok(line) => match line.strip_prefix("begin ") {
                Some(seed) => at = seed.parse::<u64>().ok(),
                None => {
                    let result = serde_json::from_str::<SeedResult>(&line);
                    results.push(result.map_err(|error| format!("`{line}` is no result: {error}"))?);
                    at = None;
                }
            },
            Err(mpsc::RecvTimeoutError::Timeout) => {
                patient = false;
                break;
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    if !patient {
        child.kill().map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    // It ends with its process.
    let _ = reader.join();
    let known = results.len() as u64;
    if let Some(seed) = at {
        let wrong = if patient { format!("the process ended with {status}") } else { "no answer".to_owned() };
        results.push(SeedResult {
            seed,
            wrong: Some(wrong),
            kind: "unknown".to_owned(),
            ranks: 0,
            steps: 0,
            time_us: 0,
            trace: String::new(),
        });
        let rest = first + count - seed - 1;
        if rest > 0 {
            results.extend(batch(program, seed + 1, rest, defect)?);
        }
    } else if known < count {
        return Err(format!("the simulation has run {known} of {count} seeds, and ended with {status}"));
    }
    Ok(results)
}

fn simulate_all(program: &Path, simulate: &Simulate) -> Result<SimulationTally, String> {
    let seeds = simulate.seeds.unwrap_or(SEEDS);
    let bar = ProgressBar::new(seeds);
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} seeds, {eta} left: {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let (tally, next) = (Mutex::new(SimulationTally::default()), AtomicU64::new(simulate.first));
    let (end, defect) = (simulate.first + seeds, simulate.defect.as_deref());
    let work = || -> Result<(), String> {
        loop {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            if first >= end {
                return Ok(());
            }
            for result in batch(program, first, BATCH.min(end - first), defect)? {
                if let Some(wrong) = &result.wrong {
                    let text = format!("failed: seed {}: {wrong}", result.seed);
                    bar.suspend(|| {
                        // Standard error may be closed; the result is printed at the end.
                        let _ = writeln!(io::stderr(), "{text}");
                    });
                }
                let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                tally.add(&result, defect);
                bar.set_position(tally.seeds);
                bar.set_message(format!("{} failures", tally.failures.len()));
            }
        }
    };
    let threads =
        simulate.at_once.or_else(|| thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    let done = thread::scope(|scope| {
        let all: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        let ended =
            all.into_iter().map(|one| one.join().unwrap_or_else(|_| Err("a thread has panicked".into())));
        ended.fold(Ok(()), Result::and)
    });
    bar.finish_and_clear();
    done?;
    let mut tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    tally.failures.sort_by_key(|failure| failure.seed);
    Ok(tally)
}

/// Puts each defect back, and looks for the first seed that finds it.
fn find_defects(program: &Path, simulate: &Simulate, tally: &mut SimulationTally) -> Result<(), String> {
    let names = tools::output_of(Command::new(program).arg("--defects"))?;
    let seeds = simulate.seeds.unwrap_or(SEEDS_OF_A_DEFECT);
    for name in names.lines() {
        let (mut found, mut first) = (None, simulate.first);
        while found.is_none() && first < simulate.first + seeds {
            let results = batch(program, first, BATCH, Some(name))?;
            found = results.into_iter().find(|result| result.wrong.is_some());
            first += BATCH;
        }
        let seeds = found.as_ref().map(|result| result.seed + 1 - simulate.first);
        let wrong = found.and_then(|result| result.wrong);
        tally.defects.push(DefectFound { defect: name.to_owned(), seeds, wrong });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A program in the place of the simulation.
    fn script(text: &str) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("it can be made");
        let program = directory.path().join("simulate");
        std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).expect("it can be written");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        (directory, program)
    }

    #[test]
    fn a_process_that_dies_is_the_failure_of_the_seed_that_it_was_at() {
        let result =
            r#"{"seed":'$2',"wrong":null,"kind":"none","ranks":2,"steps":3,"time_us":4,"trace":"5"}"#;
        // It dies at seed 7, and does the others.
        let (_directory, program) = script(&format!(
            "echo begin $2; [ $2 = 7 ] && kill -9 $$; echo '{result}'; exec \"$0\" --first 7 --count 1"
        ));
        let results = batch(&program, 6, 2, None).expect("it can be run");
        let wrong: Vec<_> = results.iter().map(|result| (result.seed, result.wrong.is_some())).collect();
        assert_eq!(wrong, [(6, false), (7, true)]);
    }

    #[test]
    fn a_failure_is_told_with_its_command() {
        let mut tally = SimulationTally::default();
        tally.fail(8, "no end", Some("sleeps-unpolled"));
        let text = tally.table();
        let repeat = "repeat: cargo xtask simulate --seed 8 --defect sleeps-unpolled";
        assert!(text.contains(&format!("failed: seed 8: no end\n  {repeat}")), "{text}");
        assert!(!tally.is_good());
    }
}
