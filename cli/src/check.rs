//! `carrousel check`: the trace of a run, compared with the model.

use crate::failure::{Failure, shown};
use crate::numbers::{bytes, count, grouped};
use crate::out::Out;
use crate::report::{Format, json};
use crate::run::refused_trace;
use crate::status::Status;
use crate::style::{Paint, Style};
use crate::verify::Line;
use carrousel_launch::raise_open_files;
use carrousel_trace::{Trace, found_part_of};
use carrousel_verify::replay::{
    self, Departure, EndpointName, Gap, MpiUsageError, ReplayProgress, ReplayReport, ReplayVerdict, Why,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The version of [`CheckReport`], by the rule of `schema/README.md`.
const VERSION: u32 = 1;
/// Gaps that are reported one by one.
const TOLD: usize = 16;

/// Compare what a run has recorded with the model that `verify` explores
///
/// `carrousel run --trace DIRECTORY` has each rank write down what its protocol is given: the calls of the
/// application, the packets and completions of the network, and what the application was told in the end. This
/// command feeds all of it to the same protocol code once more, over the network that `carrousel verify` explores.
/// Every packet must be the next one that its sender has sent, every completion that of something under way, and
/// every answer the one that the application got.
///
/// If so, what `verify` proves of that network holds for what has happened. If not, the command names the first
/// record that it cannot follow, and what the model would have allowed there: a mistake in the engine, in a
/// transport, or in memory.
///
/// The program is checked, too: whether all ranks of a communicator call the same collectives, with the same root and as
/// many bytes, and whether every message is received before its receiver leaves the job. Where not, both lines of the
/// program are named.
///
/// How many calls, events and answers were compared depends on who came first, and differs from run to run of a program.
///
/// The part of a rank that was killed is cut short, and one with a limit may have reached it: it is followed as far as it
/// goes, and so are those of the others until they need something that is not there. What is in the messages is not in a
/// trace; of a scenario, `carrousel run` checks every byte.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  carrousel run --trace out -n 4 -- ./heat 1024
  carrousel check out
  carrousel check out --format json
  CARROUSEL_TRACE=$PWD/out mpiexec -n 4 ./heat 1024    record under another launcher

A directory has a part for each rank, rank-0.trace and so on, or for each
endpoint inside another MPI library, endpoint-4711-0.trace: a line for each
record, after one about the job, which `carrousel trace text` prints. A record
is named by its line, which has a check value over all lines up to it: a line
that was changed, removed, added or moved is found before the model is asked.

Exit status: 0 the model allows all of it; 1 it does not, or MPI does not allow
what the program does; 2 this is no trace, or not what was recorded; 3 the model
allows what could be followed, and there is more.")]
pub(crate) struct CheckArgs {
    /// The directory of the trace: that of `--trace`
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// `carrousel check`.
pub(crate) fn run(args: &CheckArgs, out: &mut Out, errors: Style) -> Result<Status, Failure> {
    // A trace has a part for each rank, and all are read together.
    raise_open_files();
    let trace = Trace::open(&args.directory).map_err(refused_trace)?;
    let report = {
        let line = Line::new(&shown(&args.directory), errors);
        let show = |progress: ReplayProgress| {
            let ReplayProgress { records, read, bytes: all } = progress;
            let percent = read * 100 / all.max(1);
            line.say(format!("{percent} % of {}, {} records", bytes(all), grouped(records)));
        };
        replay::check(trace, &show).map_err(refused_trace)?
    };
    match args.format {
        Format::Json => {
            let trace = &shown(&args.directory);
            out.line(&json(&CheckReport { version: VERSION, trace, report: &report })?)?;
        }
        Format::Human => {
            human(&args.directory, &report, out)?;
            misused(&report.misuses, out)?;
            introduce(&report.endpoints, out)?;
        }
    }
    Ok(match report.verdict {
        _ if !report.misuses.is_empty() => Status::Violated,
        ReplayVerdict::Allowed => Status::Fine,
        ReplayVerdict::Departed => Status::Violated,
        ReplayVerdict::Incomplete => Status::Inconclusive,
    })
}

/// A report as it is printed for programs.
#[derive(Serialize)]
struct CheckReport<'a> {
    version: u32,
    /// The directory, as it was named.
    trace: &'a str,
    #[serde(flatten)]
    report: &'a ReplayReport,
}

fn human(directory: &Path, report: &ReplayReport, out: &mut Out) -> Result<(), Failure> {
    let many = format!(
        "{} and {} of {}",
        count(report.calls, "call"),
        count(report.events, "event"),
        count(report.ranks.into(), "rank")
    );
    let answers = count(report.answers, "answer");
    if let Some(departure) = &report.departure {
        let part = part(directory, departure.rank, report);
        return departed(&part, departure, &many, out);
    }
    let good = out.style.paint(Paint::Good, "OK");
    if report.gaps.is_empty() {
        return out.line(&format!("{good}, {many} are ones that the model allows, with {answers}"));
    }
    out.line(&format!("{good} as far as it goes, {many} are ones that the model allows, with {answers}"))?;
    for gap in report.gaps.iter().take(TOLD) {
        let part = part(directory, gap.rank, report);
        out.line(&format!("  {}", told(&part, gap)))?;
    }
    if report.gaps.len() > TOLD {
        out.line(&format!("  and {} more ranks", report.gaps.len() - TOLD))?;
    }
    Ok(())
}

/// Prints calls of the program that MPI forbids.
fn misused(misuses: &[MpiUsageError], out: &mut Out) -> Result<(), Failure> {
    if misuses.is_empty() {
        return Ok(());
    }
    let verdict = out.style.paint(Paint::Bad, "MPI does not allow what the program does");
    out.line(&format!("{verdict}:"))?;
    for misuse in misuses.iter().take(TOLD) {
        out.line(&format!("  {misuse}"))?;
    }
    if misuses.len() > TOLD {
        out.line(&format!("  and {} more", misuses.len() - TOLD))?;
    }
    Ok(())
}

/// The part of a rank: its file, or the one that it would have.
fn part(directory: &Path, rank: u32, report: &ReplayReport) -> PathBuf {
    let endpoint = report.endpoints.iter().find(|endpoint| endpoint.rank == rank);
    let file = endpoint.and_then(|endpoint| endpoint.part.as_ref());
    file.map_or_else(|| found_part_of(directory, rank), |file| directory.join(file))
}

/// Prints who the ranks are that are not those of the job of another MPI library.
fn introduce(endpoints: &[EndpointName], out: &mut Out) -> Result<(), Failure> {
    let is_other =
        |endpoint: &&EndpointName| endpoint.host.as_ref().is_none_or(|host| host.rank != endpoint.rank);
    for EndpointName { rank, address, process, host, .. } in endpoints.iter().filter(is_other).take(TOLD) {
        let who = match (host, process) {
            (Some(host), Some(process)) => {
                let job = host.job.as_ref().map_or_else(String::new, |job| format!(" of job {job}"));
                format!("an endpoint of rank {}{job}, process {process}", host.rank)
            }
            (None, Some(process)) => format!("an endpoint of process {process}, which has no rank"),
            (_, None) => format!("the peer at {address}, which has recorded nothing"),
        };
        out.line(&format!("  rank {rank} here is {who}"))?;
    }
    Ok(())
}

fn told(part: &Path, gap: &Gap) -> String {
    let Gap { rank, record, .. } = gap;
    let part = shown(part);
    match gap.why {
        Why::Missing => format!("rank {rank} has recorded nothing: there is no {part}"),
        Why::Cut => {
            format!("{part}: it is cut short behind record {record}; rank {rank} did not end by itself")
        }
        Why::Limit => {
            format!("{part}: it has reached its limit behind record {record}; rank {rank} went on unrecorded")
        }
        Why::Needs(peer) => {
            format!("{part}: followed up to record {record}; the next one needs what rank {peer} did later")
        }
    }
}

fn departed(part: &Path, departure: &Departure, many: &str, out: &mut Out) -> Result<(), Failure> {
    let Departure { rank, record, place, happened, allowed } = departure;
    let style = out.style;
    let part = format!("{}:{record}:", shown(part));
    let verdict = style.paint(Paint::Bad, "the model does not allow this");
    out.line(&format!("{} {verdict}", style.paint(Paint::Strong, &part)))?;
    let comma = if place.line.is_some() { "," } else { "" };
    out.line(&format!("  rank {rank}, record {record}{comma}{place}"))?;
    out.line(&format!("  it says    {happened}"))?;
    out.line(&format!("  allowed    {allowed}"))?;
    out.line(&format!("  until then {many} were ones that the model allows"))
}
