//! Verifying scenarios.

use super::args::{Protocol, VerifyArgs};
use super::explore::Server;
use super::interrupt::Interrupt;
use super::verdict::conclude;
use super::{Drawing, charts, human, interrupt, memory, progress};
use crate::failure::Failure;
use crate::input;
use crate::out::Out;
use crate::report::{Format, json};
use crate::status::Status;
use crate::style::{Paint, Style};
use carrousel_options::Settings;
use carrousel_scenario::Scenario;
use carrousel_system::stderr;
use carrousel_verify::explore::{Limits, SearchProgress};
use carrousel_verify::rendezvous::Rendezvous;
use carrousel_verify::report::Counterexample;
use carrousel_verify::run::{Error, Request, check, explorer};
use std::net::SocketAddr;
use std::path::Path;

/// Verifies each file; the status is the worst one.
pub(crate) fn run(
    args: &VerifyArgs,
    settings: &Settings,
    out: &mut Out,
    errors: Style,
) -> Result<Status, Failure> {
    if args.chart.is_some() && args.files.len() > 1 {
        return Err(Failure::wrong("--chart draws the counterexamples of one file, not of several")
            .with_help("verify one file at a time, each with a --chart of its own"));
    }
    let drawing = args.chart.as_deref().map(Drawing::of).transpose()?;
    say_environment(settings, errors);
    let interrupt = interrupt::catch()?;
    let mut worst = Status::Fine;
    for (at, file) in args.files.iter().enumerate() {
        if at > 0 && args.format == Format::Human {
            out.line("")?;
        }
        let result = one(args, file, drawing, settings, &interrupt, out, errors);
        let status = out.settle(result, errors)?;
        worst = worst.max(status);
        out.flush()?;
        let left = args.files.len() - at - 1;
        if left > 0 && interrupt.has_come() {
            let files = if left == 1 { "1 file is".to_owned() } else { format!("{left} files are") };
            stderr::tell(format!("{} {files} not verified", errors.paint(Paint::Note, "interrupted:")));
            return Ok(worst.max(Status::Inconclusive));
        }
    }
    Ok(worst)
}

fn say_environment(settings: &Settings, errors: Style) {
    for option in settings.written() {
        stderr::tell(format!("{} option {option} from the environment", errors.paint(Paint::Note, "note:")));
    }
}

fn one(
    args: &VerifyArgs,
    file: &Path,
    drawing: Option<Drawing>,
    settings: &Settings,
    interrupt: &Interrupt,
    out: &mut Out,
    errors: Style,
) -> Result<Status, Failure> {
    let scenario = input::scenario(file, settings, errors)?;
    let mut report = {
        let line = progress::Line::new(&scenario.file, errors);
        let show = |progress: SearchProgress| line.show(progress);
        let checked = interrupt.during(|interrupted| {
            let mut request = request(args, &show);
            request.limits.interrupt = Some(interrupted);
            check(&scenario, &request)
        });
        checked.map_err(|error| refusal(&scenario, &error, errors))?
    };
    // JSON has all steps, and marks those that matter.
    if args.full && args.format == Format::Human {
        let all = report.checks.iter_mut().filter_map(|check| check.counterexample.as_mut());
        all.for_each(Counterexample::tell_all);
    }
    let conclusion = conclude(&scenario, &report);
    match args.format {
        Format::Json => out.line(&json(&report)?)?,
        Format::Human => human::print(args, &scenario, &report, &conclusion, out)?,
    }
    if let (Some(path), Some(drawing)) = (&args.chart, drawing) {
        charts::write(path, drawing, &report)?;
    }
    Ok(conclusion.status)
}

/// Serves the states to a browser until the user has seen enough.
pub(crate) fn serve(
    args: &VerifyArgs,
    address: SocketAddr,
    settings: &Settings,
    errors: Style,
) -> Result<Status, Failure> {
    let [file] = &args.files[..] else {
        return Err(
            Failure::wrong("--explore shows one file").with_help("name only the one that you want to see")
        );
    };
    let scenario = input::scenario(file, settings, errors)?;
    say_environment(settings, errors);
    let nothing = |_: SearchProgress| ();
    let states =
        explorer(&scenario, &request(args, &nothing)).map_err(|error| refusal(&scenario, &error, errors))?;
    let server = Server::listen(address)?;
    stderr::tell(format!("exploring {} at {} until interrupted", scenario.file, server.url));
    server.serve(states);
    Ok(Status::Fine)
}

fn request<'a>(args: &VerifyArgs, progress: &'a (dyn Fn(SearchProgress) + Sync)) -> Request<'a> {
    Request {
        portable: args.portable,
        limits: Limits {
            threads: args.threads(),
            max_states: args.max_states,
            memory: memory::bounds(args.max_memory),
            interrupt: None,
            progress: Some(progress),
        },
        shortest_states: args.shortest_states,
        rendezvous: match args.protocol {
            Protocol::Mirror => Rendezvous::Mirror,
            Protocol::Published => Rendezvous::Published,
        },
        without: args.without.clone(),
        reduce: !args.no_reduction,
    }
}

fn refusal(scenario: &Scenario, error: &Error, errors: Style) -> Failure {
    match error {
        Error::Job(job) => match job.line() {
            Some(line) => input::at_line(scenario, line, job, errors),
            None => Failure::wrong(format_args!("{}: {job}", scenario.file)),
        },
        Error::Rule(_) => Failure::wrong(error).with_help("`carrousel info` lists the rules"),
        _ => Failure::wrong(error),
    }
}
