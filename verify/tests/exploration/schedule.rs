//! The order of an epoch's transfers, explored.

use carrousel_verify::bounds::Bounds;
use carrousel_verify::explore::Limits;
use carrousel_verify::schedule::{ScheduleBounds, ScheduleCoverPoint};
use carrousel_verify::situations::Situation;

#[test]
fn whatever_is_offered_and_demanded_comes_out_in_order() {
    let outcome = ScheduleBounds { targets: 2, works: 3 }.explore(&Limits::default());
    assert_eq!((outcome.broken, outcome.stopped), (None, None));
    let reached: Vec<&str> = outcome.reached.iter().map(|(what, _)| *what).collect();
    let all: Vec<&str> = ScheduleCoverPoint::ALL.iter().map(|what| what.name()).collect();
    assert_eq!(reached, all, "a proof that met nothing says nothing");
}
