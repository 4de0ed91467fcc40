//! The model of initial progress finds what it is made for: with the obligation, data moves while both ranks compute.

use carrousel_verify::bounds::Bounds;
use carrousel_verify::explore::Limits;
use carrousel_verify::progress::ProgressBounds;
use carrousel_verify::rules::{RULES, RuleSet};

const TWO: ProgressBounds = ProgressBounds { sends: 2, receives: 2, tags: 1, window: None };

fn one() -> Limits<'static> {
    Limits { threads: 1, ..Limits::default() }
}

/// All states of two messages and two receives. Another number means another model, or another machine.
#[test]
fn every_call_that_could_post_its_transfer_does() {
    let outcome = TWO.explore(&one());
    assert_eq!(outcome.broken, None);
    assert_eq!(outcome.states, 4_459);
}

#[test]
fn every_rule_is_needed() {
    for (_, rule) in RULES.iter().filter(|(set, _)| *set == RuleSet::Progress) {
        let (bounds, promise) = match *rule {
            "EAGER_FITS_WINDOW" => (ProgressBounds { window: Some(1), ..TWO }, "bounded: "),
            "TAKEN_IS_TOLD" => (ProgressBounds { window: Some(1), ..TWO }, "room-returns: "),
            _ => (TWO, "overlaps: "),
        };
        let broken = bounds.explore_without(rule, &one()).expect("it is a rule").broken.unwrap_or_default();
        assert!(broken.starts_with(promise), "{rule}: {broken}");
        println!("{rule}\n{broken}");
    }
}

#[test]
fn eager_messages_fit_the_room_that_there_is() {
    for window in [0, 1, 2] {
        let outcome = ProgressBounds { window: Some(window), ..TWO }.explore(&one());
        assert_eq!(outcome.broken, None, "{window}");
        assert!(window == 2 || outcome.reached.iter().any(|(what, _)| *what == "no room"), "{window}");
    }
}

#[test]
fn there_is_no_other_rule() {
    let refused = TWO.explore_without("SEND_PROGRESSES", &one()).map(|outcome| outcome.states);
    let text = "the progress rules have no rule `SEND_PROGRESSES`";
    assert_eq!(refused.map_err(|error| error.to_string()), Err(text.to_owned()));
}
