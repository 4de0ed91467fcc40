//! The `main` of a program.

use crate::handover::{Drawing, Handover, HandoverError};
use crate::outcome::{Failed, Outcome};
use crate::real;
use crate::simulate::simulate;
use crate::world::World;
use carrousel_options::Settings;
use carrousel_transport_sim::{SimError, TaskJob, timeline};
use std::fmt::Display;
use std::future::Future;
use std::io::Write;
use std::process::ExitCode;

/// Runs a program: this is the whole of its `main`.
///
/// The process runs as the rank of the job for which it was started; alone, it is a job of one rank. Started by
/// `carrousel sim --app`, it simulates all ranks of a job in virtual time, and reports the outcome to that command.
///
/// `app` is called once for each rank. The exit status is 0 if it returns `Ok`. Otherwise its error is printed, and
/// the job ends.
pub fn run<E: Display, F>(app: impl Fn(World) -> F) -> ExitCode
where
    F: Future<Output = Result<(), E>> + 'static,
{
    let settings = Settings::read().map_err(|error| match &error.help {
        Some(help) => format!("{error}: {help}"),
        None => error.to_string(),
    });
    let done = settings.and_then(|settings| match Handover::read() {
        Ok(None) => real::run(&settings, app),
        Ok(Some(handover)) => simulated(&handover, &settings, app),
        Err(error) => Err(error.to_string()),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            if !message.is_empty() {
                // A standard error that is closed is no reason to panic.
                let _ = writeln!(std::io::stderr(), "error: {message}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Simulates, and reports the outcome. The error is empty if it has been reported.
fn simulated<E: Display, F>(
    handover: &Handover,
    settings: &Settings,
    app: impl Fn(World) -> F,
) -> Result<(), String>
where
    F: Future<Output = Result<(), E>> + 'static,
{
    let tell = |outcome: &Outcome| {
        let written = outcome.write(&handover.outcome);
        written.map_err(|error| format!("cannot write {}: {error}", handover.outcome.display()))
    };
    tell(&Outcome::Begun)?;
    let outcome = match outcome(handover, settings, app) {
        Ok(outcome) => outcome,
        Err(error) => Outcome::Failed(Failed { message: error.to_string(), refused: true }),
    };
    tell(&outcome)?;
    if matches!(outcome, Outcome::Failed(_)) { Err(String::new()) } else { Ok(()) }
}

fn outcome<E: Display, F>(
    handover: &Handover,
    settings: &Settings,
    app: impl Fn(World) -> F,
) -> Result<Outcome, HandoverError>
where
    F: Future<Output = Result<(), E>> + 'static,
{
    let config = handover.config()?;
    let (title, nodes, options) = (handover.title.clone(), handover.nodes(), settings.chosen());
    Ok(match simulate(&TaskJob { title, nodes, options }, &config, app) {
        Ok((_, mut report)) => {
            let drawing = handover.drawing.map(|drawing| match drawing {
                Drawing::Svg => timeline::svg(&report),
                Drawing::Html => timeline::html(&report),
            });
            // What follows is no part of the report that is serialized.
            let (statistics, late_count) = (std::mem::take(&mut report.statistics), report.late_count);
            let lines = std::mem::take(&mut report.lines);
            Outcome::Done { report: Box::new(report), statistics, lines, late_count, drawing }
        }
        Err(error) => {
            let refused =
                matches!(error, SimError::UnsupportedProgress(_) | SimError::OptionOutOfRange { .. });
            Outcome::Failed(Failed { message: error.to_string(), refused })
        }
    })
}
