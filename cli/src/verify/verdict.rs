//! From the verdicts of the checks to that of the file.

use crate::status::Status;
use carrousel_scenario::{Check, Scenario};
use carrousel_verify::report::{Report, Verdict};

/// How a file's checks compare with its `expect` lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conclusion {
    /// For the exit status.
    pub(crate) status: Status,
    /// Expected to be violated, and proven, or nothing that the file speaks of.
    pub(crate) missing: Vec<Check>,
    /// Violated, and not expected to be; notes aside.
    pub(crate) surprising: Vec<Check>,
    /// Neither, because a bound was hit; notes that are not expected aside.
    pub(crate) open: Vec<Check>,
}

/// Draws the conclusion for a file.
///
/// A note (match-determinism) may be expected; that it is violated unexpectedly changes nothing. A check
/// that is neither proven nor found violated may yet be either, so it leaves the file inconclusive; but a
/// file with `expect` lines is a test, and one that has not passed has failed, unless it was interrupted.
pub(crate) fn conclude(scenario: &Scenario, report: &Report) -> Conclusion {
    let expected = |check: Check| scenario.expects.iter().any(|expect| expect.check == check);
    let with = |verdicts: &[Verdict], counts: &dyn Fn(Check) -> bool| -> Vec<Check> {
        let checks = report.checks.iter().filter(|of| verdicts.contains(&of.verdict)).map(|of| of.check);
        checks.filter(|check| counts(*check)).collect()
    };
    let missing = with(&[Verdict::Proven, Verdict::NotApplicable], &expected);
    let surprising = with(&[Verdict::Violated], &|check| !expected(check) && !check.is_note());
    let open = with(&[Verdict::Inconclusive], &|check| expected(check) || !check.is_note());
    let status = if !missing.is_empty() || !surprising.is_empty() {
        Status::Violated
    } else if open.is_empty() {
        Status::Fine
    } else if scenario.expects.is_empty() || report.interrupted {
        Status::Inconclusive
    } else {
        Status::Violated
    };
    Conclusion { status, missing, surprising, open }
}
