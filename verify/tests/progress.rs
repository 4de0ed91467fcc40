//! The model of initial progress finds what it is made for: with the obligation, data moves while both ranks compute.

use carrousel_verify::explore::Limits;
use carrousel_verify::progress::{ProgressBounds, RULES, explore, explore_without};

const TWO: ProgressBounds = ProgressBounds { sends: 2, receives: 2, tags: 1, window: None };

fn one() -> Limits<'static> {
    Limits { threads: 1, ..Limits::default() }
}

/// All states of two messages and two receives. Another number means another model, or another machine.
#[test]
fn every_call_that_could_post_its_transfer_does() {
    let outcome = explore(TWO, &one());
    assert_eq!(outcome.broken, None);
    assert_eq!(outcome.states, 4_459);
}

#[test]
fn every_rule_is_needed() {
    for rule in RULES {
        let (bounds, promise) = match *rule {
            "EAGER_FITS_WINDOW" => (ProgressBounds { window: Some(1), ..TWO }, "bounded: "),
            "TAKEN_IS_TOLD" => (ProgressBounds { window: Some(1), ..TWO }, "room-returns: "),
            _ => (TWO, "overlaps: "),
        };
        let broken =
            explore_without(rule, bounds, &one()).and_then(|outcome| outcome.broken).unwrap_or_default();
        assert!(broken.starts_with(promise), "{rule}: {broken}");
        println!("{rule}\n{broken}");
    }
}

#[test]
fn eager_messages_fit_the_room_that_there_is() {
    for window in [0, 1, 2] {
        let outcome = explore(ProgressBounds { window: Some(window), ..TWO }, &one());
        assert_eq!(outcome.broken, None, "{window}");
        assert!(window == 2 || outcome.reached.iter().any(|(what, _)| *what == "no room"), "{window}");
    }
}

#[test]
fn there_is_no_other_rule() {
    assert!(explore_without("SEND_PROGRESSES", TWO, &one()).is_none());
}
