//! How much the suite of epochs explores, and how it tells what goes wrong.

use carrousel_epoch::Flags;
use carrousel_verify::bounds::Bounds;
use carrousel_verify::epoch::{EpochBounds, EpochFamily, EpochItems, FlagSettings, GivenProgram};
use carrousel_verify::explore::Limits;

fn two_threads() -> Limits<'static> {
    Limits { threads: 2, ..Limits::default() }
}

const GENERAL: EpochFamily =
    EpochFamily { items: EpochItems::General, ranks: 2, each: 2, all: 3, flags: FlagSettings::Every };

/// The numbers change only with the state machine, its environment or the family. They show that the exploration still
/// reaches as far as before.
#[test]
fn as_many_programs_and_states_are_reached_as_before() {
    let bounds = EpochBounds::Family(GENERAL);
    let outcome = bounds.explore(&two_threads());
    assert_eq!((bounds.count(), outcome.states, outcome.broken), (1888, 315_792, None));
}

/// Access, then exposure on both ranks, as published: each waits for the other.
#[test]
fn a_program_that_gets_stuck_is_told_with_its_steps() {
    let lines =
        &["start:1 put:1 icomplete post:1 iwait waitall", "start:0 put:0 icomplete post:0 iwait waitall"];
    let program = |flags| EpochBounds::Program(GivenProgram { flags, lines, may_be_stuck: false });
    let broken = program(Flags::default()).explore(&two_threads()).broken.unwrap_or_default();
    assert!(broken.starts_with("never-stuck: nothing can happen, and rank 0 waits in `waitall`"), "{broken}");
    let flags = Flags { exposure_after_access: true, ..Flags::default() };
    assert_eq!(program(flags).explore(&two_threads()).broken, None, "the flag lets the exposure pass");
}

#[test]
fn a_rule_that_does_not_exist_cannot_be_switched_off() {
    let bounds = EpochBounds::Family(GENERAL);
    let refused = bounds.explore_without("NESTEDD", &two_threads()).map(|outcome| outcome.states);
    let text = "the epoch rules have no rule `NESTEDD`: did you mean `NESTED`?";
    assert_eq!(refused.map_err(|error| error.to_string()), Err(text.to_owned()));
}
