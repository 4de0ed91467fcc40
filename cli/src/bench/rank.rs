//! A process that is a rank of a measurement.

use super::bar::Bar;
use super::human;
use super::pt2pt::{MeasurementFormat, Pt2ptArgs};
use crate::failure::{Failure, shown};
use crate::out::Out;
use crate::report::json;
use crate::status::Status;
use crate::style::{Paint, Style};
use carrousel::Job;
use carrousel_bench::{Error, Plan, Progress, Results, measure, pin, svg};
use carrousel_options::Settings;
use carrousel_system::stderr;
use std::fs;

/// Takes part; rank 0 prints what came of it.
pub(super) fn run(
    args: &Pt2ptArgs,
    settings: &Settings,
    out: &mut Out,
    errors: Style,
) -> Result<Status, Failure> {
    let job = carrousel::init_with(settings).map_err(Failure::wrong)?;
    let (rank, size) = (job.world().rank(), job.world().size());
    let plan = match args.plan(size) {
        Ok(plan) => plan,
        Err(failure) if rank == 0 => return Err(failure),
        // Rank 0 says why.
        Err(failure) => return Ok(failure.status()),
    };
    let cores = match pin(rank) {
        Ok(cores) => cores,
        Err(error) => return Err(Failure::wrong(error)),
    };
    if rank == 0 && size as usize > cores {
        let note = errors.paint(Paint::Note, "note:");
        stderr::tell(format!(
            "{note} {size} ranks share {cores} cores: a rank that waits keeps others from working"
        ));
    }
    let measured = carry_out(args, &job, &plan, out);
    let mut results = Results::new(size, cores, args.budget());
    results.results = match measured {
        Ok(results) => results?,
        Err(error) => {
            let failure = Failure::wrong(format_args!("rank {rank}: {error}"));
            let wrong = matches!(error, Error::Memory { .. });
            let status = if wrong { Status::Wrong } else { Status::Violated };
            return Err(failure.with_status(status));
        }
    };
    job.finalize().map_err(Failure::wrong)?;
    if rank == 0 {
        print(args, &results, out)?;
    }
    Ok(Status::Fine)
}

/// Measures; the inner result is about what is printed meanwhile.
fn carry_out(
    args: &Pt2ptArgs,
    job: &Job,
    plan: &Plan,
    out: &mut Out,
) -> Result<Result<Vec<carrousel_bench::Measured>, Failure>, Error> {
    let first = job.world().rank() == 0;
    let bar = if first { Bar::new(args.terminal.as_deref(), plan) } else { None };
    let mut printed = Ok(());
    let results = measure(job.world(), plan, &mut |progress| {
        if let Some(bar) = &bar {
            bar.show(progress);
        }
        if let (Progress::Done(measured), MeasurementFormat::Jsonl, Ok(())) =
            (progress, args.format, &printed)
        {
            printed = measured.iter().try_for_each(|measured| line(&measured.record, out));
        }
    })?;
    Ok(printed.map(|()| results))
}

fn line(record: &carrousel_bench::Record, out: &mut Out) -> Result<(), Failure> {
    let line = serde_json::to_string(record).map_err(Failure::wrong)?;
    out.line(&line)?;
    out.flush()
}

fn print(args: &Pt2ptArgs, results: &Results, out: &mut Out) -> Result<(), Failure> {
    match args.format {
        MeasurementFormat::Human => human::print(results, out)?,
        MeasurementFormat::Json => out.line(&json(results)?)?,
        // Printed already.
        MeasurementFormat::Jsonl => {}
    }
    if let Some(path) = &args.plot {
        let text = svg(results).map_err(Failure::wrong)?;
        fs::write(path, text).map_err(|error| Failure::of_file("write", path, &error))?;
        out.flush()?;
        stderr::tell(format!("drawn in {}", shown(path)));
    }
    Ok(())
}
