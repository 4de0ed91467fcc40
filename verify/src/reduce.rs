//! Leaving out orders of events that make no difference (partial-order reduction).
//!
//! Things that happen at different ranks commute: one takes the oldest thing off a route, the other adds
//! a newest one. So do most things at one rank, because its library keeps flows apart: what happens at
//! one *end* of a flow (the sending or the receiving one) does not concern the others. What is left are
//! conflicts, and for each state [`enough_actions`] returns a *persistent set*: some of the actions, such
//! that nothing that can happen without them ever conflicts with them. Exploring only these reaches every
//! end state, and makes every local step of every execution (P. Godefroid, Partial-Order Methods for the
//! Verification of Concurrent Systems, chapter 4); no proviso is needed as no execution is infinite.
//!
//! Conflicts at one rank are:
//! - arrivals and announcements at one end of a flow that may be announced or cancelled
//!   ([`Facts::is_ordered`]), with the sends and cancellations of the program there; where posting a
//!   receive may send an answer ([`Facts::answers_posts`]), with that too;
//! - arrivals from different ranks, while a receive from any source is pending or to come;
//! - a test, with whatever may complete its request.
//!
//! Everything else commutes: posting a receive with the arrival of a message (the match is the same),
//! waiting, barriers, and arrivals of different flows.

use crate::facts::Facts;
use crate::model::Model;
use crate::program::{Act, Ordinal, Start};
use crate::state::{Route, State, What};
use crate::step::{Action, is_enabled};
use carrousel_rank::{Context, Protocol, Source};

/// A group of actions that enter a persistent set together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    /// The rank goes on with its program.
    Step(u16),
    /// Arrivals at the sending end of the flow to a peer.
    SendEnd(u16, u16),
    /// Arrivals and announcements at the receiving end of the flow from a peer.
    ReceiveEnd(u16, u16),
    /// The same for all peers.
    ReceiveEnds(u16),
    /// Arrivals of barrier messages.
    Barrier(u16),
}

/// Appends a persistent set of the actions that are possible in `state`; all of them at worst.
pub(crate) fn enough_actions<P: Protocol>(model: &Model<P>, state: &State<P>, actions: &mut Vec<Action>) {
    let view = View { model, state, facts: model.facts(state.job) };
    if view.lone_action(actions) {
        return;
    }
    let mut best: Option<Vec<Action>> = None;
    // What has begun comes before what has not: a flow that is at rest leaves one state behind, a flow
    // under way as many as it has stages, and those of several flows multiply.
    let mut seeds: Vec<Node> = state.heads().map(|(route, _)| view.end_of(*route)).collect();
    for rank in 0..state.procs.len() as u16 {
        if model.can_step(state, rank) {
            seeds.push(Node::Step(rank));
        }
    }
    seeds.dedup();
    for seed in seeds {
        let found = view.closure(seed);
        let better = best.as_ref().is_none_or(|best| found.len() < best.len());
        if better && !found.is_empty() {
            let alone = found.len() == 1;
            best = Some(found);
            if alone {
                break;
            }
        }
    }
    match best {
        Some(best) => actions.extend(best),
        // Only announcements are possible, or nothing.
        None => model.all_actions(state, actions),
    }
}

struct View<'a, P: Protocol> {
    model: &'a Model<P>,
    state: &'a State<P>,
    facts: &'a Facts,
}

impl<P: Protocol> View<'_, P> {
    fn pc(&self, rank: u16) -> u16 {
        self.state.procs[usize::from(rank)].pc
    }

    fn ranks(&self) -> u16 {
        self.state.procs.len() as u16
    }

    /// Whether a rank has arrivals from different ranks in conflict.
    fn is_wild(&self, rank: u16) -> bool {
        self.model.may_receive_from_any(self.state.job, rank, &self.state.procs[usize::from(rank)])
    }

    fn is_before(&self, rank: u16, last: Option<u16>) -> bool {
        last.is_some_and(|last| self.pc(rank) <= last)
    }

    fn will_test(&self, rank: u16) -> bool {
        self.is_before(rank, self.facts.rank(rank).last_test)
    }

    fn will_send(&self, rank: u16, to: u16) -> bool {
        self.is_before(rank, self.facts.rank(rank).last_send.get(&to).copied())
    }

    fn will_receive(&self, rank: u16, from: u16) -> bool {
        let facts = self.facts.rank(rank);
        self.is_before(rank, facts.last_receive.get(&from).copied())
            || self.is_before(rank, facts.last_from_any)
    }

    fn end_of(&self, route: Route) -> Node {
        let Route { at, peer, context, what } = route;
        match what {
            _ if context == Context::COLLECTIVES => Node::Barrier(at),
            What::Back | What::Written => Node::SendEnd(at, peer),
            What::Forward | What::Read(_) => self.receive_end(at, peer),
        }
    }

    fn receive_end(&self, at: u16, peer: u16) -> Node {
        if self.is_wild(at) { Node::ReceiveEnds(at) } else { Node::ReceiveEnd(at, peer) }
    }

    /// The end at which a request is completed.
    fn end_of_request(&self, rank: u16, request: Ordinal) -> Node {
        match self.model.program(self.state.job, rank).starts[usize::from(request)] {
            Start::Send { to, .. } if to as u16 == rank => self.receive_end(rank, rank),
            Start::Send { to, .. } => Node::SendEnd(rank, to as u16),
            Start::Receive { from: Source::Rank(from), .. } => self.receive_end(rank, from.0 as u16),
            Start::Receive { .. } => Node::ReceiveEnds(rank),
            Start::Barrier => Node::Barrier(rank),
        }
    }

    /// Looks for an action that conflicts with nothing: it is a persistent set alone.
    fn lone_action(&self, actions: &mut Vec<Action>) -> bool {
        for rank in 0..self.ranks() {
            if self.model.can_step(self.state, rank) && self.conflict_of_step(rank).is_none() {
                self.model.steps(self.state, rank, actions);
                return true;
            }
        }
        let lone = self.state.heads().find(|(route, _)| self.conflicts_nowhere(*route));
        actions.extend(lone.map(|(route, _)| Action::Land(*route)));
        lone.is_some()
    }

    /// The end whose arrivals the next step of a rank conflicts with.
    fn conflict_of_step(&self, rank: u16) -> Option<Node> {
        let program = self.model.program(self.state.job, rank);
        let act = self.model.next_act(self.state, rank)?;
        match act {
            Act::Wait(_) | Act::Probe(..) | Act::Touch { .. } => None,
            Act::Test(request) | Act::Cancel(request) => Some(self.end_of_request(rank, *request)),
            Act::Start(ordinal) => match program.starts[usize::from(*ordinal)] {
                Start::Barrier => None,
                Start::Send { to, .. } if to as u16 == rank => {
                    self.is_wild(rank).then_some(Node::ReceiveEnds(rank))
                }
                Start::Send { to, .. } => {
                    self.facts.is_ordered(rank, to as u16).then_some(Node::SendEnd(rank, to as u16))
                }
                Start::Receive { from: Source::Rank(from), .. } => {
                    let from = from.0 as u16;
                    self.facts.answers_posts(from, rank).then(|| self.receive_end(rank, from))
                }
                Start::Receive { .. } => (0..self.ranks())
                    .any(|from| self.facts.answers_posts(from, rank))
                    .then_some(Node::ReceiveEnds(rank)),
            },
        }
    }

    fn conflicts_nowhere(&self, route: Route) -> bool {
        let Route { at, peer, context, what } = route;
        if self.will_test(at) {
            return false;
        }
        match what {
            _ if context == Context::COLLECTIVES => true,
            What::Back | What::Written => !self.facts.is_ordered(at, peer),
            What::Forward | What::Read(_) => !self.facts.is_ordered(peer, at) && !self.is_wild(at),
        }
    }

    /// The possible actions of the smallest set that contains `seed` and is closed under conflict and,
    /// for what is not possible yet, under what could make it possible.
    fn closure(&self, seed: Node) -> Vec<Action> {
        let mut nodes = vec![seed];
        let mut next = 0;
        while next < nodes.len() {
            let node = nodes[next];
            next += 1;
            self.needs(node, &mut |needed| {
                if !nodes.contains(&needed) {
                    nodes.push(needed);
                }
            });
        }
        self.possible(&nodes)
    }

    fn needs(&self, node: Node, need: &mut dyn FnMut(Node)) {
        match node {
            Node::Step(rank) => self.needs_of_step(rank, need),
            Node::SendEnd(at, peer) => {
                if self.will_test(at) {
                    need(Node::Step(at));
                } else if self.facts.is_ordered(at, peer) && self.will_send(at, peer) {
                    need(self.before_next(at, peer));
                }
                // What the peer's end sends back.
                if self.is_empty(at, peer, What::Back) {
                    need(self.receive_end(peer, at));
                    if self.will_receive(peer, at) {
                        need(self.before_next(peer, at));
                    }
                }
            }
            Node::ReceiveEnd(at, peer) => {
                if self.will_test(at) {
                    need(Node::Step(at));
                } else if self.conflicts_with_steps(at, peer) && self.will_receive(at, peer) {
                    need(self.before_next(at, peer));
                }
                self.needs_messages(at, peer, need);
            }
            Node::ReceiveEnds(at) => {
                let facts = self.facts.rank(at);
                let last_receive = facts.last_receive.values().copied().max().max(facts.last_from_any);
                let conflict = (0..self.ranks()).any(|peer| self.conflicts_with_steps(at, peer));
                if conflict && self.is_before(at, last_receive) || self.will_test(at) {
                    need(Node::Step(at));
                }
                // A message to itself arrives in a step.
                if self.will_send(at, at) {
                    need(Node::Step(at));
                }
                (0..self.ranks())
                    .filter(|peer| *peer != at)
                    .for_each(|peer| self.needs_messages(at, peer, need));
            }
            Node::Barrier(at) => {
                if self.will_test(at) {
                    need(Node::Step(at));
                }
                for peer in (0..self.ranks()).filter(|peer| *peer != at) {
                    if self.is_before(peer, self.facts.rank(peer).last_barrier) {
                        need(Node::Step(peer));
                    }
                    need(Node::Barrier(peer));
                }
            }
        }
    }

    /// Whether posting or cancelling a receive conflicts with what happens at the flow's receiving end.
    fn conflicts_with_steps(&self, at: u16, peer: u16) -> bool {
        self.facts.answers_posts(peer, at) || self.facts.cancels(peer, at)
    }

    /// What has to happen before the next step of `rank` that concerns its flows with `peer`: the step it
    /// is at, or, if it has to wait before for a request of these very flows, what completes that one.
    fn before_next(&self, rank: u16, peer: u16) -> Node {
        let program = self.model.program(self.state.job, rank);
        let proc = &self.state.procs[usize::from(rank)];
        for step in &program.steps[usize::from(self.pc(rank))..] {
            match &step.act {
                Act::Start(ordinal) => {
                    let concerned = match program.starts[usize::from(*ordinal)] {
                        Start::Send { to, .. } => to == u32::from(peer),
                        Start::Receive { from: Source::Rank(from), .. } => from.0 == u32::from(peer),
                        Start::Receive { .. } => true,
                        Start::Barrier => false,
                    };
                    if concerned {
                        break;
                    }
                }
                Act::Wait(requests) => {
                    let guards = |request: &&Ordinal| {
                        let open = proc.open.iter().any(|open| open.ordinal == **request);
                        let end = self.end_of_request(rank, **request);
                        let ours = end == Node::SendEnd(rank, peer) || end == Node::ReceiveEnd(rank, peer);
                        ours && open && !proc.is_over(**request)
                    };
                    if let Some(request) = requests.iter().find(guards) {
                        return self.end_of_request(rank, *request);
                    }
                }
                // A cancelled request completes without any arrival.
                Act::Cancel(_) => break,
                Act::Test(_) | Act::Probe(..) | Act::Touch { .. } => {}
            }
        }
        Node::Step(rank)
    }

    /// What could send a message from `peer` to `at`, if none is under way.
    fn needs_messages(&self, at: u16, peer: u16, need: &mut dyn FnMut(Node)) {
        if self.is_empty(at, peer, What::Forward) {
            if self.will_send(peer, at) {
                need(self.before_next(peer, at));
            }
            if self.facts.is_ordered(peer, at) {
                need(Node::SendEnd(peer, at));
            }
        }
    }

    fn needs_of_step(&self, rank: u16, need: &mut dyn FnMut(Node)) {
        let Some(act) = self.model.next_act(self.state, rank) else { return };
        let proc = &self.state.procs[usize::from(rank)];
        if is_enabled(proc, act) {
            if let Some(end) = self.conflict_of_step(rank) {
                need(end);
            }
            return;
        }
        match act {
            // One request that is not complete is enough: without it the wait does not end.
            Act::Wait(requests) => {
                if let Some(request) = requests.iter().find(|request| !proc.is_over(**request)) {
                    need(self.end_of_request(rank, *request));
                }
            }
            Act::Probe(Source::Rank(from), _) => need(self.receive_end(rank, from.0 as u16)),
            Act::Probe(Source::Any, _) => need(Node::ReceiveEnds(rank)),
            _ => {}
        }
    }

    fn is_empty(&self, at: u16, peer: u16, what: What) -> bool {
        let route = Route { at, peer, context: Context::MESSAGES, what };
        self.state.flights.binary_search_by(|(other, _)| other.cmp(&route)).is_err()
    }

    fn possible(&self, nodes: &[Node]) -> Vec<Action> {
        let mut actions = Vec::new();
        for node in nodes {
            if let Node::Step(rank) = node {
                self.model.steps(self.state, *rank, &mut actions);
            }
        }
        for (route, _) in self.state.heads() {
            let individually = match self.end_of(*route) {
                Node::ReceiveEnds(at) => nodes.contains(&Node::ReceiveEnd(at, route.peer)),
                _ => false,
            };
            let jointly = match route.what {
                What::Forward | What::Read(_) if route.context == Context::MESSAGES => {
                    nodes.contains(&Node::ReceiveEnds(route.at))
                }
                _ => false,
            };
            if individually || jointly || nodes.contains(&self.end_of(*route)) {
                actions.push(Action::Land(*route));
            }
        }
        let before_announcements = actions.len();
        for rank in 0..self.ranks() {
            let mut announcements = Vec::new();
            self.model.announcements(self.state, rank, &mut announcements);
            actions.extend(announcements.into_iter().filter(|action| match action {
                Action::Announce { receive, .. } => {
                    nodes.contains(&self.end_of_request(rank, *receive))
                        || nodes.contains(&Node::ReceiveEnds(rank))
                }
                _ => false,
            }));
        }
        // Announcing is free, but something else must be possible: an end of the execution is where
        // nothing but announcements is.
        if before_announcements == 0 { Vec::new() } else { actions }
    }
}
