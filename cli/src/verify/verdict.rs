//! From the verdicts of the checks to that of the file.

use crate::status::Status;
use carrousel_scenario::{Check, Scenario};
use carrousel_verify::report::{CheckReport, Report, Verdict};

/// How a file's checks compare with its `expect` lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conclusion {
    /// For the exit status.
    pub(crate) status: Status,
    /// Expected to be violated, and proven.
    pub(crate) missing: Vec<Check>,
    /// Violated, and not expected to be; notes aside.
    pub(crate) surprising: Vec<Check>,
}

/// Draws the conclusion for a file.
///
/// A note (match-determinism) may be expected; that it is violated unexpectedly changes nothing. A check
/// that is neither proven nor found violated may yet be either, so it leaves the file inconclusive.
pub(crate) fn conclude(scenario: &Scenario, report: &Report) -> Conclusion {
    let expected = |check: Check| scenario.expects.iter().any(|expect| expect.check == check);
    let is = |verdict: Verdict| move |report: &&CheckReport| report.verdict == verdict;
    let of = |report: &CheckReport| report.check;
    let missing: Vec<Check> =
        report.checks.iter().filter(is(Verdict::Proven)).map(of).filter(|check| expected(*check)).collect();
    let surprising: Vec<Check> = report
        .checks
        .iter()
        .filter(is(Verdict::Violated))
        .map(of)
        .filter(|check| !expected(*check) && !check.is_note())
        .collect();
    let open = report
        .checks
        .iter()
        .filter(is(Verdict::Inconclusive))
        .map(of)
        .any(|check| expected(check) || !check.is_note());
    let status = if !missing.is_empty() || !surprising.is_empty() {
        Status::Violated
    } else if open {
        Status::Inconclusive
    } else {
        Status::Fine
    };
    Conclusion { status, missing, surprising }
}
