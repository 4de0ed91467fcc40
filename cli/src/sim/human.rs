//! A run for a person: every statement, or, of many, what each line of the file took.

use super::overlap::{Overlap, overlaps};
use crate::failure::Failure;
use crate::numbers::{bytes, count};
use crate::out::Out;
use crate::style::Paint;
use crate::table::{Align, Cell, Table};
use carrousel_scenario::Scenario;
use carrousel_transport_sim::{Late, Report, Statement, Statistics};
use std::collections::BTreeMap;

/// More statements than these are summed up by line.
const ROWS_MAX: usize = 64;

/// Of more waits only these are told.
const LATE_MAX: usize = 10;

/// Prints a run of a scenario.
pub(crate) fn print(scenario: &Scenario, report: &Report, out: &mut Out) -> Result<(), Failure> {
    let mut heading = out.style.paint(Paint::Strong, &scenario.file);
    if let Some(title) = &scenario.title {
        heading += &format!(" \"{title}\"");
    }
    let written = |statement: &Statement| {
        let line = scenario.source_line(statement.line);
        line.split('#').next().unwrap_or("").trim_end().to_owned()
    };
    print_as(&heading, report, &report.statistics, written, out)
}

/// Prints a run of a program.
pub(crate) fn print_app(report: &Report, statistics: &Statistics, out: &mut Out) -> Result<(), Failure> {
    let heading = out.style.paint(Paint::Strong, &report.scenario);
    let written = |statement: &Statement| match &statement.file {
        Some(file) => format!("{} at {file}:{}", statement.op, statement.line),
        None => statement.op.to_string(),
    };
    print_as(&heading, report, statistics, written, out)
}

fn print_as(
    heading: &str,
    report: &Report,
    statistics: &Statistics,
    written: impl Fn(&Statement) -> String,
    out: &mut Out,
) -> Result<(), Failure> {
    let style = out.style;
    let makespan = style.paint(Paint::Strong, &format!("{} us", microseconds(report.makespan_us)));
    out.line(&format!("{heading}: {makespan} over {}", report.network))?;
    let table = if report.statements.len() <= ROWS_MAX { every(report) } else { by_line(report, written) };
    out.text(&table.render(2, style))?;
    print_late(&report.late, out)?;
    // A real run has no counters.
    if statistics.events == 0 { Ok(()) } else { out.line(&format!("  {}", traffic(statistics))) }
}

/// The longest waits for other ranks in epochs.
fn print_late(late: &[Late], out: &mut Out) -> Result<(), Failure> {
    let mut longest: Vec<&Late> = late.iter().collect();
    longest.sort_by(|one, other| (other.to_us - other.from_us).total_cmp(&(one.to_us - one.from_us)));
    for Late { pattern, rank, line, by, from_us, to_us } in longest.iter().take(LATE_MAX) {
        let pattern = out.style.paint(Paint::Note, &pattern.to_string());
        let waited = microseconds(to_us - from_us);
        out.line(&format!("  {pattern}: rank {rank} waits {waited} us in line {line} for rank {by}"))?;
    }
    match longest.len().checked_sub(LATE_MAX) {
        Some(more) if more > 0 => out.line(&format!("  and {more} shorter ones, which --format json has")),
        _ => Ok(()),
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

/// The durations of the executions of one line.
#[derive(Default)]
struct Sum {
    statement: String,
    times: u64,
    in_call_us: f64,
    longest_us: f64,
    to_complete_us: f64,
    /// Of the requests among them.
    requests: u64,
    computed_us: f64,
    waited_us: f64,
}

impl Sum {
    fn of(statement: String) -> Self {
        Self { statement, ..Self::default() }
    }
}

fn by_line(report: &Report, written: impl Fn(&Statement) -> String) -> Table {
    let mut lines: BTreeMap<(Option<&str>, u32, &str), Sum> = BTreeMap::new();
    for (statement, overlap) in report.statements.iter().zip(overlaps(&report.statements)) {
        let place = (statement.file.as_deref(), statement.line, &*statement.op);
        let sum = lines.entry(place).or_insert_with(|| Sum::of(written(statement)));
        let in_call = statement.end_us - statement.begin_us;
        sum.times += 1;
        sum.in_call_us += in_call;
        sum.longest_us = sum.longest_us.max(in_call);
        sum.to_complete_us += statement.complete_us.unwrap_or(statement.end_us) - statement.begin_us;
        if let Some(Overlap { computed_us, waited_us }) = overlap {
            sum.requests += 1;
            sum.computed_us += computed_us;
            sum.waited_us += waited_us;
        }
    }
    let requests = lines.values().any(|sum| sum.requests > 0);
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
    for ((_, line, _), sum) in &lines {
        let of = sum.times as f64;
        let cells: [Cell; 5] = [
            line.to_string().into(),
            sum.times.to_string().into(),
            microseconds(sum.in_call_us / of).into(),
            microseconds(sum.longest_us).into(),
            microseconds(sum.to_complete_us / of).into(),
        ];
        let of_request = |us: f64| match sum.requests {
            0 => Cell::from(""),
            count => microseconds(us / count as f64).into(),
        };
        let overlap = [sum.computed_us, sum.waited_us].into_iter().filter(|_| requests).map(of_request);
        table.row(cells.into_iter().chain(overlap).chain([sum.statement.as_str().into()]));
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
