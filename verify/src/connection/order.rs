//! Packets that travel to a peer by two rails, and the order in which they are taken.

use super::bounds::OrderBounds;
use super::reached::LinkCoverPoint;
use crate::machine::{Machine, promises};
use crate::rules::{EnvironmentRules, RuleType};
use crate::situations::Situations;
use carrousel_connection::{Credits, NUMBERS, OrderRules, Rail, ReorderBuffer, Rules, SequenceNumbers};
use stateright::{Model, Property};
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Lanes, within which packets keep order. Writes belong to the first one.
const DIRECTIONS: usize = 2;
const WRITES: usize = 0;
const RAILS: [Rail; 2] = [Rail::First, Rail::Second];
/// The number of the first packet: behind it comes 0.
const FIRST: u16 = NUMBERS - 2;

/// A packet: its direction, its place there as it was sent, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Packet {
    direction: u8,
    place: u8,
    number: u16,
    /// Writes of its direction that were posted before.
    writes: u8,
}

/// What is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Item {
    Packet(Packet),
    /// A write that no packet of its own follows.
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum OrderViolation {
    /// The packet was taken out of its turn.
    Order(Packet),
    /// The packet was refused, though the sender is honest.
    Refused(Packet),
    /// The packet was taken before a write that was posted before it had arrived.
    Unwritten(Packet),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct OrderState<R> {
    /// Packets of each direction that were sent, and taken.
    sent: [u8; DIRECTIONS],
    taken: [u8; DIRECTIONS],
    numbers: [SequenceNumbers<R>; DIRECTIONS],
    orders: [ReorderBuffer<Packet, R>; DIRECTIONS],
    /// Writes that were posted, and have arrived.
    posted: u8,
    written: u8,
    /// On their rail, by each.
    rails: [VecDeque<Item>; RAILS.len()],
    sender: Credits<Rules>,
    receiver: Credits<Rules>,
    violation: Option<OrderViolation>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrderAction {
    /// A packet of this direction is sent, by this rail if it may.
    Send(u8, Rail),
    /// A write is posted.
    Write,
    /// The oldest item of this rail arrives.
    Arrive(Rail),
    /// Credits are given back.
    Give,
}

/// A sender and a receiver under the rules `R`.
pub(super) struct OrderModel<R> {
    bounds: OrderBounds,
    /// Whether the credit of a packet is given back at its turn, and not before.
    credit_at_its_turn: bool,
    counts: Arc<Situations<LinkCoverPoint>>,
    rules: PhantomData<R>,
}

impl<R: OrderRules> OrderModel<R> {
    pub(super) fn new<E: EnvironmentRules>(bounds: OrderBounds) -> Self {
        Self {
            bounds,
            credit_at_its_turn: E::credit_at_its_turn(),
            counts: Arc::default(),
            rules: PhantomData,
        }
    }

    /// As the driver does: a packet that is early is kept, and one in its turn releases those behind it.
    fn arrive(&self, state: &mut OrderState<R>, rail: Rail) {
        let packet = match state.rails[rail as usize].pop_front() {
            Some(Item::Packet(packet)) => packet,
            Some(Item::Write) => {
                state.written += 1;
                return;
            }
            None => return,
        };
        let direction = usize::from(packet.direction);
        if !self.credit_at_its_turn {
            state.receiver.took();
        }
        if !state.orders[direction].is_next(packet.number) {
            self.counts.note(LinkCoverPoint::Early);
            if state.orders[direction].keep(packet.number, self.bounds.window, packet).is_err() {
                state.violation = Some(OrderViolation::Refused(packet));
            }
            if state.orders[direction].kept() > 1 {
                self.counts.note(LinkCoverPoint::ManyEarly);
            }
            return;
        }
        if state.orders[1 - direction].kept() > 0 {
            self.counts.note(LinkCoverPoint::OtherLane);
        }
        self.take(state, packet);
        while let Some(kept) = state.orders[direction].ready() {
            self.take(state, kept);
        }
    }

    fn take(&self, state: &mut OrderState<R>, packet: Packet) {
        if self.credit_at_its_turn {
            state.receiver.took();
        }
        let taken = &mut state.taken[usize::from(packet.direction)];
        if *taken != packet.place {
            state.violation = state.violation.or(Some(OrderViolation::Order(packet)));
        }
        *taken += 1;
        if packet.writes > state.written {
            state.violation = state.violation.or(Some(OrderViolation::Unwritten(packet)));
        }
    }
}

impl<R: OrderRules + RuleType> Model for OrderModel<R> {
    type State = OrderState<R>;
    type Action = OrderAction;

    fn init_states(&self) -> Vec<OrderState<R>> {
        vec![OrderState {
            sent: [0; DIRECTIONS],
            taken: [0; DIRECTIONS],
            numbers: [(); DIRECTIONS].map(|()| SequenceNumbers::starting_at(FIRST)),
            orders: [(); DIRECTIONS].map(|()| ReorderBuffer::starting_at(FIRST)),
            posted: 0,
            written: 0,
            rails: [const { VecDeque::new() }; RAILS.len()],
            sender: Credits::new(self.bounds.window),
            receiver: Credits::new(self.bounds.window),
            violation: None,
        }]
    }

    fn actions(&self, state: &OrderState<R>, actions: &mut Vec<OrderAction>) {
        if self.counts.is_stopped() || state.violation.is_some() {
            return;
        }
        for direction in 0..DIRECTIONS as u8 {
            if state.sent[usize::from(direction)] < self.bounds.messages && state.sender.left() > 0 {
                actions.extend(RAILS.map(|rail| OrderAction::Send(direction, rail)));
            }
        }
        actions.extend((state.posted < self.bounds.writes).then_some(OrderAction::Write));
        let coming = RAILS.into_iter().filter(|rail| !state.rails[*rail as usize].is_empty());
        actions.extend(coming.map(OrderAction::Arrive));
        actions.extend(state.receiver.owes().then_some(OrderAction::Give));
    }

    fn next_state(&self, state: &OrderState<R>, action: OrderAction) -> Option<OrderState<R>> {
        let mut next = state.clone();
        match action {
            OrderAction::Send(direction, wish) => {
                let at = usize::from(direction);
                let (number, rail) = next.numbers[at].next(wish);
                if rail != wish {
                    self.counts.note(LinkCoverPoint::Bound);
                }
                let writes = if at == WRITES { next.posted } else { 0 };
                let packet = Packet { direction, place: next.sent[at], number, writes };
                next.sender.spend();
                next.numbers[at].sent(rail);
                next.sent[at] += 1;
                next.rails[rail as usize].push_back(Item::Packet(packet));
            }
            OrderAction::Write => {
                next.posted += 1;
                next.numbers[WRITES].wrote();
                next.rails[Rail::First as usize].push_back(Item::Write);
            }
            OrderAction::Arrive(rail) => self.arrive(&mut next, rail),
            OrderAction::Give => {
                // Whether more credits are given back than were spent is checked by the model of credits.
                next.sender.given(next.receiver.give()).ok()?;
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises()
    }
}

fn name(rail: Rail) -> &'static str {
    match rail {
        Rail::First => "first rail",
        Rail::Second => "second rail",
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packet {} of direction {}", self.place, self.direction)
    }
}

impl<R: OrderRules + RuleType> Machine for OrderModel<R> {
    fn broken(&self, state: &OrderState<R>) -> Option<String> {
        Some(match state.violation? {
            OrderViolation::Order(packet) => format!("in-order: {packet} is taken out of its turn"),
            OrderViolation::Unwritten(packet) => {
                format!("behind-write: {packet} is taken before a write that was posted before it")
            }
            OrderViolation::Refused(packet) => {
                format!("window-kept: {packet} is further ahead than a window of {}", self.bounds.window)
            }
        })
    }

    fn is_done(&self, state: &OrderState<R>) -> bool {
        state.taken.iter().all(|taken| *taken == self.bounds.messages) && state.written == state.posted
    }

    /// The application sends all of its packets, but need not write; the driver does the rest.
    fn is_owed(&self, action: OrderAction) -> bool {
        action != OrderAction::Write
    }

    fn line(&self, before: &OrderState<R>, action: OrderAction, after: &OrderState<R>) -> String {
        match action {
            OrderAction::Send(direction, rail) => {
                let place = before.sent[usize::from(direction)];
                let count = |state: &OrderState<R>| state.rails[rail as usize].len();
                let rail = if count(after) > count(before) { rail } else { Rail::First };
                format!("packet {place} of direction {direction} is sent by the {}", name(rail))
            }
            OrderAction::Write => "a write of direction 0 is posted to the first rail".to_owned(),
            OrderAction::Arrive(rail) => {
                let what = match before.rails[rail as usize].front() {
                    Some(Item::Packet(packet)) => packet.to_string(),
                    _ => return "the write arrives".to_owned(),
                };
                let rail = name(rail);
                let count =
                    |state: &OrderState<R>| state.taken.iter().map(|taken| u32::from(*taken)).sum::<u32>();
                match count(after) - count(before) {
                    _ if matches!(after.violation, Some(OrderViolation::Refused(_))) => {
                        format!("{what} comes by the {rail}, and cannot be kept")
                    }
                    0 => format!("{what} comes by the {rail}, and waits for its turn"),
                    1 => format!("{what} comes by the {rail}, and is taken"),
                    more => format!("{what} comes by the {rail}, and is taken with {} behind it", more - 1),
                }
            }
            OrderAction::Give => format!("credits are given back; {} are left", after.sender.left()),
        }
    }

    fn met(&self) -> Vec<(&'static str, u64)> {
        self.counts.met()
    }

    fn stop(&self) -> &AtomicBool {
        &self.counts.stop
    }

    fn stuck(&self, state: &OrderState<R>) -> String {
        let kept: usize = state.orders.iter().map(ReorderBuffer::kept).sum();
        format!(
            "never-stuck: nothing helps, {kept} packets wait for their turn, and {:?} were taken",
            state.taken
        )
    }
}
