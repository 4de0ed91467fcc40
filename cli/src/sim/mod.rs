//! `carrousel sim`: a run in virtual time.

mod app;
pub(crate) mod human;
pub(crate) mod overlap;

use self::overlap::Printed;
use crate::args::Format;
use crate::failure::Failure;
use crate::input;
use crate::out::{Out, to_stderr};
use crate::status::Status;
use crate::style::{Paint, Style};
use crate::verify::{Drawing, json};
use carrousel_scenario::Scenario;
use carrousel_transport_sim::{Config, Network, Progress, Protocol, Report, SimError, simulate, timeline};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The most ranks of a simulated program: each is a task with buffers of its own.
const RANKS_MAX: i64 = 1 << 20;

/// Run a scenario, or a program, in virtual time over a simulated network
///
/// A program (--app) is one whose `main` calls `carrousel_app::run`: the same that `carrousel run` starts.
/// It is started once, and its ranks are tasks that send each other real bytes. What it computes costs what
/// it says that it costs. What it prints comes first, and with --format json goes to standard error.
///
/// Every run with the same arguments is the same. Times are virtual microseconds: when each statement
/// was called, when the call returned, and when what it started was complete. Of a request also what its rank
/// did between that return and that completion: how long it computed (`computed us`), and how long it was in
/// calls that wait (`waited us`). Where the data has moved while the rank computed, the second is next to nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  carrousel sim early.scn                                    who waits how long
  carrousel sim early.scn --protocol rget                    and with the classical protocol
  carrousel sim early.scn --progress thread                  and with a progress thread
  carrousel sim early.scn --timeline early.html              draw it
  carrousel sim early.scn --format json | jq .makespan_us    for a script
  carrousel sim -n 1024 --app ./heat                         a program, on 1024 ranks
  carrousel sim -n 64 --ranks-per-node 8 --app ./heat -- 50  on 8 nodes, with an argument

Exit status:
  0  done
  1  deadlock, a message too long for its receive, a rank that failed, or a limit of the run
  2  the file or the request is wrong, or holds what cannot be simulated yet")]
pub(crate) struct Args {
    /// The scenario; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "app")]
    file: Option<PathBuf>,
    /// A program instead, which simulates its ranks
    #[arg(long, value_name = "PROGRAM", conflicts_with = "file", requires = "ranks")]
    app: Option<PathBuf>,
    /// How many ranks the program has; a scenario says so itself
    #[arg(short = 'n', long, value_name = "N", requires = "app")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=RANKS_MAX))]
    ranks: Option<u32>,
    /// How many ranks of the program share a node
    #[arg(long, value_name = "K", default_value_t = 1, requires = "app")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    ranks_per_node: u32,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGUMENT", requires = "app")]
    arguments: Vec<OsString>,
    /// The parameter set of the machine: qdr, ddr-iwarp or shm
    #[arg(long, value_name = "NAME", default_value = "qdr")]
    network: String,
    /// How large messages travel: mirror, published, rget or rput
    #[arg(long, value_name = "NAME", default_value = "mirror")]
    protocol: Protocol,
    /// Who makes progress while the application computes: none or thread
    #[arg(long, value_name = "MEANS", default_value = "none")]
    progress: Progress,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Draw the run: ranks as lanes, and the messages between them
    #[arg(long, value_name = "OUT.svg|OUT.html")]
    timeline: Option<PathBuf>,
    /// Seed of the jitter
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Lengthen each latency and computation at random by up to so many thousandths
    #[arg(long, value_name = "PER_MILLE", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=10_000))]
    jitter: u32,
}

/// `carrousel sim`.
pub(crate) fn run(args: &Args, out: &mut Out, errors: Style) -> Result<Status, Failure> {
    if let Some(program) = &args.app {
        return app::run(args, program, out, errors);
    }
    let Some(file) = &args.file else { return Err(Failure::wrong("there is no scenario to run")) };
    let drawing = args.timeline.as_deref().map(Drawing::of).transpose()?;
    let settings = input::settings()?;
    let network = Network::named(&args.network).map_err(Failure::wrong)?;
    let scenario = input::scenario(file, &settings, errors)?;
    for option in settings.written() {
        to_stderr(&format!("{} option {option} from the environment", errors.paint(Paint::Note, "note:")));
    }
    let mut config = Config::new(network);
    config.protocol = args.protocol;
    config.progress = args.progress;
    config.seed = args.seed;
    config.jitter_per_mille = args.jitter;
    config.timeline = drawing.is_some();
    let report = simulate(&scenario, &config).map_err(|error| refusal(&scenario, &error, errors))?;
    match args.format {
        Format::Json => out.line(&json(&Printed::new(&scenario.file, &report))?)?,
        Format::Human => human::print(&scenario, &report, out)?,
    }
    if let (Some(path), Some(drawing)) = (&args.timeline, drawing) {
        draw(path, drawing, &report)?;
    }
    Ok(Status::Fine)
}

/// Draws the timeline of a run into a file, and says so.
pub(crate) fn draw(path: &Path, drawing: Drawing, report: &Report) -> Result<(), Failure> {
    let text = match drawing {
        Drawing::Svg => timeline::svg(report),
        Drawing::Html => timeline::html(report),
    };
    fs::write(path, text).map_err(|error| Failure::of_file("write", path, &error))?;
    to_stderr(&format!("drawn in {}", path.display()));
    Ok(())
}

fn refusal(scenario: &Scenario, error: &SimError, errors: Style) -> Failure {
    match error {
        SimError::Unsupported { line, what } => {
            input::at_line(scenario, *line, format_args!("`{what}` cannot be simulated yet"), errors)
        }
        SimError::OptionOutOfRange { line, message } => input::at_line(scenario, *line, message, errors),
        SimError::UnsupportedProgress(_) => Failure::wrong(error),
        // The run went wrong, not the request.
        _ => {
            let text = format!("{}: {error}", scenario.file);
            let failure = Failure::diagnostic(errors.paint(Paint::Bad, &text), Status::Violated);
            match error {
                SimError::Deadlock { .. } | SimError::Truncated { .. } | SimError::OutOfRange { .. } => {
                    failure.with_help("`carrousel verify` shows how it comes to this")
                }
                _ => failure,
            }
        }
    }
}
