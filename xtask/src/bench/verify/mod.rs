//! `cargo xtask bench verify`: how far searches come, how fast they are, and what memory a state takes.

mod rows;
mod spin;

use self::rows::{Row, RowTarget, rows};
use self::spin::{SpinRun, measure as measure_spin};
use super::format::Format;
use super::{machine, process};
use crate::built::COMMAND;
use crate::table;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The most memory that a search may take.
const MEMORY: &str = "8GiB";
/// How often the memory of a search is looked at. The system keeps its maximum.
const LOOK: Duration = Duration::from_millis(2);
/// After the time that a search has, it is asked to end; then it tells what it knows.
const PATIENCE: Duration = Duration::from_secs(60);

/// Arguments of `bench verify`.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// Only rows whose name has this in it
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// The most time for each search
    #[arg(long, default_value_t = 60.0, value_parser = super::positive)]
    seconds: f64,
    /// A `carrousel` that is built already
    #[arg(long, value_name = "PROGRAM")]
    ours: Option<PathBuf>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// What `carrousel verify --format json` says of a search.
#[derive(Debug, Deserialize)]
struct Report {
    exhaustive: bool,
    #[serde(default)]
    interrupted: bool,
    states: u64,
    seconds: f64,
}

/// One search, and the most memory that its process has had.
#[derive(Debug)]
struct Search {
    report: Report,
    peak_bytes: Option<u64>,
}

/// A row of the table.
#[derive(Debug, Serialize)]
struct MeasuredRow {
    name: &'static str,
    states: u64,
    seconds: f64,
    states_per_second: f64,
    bytes_per_state: Option<f64>,
    /// It has explored all, or as many states as it was to.
    ended: bool,
    target: String,
    met: bool,
    /// SPIN on an abstraction of the program that was written by hand.
    spin: Option<SpinRun>,
}

/// The whole result.
#[derive(Debug, Serialize)]
struct RowResults<'a> {
    rows: &'a [MeasuredRow],
    busy_before_percent: Option<f64>,
}

/// Measures all rows, or those that are asked for.
pub(super) fn run(arguments: &VerifyArgs) -> Result<(), String> {
    let program = match &arguments.ours {
        Some(program) => program.clone(),
        None => COMMAND.build_release()?,
    };
    let busy_before_percent = machine::busy_percent();
    let folder = tempfile::tempdir().map_err(|error| format!("no place for scenarios: {error}"))?;
    let searches = Searches { program, folder: folder.path(), limit: arguments.seconds };
    let idle = searches.run("ranks 1\n", &["--threads", "2"])?.peak_bytes.unwrap_or(0);
    let is_chosen = |row: &Row| arguments.only.as_ref().is_none_or(|text| row.name.contains(text));
    let mut measured = Vec::new();
    for row in rows().into_iter().filter(is_chosen) {
        measured.push(searches.measure(&row, idle)?);
    }
    match arguments.format {
        Format::Table => print!("{}", shown(&measured, busy_before_percent)),
        Format::Json => {
            let results = RowResults { rows: &measured, busy_before_percent };
            println!("{}", serde_json::to_string_pretty(&results).map_err(|error| error.to_string())?);
        }
    }
    Ok(())
}

/// What runs a search.
struct Searches<'a> {
    program: PathBuf,
    folder: &'a Path,
    /// The most seconds for one.
    limit: f64,
}

impl Searches<'_> {
    fn measure(&self, row: &Row, idle: u64) -> Result<MeasuredRow, String> {
        let Search { report, peak_bytes } = self.run(&row.program, row.arguments)?;
        let published = match row.target {
            RowTarget::OfPublished(..) => {
                let arguments = [row.arguments, &["--protocol", "published"]].concat();
                let report = self.run(&row.program, &arguments)?.report;
                report.exhaustive.then_some(report.states)
            }
            _ => None,
        };
        let used = peak_bytes.map(|bytes| bytes.saturating_sub(idle));
        let spin = row.promela.as_ref().and_then(|model| measure_spin(model, self.folder));
        Ok(MeasuredRow { spin, ..judged(row, &report, used, published) })
    }

    /// Verifies a scenario within the time.
    fn run(&self, scenario: &str, arguments: &[&str]) -> Result<Search, String> {
        let file = self.folder.join("row.scn");
        fs::write(&file, scenario).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut command = Command::new(&self.program);
        command.args(["verify", "--format", "json", "--max-memory", MEMORY]).args(arguments).arg(&file);
        let name = process::shown(&command);
        let output = self.folder.join("report.json");
        let stdout = fs::File::create(&output).map_err(|error| format!("{}: {error}", output.display()))?;
        command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("`{name}` cannot be started: {error}"))?;
        let peak_bytes = self.watch(&mut child).map_err(|message| format!("`{name}` {message}"))?;
        let text = fs::read(&output).map_err(|error| format!("{}: {error}", output.display()))?;
        let report = serde_json::from_slice(&text)
            .map_err(|error| format!("`{name}` has printed what is no report: {error}"))?;
        Ok(Search { report, peak_bytes })
    }

    /// Waits for the end of a search, and asks it to end after its time; the most memory that it has had.
    fn watch(&self, child: &mut Child) -> Result<Option<u64>, String> {
        let (began, status) = (Instant::now(), format!("/proc/{}/status", child.id()));
        let mut peak = None;
        while child.try_wait().map_err(|error| format!("cannot be waited for: {error}"))?.is_none() {
            peak = fs::read_to_string(&status).ok().and_then(|text| peak_of(&text)).max(peak);
            if began.elapsed().as_secs_f64() > self.limit {
                // It may have ended just now; then the signal has no receiver, which is as well.
                let _ = rustix::process::kill_process(
                    rustix::process::Pid::from_child(child),
                    rustix::process::Signal::INT,
                );
                process::wait(child, PATIENCE)?;
                break;
            }
            thread::sleep(LOOK);
        }
        Ok(peak)
    }
}

/// The most resident bytes of a process, in the words of the kernel.
fn peak_of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// A search beside its target.
fn judged(row: &Row, report: &Report, used: Option<u64>, published: Option<u64>) -> MeasuredRow {
    let states = report.states.max(1) as f64;
    let bytes_per_state = used.map(|bytes| bytes as f64 / states);
    let states_per_second = states / report.seconds.max(1e-9);
    let is_bounded = row.arguments.contains(&"--max-states");
    let ended = report.exhaustive || (is_bounded && !report.interrupted);
    let (target, met) = match row.target {
        RowTarget::Seconds(most) => (format!("ends in {most} s"), report.seconds <= most),
        RowTarget::StatesPerSecond(least) => {
            (format!(">= {:.0} k states/s", least / 1e3), states_per_second >= least)
        }
        RowTarget::BytesPerState(most) => {
            (format!("<= {most} B a state"), bytes_per_state.is_some_and(|bytes| bytes <= most))
        }
        RowTarget::OfPublished(most, times) => {
            let known =
                published.map_or("more than could be explored".to_owned(), |states| states.to_string());
            let few = published.is_none_or(|published| states <= times * published as f64);
            (format!("ends in {most} s, <= {times} x {known} states"), report.seconds <= most && few)
        }
    };
    MeasuredRow {
        name: row.name,
        states: report.states,
        seconds: report.seconds,
        states_per_second,
        bytes_per_state,
        ended,
        target,
        met: met && ended,
        spin: None,
    }
}

fn shown(rows: &[MeasuredRow], busy: Option<f64>) -> String {
    let mut table = table::table();
    table.set_header([
        "program", "states", "seconds", "states/s", "B/state", "ended", "target", "met", "SPIN", "B",
    ]);
    let word = |is: bool| if is { "yes" } else { "no" };
    for row in rows {
        table.add_row([
            row.name.to_owned(),
            row.states.to_string(),
            format!("{:.2}", row.seconds),
            format!("{:.0}", row.states_per_second),
            row.bytes_per_state.map_or("-".to_owned(), |bytes| format!("{bytes:.0}")),
            word(row.ended).to_owned(),
            row.target.clone(),
            word(row.met).to_owned(),
            row.spin.as_ref().map_or("-".to_owned(), |spin| format!("{:.0}/s", spin.states_per_second)),
            row.spin.as_ref().map_or("-".to_owned(), |spin| format!("{:.0}", spin.bytes_per_state)),
        ]);
    }
    let mut text = table::render(table, 1..5);
    if rows.iter().all(|row| row.spin.is_none()) {
        text += "\nSPIN has not run: it needs `spin` and `cc`.\n";
    }
    if let Some(percent) = busy {
        text += &format!("\nThe machine was busy by {percent:.0} % before.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(target: RowTarget, arguments: &'static [&'static str]) -> Row {
        Row { name: "row", program: String::new(), arguments, target, promela: None }
    }

    fn report(exhaustive: bool, states: u64, seconds: f64) -> Report {
        Report { exhaustive, interrupted: false, states, seconds }
    }

    #[test]
    fn a_search_that_has_not_ended_misses_each_target() {
        for target in
            [RowTarget::Seconds(60.0), RowTarget::StatesPerSecond(1.0), RowTarget::OfPublished(60.0, 2.0)]
        {
            let measured =
                |exhaustive| judged(&row(target, &[]), &report(exhaustive, 10, 1.0), None, Some(5));
            assert!(measured(true).met && !measured(false).met, "{target:?}");
        }
    }

    #[test]
    fn a_search_up_to_its_bound_has_ended() {
        let row = row(RowTarget::BytesPerState(100.0), &["--max-states", "10"]);
        let met = |bytes| judged(&row, &report(false, 10, 1.0), bytes, None).met;
        assert!(met(Some(1000)) && !met(Some(1010)) && !met(None));
    }

    #[test]
    fn more_states_than_twice_those_of_the_published_rules_miss_the_target() {
        let row = row(RowTarget::OfPublished(60.0, 2.0), &[]);
        let met = |states| judged(&row, &report(true, states, 1.0), None, Some(5)).met;
        assert!(met(10) && !met(11));
    }

    #[test]
    fn a_table_says_what_was_met() {
        let row = row(RowTarget::Seconds(0.5), &[]);
        let text = shown(&[judged(&row, &report(true, 100, 0.25), Some(5000), None)], Some(3.0));
        let line = text.lines().nth(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
        let expected = ["row", "100", "0.25", "400", "50", "yes", "ends", "in", "0.5", "s", "yes", "-", "-"];
        assert_eq!(line.as_deref(), Some(&expected[..]), "{text}");
    }

    #[test]
    fn the_most_memory_is_read() {
        assert_eq!(peak_of("Name:\tx\nVmHWM:\t     12 kB\n"), Some(12 * 1024));
        assert_eq!(peak_of("Name:\tx\n"), None);
    }
}
