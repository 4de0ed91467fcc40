//! `carrousel sim`: a run in virtual time.

mod app;
mod args;
pub(crate) mod human;
pub(crate) mod overlap;
mod watch;

pub(crate) use self::args::SimArgs;

use self::overlap::SimulationReport;
use crate::failure::{Failure, shown};
use crate::input;
use crate::out::Out;
use crate::report::{Format, json};
use crate::status::Status;
use crate::style::{Paint, Style};
use crate::verify::Drawing;
use carrousel_scenario::Scenario;
use carrousel_system::stderr;
use carrousel_transport_sim::{Config, Network, Report, SimError, timeline};
use std::fs;
use std::path::Path;

/// `carrousel sim`.
pub(crate) fn run(args: &SimArgs, out: &mut Out, errors: Style) -> Result<Status, Failure> {
    if let Some(program) = &args.app {
        return app::run(args, program, out, errors);
    }
    let Some(file) = &args.file else { return Err(Failure::wrong("there is no scenario to run")) };
    let drawing = args.timeline.as_deref().map(Drawing::of).transpose()?;
    let settings = input::settings()?;
    let network = Network::named(&args.network).map_err(Failure::wrong)?;
    let scenario = input::scenario(file, &settings, errors)?;
    for option in settings.written() {
        stderr::tell(format!("{} option {option} from the environment", errors.paint(Paint::Note, "note:")));
    }
    let mut config = Config::new(network);
    config.protocol = args.protocol;
    config.progress = args.progress;
    config.copies = args.copies;
    config.acquisition = args.locks;
    config.seed = args.seed;
    config.jitter_per_mille = args.jitter;
    (config.statements_max, config.late_max) = human::recorded(args);
    config.timeline = drawing.is_some();
    let refused = |error: &SimError| refusal(&scenario, error, errors);
    let report = watch::watched(&scenario, &config, args.max_memory, errors, refused)?;
    match args.format {
        Format::Json => out.line(&json(&SimulationReport::new(&scenario.file, &report))?)?,
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
    stderr::tell(format!("drawn in {}", shown(path)));
    Ok(())
}

fn refusal(scenario: &Scenario, error: &SimError, errors: Style) -> Failure {
    match error {
        SimError::TooManyCommunicators { line } => input::at_line(scenario, *line, error, errors),
        SimError::OptionOutOfRange { line, message } => input::at_line(scenario, *line, message, errors),
        SimError::UnsupportedProgress(_) => Failure::wrong(error),
        // The run went wrong, not the request.
        _ => {
            let text = format!("{}: {error}", scenario.file);
            let failure = Failure::diagnostic(errors.paint(Paint::Bad, &text), Status::Violated);
            match error {
                SimError::Deadlock { .. }
                | SimError::Truncated { .. }
                | SimError::OutOfRange { .. }
                | SimError::Refused { .. }
                | SimError::Reported { .. } => {
                    failure.with_help("`carrousel verify` shows how it comes to this")
                }
                _ => failure,
            }
        }
    }
}
