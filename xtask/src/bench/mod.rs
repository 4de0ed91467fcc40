//! `cargo xtask bench peers`: measurements of Carrousel, compared with other libraries; and of its searches, in [`verify`].
//!
//! Machines are never quiet, and what they do changes by the minute. So every round measures all libraries, one
//! right after the other, and ratios are taken within a round. Where processors are near each other now and far apart
//! then, only what was measured alike is compared: see [`modes`]. Begin reading at [`run`].

// The same file, so that both tables show a number in the same way.
pub(crate) mod baselines;
mod carrousel_runner;
#[path = "../../../cli/src/bench/digits.rs"]
mod digits;
pub(crate) mod format;
pub(crate) mod machine;
pub(crate) mod modes;
pub(crate) mod process;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod results;
pub(crate) mod statistics;
pub(crate) mod targets;
mod verify;

use self::format::Format;
use carrousel_runner::CarrouselRunner;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use modes::{Bracket, Modes};
use record::Record;
use report::Conditions;
use results::{Results, Source};
use statistics::Summary;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use targets::{CACHE_LINE, GROUPS, Group, STARTUP, STARTUP_RANKS};

/// A launcher, warming up, and what a busy machine adds, before a run counts as hung.
const RUN_SECONDS_MAX: f64 = 60.0;
/// A run has several cases at most, and may take so much longer than its budget on a busy machine.
const BUDGETS_MAX: f64 = 100.0;
/// How long the bare cache line is measured, before and after each measurement.
const LINE_SECONDS: f64 = 0.02;
/// Starts of a round, of which the median counts.
const STARTS: u32 = 5;

/// The comparison.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Compare with MPICH and Open MPI, interleaved, and say which targets are met
    ///
    /// Installs both from Python wheels into target/peers (python3 with venv, and a way to the package
    /// index), compiles the same measurements in C against each (a C compiler), and builds `carrousel`.
    /// Then every round measures ours, MPICH and Open MPI one right after the other, with two ranks that
    /// are pinned to a core each. The table has the median of the rounds with its spread; `ours/best` is
    /// the median of the ratios within the rounds, by the peer whose median is best, with the interval in
    /// which it lies by 95 %. A verdict is by that median, within 3 %; `rounds disagree` where the target
    /// lies within the interval.
    ///
    /// Before and after each measurement, two pinned threads pass a bare cache line to and fro: what the
    /// hardware takes. On a virtual machine that changes by the minute, as its processors are neighbours or
    /// not. Measurements during which it changed are thrown away, and so are those of another mode than
    /// most have; the report says how many.
    #[command(after_long_help = MEASUREMENTS)]
    Peers(PeersArgs),
    /// Measure the searches of `carrousel verify`, and say which targets are met
    ///
    /// Each row is a program, verified once: how many states it has, how long the search takes, and the most memory
    /// that it has had, without what a search of one state has, for each state. A search that does not end in time is
    /// interrupted, and what it has explored by then stands in the table.
    Verify(verify::VerifyArgs),
}

const MEASUREMENTS: &str = "\
Measurements, each a median over batches:
  latency           half round trip of send and recv
  bandwidth         64 isend to 64 irecv, then an acknowledgement; each irecv has a buffer of its own
  bibandwidth       the same both ways at once, bytes of both counted
  message_rate      messages of `bandwidth` a second, 8 bytes
  stream            send after send of 8 bytes, each to a recv from any source: a message
  reversed          ten messages of 8 bytes with different tags have come; each is received, the last one
                    first: a recv
  sendrecv          both ranks exchange messages by sendrecv: a call
  overlap           a barrier; irecv at one rank, isend at the other; both compute outside the library,
                    1 ms or more; both wait: what each call takes, with an early receiver and with an
                    early sender, with one message and with two; the target is on every wait
  hidden_send       isend, compute, wait; the other waits in recv: the share of the transfer that
                    computing can hide
  hidden_receive    irecv, compute, wait; the other is in send: the same
  allreduce         a call that sums doubles
  barrier           a call
  startup           a job of 64 times `true`: by `carrousel run`, and by MPICH's mpiexec (hydra)

Examples:
  cargo xtask bench peers                                  all, some minutes
  cargo xtask bench peers --targets-only --rounds 9        only what has a target, with a better median
  cargo xtask bench peers --tuned                          with Open MPI over UCX as a third peer
  cargo xtask bench peers --bench latency --peers-only     nothing of ours is built or run
  cargo xtask bench peers --format json > peers.json

Everything else on the machine disturbs it, compilers most: the report says when it was not alone.";

/// Arguments of `bench peers`.
#[derive(Debug, Args)]
pub(crate) struct PeersArgs {
    /// How often all libraries are measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Time for each measurement of each round
    #[arg(long, default_value_t = 0.2, value_parser = positive)]
    seconds: f64,
    /// Only these measurements
    #[arg(long, value_delimiter = ',', value_name = "NAME",
          value_parser = PossibleValuesParser::new(GROUPS.map(|group| group.bench)))]
    bench: Vec<String>,
    /// Only measurements and sizes that have a target
    #[arg(long)]
    targets_only: bool,
    /// Add Open MPI over UCX as a peer: not its default on one node, but what its users can set
    #[arg(long)]
    tuned: bool,
    /// Leave ours out
    #[arg(long, conflicts_with = "ours")]
    peers_only: bool,
    /// A `carrousel` that is built already
    #[arg(long, value_name = "PROGRAM")]
    ours: Option<PathBuf>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (1e-3..=60.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds between 0.001 and 60".to_owned()),
    }
}

/// Runs a chore of this kind.
pub(crate) fn run(bench: &BenchCommand) -> Result<(), String> {
    let arguments = match bench {
        BenchCommand::Peers(arguments) => arguments,
        BenchCommand::Verify(arguments) => return verify::run(arguments),
    };
    if machine::cores() < 2 {
        return Err(
            "two ranks that wait busily need two cores, and one is allowed: see taskset, cpuset".into()
        );
    }
    let mut notes = Vec::new();
    let sources = sources(arguments, &mut notes)?;
    let libraries = baselines::chosen(arguments.tuned).map(baselines::Baseline::describe).collect();
    let busy_before_percent = machine::busy_percent();
    let (results, modes) = rounds(arguments, &sources, &mut notes)?;
    let conditions = Conditions {
        cores: machine::cores(),
        busy_before_percent,
        busy_after_percent: machine::busy_percent(),
        rounds: arguments.rounds,
        seconds: Some(arguments.seconds),
        libraries,
        modes,
        notes,
    };
    if results.rows().is_empty() {
        return Err(format!("nothing could be measured:\n{}", conditions.notes.join("\n")));
    }
    match arguments.format {
        Format::Table => print!("{}", report::table(&results, &conditions)),
        Format::Json => println!("{}", report::json(&results, &conditions)?),
    }
    Ok(())
}

/// Builds and installs everything that is to be measured. Carrousel may be left out.
fn sources(arguments: &PeersArgs, notes: &mut Vec<String>) -> Result<Option<CarrouselRunner>, String> {
    baselines::prepare_cache_line()?;
    for peer in baselines::chosen(arguments.tuned) {
        peer.prepare()?;
    }
    if arguments.peers_only {
        notes.push("ours is left out: --peers-only".to_owned());
        return Ok(None);
    }
    CarrouselRunner::prepare(arguments.ours.as_deref(), notes).map(Some)
}

/// All rounds, as far as they can be compared. A run that fails is noted, and the others go on.
fn rounds(
    arguments: &PeersArgs,
    carrousel: &Option<CarrouselRunner>,
    notes: &mut Vec<String>,
) -> Result<(Results, Option<Modes>), String> {
    let chosen = |group: &Group| {
        (arguments.bench.is_empty() || arguments.bench.iter().any(|name| name == group.bench))
            && !(arguments.targets_only && group.judged.is_empty())
    };
    let groups: Vec<&Group> = GROUPS.iter().filter(|group| chosen(group)).collect();
    let steps: Vec<MeasurementStep<'_>> =
        groups.iter().flat_map(|group| steps(group, carrousel, arguments)).collect();
    let bar = bar(steps.len() as u64 * u64::from(arguments.rounds));
    let mut done = Vec::new();
    for round in 0..arguments.rounds {
        if bar.is_hidden() {
            eprintln!("round {} of {}", round + 1, arguments.rounds);
        }
        let mut line_ns = None;
        for step in &steps {
            bar.set_message(format!("round {}: {}, {}", round + 1, step.bench, step.source.name()));
            match step.run(&mut line_ns) {
                Ok((records, bracket)) => {
                    done.push(ProgramRun { source: step.source, round, records, bracket });
                }
                Err(message) => {
                    let note = format!("{} of {}: {message}", step.bench, step.source.name());
                    // A measurement that fails once usually fails in every round; once is enough to know.
                    if !notes.contains(&note) {
                        notes.push(note);
                    }
                }
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    compared(done)
}

/// The measurements that can be compared, and how the others differ from these.
fn compared(done: Vec<ProgramRun>) -> Result<(Results, Option<Modes>), String> {
    let brackets: Vec<Bracket> = done.iter().filter_map(|one| one.bracket).collect();
    let modes = Modes::of(&brackets);
    if modes.is_none() && !brackets.is_empty() {
        return Err(
            "the time of a bare cache line changed during each measurement: nothing can be compared".into()
        );
    }
    let mut results = Results::new(&GROUPS);
    for ProgramRun { source, round, records, bracket } in done {
        let compares = |bracket| modes.as_ref().is_some_and(|modes| modes.compares(bracket));
        if bracket.is_some_and(|bracket| !compares(bracket)) {
            continue;
        }
        for record in records {
            results.add(source, round, record, bracket.and_then(Bracket::line_ns))?;
        }
    }
    Ok((results, modes))
}

/// What one run of one program has measured.
struct ProgramRun {
    source: Source,
    round: u32,
    records: Vec<Record>,
    /// The bare cache line before and after it; none where it does not matter.
    bracket: Option<Bracket>,
}

/// One run of one program.
struct MeasurementStep<'a> {
    source: Source,
    bench: &'static str,
    /// Whether it matters how far apart the processors are.
    bracketed: bool,
    measure: Box<dyn Fn() -> Result<Vec<Record>, String> + 'a>,
}

impl MeasurementStep<'_> {
    /// Measures. `line_ns` is what the bare cache line took after the step before, and becomes what it takes after this one.
    fn run(&self, line_ns: &mut Option<f64>) -> Result<(Vec<Record>, Option<Bracket>), String> {
        let before_ns = line_ns.take();
        if !self.bracketed {
            return Ok(((self.measure)()?, None));
        }
        let before_ns = before_ns.map_or_else(line, Ok)?;
        let records = (self.measure)()?;
        let after_ns = *line_ns.insert(line()?);
        Ok((records, Some(Bracket { before_ns, after_ns })))
    }
}

/// What a bare cache line takes now, in ns.
fn line() -> Result<f64, String> {
    let records = measured(baselines::cache_line(LINE_SECONDS), CACHE_LINE, LINE_SECONDS)?;
    records.first().map(|record| record.value).ok_or_else(|| "the cache line was not measured".to_owned())
}

/// The steps of a round for a group: size by size, all libraries, one right after the other.
fn steps<'a>(
    group: &Group,
    carrousel: &'a Option<CarrouselRunner>,
    arguments: &PeersArgs,
) -> Vec<MeasurementStep<'a>> {
    let bench = group.bench;
    let seconds = arguments.seconds;
    let mut steps: Vec<MeasurementStep<'a>> = Vec::new();
    if bench == STARTUP {
        let mut step =
            |source, measure| steps.push(MeasurementStep { source, bench, bracketed: false, measure });
        if let Some(carrousel) = carrousel.as_ref().filter(|carrousel| carrousel.starts) {
            step(Source::Carrousel, Box::new(|| startup(|| carrousel.start(STARTUP_RANKS))));
        }
        let hydra = &baselines::BASELINES[0];
        step(hydra.source, Box::new(|| startup(|| hydra.start(STARTUP_RANKS))));
        return steps;
    }
    let mut step = |source, measure| steps.push(MeasurementStep { source, bench, bracketed: true, measure });
    let sizes = if arguments.targets_only { group.sizes_judged() } else { group.sizes.to_vec() };
    for size in sizes {
        if let Some(carrousel) = carrousel.as_ref().filter(|carrousel| carrousel.measures) {
            step(
                Source::Carrousel,
                Box::new(move || measured(carrousel.measure(bench, size, seconds), bench, seconds)),
            );
        }
        for peer in baselines::chosen(arguments.tuned) {
            step(peer.source, Box::new(move || measured(peer.measure(bench, size, seconds), bench, seconds)));
        }
    }
    steps
}

/// Runs a program of measurements, and reads what it printed.
fn measured(command: Command, bench: &str, seconds: f64) -> Result<Vec<Record>, String> {
    let name = process::shown(&command);
    let limit = Duration::from_secs_f64(RUN_SECONDS_MAX + BUDGETS_MAX * seconds);
    let records = record::parse(&process::output(command, limit)?.stdout)?;
    if records.is_empty() || records.iter().any(|record| record.bench != bench) {
        return Err(format!("`{name}` printed no results of {bench}, or others"));
    }
    Ok(records)
}

/// Starts a job that does nothing, some times.
fn startup(job: impl Fn() -> Command) -> Result<Vec<Record>, String> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let mut command = job();
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let name = process::shown(&command);
        let began = Instant::now();
        let mut child = command.spawn().map_err(|error| format!("`{name}` cannot be started: {error}"))?;
        let status = process::wait(&mut child, Duration::from_secs_f64(RUN_SECONDS_MAX))
            .map_err(|message| format!("`{name}` {message}"))?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        if !status.success() {
            return Err(format!("`{name}` ended with {status}"));
        }
    }
    let value = Summary::of(times).map_or(f64::NAN, |summary| summary.median);
    let repetitions = u64::from(STARTS);
    Ok(vec![Record { size: STARTUP_RANKS, value, repetitions, ..Record::of(STARTUP, "ms") }])
}

/// A bar on standard error, which only a terminal shows. It moves between runs only: a thread that drew it
/// meanwhile would take a core from what is measured.
fn bar(steps: u64) -> ProgressBar {
    let bar = ProgressBar::new(steps);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} (left: {eta}) {wide_msg}")
    {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(source: Source, us: f64, before_ns: f64, after_ns: f64) -> ProgramRun {
        let record = Record { size: 8, value: us, repetitions: 5, ..Record::of("latency", "us") };
        let bracket = Some(Bracket { before_ns, after_ns });
        ProgramRun { source, round: 0, records: vec![record], bracket }
    }

    #[test]
    fn what_was_measured_in_another_mode_is_thrown_away() {
        let done = vec![
            measurement(Source::Carrousel, 0.2, 46.0, 46.0),
            measurement(Source::Mpich, 0.9, 210.0, 211.0),
            measurement(Source::OpenMpi, 0.25, 47.0, 45.0),
            measurement(Source::OpenMpiUcx, 0.1, 47.0, 210.0),
        ];
        let (results, modes) = compared(done).unwrap();
        let row = results.rows()[0];
        assert_eq!(row.best_peer(), Some(Source::OpenMpi));
        assert!(row.summary(Source::Mpich).is_none() && row.summary(Source::OpenMpiUcx).is_none());
        let modes = modes.unwrap();
        assert_eq!((modes.thrown_away_changed, modes.thrown_away_other), (1, 1));
    }

    #[test]
    fn without_a_mode_nothing_is_compared() {
        let done = || vec![measurement(Source::Carrousel, 0.2, 46.0, 210.0)];
        assert!(compared(done()).is_err_and(|error| error.contains("cache line")));
        let unbracketed = done().into_iter().map(|one| ProgramRun { bracket: None, ..one }).collect();
        let (results, modes) = compared(unbracketed).unwrap();
        assert!(modes.is_none() && results.has(Source::Carrousel));
    }
}
