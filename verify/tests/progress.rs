//! The model of initial progress sees what it is for: with the obligation data moves while both ranks compute.

use carrousel_verify::progress::{Bounds, RULES, explore, explore_without};

const TWO: Bounds = Bounds { sends: 2, receives: 2, tags: 1 };

/// All states of two messages and two receives. Another number means another model, or another machine.
#[test]
fn every_call_that_could_post_its_transfer_does() {
    let outcome = explore(TWO, 1);
    assert_eq!(outcome.broken, None);
    assert_eq!(outcome.states, 4_459);
}

#[test]
fn without_the_obligation_a_call_ignores_what_has_arrived() {
    for rule in RULES {
        let broken = explore_without(rule, TWO, 1).and_then(|outcome| outcome.broken).unwrap_or_default();
        assert!(broken.starts_with("overlaps: "), "{rule}: {broken}");
        println!("{rule}\n{broken}");
    }
}

#[test]
fn there_is_no_other_rule() {
    assert!(explore_without("SEND_PROGRESSES", TWO, 1).is_none());
}
