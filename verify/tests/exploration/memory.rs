//! How much the suite of registered memory explores, and how it is divided.

use carrousel_verify::bounds::Bounds;
use carrousel_verify::explore::Limits;
use carrousel_verify::memory::MemoryBounds;
use carrousel_verify::suite::{SuiteSettings, memory};

fn one_thread() -> Limits<'static> {
    Limits { threads: 1, ..Limits::default() }
}

#[test]
fn the_shards_of_the_suite_are_the_suite() {
    let lines = |shard| {
        let report = memory(&SuiteSettings { shard, ..SuiteSettings::default() });
        report.rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>()
    };
    // Far more parts than lines: the first has one line, the last none.
    assert_eq!(lines((1, 100)), [MemoryBounds::SMALL.name()]);
    assert_eq!(lines((100, 100)), [""; 0]);
}

/// The number changes only with the state machine or its environment. It shows that the exploration still reaches as
/// far as before.
#[test]
fn as_many_states_are_reached_as_before() {
    let outcome = MemoryBounds { moves: 1, ..MemoryBounds::SMALL }.explore(&one_thread());
    assert_eq!((outcome.states, outcome.broken), (123_152, None));
}

#[test]
fn a_rule_that_does_not_exist_cannot_be_switched_off() {
    let refused = MemoryBounds::SMALL.explore_without("COVER", &one_thread()).map(|outcome| outcome.states);
    let text = "the registration rules have no rule `COVER`: did you mean `COVERS`?";
    assert_eq!(refused.map_err(|error| error.to_string()), Err(text.to_owned()));
}
