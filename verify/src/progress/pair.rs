//! A sender and a receiver, and what is between them.

use super::bounds::{Bounds, EAGER, Program};
use super::tell;
use crate::machine::{Machine, promises};
use carrousel_rank::{
    Call, Communicator, Event, Handle, Job, Memory, Options, Packet, Protocol, Rank, RankId, Read, Receive,
    Send, Source, Speculation, Tag, Work, Write, cost,
};
use stateright::{Model, Property};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The rank that sends.
pub(super) const SENDER: usize = 0;
/// The rank that receives.
pub(super) const RECEIVER: usize = 1;

/// One rank, and what is to come to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct End<P: Protocol> {
    pub(super) rank: Rank<P>,
    /// The requests of its calls so far.
    pub(super) calls: Vec<Handle>,
    /// Packets on their way to it, in the order in which they were sent.
    pub(super) coming: VecDeque<Packet>,
    /// Its transfers that are under way: the request to report, and of a read the packet behind the data.
    pub(super) transfers: Vec<(Event, Option<Packet>)>,
    /// What its transport has, and it was not told of.
    pub(super) arrived: VecDeque<Event>,
    /// The peer's requests whose RTS or RTR has arrived.
    heard: Vec<Handle>,
}

/// The two ranks of one of the programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World<P: Protocol> {
    pub(super) program: u32,
    pub(super) ends: [End<P>; 2],
    /// What eager messages cost that have been sent, and no receive has taken.
    held: u64,
    /// The last call has not posted the transfer that it could have: of this rank, so many calls before it.
    late: Option<(usize, usize)>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A rank makes its next call, behind what the driver owes to it.
    Call(usize),
    /// The first packet on its way to a rank arrives.
    Arrive(usize),
    /// A transfer of a rank is complete.
    Land(usize, usize),
    /// A rank is told of the first arrival, in a call that starts nothing.
    Take(usize),
}

/// The programs within some bounds under `P`.
pub(super) struct Pairs<P: Protocol> {
    pub(super) programs: Vec<Program>,
    window: u64,
    /// Whether initial progress takes in only the first arrival. Only an ablation's does.
    takes_one: bool,
    counts: Arc<Counts>,
    protocol: PhantomData<P>,
}

/// How often something was met, and whether the search goes on.
#[derive(Debug, Default)]
struct Counts {
    written: AtomicU64,
    read: AtomicU64,
    crossed: AtomicU64,
    behind: AtomicU64,
    no_room: AtomicU64,
    /// Explore no further.
    stop: AtomicBool,
}

/// What an exploration meets: calls that post their transfer, as both orders have it; calls that miss what is
/// still on its way; arrivals behind others; and small messages for which there is no room.
pub(super) const REACHED: [&str; 5] = ["written", "read", "crossed", "behind others", "no room"];

fn memory() -> Memory {
    Memory { address: 0, key: 0 }
}

impl<P: Protocol> Pairs<P> {
    pub(super) fn new(bounds: Bounds, takes_one: bool) -> Self {
        Self {
            programs: bounds.programs(),
            window: bounds.eager_window(),
            takes_one,
            counts: Arc::default(),
            protocol: PhantomData,
        }
    }

    pub(super) fn program(&self, world: &World<P>) -> &Program {
        &self.programs[world.program as usize]
    }

    /// The next call of a rank.
    pub(super) fn next_call(&self, world: &World<P>, end: usize) -> Option<Call> {
        let (program, at) = (self.program(world), world.ends[end].calls.len());
        let communicator = Communicator::WORLD;
        let memory = memory();
        if end == SENDER {
            let message = program.sends.get(at)?;
            let (to, tag, len) = (RankId(RECEIVER as u32), message.tag, message.len);
            Some(Call::Send(Send { to, tag, communicator, len, memory, synchronous: false, data: None }))
        } else {
            let receive = program.receives.get(at)?;
            let (from, tag, len) = (Source::Rank(RankId(SENDER as u32)), receive.tag, receive.len);
            Some(Call::Receive(Receive { from, tag, communicator, len, memory }))
        }
    }

    /// The peer's request that the next call of a rank moves data with, if both are a rendezvous, and its RTS or RTR has
    /// arrived.
    fn partner(&self, world: &World<P>, end: usize) -> Option<Handle> {
        let (program, at) = (self.program(world), world.ends[end].calls.len());
        let (send, receive) =
            if end == SENDER { (at, program.receive_of(at)?) } else { (program.send_of(at)?, at) };
        let theirs = if end == SENDER { receive } else { send };
        let partner = *world.ends[1 - end].calls.get(theirs)?;
        if !program.is_rendezvous(send, receive) {
            return None;
        }
        let heard = world.ends[end].heard.contains(&partner);
        if !heard {
            self.counts.crossed.fetch_add(1, Ordering::Relaxed);
        }
        heard.then_some(partner)
    }

    fn call(&self, world: &mut World<P>, end: usize) {
        let (Some(call), partner) = (self.next_call(world, end), self.partner(world, end)) else { return };
        if world.ends[end].rank.needs_initial_progress(&call) {
            if world.ends[end].arrived.len() > 1 {
                self.counts.behind.fetch_add(1, Ordering::Relaxed);
            }
            if matches!(call, Call::Send(Send { len: EAGER, .. })) {
                self.counts.no_room.fetch_add(1, Ordering::Relaxed);
            }
            let all = world.ends[end].arrived.len();
            (0..if self.takes_one { all.min(1) } else { all }).for_each(|_| self.take(world, end));
        }
        let mut work = Vec::new();
        // Every call of these programs is right.
        let Ok(request) = world.ends[end].rank.call(call, &mut work) else { return };
        let at = world.ends[end].calls.len();
        world.ends[end].calls.push(request);
        if let Some(partner) = partner {
            let moves = |work: &Work| match work {
                Work::Write { receive, .. } => end == SENDER && *receive == partner,
                Work::Read { send, .. } => end == RECEIVER && *send == partner,
                _ => false,
            };
            if work.iter().any(moves) {
                let count = if end == SENDER { &self.counts.written } else { &self.counts.read };
                count.fetch_add(1, Ordering::Relaxed);
            } else {
                world.late = Some((end, at));
            }
        }
        perform(world, end, work);
    }

    /// Tells a rank of what has arrived first.
    fn take(&self, world: &mut World<P>, end: usize) {
        let Some(event) = world.ends[end].arrived.pop_front() else { return };
        let mut work = Vec::new();
        let told = world.ends[end].rank.event(event, &mut work);
        debug_assert_eq!(told, Ok(()));
        perform(world, end, work);
    }
}

/// Carries out what a rank asks for, and has it announce what it may, as the engine does.
fn perform<P: Protocol>(world: &mut World<P>, end: usize, mut work: Vec<Work>) {
    let this = &mut world.ends[end].rank;
    while let Some(receive) = this.may_announce() {
        let told = this.event(Event::Announce(receive), &mut work);
        debug_assert_eq!(told, Ok(()));
    }
    for work in work {
        match work {
            Work::Send { packet, .. } => {
                if let Packet::Eager { len, .. } = packet {
                    world.held += cost(len);
                }
                world.ends[1 - end].coming.push_back(packet);
            }
            // As much as was sent: no receive of these programs is shorter than an eager message.
            Work::Place { len, .. } | Work::Take { len, .. } => world.held -= cost(len),
            Work::Write { write: Write { request, notice, .. }, .. } => {
                world.ends[1 - end].coming.extend(notice);
                world.ends[end].transfers.push((Event::Written(request), None));
            }
            Work::Read { read: Read { request, notice, .. }, .. } => {
                world.ends[end].transfers.push((Event::Read(request), notice));
            }
            _ => {}
        }
    }
}

impl<P: Protocol> Model for Pairs<P> {
    type State = World<P>;
    type Action = Action;

    fn init_states(&self) -> Vec<World<P>> {
        let options = Options {
            eager_threshold: EAGER,
            eager_window: self.window,
            speculation: Speculation::Always,
            // Room is told for its own sake.
            credit_every: u16::MAX,
            ..Options::default()
        };
        let end = |me| End {
            rank: Rank::new(RankId(me), &Job { ranks: 2 }, &options),
            calls: Vec::new(),
            coming: VecDeque::new(),
            transfers: Vec::new(),
            arrived: VecDeque::new(),
            heard: Vec::new(),
        };
        let world = |program| World { program, ends: [0, 1].map(end), held: 0, late: None };
        (0..self.programs.len() as u32).map(world).collect()
    }

    fn actions(&self, world: &World<P>, actions: &mut Vec<Action>) {
        if self.stop().load(Ordering::Relaxed) || self.broken(world).is_some() {
            return;
        }
        for (at, end) in world.ends.iter().enumerate() {
            actions.extend(self.next_call(world, at).map(|_| Action::Call(at)));
            actions.extend((!end.coming.is_empty()).then_some(Action::Arrive(at)));
            actions.extend((0..end.transfers.len()).map(|transfer| Action::Land(at, transfer)));
            actions.extend((!end.arrived.is_empty()).then_some(Action::Take(at)));
        }
    }

    fn next_state(&self, world: &World<P>, action: Action) -> Option<World<P>> {
        let mut next = world.clone();
        match action {
            Action::Call(end) => self.call(&mut next, end),
            Action::Arrive(at) => {
                let end = &mut next.ends[at];
                let packet = end.coming.pop_front()?;
                match packet {
                    Packet::Rts { send, .. } => end.heard.push(send),
                    Packet::Rtr(rtr) => end.heard.push(rtr.receive),
                    _ => {}
                }
                let from = RankId(1 - at as u32);
                let context = Communicator::WORLD.messages();
                end.arrived.push_back(Event::Packet { from, context, packet });
            }
            Action::Land(at, transfer) => {
                let (event, notice) = next.ends[at].transfers.remove(transfer);
                next.ends[at].arrived.push_back(event);
                next.ends[1 - at].coming.extend(notice);
            }
            Action::Take(end) => self.take(&mut next, end),
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises()
    }
}

impl<P: Protocol> Machine for Pairs<P> {
    fn broken(&self, world: &World<P>) -> Option<String> {
        if let Some((end, at)) = world.late {
            return Some(tell::late(self.program(world), end, at));
        }
        if world.held > self.window.max(cost(EAGER)) {
            return Some(format!("bounded: eager messages take {} bytes, of {}", world.held, self.window));
        }
        let is_quiet =
            |end: &End<P>| end.coming.is_empty() && end.arrived.is_empty() && end.transfers.is_empty();
        let (to, tag) = (RankId(RECEIVER as u32), Tag(0));
        let (communicator, memory) = (Communicator::WORLD, memory());
        let small = Send { to, tag, communicator, len: EAGER, memory, synchronous: false, data: None };
        let refused = world.held == 0
            && world.ends.iter().all(is_quiet)
            && !world.ends[SENDER].rank.sends_eagerly(&small);
        refused.then(|| "room-returns: all has been taken, and the sender does not know".to_owned())
    }

    /// Each rank has made its calls: what they have left to do comes in its waits.
    fn is_done(&self, world: &World<P>) -> bool {
        (0..2).all(|end| self.next_call(world, end).is_none())
    }

    fn is_owed(&self, _: Action) -> bool {
        true
    }

    fn line(&self, before: &World<P>, action: Action, after: &World<P>) -> String {
        tell::line(self.program(before), before, action, after)
    }

    fn met(&self) -> Vec<(&'static str, u64)> {
        let Counts { written, read, crossed, behind, no_room, .. } = &*self.counts;
        let counts = [written, read, crossed, behind, no_room].map(|count| count.load(Ordering::Relaxed));
        REACHED.into_iter().zip(counts).filter(|(_, count)| *count > 0).collect()
    }

    fn stop(&self) -> &AtomicBool {
        &self.counts.stop
    }

    fn stuck(&self, _: &World<P>) -> String {
        "never-stuck: a call cannot be made".to_owned()
    }
}
