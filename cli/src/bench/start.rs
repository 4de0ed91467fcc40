//! `carrousel bench pt2pt`: starts the ranks, or is one.

use super::pt2pt::{MeasurementFormat, Pt2ptArgs};
use super::rank;
use crate::closed;
use crate::failure::Failure;
use crate::input;
use crate::out::Out;
use crate::run;
use crate::status::Status;
use crate::style::Style;
use carrousel_launch::Job;
use std::env;
use std::io::{IsTerminal, stdout};

/// `carrousel bench pt2pt`: this process is a rank, or starts them.
pub(super) fn run(args: &Pt2ptArgs, out: &mut Out, errors: Style) -> Result<Status, Failure> {
    let settings = input::settings()?;
    if run::is_rank() {
        return rank::run(args, &settings, out, errors);
    }
    let ranks = args.ranks.unwrap_or(2);
    // An error is reported once, and not by every rank.
    args.plan(ranks)?;
    let mut job = Job::new(run::own_path()?, ranks);
    job.programs[0].arguments = env::args_os().skip(1).collect();
    // Lines that come one by one would be written through the bar.
    if errors.terminal && !(args.format == MeasurementFormat::Jsonl && stdout().is_terminal()) {
        let terminal = format!("/proc/{}/fd/2", std::process::id());
        job.programs[0].arguments.extend(["--terminal".into(), terminal.into()]);
    }
    if out.style.color {
        // The output of a rank is a pipe to this process.
        job.environment.push(("CLICOLOR_FORCE".into(), "1".into()));
    }
    job.output_is_closed = closed::stdout();
    run::start(&job, None, None, errors)
}
