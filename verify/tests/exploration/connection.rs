//! The models of connections find what they are made for: their bounds are tight, and no state is left out unnoticed.

use carrousel_verify::bounds::Bounds;
use carrousel_verify::connection::{Buffers, ConnectionBounds, CreditBounds, HandshakeBounds};
use carrousel_verify::explore::Limits;

const WINDOW: CreditBounds =
    CreditBounds { window: 2, messages: 3, buffers: Buffers::Enough, batch: 1, two_ways: false };

fn one_thread() -> Limits<'static> {
    Limits { threads: 1, ..Limits::default() }
}

/// All states of two handshakes. Another number means another model, or another machine.
#[test]
fn every_state_of_two_handshakes() {
    let outcome = ConnectionBounds::Handshake(HandshakeBounds::ANY).explore(&one_thread());
    assert_eq!((outcome.states, outcome.broken), (745, None));
}

#[test]
fn enough_buffers_are_not_one_too_many() {
    for (batch, two_ways) in [(1, false), (2, false), (1, true)] {
        let bounds = CreditBounds { batch, two_ways, ..WINDOW };
        let outcome = ConnectionBounds::Credits(bounds).explore(&one_thread());
        assert_eq!(outcome.broken, None);
        let fewer = CreditBounds { buffers: Buffers::Less(1), ..bounds };
        let broken = ConnectionBounds::Credits(fewer).explore(&one_thread()).broken.unwrap_or_default();
        assert!(broken.starts_with("no-overrun"), "{broken}");
    }
}

/// An end gives up a peer that answers when more is lost than its patience bears, and not before.
#[test]
fn a_patience_bears_as_many_losses_as_it_has_ticks() {
    let gives_up = |losses| {
        let bounds =
            HandshakeBounds { patience: Some(2), losses: Some(losses), prompt: true, ..HandshakeBounds::ANY };
        let outcome = ConnectionBounds::Handshake(bounds).explore(&one_thread());
        assert_eq!(outcome.broken, None);
        outcome.reached.iter().any(|(what, _)| *what == "given up")
    };
    assert_eq!([1, 2, 3].map(gives_up), [false, false, true]);
}
