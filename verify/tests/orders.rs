//! The network that the checker explores allows every order that was recorded on a real transport.
//!
//! `orders` has records of the conformance suite over shared memory, and over InfiniBand's verbs between two virtual
//! machines; the tests that write them, `records_for_the_model` of the transports, say how. A replay posts what a record says was posted,
//! and lets come out what it says came out, in this order, with the very functions that the checker uses.
//!
//! What the network leaves out is when data gets into memory: it lands with the packet behind it. A real
//! transport may be earlier. That shows the protocol nothing worse: what a write must not meet is a receive that is
//! over, and time only brings that nearer.

use carrousel_rank::{Context, Direction, Handle, Mirror, Packet};
use carrousel_transport::conformance::{Event, Plan, PlannedStep, Post, Record, check, parse, short_plans};
use carrousel_verify::state::{Data, Flight, Message, Route, State, What};

const RECORDS: [&str; 2] = [include_str!("orders/shm.txt"), include_str!("orders/verbs.txt")];

fn handle(at: usize) -> Handle {
    Handle { index: at as u32, generation: 0 }
}

/// The communicator of a step, and a packet in the direction of the step's: no two steps have the same. Which packet it is
/// makes no difference to the network.
fn packet(plan: &Plan, from: u32, at: usize) -> Option<(Context, Packet)> {
    let packet = match plan.head(from, at)?.direction() {
        Direction::ToReceiver => Packet::Filled { receive: handle(at) },
        Direction::ToSender => Packet::Done { send: handle(at) },
    };
    Some((plan.context(at), packet))
}

/// A record on its way through the network.
struct Replay<'a> {
    plan: &'a Plan,
    state: State<Mirror>,
}

impl Replay<'_> {
    fn post(&mut self, me: u16, at: usize) {
        let Some(PlannedStep { step, .. }) = self.plan.planned_step(u32::from(me), at) else { return };
        let (to, context) = (step.to as u16, self.plan.context(at));
        let packet = packet(self.plan, u32::from(me), at).map(|(_, packet)| packet);
        match step.post {
            Post::Send { .. } => {
                let packet = packet.expect("a send has a packet");
                self.state.send(me, to, context, packet, None);
            }
            Post::Write { len, .. } => {
                let message = Message { from: me, send: at as u16 };
                let data = Data { message, receive: handle(at), len };
                self.state.write((me, to), context, data, packet, handle(at));
            }
            Post::Read { .. } => self.state.read_some_time((me, to), context, handle(at), packet),
        }
    }

    fn is_in_flight(&self, message: Message) -> bool {
        let is_it = |flight: &Flight| matches!(flight, Flight::Data(data, _) if data.message == message);
        self.state.flights.iter().any(|(_, flight)| is_it(flight))
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
                let route = Route { at: me, peer: from as u16, context, what: packet.direction().into() };
                self.state.land_if(route, |flight| flight.packet() == Some(packet)).is_some()
            }
            Event::Memory { from, at, .. } => {
                let message = Message { from: from as u16, send: at as u16 };
                let context = self.plan.context(at);
                let route = Route { at: me, peer: from as u16, context, what: Direction::ToReceiver.into() };
                let is_it =
                    |flight: &Flight| matches!(flight, Flight::Data(data, None) if data.message == message);
                !self.is_in_flight(message) || self.state.land_if(route, is_it).is_some()
            }
            Event::Written(at) => self.complete(me, at, What::Written),
            Event::Read { at, .. } => self.complete(me, at, What::Read(at as u32)),
            Event::FinalMemory { .. } => true,
            Event::Lost(_) | Event::Foreign(_) | Event::Stray => false,
        }
    }

    fn complete(&mut self, me: u16, at: usize, what: What) -> bool {
        let Some(PlannedStep { step, .. }) = self.plan.planned_step(u32::from(me), at) else { return false };
        let route = Route { at: me, peer: step.to as u16, context: self.plan.context(at), what };
        self.state.land_if(route, |flight| *flight == Flight::Completion(handle(at))).is_some()
    }
}

/// Whether the network allows a record; if not, what could not happen, by rank.
fn replay(plan: &Plan, record: &Record) -> Result<(), Vec<String>> {
    let state = State {
        job: 0,
        procs: Vec::new(),
        flights: Vec::new(),
        begun: Vec::new(),
        wrong: Default::default(),
    };
    let mut replay = Replay { plan, state };
    let mut left: Vec<&[Event]> =
        record.ranks.iter().map(|events| events.as_deref().unwrap_or_default()).collect();
    // What comes out at one rank holds nothing up at another: any order in which they take turns will do.
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
    assert_eq!(records.len(), 84 + 84, "each plan in each mode");
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
fn what_was_not_posted_does_not_come_out() {
    let (tried, allowed) = allowed(|_, events| {
        let [first, second, ..] = events else { return false };
        let is_pair = match (&*first, &*second) {
            (Event::Posted(at), Event::Written(other)) => at == other,
            (Event::Posted(at), Event::Read { at: other, .. }) => at == other,
            _ => false,
        };
        std::mem::swap(first, second);
        is_pair
    });
    assert!(tried > 10, "{tried}");
    assert_eq!(allowed, 0);
}
