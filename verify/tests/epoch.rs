//! Windows keep their promises in every program within the bounds of the suite.

use carrousel_verify::suite::{SuiteSettings, epoch};

#[test]
fn the_suite_is_proven_and_not_emptily() {
    let began =
        |name: &str, at: usize, of: usize| println!("{at}/{of} {name} {:?}", std::time::SystemTime::now());
    let report = epoch(&SuiteSettings { began: Some(&began), ..SuiteSettings::default() });
    for row in &report.rows {
        println!("{}: {} states, {:.1} s {:?}", row.name, row.states, row.seconds, row.reached);
        let found = row.counterexample.as_deref().unwrap_or_default();
        println!("{found}");
    }
    for row in &report.rows {
        assert!(row.is_as_expected(), "{}: never met {:?}", row.name, row.not_reached());
    }
}
