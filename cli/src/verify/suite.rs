//! The built-in suites.

use super::args::{Suite, VerifyArgs};
use super::human::verdict_cell;
use super::{interrupt, memory, progress};
use crate::failure::{Failure, shown};
use crate::input;
use crate::numbers::{grouped, seconds};
use crate::out::Out;
use crate::report::{Format, json};
use crate::status::Status;
use crate::style::{Paint, Style};
use crate::table::{Align, Cell, Table};
use carrousel_verify::explore::Limits;
use carrousel_verify::report::Verdict;
use carrousel_verify::suite::{self, SuiteReport, SuiteRow, SuiteSettings, VERSION};
use serde::Deserialize;
use std::path::Path;

/// Runs a suite.
pub(crate) fn run(args: &VerifyArgs, which: Suite, out: &mut Out, errors: Style) -> Result<Status, Failure> {
    let interrupt = interrupt::catch()?;
    let report = interrupt.during(|interrupted| {
        let line = progress::Line::new("suite", errors);
        let began = |name: &str, at: usize, of: usize| line.say(format!("{}/{of}: {name}", at + 1));
        let settings = SuiteSettings {
            full: args.full,
            shard: args.shard.unwrap_or((1, 1)),
            limits: Limits {
                threads: args.threads(),
                memory: memory::bounds(args.max_memory),
                interrupt: Some(interrupted),
                ..Limits::default()
            },
            reduce: !args.no_reduction,
            began: Some(&began),
        };
        match which {
            Suite::Rendezvous => suite::rendezvous(&settings),
            Suite::Provider => suite::provider(&settings),
            Suite::Progress => suite::progress(&settings),
            Suite::Memory => suite::memory(&settings),
            Suite::Connection => suite::connection(&settings),
            Suite::Lock => suite::lock(&settings),
            Suite::Epoch => suite::epoch(&settings),
            Suite::Ablations => suite::ablations(&settings),
        }
    });
    conclude(args, &report, out)
}

/// Makes one report of those of all shards.
pub(crate) fn merge(args: &VerifyArgs, out: &mut Out) -> Result<Status, Failure> {
    let mut reports = Vec::with_capacity(args.merge.len());
    for path in &args.merge {
        reports.push(read(path)?);
    }
    let report = suite::merge(reports).map_err(Failure::wrong)?;
    conclude(args, &report, out)
}

/// One report. The version comes first: a report of another one may have other fields.
fn read(path: &Path) -> Result<SuiteReport, Failure> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let text = input::read_report(path)?;
    let name = shown(path);
    let refuse =
        |error: serde_json::Error| Failure::wrong(format_args!("{name} is no report of a suite: {error}"));
    let Versioned { version } = serde_json::from_slice(&text).map_err(refuse)?;
    if version != VERSION {
        let text = format_args!(
            "{name} has version {version} of the report, and this command merges version {VERSION}"
        );
        return Err(Failure::wrong(text).with_help("run all shards with the command that merges them"));
    }
    serde_json::from_slice(&text).map_err(refuse)
}

fn conclude(args: &VerifyArgs, report: &SuiteReport, out: &mut Out) -> Result<Status, Failure> {
    match args.format {
        Format::Json => out.line(&json(report)?)?,
        Format::Human => print(report, out)?,
    }
    let wrong: Vec<&SuiteRow> = report.rows.iter().filter(|row| !is_right(report, row)).collect();
    Ok(if wrong.is_empty() {
        if report.interrupted { Status::Inconclusive } else { Status::Fine }
    } else if wrong.iter().all(|row| row.verdict == Verdict::Inconclusive) {
        Status::Inconclusive
    } else {
        Status::Violated
    })
}

/// Whether a line is as it must be. That a proof met what it is about is asked of a whole suite, not of a part.
fn is_right(report: &SuiteReport, row: &SuiteRow) -> bool {
    let part_of_proof = report.shard.1 > 1 && row.source.is_none() && row.verdict == Verdict::Proven;
    part_of_proof || row.is_as_expected()
}

fn print(report: &SuiteReport, out: &mut Out) -> Result<(), Failure> {
    let style = out.style;
    let (part, parts) = report.shard;
    let mut heading = format!("suite {}", report.suite);
    if report.full {
        heading += ", full";
    }
    if parts > 1 {
        heading += &format!(", part {part} of {parts}");
    }
    out.line(&style.paint(Paint::Strong, &heading))?;
    let ablations = report.rows.iter().any(|row| row.source.is_some());
    let mut columns = vec![(if ablations { "rule off" } else { "programs of" }, Align::Left)];
    columns.push(("protocol", Align::Left));
    if ablations {
        columns.push(("shown in", Align::Left));
    }
    columns.extend([("programs", Align::Right), ("of all", Align::Right), ("states", Align::Right)]);
    columns.extend([("time", Align::Right), ("verdict", Align::Left)]);
    if !ablations {
        columns.push(("reached", Align::Left));
    }
    let mut table = Table::headed(&columns);
    for row in &report.rows {
        table.row(cells(row, is_right(report, row), ablations));
    }
    out.text(&table.render(2, style))?;
    for row in report.rows.iter().filter(|row| !is_right(report, row)) {
        explain(row, out)?;
    }
    let failed = report.rows.iter().filter(|row| !is_right(report, row)).count();
    let paint = if failed == 0 { Paint::Good } else { Paint::Bad };
    if report.interrupted {
        out.line(&style.paint(Paint::Note, "interrupted: what is not in the table was not explored"))?;
    }
    let states: u64 = report.rows.iter().map(|row| row.states).sum();
    let summary = format!("{} as it must be, {failed} not", report.rows.len() - failed);
    out.line(&format!(
        "{}; {} states, {}",
        style.paint(paint, &summary),
        grouped(states),
        seconds(report.seconds)
    ))
}

fn cells(row: &SuiteRow, right: bool, ablations: bool) -> Vec<Cell> {
    let mut cells: Vec<Cell> = vec![row.name.as_str().into(), row.protocol.as_str().into()];
    if ablations {
        cells.push(row.source.as_deref().unwrap_or("").into());
    }
    cells.extend([
        grouped(row.programs).into(),
        grouped(row.programs_in_all).into(),
        grouped(row.states).into(),
        seconds(row.seconds).into(),
    ]);
    cells.push(match (row.verdict, right) {
        // The point of an ablation: what is missed when the rule is off.
        (Verdict::Violated, true) if row.source.is_some() => {
            Cell::painted("violated, as it must be", Paint::Good)
        }
        (Verdict::Proven, false) if row.source.is_some() => Cell::painted("proven without it", Paint::Bad),
        (Verdict::Proven, false) => Cell::painted("proven, but empty", Paint::Bad),
        (verdict, _) => verdict_cell(verdict, false),
    });
    if ablations {
        return cells;
    }
    let reached: Vec<String> = row
        .reached
        .iter()
        .filter(|(_, times)| **times > 0)
        .map(|(what, times)| format!("{what} {}", grouped(*times)))
        .collect();
    cells.push(Cell::painted(reached.join(", "), Paint::Faint));
    cells
}

fn explain(row: &SuiteRow, out: &mut Out) -> Result<(), Failure> {
    let style = out.style;
    let name = style.paint(Paint::Bad, &format!("{} ({})", row.name, row.protocol));
    let missed = row.not_reached();
    out.line("")?;
    if row.verdict == Verdict::Inconclusive {
        out.line(&format!("{name}: it was ended before all was explored"))?;
    } else if row.source.is_some() {
        out.line(&format!("{name}: no counterexample was found without this rule"))?;
    } else if row.verdict == Verdict::Proven {
        out.line(&format!("{name}: the proof is empty, it never met: {}", missed.join(", ")))?;
    } else {
        out.line(&format!("{name}: {}", row.verdict.name()))?;
    }
    match &row.counterexample {
        Some(text) if row.source.is_none() => out.line(text),
        _ => Ok(()),
    }
}
