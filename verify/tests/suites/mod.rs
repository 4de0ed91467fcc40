//! What the tests of several suites ask of a report.

use carrousel_verify::suite::SuiteReport;

/// Asserts that each row of a suite is as it must be, and has met what it must.
pub(crate) fn assert_proven_and_not_emptily(report: &SuiteReport) {
    for row in &report.rows {
        println!("{}: {} states, {:.1} s", row.name, row.states, row.seconds);
        let found = row.counterexample.as_deref().unwrap_or_default();
        assert!(row.is_as_expected(), "{}: never met {:?}\n{found}", row.name, row.not_reached());
    }
    assert!(report.rows.len() > 5);
}
