//! How much the suite of locks explores, and that its models find what they are made for.

use carrousel_verify::bounds::Bounds;
use carrousel_verify::explore::Limits;
use carrousel_verify::lock::{LockBounds, QueueBounds, TicketBounds};
use carrousel_verify::outcome::Outcome;

const QUEUE: QueueBounds = QueueBounds { origins: 3, locks: 1, batches: false, deaths: 0, strays: 0 };
const NODE: TicketBounds = TicketBounds { near: 3, far: 0, locks: 1, deaths: 0, strays: 0, inspections: 0 };

fn one_thread() -> Limits<'static> {
    Limits { threads: 1, ..Limits::default() }
}

fn queue(bounds: QueueBounds) -> Outcome {
    LockBounds::Queue(bounds).explore(&one_thread())
}

fn tickets(bounds: TicketBounds) -> Outcome {
    LockBounds::Tickets(bounds).explore(&one_thread())
}

fn has_met(outcome: &Outcome, what: &str) -> bool {
    outcome.reached.iter().any(|(met, _)| *met == what)
}

/// The numbers change only with the locks or their environment. They show that the exploration still reaches as far as
/// before.
#[test]
fn as_many_states_are_reached_as_before() {
    let outcome = queue(QueueBounds { deaths: 1, strays: 1, ..QUEUE });
    assert_eq!((outcome.states, outcome.broken), (40_372, None));
    let outcome = tickets(TicketBounds { near: 2, far: 1, deaths: 1, ..NODE });
    assert_eq!((outcome.states, outcome.broken), (61_746, None));
}

/// An origin alone waits for nobody, and two meet no third one that could overtake.
#[test]
fn situations_that_need_others_are_not_met_without_them() {
    let alone = queue(QueueBounds { origins: 1, locks: 2, ..QUEUE });
    assert_eq!((&alone.reached[..], alone.broken), (&[][..], None));
    let two = queue(QueueBounds { origins: 2, ..QUEUE });
    assert!(has_met(&two, "side by side") && !has_met(&two, "not overtaken"), "{:?}", two.reached);
}

/// A shared request behind an exclusive one waits for the shared holder that has died before both.
#[test]
fn a_dead_process_is_found_by_all_that_wait_behind_it() {
    let outcome = tickets(TicketBounds { deaths: 1, ..NODE });
    assert_eq!(outcome.broken, None);
    assert!(has_met(&outcome, "holder died") && has_met(&outcome, "blocked"), "{:?}", outcome.reached);
}
