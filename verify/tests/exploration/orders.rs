//! The network that the checker explores allows every order that was recorded on a real transport.
//!
//! `orders` has records of the conformance suite over shared memory, and over InfiniBand's verbs between two virtual
//! machines; the tests that write them, `records_for_the_model` of the transports, say how. A replay posts what a
//! record says was posted, and takes out what it says came out, in this order, by the functions that the checker
//! uses.
//!
//! In the network, data lands together with the packet behind it. A real transport may write it earlier. That is no
//! harder for the protocol: a write must not meet a receive that is over, and a later write is more likely to.

use carrousel_rank::{Context, Direction, Handle, Packet};
use carrousel_transport::conformance::{
    Event, Plan, PlannedStep, Post, Record, Word, check, parse, short_plans,
};
use carrousel_verify::atomics::{Atomic, Atomics, Fetched};
use carrousel_verify::network::{Channel, ChannelKind, Data, InFlight, Launch, Message, Network};
use std::collections::BTreeMap;

const RECORDS: [&str; 2] = [include_str!("orders/shm.txt"), include_str!("orders/verbs.txt")];

fn handle(at: usize) -> Handle {
    Handle { index: at as u32, generation: 0 }
}

/// The communicator of a step, and a packet in the direction of the step's: no two steps have the same. Which packet it is
/// makes no difference to the network.
fn packet(plan: &Plan, from: u32, at: usize) -> Option<(Context, Packet)> {
    let packet = match plan.head(from, at)?.direction() {
        Direction::ToReceiver => Packet::Atp { receive: handle(at) },
        Direction::ToSender => Packet::Ats { send: handle(at) },
    };
    Some((plan.context(at), packet))
}

/// A record on its way through the network.
struct RecordedOrder<'a> {
    plan: &'a Plan,
    network: Network,
    atomics: Atomics,
    /// By poster and position: what the record says that each atomic found which has not taken effect.
    found: BTreeMap<(u16, usize), u64>,
}

impl RecordedOrder<'_> {
    fn post(&mut self, me: u16, at: usize) {
        let Some(PlannedStep { step, .. }) = self.plan.planned_step(u32::from(me), at) else { return };
        let (to, context) = (step.to as u16, self.plan.context(at));
        let packet = packet(self.plan, u32::from(me), at).map(|(_, packet)| packet);
        match step.post {
            Post::Send { .. } => {
                let packet = packet.expect("a send has a packet");
                self.network.send(me, to, context, packet, None);
            }
            Post::Write { len, .. } => {
                let message = Message { from: me, send: at as u16 };
                let data = Data { message, receive: handle(at), len };
                self.network.write((me, to), context, data, packet, handle(at));
            }
            Post::Read { .. } => self.network.read_some_time((me, to), context, handle(at), packet),
            Post::Atomic { op, word } => {
                let word = if let Word::Shared(word) = word { Some(word) } else { None };
                self.atomics.post((me, to), Atomic { op, word, request: handle(at) });
            }
        }
    }

    /// Lets every atomic take effect that can have found what the record says. No value comes back to a word, so those that
    /// leave it as it is go first.
    fn take_effect(&mut self) {
        let next = |replay: &Self| {
            let may = |((from, to), atomic): ((u16, u16), Atomic)| {
                let found = *replay.found.get(&(from, atomic.request.index as usize))?;
                let Some(word) = atomic.word else { return Some((from, to)) };
                let is_its_turn = replay.atomics.word(to, word) == found
                    && (atomic.op.apply(found) == found || !replay.looks_on((to, word), found));
                is_its_turn.then_some((from, to))
            };
            replay.atomics.next().find_map(may)
        };
        while let Some(pair) = next(self) {
            let fetched = self.atomics.take_effect(pair).expect("it is next");
            self.found.remove(&(pair.0, fetched.request.index as usize));
        }
    }

    /// Whether an atomic is still to find this value of a word, and to leave it.
    fn looks_on(&self, (to, word): (u16, u32), value: u64) -> bool {
        self.found.iter().any(|((from, at), found)| {
            let planned = self.plan.planned_step(u32::from(*from), *at);
            *found == value
                && planned.is_some_and(|PlannedStep { step, .. }| {
                    let Post::Atomic { op, word: Word::Shared(other) } = step.post else { return false };
                    (step.to as u16, other) == (to, word) && op.apply(value) == value
                })
        })
    }

    fn is_in_flight(&self, message: Message) -> bool {
        let is_it = |item: &InFlight| matches!(item, InFlight::Data(data, _) if data.message == message);
        self.network.iter().any(|(_, item)| is_it(item))
    }

    /// Takes one event of rank `me`; false when it cannot happen now.
    fn event(&mut self, me: u16, event: &Event) -> bool {
        match *event {
            Event::Posted(at) => {
                self.post(me, at);
                true
            }
            Event::Packet { from, at, .. } => {
                let Some((context, packet)) = packet(self.plan, from, at) else { return false };
                let channel = Channel { at: me, peer: from as u16, context, kind: packet.direction().into() };
                self.network.land_if(channel, |item| item.packet() == Some(packet)).is_some()
            }
            Event::Memory { from, at, .. } => {
                let message = Message { from: from as u16, send: at as u16 };
                let context = self.plan.context(at);
                let channel =
                    Channel { at: me, peer: from as u16, context, kind: Direction::ToReceiver.into() };
                let is_it =
                    |item: &InFlight| matches!(item, InFlight::Data(data, None) if data.message == message);
                !self.is_in_flight(message) || self.network.land_if(channel, is_it).is_some()
            }
            Event::Written(at) => self.complete(me, at, ChannelKind::Written),
            Event::Read { at, .. } => self.complete(me, at, ChannelKind::Read(at as u32)),
            Event::Fetched { at, value } => {
                let Some(PlannedStep { step, .. }) = self.plan.planned_step(u32::from(me), at) else {
                    return false;
                };
                self.take_effect();
                let pair = (me, step.to as u16);
                let is_it = |fetched: Fetched| {
                    fetched.request == handle(at) && fetched.found.is_none_or(|found| found == value)
                };
                self.atomics.report(pair, is_it).is_some()
            }
            Event::FinalWord { word, value } => {
                self.take_effect();
                self.found.is_empty() && self.atomics.word(me, word) == value
            }
            Event::FinalMemory { .. } => true,
            Event::Lost(_) | Event::Foreign(_) | Event::Stray => false,
        }
    }

    fn complete(&mut self, me: u16, at: usize, kind: ChannelKind) -> bool {
        let Some(PlannedStep { step, .. }) = self.plan.planned_step(u32::from(me), at) else { return false };
        let channel = Channel { at: me, peer: step.to as u16, context: self.plan.context(at), kind };
        self.network.land_if(channel, |item| *item == InFlight::Completion(handle(at))).is_some()
    }
}

/// Whether the network allows a record; if not, what could not happen, by rank.
fn replay(plan: &Plan, record: &Record) -> Result<(), Vec<String>> {
    let mut found = BTreeMap::new();
    for (me, events) in (0..).zip(&record.ranks) {
        for event in events.iter().flatten() {
            if let Event::Fetched { at, value } = *event {
                found.insert((me, at), value);
            }
        }
    }
    let mut replay = RecordedOrder { plan, network: Network::default(), atomics: Atomics::default(), found };
    let mut left: Vec<&[Event]> =
        record.ranks.iter().map(|events| events.as_deref().unwrap_or_default()).collect();
    // An item that comes out at one rank delays no other rank, so the order in which they take turns does not matter.
    loop {
        let before: usize = left.iter().map(|events| events.len()).sum();
        for (me, events) in (0..).zip(&mut left) {
            while let [first, rest @ ..] = events
                && replay.event(me, first)
            {
                *events = rest;
            }
        }
        let after: usize = left.iter().map(|events| events.len()).sum();
        if after == 0 {
            return Ok(());
        }
        if after == before {
            let stuck =
                |(me, events): (usize, &&[Event])| events.first().map(|event| format!("rank {me}: {event}"));
            return Err(left.iter().enumerate().filter_map(stuck).collect());
        }
    }
}

fn records() -> Vec<(Plan, Record)> {
    let plans = short_plans();
    let of = |record: &Record| plans.iter().find(|plan| plan.name == record.plan).cloned();
    let records = RECORDS.into_iter().flat_map(|records| parse(records).expect("they are records"));
    records.map(|record| (of(&record).expect("its plan is there"), record)).collect()
}

#[test]
fn every_order_of_a_real_transport_is_one_of_the_network() {
    let records = records();
    assert_eq!(records.len(), 132 + 132, "each plan in each mode");
    for (plan, record) in &records {
        assert_eq!(check(plan, &record.ranks), Ok(()), "{}: the contract", record.plan);
        assert_eq!(replay(plan, record), Ok(()), "{} over {}: the network", record.plan, record.transport);
    }
}

/// Changes every record in every place where `change` can, and counts how often the network allows the result.
fn allowed(mut change: impl FnMut(&Plan, &mut [Event]) -> bool) -> (usize, usize) {
    let (mut tried, mut allowed) = (0, 0);
    for (plan, record) in records() {
        for rank in 0..record.ranks.len() {
            let count = record.ranks[rank].as_ref().map_or(0, Vec::len);
            for at in 0..count.saturating_sub(1) {
                let mut other = record.clone();
                let events = other.ranks[rank].as_mut().expect("it lives");
                if change(&plan, &mut events[at..]) {
                    tried += 1;
                    allowed += usize::from(replay(&plan, &other).is_ok());
                }
            }
        }
    }
    (tried, allowed)
}

/// Whether the packet of a step is the notice of a read, which leaves when the data is there.
fn is_late(plan: &Plan, from: u32, at: usize) -> bool {
    matches!(plan.planned_step(from, at), Some(PlannedStep { step, .. }) if matches!(step.post, Post::Read { .. }))
}

/// Two packets of one lane change places, if the one that was posted first is the notice of a read, or is not.
fn two_of_a_lane(behind_a_notice: bool) -> (usize, usize) {
    allowed(|plan, events| {
        let [Event::Packet { from, at, .. }, Event::Packet { from: other_from, at: other, .. }, ..] = *events
        else {
            return false;
        };
        let lane = |at| packet(plan, from, at).map(|(context, packet)| (context, packet.direction()));
        events.swap(0, 1);
        from == other_from && lane(at) == lane(other) && is_late(plan, from, at.min(other)) == behind_a_notice
    })
}

#[test]
fn two_packets_of_a_lane_cannot_change_places() {
    let (tried, allowed) = two_of_a_lane(false);
    assert!(tried > 100, "{tried}");
    assert_eq!(allowed, 0);
}

#[test]
fn what_is_posted_behind_a_read_can_pass_its_notice() {
    let (tried, allowed) = two_of_a_lane(true);
    assert!(tried > 100, "{tried}");
    assert_eq!(allowed, tried);
}

#[test]
fn packets_of_two_lanes_can_change_places() {
    let (tried, allowed) = allowed(|plan, events| {
        let [Event::Packet { from, at, .. }, Event::Packet { from: other_from, at: other, .. }, ..] = *events
        else {
            return false;
        };
        let lane = |at| packet(plan, from, at).map(|(_, packet)| packet.direction());
        events.swap(0, 1);
        from == other_from && lane(at) != lane(other)
    });
    assert!(tried > 100, "{tried}");
    assert_eq!(allowed, tried, "the network is as permissive as the contract");
}

#[test]
fn two_atomics_of_a_rank_cannot_change_places_nor_what_they_have_found() {
    let of_a_pair = |plan: &Plan, from: usize, at: usize, other: usize| {
        let step = |at| plan.planned_step(from as u32, at).map(|PlannedStep { step, .. }| step);
        matches!((step(at), step(other)), (Some(one), Some(two)) if one.to == two.to)
    };
    let (mut tried, mut allowed) = (0, 0);
    for (plan, record) in records() {
        for from in 0..record.ranks.len() {
            let count = record.ranks[from].as_ref().map_or(0, Vec::len);
            for at in 1..count {
                let mut other = record.clone();
                let events = other.ranks[from].as_mut().expect("it lives");
                let (Event::Fetched { at: one, value }, Event::Fetched { at: two, value: second }) =
                    (events[at - 1], events[at])
                else {
                    continue;
                };
                if !of_a_pair(&plan, from, one, two) {
                    continue;
                }
                events.swap(at - 1, at);
                tried += 1;
                allowed += usize::from(replay(&plan, &other).is_ok());
                let is_shared = |at| {
                    let step = plan.planned_step(from as u32, at).map(|PlannedStep { step, .. }| step.post);
                    matches!(step, Some(Post::Atomic { word: Word::Shared(_), .. }))
                };
                if value != second && is_shared(one) && is_shared(two) {
                    let mut other = record.clone();
                    let events = other.ranks[from].as_mut().expect("it lives");
                    events[at - 1] = Event::Fetched { at: one, value: second };
                    events[at] = Event::Fetched { at: two, value };
                    tried += 1;
                    let is_allowed = replay(&plan, &other).is_ok();
                    // Atomics on two words may have found them the other way round.
                    allowed += usize::from(is_allowed && check(&plan, &other.ranks).is_err());
                }
            }
        }
    }
    assert!(tried > 100, "{tried}");
    assert_eq!(allowed, 0);
}

#[test]
fn what_was_not_posted_does_not_come_out() {
    let (tried, allowed) = allowed(|_, events| {
        let [first, second, ..] = events else { return false };
        let is_pair = match (&*first, &*second) {
            (Event::Posted(at), Event::Written(other)) => at == other,
            (Event::Posted(at), Event::Read { at: other, .. } | Event::Fetched { at: other, .. }) => {
                at == other
            }
            _ => false,
        };
        std::mem::swap(first, second);
        is_pair
    });
    assert!(tried > 10, "{tried}");
    assert_eq!(allowed, 0);
}
