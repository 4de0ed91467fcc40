//! Walking a path: what each action set in motion, found by comparing the states around it.

use crate::action::Action;
use crate::explore::Path;
use crate::network::{Flight, Message, Reading, Route, What};
use crate::program::{Ordinal, Start};
use crate::state::{Proc, State};
use carrousel_rank::{Handle, Packet, Protocol, collective_of};
use carrousel_scenario::{Received, RequestId};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// An index into [`Walk::flights`].
pub(super) type FlightId = usize;

/// A path, taken apart.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// One for each action, in order.
    pub(super) beats: Vec<Beat>,
    /// Everything that was ever in flight, in the order in which it was sent.
    pub(super) flights: Vec<Sent>,
    /// The ordinals behind the library's names, of released requests too.
    names: HashMap<(u16, Handle), Ordinal>,
    /// What ranks have started with values that only an execution has.
    pub(super) begun: HashMap<(u16, Ordinal), Start>,
}

/// One action, and what came of it at the rank where it happened.
#[derive(Debug)]
pub(super) struct Beat {
    /// Where it happened.
    pub(super) at: u16,
    /// What it was.
    pub(super) action: Action,
    /// Of a rank's own step: which step of its program.
    pub(super) pc: Option<u16>,
    /// What came out of the network.
    pub(super) landed: Option<FlightId>,
    /// What went into it.
    pub(super) sent: Vec<FlightId>,
    /// Requests that became complete.
    pub(super) completed: Vec<Ordinal>,
    /// The receive and the message that MPI's rule brought together.
    pub(super) matched: Option<(Ordinal, Message)>,
    /// The message that found no receive.
    pub(super) kept: Option<Message>,
    /// Names that stand for a message now, which the program asks about.
    pub(super) learnt: Vec<(RequestId, Received)>,
}

/// Something that was sent.
#[derive(Debug)]
pub(super) struct Sent {
    /// The way that it took.
    pub(super) route: Route,
    /// What it was.
    pub(super) flight: Flight,
    /// The beat that sent it.
    pub(super) launched: usize,
    /// The beat at which it came out, if it did.
    pub(super) landed: Option<usize>,
    /// Of a packet, data or a completed transfer: the message that it belongs to, where that is known.
    pub(super) message: Option<Message>,
}

impl Walk {
    /// Takes a path apart.
    pub(super) fn new<P: Protocol>(path: &Path<P>) -> Self {
        let mut walk = Self::default();
        let mut queues: BTreeMap<Route, VecDeque<FlightId>> = BTreeMap::new();
        for pair in path.steps.windows(2) {
            if let [(before, Some(action)), (after, _)] = pair {
                walk.beat(before, *action, after, &mut queues);
            }
        }
        walk
    }

    /// A step whose way nobody knows: what is in flight before it was sent at some time.
    pub(super) fn of_step<P: Protocol>(before: &State<P>, action: Action, after: &State<P>) -> Self {
        let mut walk = Self::of_state(before);
        let mut queues: BTreeMap<Route, VecDeque<FlightId>> = BTreeMap::new();
        for (id, sent) in walk.flights.iter().enumerate() {
            queues.entry(sent.route).or_default().push_back(id);
        }
        walk.beat(before, action, after, &mut queues);
        walk
    }

    /// The names of open requests, and what is in flight, in a state whose way nobody knows.
    pub(super) fn of_state<P: Protocol>(state: &State<P>) -> Self {
        let mut walk = Self::default();
        walk.begin(state);
        for (at, proc) in state.ranks() {
            let named = proc.open.iter().filter_map(|open| Some(((at, open.handle?), open.ordinal)));
            walk.names.extend(named);
        }
        for (route, flight) in state.network.iter() {
            let at = if route.what == What::Written { route.at } else { route.peer };
            let message = match *flight {
                Flight::Read(Reading { request, .. }, _) => taken(state, *route, request),
                Flight::Completion(request) if route.what != What::Written => taken(state, *route, request),
                _ => walk.message_of(at, *route, flight, None),
            };
            walk.flights.push(Sent { route: *route, flight: *flight, launched: 0, landed: None, message });
        }
        walk
    }

    /// Keeps what ranks have started with values that only an execution has.
    fn begin<P: Protocol>(&mut self, state: &State<P>) {
        self.begun.extend(state.begun.iter().map(|(rank, ordinal, start)| ((*rank, *ordinal), *start)));
    }

    /// The request behind a name of the library.
    pub(super) fn ordinal(&self, rank: u16, handle: Handle) -> Option<Ordinal> {
        // A request of a collective's round is told as the collective.
        self.names.get(&(rank, collective_of(handle).unwrap_or(handle))).copied()
    }

    fn beat<P: Protocol>(
        &mut self,
        before: &State<P>,
        action: Action,
        after: &State<P>,
        queues: &mut BTreeMap<Route, VecDeque<FlightId>>,
    ) {
        let (at, taken) = match action {
            Action::Step { rank, .. } | Action::Announce { rank, .. } => (rank, None),
            Action::Land(route) => (route.at, Some((route, 0))),
            Action::Overtake { route, place } => (route.at, Some((route, place))),
        };
        let (Some(old), Some(new)) = (before.procs.get(usize::from(at)), after.procs.get(usize::from(at)))
        else {
            return;
        };
        for open in &new.open {
            self.names.extend(open.handle.map(|handle| ((at, handle), open.ordinal)));
        }
        self.begin(after);
        let this = self.beats.len();
        let landed = taken.and_then(|(route, place)| queues.get_mut(&route)?.remove(place));
        if let Some(landed) = landed {
            self.flights[landed].landed = Some(this);
        }
        let brought = landed.and_then(|landed| self.flights[landed].message);
        let kept = new.arrived.iter().find(|message| !old.arrived.contains(message)).copied();
        let matched = matched(old, new, brought, kept);
        let mut sent = Vec::new();
        for route in after.network.routes() {
            let Some((name, _)) = route.first() else { continue };
            let queue = queues.entry(*name).or_default();
            for (route, flight) in route.iter().skip(queue.len()) {
                let message = self.message_of(at, *route, flight, matched);
                sent.push(self.flights.len());
                queue.push_back(self.flights.len());
                self.flights.push(Sent {
                    route: *route,
                    flight: *flight,
                    launched: this,
                    landed: None,
                    message,
                });
            }
        }
        let pc = matches!(action, Action::Step { .. }).then_some(old.pc);
        let completed = newly_complete(old, new);
        let learnt = new.received.iter().filter(|message| !old.received.contains(message)).copied().collect();
        self.beats.push(Beat { at, action, pc, landed, sent, completed, matched, kept, learnt });
    }

    /// The message that something in flight belongs to; `at` is where it was sent.
    fn message_of(
        &self,
        at: u16,
        route: Route,
        flight: &Flight,
        matched: Option<(Ordinal, Message)>,
    ) -> Option<Message> {
        if route.context.is_collective() {
            return None;
        }
        let own = |send: Handle| Some(Message { from: at, send: self.ordinal(at, send)? });
        let theirs = |send: Handle| Some(Message { from: route.at, send: self.ordinal(route.at, send)? });
        match *flight {
            Flight::Data(data, _) => Some(data.message),
            Flight::Packet(_, Some(message)) => Some(message),
            Flight::Packet(
                Packet::Done { send } | Packet::RtsAck { send } | Packet::Clear { send, .. },
                _,
            ) => theirs(send),
            Flight::Packet(..) | Flight::Notice(_) => None,
            // A read is of the message that its receive has just got, a write of the rank's own.
            Flight::Read(..) => matched.map(|(_, message)| message),
            Flight::Completion(request) if route.what == What::Written => own(request),
            Flight::Completion(request) => {
                let is_its = |sent: &&Sent| match sent.flight {
                    Flight::Read(reading, _) => sent.route == route && reading.request == request,
                    _ => false,
                };
                self.flights.iter().rev().find(is_its)?.message
            }
        }
    }
}

/// The message that a receive of the rank at a route's end has.
fn taken<P: Protocol>(state: &State<P>, route: Route, receive: Handle) -> Option<Message> {
    let proc = state.procs.get(usize::from(route.at))?;
    proc.open.iter().find(|open| open.handle == Some(receive))?.message
}

/// What MPI's rule brought together: a waiting receive has left its queue, or an arrived message has.
fn matched<P: Protocol>(
    old: &Proc<P>,
    new: &Proc<P>,
    brought: Option<Message>,
    kept: Option<Message>,
) -> Option<(Ordinal, Message)> {
    if kept.is_some() {
        return None;
    }
    if let Some(message) = old.arrived.iter().find(|message| !new.arrived.contains(message)) {
        return Some((opened(old, new)?, *message));
    }
    let receive = *old.waiting.iter().find(|receive| !new.waiting.contains(receive))?;
    Some((receive, brought?))
}

/// The request that a step has opened.
fn opened<P: Protocol>(old: &Proc<P>, new: &Proc<P>) -> Option<Ordinal> {
    let is_new = |ordinal: Ordinal| old.open.iter().all(|open| open.ordinal != ordinal);
    new.open.iter().map(|open| open.ordinal).find(|ordinal| is_new(*ordinal))
}

/// Requests that are complete and were not.
fn newly_complete<P: Protocol>(old: &Proc<P>, new: &Proc<P>) -> Vec<Ordinal> {
    let was = |ordinal: Ordinal| old.open.iter().any(|open| open.ordinal == ordinal && old.is_complete(open));
    new.open
        .iter()
        .filter(|open| new.is_complete(open) && !was(open.ordinal))
        .map(|open| open.ordinal)
        .collect()
}
