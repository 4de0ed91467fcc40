//! A run for a person: every statement, or, of many, what each line of the file took.

use super::args::SimArgs;
use super::overlap::{Overlap, overlaps};
use crate::failure::Failure;
use crate::numbers::{bytes, count};
use crate::out::Out;
use crate::report::Format;
use crate::style::Paint;
use crate::table::{Align, Cell, Table};
use carrousel_scenario::Scenario;
use carrousel_transport_sim::{Late, LineTotal, Report, Statement, Statistics};

/// More statements than these are summed up by line.
const ROWS_MAX: usize = 64;

/// Of more waits only these are told.
const LATE_MAX: usize = 10;

/// Of how many statements the output has the times of each, and how many waits for late ranks.
pub(super) fn recorded(args: &SimArgs) -> (u64, usize) {
    match (args.format, &args.timeline) {
        (Format::Human, None) => (ROWS_MAX as u64, LATE_MAX),
        _ => (u64::MAX, usize::MAX),
    }
}

/// Prints a run of a scenario.
pub(crate) fn print(scenario: &Scenario, report: &Report, out: &mut Out) -> Result<(), Failure> {
    let mut heading = out.style.paint(Paint::Strong, &scenario.file);
    if let Some(title) = &scenario.title {
        heading += &format!(" \"{title}\"");
    }
    let written = |total: &LineTotal| {
        let line = scenario.source_line(total.line);
        line.split('#').next().unwrap_or("").trim_end().to_owned()
    };
    print_as(&heading, report, written, out)
}

/// Prints a run of a program.
pub(crate) fn print_app(report: &Report, out: &mut Out) -> Result<(), Failure> {
    let heading = out.style.paint(Paint::Strong, &report.scenario);
    let written = |total: &LineTotal| match &total.file {
        Some(file) => format!("{} at {file}:{}", total.op, total.line),
        None => total.op.to_string(),
    };
    print_as(&heading, report, written, out)
}

fn print_as(
    heading: &str,
    report: &Report,
    written: impl Fn(&LineTotal) -> String,
    out: &mut Out,
) -> Result<(), Failure> {
    let style = out.style;
    let makespan = style.paint(Paint::Strong, &format!("{} us", microseconds(report.makespan_us)));
    out.line(&format!("{heading}: {makespan} over {}", report.network))?;
    let executed: u64 = report.lines.iter().map(|total| total.times).sum();
    let table = if executed <= ROWS_MAX as u64 { every(report) } else { by_line(report, written) };
    out.text(&table.render(2, style))?;
    print_late(report, out)?;
    // A real run has no counters.
    match &report.statistics {
        Statistics { events: 0, .. } => Ok(()),
        statistics => out.line(&format!("  {}", traffic(statistics))),
    }
}

/// The longest waits for other ranks in epochs.
fn print_late(report: &Report, out: &mut Out) -> Result<(), Failure> {
    let mut longest: Vec<&Late> = report.late.iter().collect();
    longest.sort_by(|one, other| other.length_us().total_cmp(&one.length_us()));
    longest.truncate(LATE_MAX);
    for late in &longest {
        let Late { pattern, rank, line, by, .. } = late;
        let pattern = out.style.paint(Paint::Note, &pattern.to_string());
        let waited = microseconds(late.length_us());
        out.line(&format!("  {pattern}: rank {rank} waits {waited} us in line {line} for rank {by}"))?;
    }
    match report.late_count.saturating_sub(longest.len() as u64) {
        0 => Ok(()),
        more => out.line(&format!("  and {more} shorter ones, which --format json has")),
    }
}

fn every(report: &Report) -> Table {
    let overlaps = overlaps(&report.statements);
    let columns = [
        ("rank", Align::Right),
        ("line", Align::Right),
        ("label", Align::Left),
        ("op", Align::Left),
        ("begin us", Align::Right),
        ("end us", Align::Right),
        ("complete us", Align::Right),
        ("computed us", Align::Right),
        ("waited us", Align::Right),
    ];
    // Without requests nothing can overlap.
    let last = columns.len() - if overlaps.iter().any(Option::is_some) { 0 } else { 2 };
    let mut table = Table::headed(&columns[..last]);
    for (statement, overlap) in report.statements.iter().zip(overlaps) {
        let overlap =
            overlap.map(|Overlap { computed_us, waited_us }| [computed_us, waited_us].map(microseconds));
        let Statement { rank, line, label, op, begin_us, end_us, complete_us, .. } = statement;
        let complete = complete_us.map_or_else(|| "never".to_owned(), microseconds);
        let cells = [
            rank.to_string().into(),
            line.to_string().into(),
            label.as_deref().unwrap_or("").into(),
            op.to_string().into(),
            microseconds(*begin_us).into(),
            microseconds(*end_us).into(),
            // A request that is complete when its call returns is faint.
            if *complete_us == Some(*end_us) {
                Cell::painted(complete, Paint::Faint)
            } else {
                complete.into()
            },
        ];
        table.row(cells.into_iter().chain(overlap.into_iter().flatten().map(Cell::from)));
    }
    table
}

fn by_line(report: &Report, written: impl Fn(&LineTotal) -> String) -> Table {
    let requests = report.lines.iter().any(|total| total.requests > 0);
    let overlap = [("mean computed us", Align::Right), ("mean waited us", Align::Right)];
    let columns = [
        ("line", Align::Right),
        ("times", Align::Right),
        ("mean in call us", Align::Right),
        ("longest us", Align::Right),
        ("mean to complete us", Align::Right),
    ];
    let overlap = overlap.into_iter().filter(|_| requests);
    let columns: Vec<_> = columns.into_iter().chain(overlap).chain([("statement", Align::Left)]).collect();
    let mut table = Table::headed(&columns);
    for total in &report.lines {
        let of = total.times as f64;
        let cells: [Cell; 5] = [
            total.line.to_string().into(),
            total.times.to_string().into(),
            microseconds(total.in_call_us / of).into(),
            microseconds(total.longest_us).into(),
            microseconds(total.to_complete_us / of).into(),
        ];
        let of_request = |us: f64| match total.requests {
            0 => Cell::from(""),
            count => microseconds(us / count as f64).into(),
        };
        let overlap = [total.computed_us, total.waited_us].into_iter().filter(|_| requests).map(of_request);
        table.row(cells.into_iter().chain(overlap).chain([written(total).into()]));
    }
    table
}

fn traffic(statistics: &Statistics) -> String {
    let packets: Vec<String> =
        statistics.by_kind.iter().map(|(kind, count)| format!("{kind} {}", count.packets)).collect();
    format!(
        "{}, {} of messages; {}",
        count(statistics.events, "event"),
        bytes(statistics.data_bytes),
        if packets.is_empty() { "nothing travelled".to_owned() } else { packets.join(", ") }
    )
}

/// Nanoseconds matter up to milliseconds.
fn microseconds(us: impl std::borrow::Borrow<f64>) -> String {
    format!("{:.3}", us.borrow())
}
