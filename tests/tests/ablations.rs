//! Every rule is needed: with it off, the checker finds the published race, and always the same one.
//!
//! The counterexamples are kept as snapshots: a change of one is a change of a protocol, or of how we tell
//! of it, and is to be read. `docs/figures.md` says how many states it takes to find them.

use carrousel_verify::report::Verdict;
use carrousel_verify::suite::{SuiteSettings, ablations};
use mimalloc::MiMalloc;

/// The command's, which does not slow two threads down that free what the other has allocated.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[test]
fn every_rule_off_shows_its_race() {
    let report = ablations(&SuiteSettings::default());
    assert!(!report.rows.is_empty());
    for row in &report.rows {
        assert_eq!(row.verdict, Verdict::Violated, "{} {} is not needed", row.protocol, row.name);
        let rule = row.name.split_whitespace().nth(1).unwrap_or_default();
        let name = format!("{}-{}", row.protocol, rule.to_lowercase().replace(['_', '='], "-"));
        let source = row.source.as_deref().unwrap_or_default();
        let found = row.counterexample.as_deref().unwrap_or_default();
        insta::assert_snapshot!(name, format!("{} ({source})\n\n{found}", row.name));
    }
    let states: u64 = report.rows.iter().map(|row| row.states).sum();
    let figures = format!("| {} rules switched off in turn {states} distinct states ", report.rows.len());
    let page = include_str!("../../docs/figures.md").replace(',', "");
    assert!(page.contains(&figures), "docs/figures.md does not say `{figures}`");
}
