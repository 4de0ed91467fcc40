//! The README's command without an installation, and the book's figures that can be compared: how much each suite explores.
//!
//! A row of the table in [`FIGURES`] begins with the command, `carrousel verify --suite NAME`, and its second cell says
//! `N families` and `N distinct states`; a sentence says how many programs the rendezvous suite explores.

use crate::built::COMMAND;
use crate::tools::{self, cargo, root, target};
use serde::Deserialize;
use std::fs::{self, File};
use std::process::Command;

/// The size of what a suite has explored: the fields of its report (`schema/suite.schema.json`) that [`FIGURES`] has
/// numbers of.
#[derive(Debug, Deserialize)]
struct SuiteReport {
    rows: Vec<SuiteRow>,
}

#[derive(Debug, Deserialize)]
struct SuiteRow {
    states: u64,
    programs: u64,
    programs_in_all: u64,
}

/// The page with the numbers, from the workspace's directory on.
const FIGURES: &str = "docs/figures.md";

/// What the README says to write for `carrousel` where nothing is installed.
const WITHOUT_INSTALLATION: &str = "cargo run --release --";

/// A page of the workspace.
fn page(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

/// Runs the command as the README says, in the workspace's directory: there is one program that it can mean.
pub(crate) fn run_as_written() -> Result<(), String> {
    let readme = page("README.md")?;
    if !readme.contains(&format!("`{WITHOUT_INSTALLATION}`")) {
        return Err(format!("README.md does not offer `{WITHOUT_INSTALLATION}`"));
    }
    let words: Vec<&str> = WITHOUT_INSTALLATION.split(' ').skip(1).collect();
    let said = tools::output_of(&mut cargo(&[&words[..], &["--version"]].concat()))?;
    if said.starts_with("carrousel ") { Ok(()) } else { Err(format!("`--version` says: {said}")) }
}

/// Runs a suite, prints its table, and compares what it has explored with what [`FIGURES`] says.
pub(crate) fn suite(name: &str) -> Result<(), String> {
    let path = target().join(format!("suite-{name}.json"));
    let said = |error: std::io::Error| format!("{}: {error}", path.display());
    let carrousel = COMMAND.build()?;
    let mut command = Command::new(&carrousel);
    command.args(["verify", "--format", "json", "--suite", name]).stdout(File::create(&path).map_err(said)?);
    let explored = tools::run(command);
    let mut table = Command::new(&carrousel);
    table.args(["verify", "--merge"]).arg(&path);
    let shown = tools::run(table);
    explored.and(shown)?;
    let report = serde_json::from_slice(&fs::read(&path).map_err(said)?)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    compare(name, &report, &page(FIGURES)?)
}

fn compare(name: &str, SuiteReport { rows }: &SuiteReport, figures: &str) -> Result<(), String> {
    let start = format!("| `carrousel verify --suite {name}` | ");
    let row = figures
        .lines()
        .filter_map(|line| line.strip_prefix(&start))
        .find(|cells| cells.contains("distinct states"));
    let row = row.ok_or_else(|| format!("{FIGURES} has nothing of the suite {name}: no row `{start}...`"))?;
    let mut wrong = Vec::new();
    let mut says = |text: &str, number: u64, what: &str| {
        let right = format!(" {} {what}", grouped(number));
        if !format!(" {text}").contains(&right) {
            wrong.push(right.trim_start().to_owned());
        }
    };
    says(row, rows.len() as u64, "families");
    says(row, rows.iter().map(|row| row.states).sum(), "distinct states");
    if name == "rendezvous" {
        let programs = rows.iter().map(|row| row.programs).sum();
        let all = rows.iter().map(|row| row.programs_in_all).sum();
        says(figures, programs, &format!("programs, which stand for {}", grouped(all)));
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("{FIGURES} does not say of the suite {name}: {}", wrong.join("; ")))
    }
}

/// `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let blocks: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|block| std::str::from_utf8(block).ok()).collect();
    blocks.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(states: u64, programs: u64) -> SuiteRow {
        SuiteRow { states, programs, programs_in_all: 2 * programs }
    }

    const PAGE: &str = "\
| `carrousel verify --suite rendezvous` | a table |
| `carrousel verify --suite rendezvous` | 2 families of programs, 1,234,567 distinct states | 4 s | |

The rendezvous suite explores 1,000 programs, which stand for 2,000.
";

    #[test]
    fn a_figure_that_is_not_the_pages_is_named() {
        let report = |states| SuiteReport { rows: vec![row(states, 600), row(567, 400)] };
        assert_eq!(compare("rendezvous", &report(1_234_000), PAGE), Ok(()));
        let error = |what: &str| Err(format!("{FIGURES} does not say of the suite rendezvous: {what}"));
        assert_eq!(compare("rendezvous", &report(1_234_001), PAGE), error("1,234,568 distinct states"));
        // 34,567 is no 1,234,567.
        assert_eq!(compare("rendezvous", &report(34_000), PAGE), error("34,567 distinct states"));
        let other = SuiteReport { rows: vec![row(1_234_567, 999)] };
        let wrong = error("1 families; 999 programs, which stand for 1,998");
        assert_eq!(compare("rendezvous", &other, PAGE), wrong);
        assert!(
            compare("connection", &SuiteReport { rows: Vec::new() }, PAGE)
                .is_err_and(|error| error.contains("no row"))
        );
    }
}
