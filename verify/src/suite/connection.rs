//! The connection suite: connections, with all that two ends and the network between them can do within some bounds.

use super::bounded::{BoundedFamily, bounded};
use super::{SuiteReport, SuiteSettings};
use crate::connection::{
    Buffers, ConnectionBounds, CreditBounds, HandshakeBounds, LinkCoverPoint, OrderBounds,
};
use crate::situations::names;

/// What every exploration of the handshake has to meet.
const MADE: &[LinkCoverPoint] =
    &[LinkCoverPoint::BothBegan, LinkCoverPoint::Lost, LinkCoverPoint::Overtaken, LinkCoverPoint::UpByPacket];
/// Situations of bounds in which an end may give up.
const GIVEN_UP: &[LinkCoverPoint] = &[
    LinkCoverPoint::Doubled,
    LinkCoverPoint::UpByPacket,
    LinkCoverPoint::GivenUp,
    LinkCoverPoint::LateHello,
];
/// What every exploration of credits has to meet.
const SENT: &[LinkCoverPoint] = &[LinkCoverPoint::Carried, LinkCoverPoint::Alone, LinkCoverPoint::Spent];
/// Situations of bounds with so few buffers that frames wait.
const WAITED: &[LinkCoverPoint] = &[
    LinkCoverPoint::Carried,
    LinkCoverPoint::Alone,
    LinkCoverPoint::Spent,
    LinkCoverPoint::Full,
    LinkCoverPoint::Waited,
];
/// The same by two ways.
const PASSED: &[LinkCoverPoint] =
    &[LinkCoverPoint::Carried, LinkCoverPoint::Alone, LinkCoverPoint::Spent, LinkCoverPoint::Passed];
/// What every exploration of two ways has to meet.
const BY_TWO_WAYS: &[LinkCoverPoint] =
    &[LinkCoverPoint::Early, LinkCoverPoint::ManyEarly, LinkCoverPoint::OtherLane, LinkCoverPoint::Bound];

/// The bounds, each with what its exploration has to meet.
fn families(full: bool) -> Vec<(ConnectionBounds, &'static [LinkCoverPoint])> {
    const ANY: HandshakeBounds = HandshakeBounds::ANY;
    let prompt = |patience, losses| HandshakeBounds {
        patience: Some(patience),
        losses: Some(losses),
        prompt: true,
        ..ANY
    };
    let mut handshakes = vec![
        (ANY, MADE),
        (HandshakeBounds { packets: 2, ..ANY }, MADE),
        (HandshakeBounds { losses: Some(2), doubles: false, ..ANY }, MADE),
        (prompt(1, 1), MADE),
        (prompt(3, 3), MADE),
        // With one loss more than the patience bears, an end may give up: the bound is tight.
        (prompt(2, 3), GIVEN_UP),
        (HandshakeBounds { patience: Some(2), ..ANY }, GIVEN_UP),
    ];
    let credits =
        |window, messages, buffers, batch| CreditBounds { window, messages, buffers, batch, two_ways: false };
    let by_two = |bounds| CreditBounds { two_ways: true, ..bounds };
    let mut windows = vec![
        (credits(2, 4, Buffers::Enough, 1), SENT),
        (credits(2, 3, Buffers::Enough, 3), SENT),
        (credits(2, 4, Buffers::Few(1), 1), WAITED),
        (credits(2, 4, Buffers::Few(3), 2), WAITED),
        (credits(3, 3, Buffers::Enough, 2), SENT),
        (credits(3, 3, Buffers::Few(2), 2), WAITED),
        (credits(4, 4, Buffers::Enough, 1), SENT),
        (credits(4, 4, Buffers::Few(3), 2), WAITED),
        (by_two(credits(2, 3, Buffers::Enough, 1)), PASSED),
        (by_two(credits(2, 2, Buffers::Few(2), 2)), PASSED),
    ];
    let order = |window, messages, writes| OrderBounds { window, messages, writes };
    let mut orders = vec![order(3, 3, 2), order(4, 5, 1)];
    if full {
        orders.push(order(6, 6, 2));
        handshakes.push((HandshakeBounds { patience: Some(3), ..ANY }, GIVEN_UP));
        handshakes.push((prompt(5, 5), MADE));
        windows.push((credits(2, 5, Buffers::Enough, 2), SENT));
        windows.push((credits(3, 4, Buffers::Enough, 2), SENT));
        windows.push((credits(4, 6, Buffers::Enough, 1), SENT));
        windows.push((by_two(credits(2, 3, Buffers::Enough, 2)), PASSED));
        windows.push((by_two(credits(3, 3, Buffers::Enough, 1)), PASSED));
    }
    let handshakes =
        handshakes.into_iter().map(|(bounds, reached)| (ConnectionBounds::Handshake(bounds), reached));
    let windows = windows.into_iter().map(|(bounds, reached)| (ConnectionBounds::Credits(bounds), reached));
    let orders = orders.into_iter().map(|bounds| (ConnectionBounds::Order(bounds), BY_TWO_WAYS));
    handshakes.chain(windows).chain(orders).collect()
}

/// Explores connections with every rule on.
pub fn connection(settings: &SuiteSettings<'_>) -> SuiteReport {
    let families = families(settings.full).into_iter().map(|(bounds, must_reach)| BoundedFamily {
        name: bounds.name(),
        bounds,
        must_reach: names(must_reach),
    });
    bounded("connection", &families.collect::<Vec<_>>(), settings)
}
