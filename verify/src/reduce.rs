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
use crate::state::{Flight, Message, Proc, Route, State, What};
use crate::step::{Action, is_enabled};
use carrousel_rank::{Context, Packet, Protocol, RankId, Send, Source, Tag};

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
    /// Not actions: what has to happen before the first rank posts a receive from the second.
    Post(u16, u16),
    /// Not actions: what has to happen before the first rank sends to the second.
    Send(u16, u16),
}

/// One of the flows of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// Its messages to this rank.
    To(u16),
    /// Its messages from this rank.
    From(u16),
}

/// Appends a persistent set of the actions that are possible in `state`; all of them at worst.
pub(crate) fn enough_actions<P: Protocol>(model: &Model<P>, state: &State<P>, actions: &mut Vec<Action>) {
    let view = View { model, state, facts: model.facts(state.job), far: false };
    let far = View { far: true, ..view };
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
    'seeds: for seed in seeds {
        for view in [&view, &far] {
            let found = view.closure(seed);
            let better = best.as_ref().is_none_or(|best| found.len() < best.len());
            if better && !found.is_empty() {
                let alone = found.len() == 1;
                best = Some(found);
                if alone {
                    break 'seeds;
                }
            }
        }
    }
    match best {
        Some(best) => actions.extend(best),
        // Only announcements are possible, or nothing: no rank goes on any more, and they do not even meet.
        None => {
            (0..state.procs.len() as u16).for_each(|rank| model.announcements(state, rank, actions));
            if let Some(Action::Announce { rank, receive }) = actions.first().copied() {
                let end = view.end_of_request(rank, receive);
                actions.retain(|action| match action {
                    Action::Announce { rank: at, receive } => {
                        *at == rank && view.end_of_request(rank, *receive) == end
                    }
                    _ => true,
                });
            }
        }
    }
}

struct View<'a, P: Protocol> {
    model: &'a Model<P>,
    state: &'a State<P>,
    facts: &'a Facts,
    /// What a rank has to wait for before it does something stands for the step that it is at. Either is
    /// right; which leads to the smaller set depends.
    far: bool,
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
                Start::Send { to, .. } => {
                    self.facts.is_ordered(rank, to as u16).then_some(Node::SendEnd(rank, to as u16))
                }
                Start::Receive { from: Source::Rank(from), .. } => {
                    let from = from.0 as u16;
                    self.facts.answers_posts(from, rank).then(|| self.receive_end(rank, from))
                }
                // Under the weakest MPI it chooses among what has arrived.
                Start::Receive { .. } => (self.model.is_portable()
                    || (0..self.ranks()).any(|from| self.facts.answers_posts(from, rank)))
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
            What::Written if self.facts.writes_end_silently() => true,
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
                if self.has_arrivals(at, peer, What::Back) || self.has_arrivals(at, peer, What::Written) {
                    if self.will_test(at) {
                        need(Node::Step(at));
                    } else if self.facts.is_ordered(at, peer) && self.will_send(at, peer) {
                        need(self.before_next(at, Flow::To(peer)));
                    }
                }
                // What the peer's end sends back.
                if !self.has_arrivals(at, peer, What::Back) {
                    need(self.receive_end(peer, at));
                    if self.will_receive(peer, at) {
                        need(self.before_next(peer, Flow::From(at)));
                    }
                }
            }
            Node::ReceiveEnd(at, peer) => {
                if self.is_receiving(at, peer) {
                    if self.will_test(at) {
                        need(Node::Step(at));
                    } else if self.posts_matter(at, peer) && self.will_receive(at, peer) {
                        need(self.before_next(at, Flow::From(peer)));
                    }
                }
                self.needs_messages(at, peer, need);
            }
            Node::ReceiveEnds(at) => {
                let facts = self.facts.rank(at);
                let last_receive = facts.last_receive.values().copied().max().max(facts.last_from_any);
                let conflict =
                    self.model.is_portable() || (0..self.ranks()).any(|peer| self.posts_matter(at, peer));
                if conflict && self.is_before(at, last_receive) || self.will_test(at) {
                    need(Node::Step(at));
                }
                (0..self.ranks()).for_each(|peer| self.needs_messages(at, peer, need));
            }
            Node::Post(rank, from) => {
                if self.will_receive(rank, from) {
                    need(self.before_next(rank, Flow::From(from)));
                }
            }
            Node::Send(rank, to) => {
                if self.will_send(rank, to) {
                    need(self.before_next(rank, Flow::To(to)));
                }
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

    /// Whether it matters for what happens at the flow's receiving end that a receive is posted or
    /// cancelled first: it may be answered, or announced.
    fn posts_matter(&self, at: u16, peer: u16) -> bool {
        self.facts.is_ordered(peer, at)
    }

    /// Whether something can happen at the flow's receiving end.
    fn is_receiving(&self, at: u16, peer: u16) -> bool {
        let ours = |route: &Route| {
            route.at == at && route.peer == peer && matches!(route.what, What::Forward | What::Read(_))
        };
        self.state.heads().any(|(route, _)| route.context == Context::MESSAGES && ours(route))
            || self.announces(at, Some(peer))
    }

    fn announces(&self, at: u16, peer: Option<u16>) -> bool {
        let mut announcements = Vec::new();
        self.model.announcements(self.state, at, &mut announcements);
        announcements.iter().any(|action| match action {
            Action::Announce { receive, .. } => {
                peer.is_none_or(|peer| self.end_of_request(at, *receive) == Node::ReceiveEnd(at, peer))
            }
            _ => false,
        })
    }

    /// What has to happen before the next step of `rank` that concerns `flow`: what completes a request that
    /// it has to wait for before, or else the step it is at. Each such request would do; those of the same
    /// flow, and then of the same peer, lead least far from where we are.
    fn before_next(&self, rank: u16, flow: Flow) -> Node {
        let (Flow::To(peer) | Flow::From(peer)) = flow;
        let own = match flow {
            Flow::To(_) => Node::SendEnd(rank, peer),
            Flow::From(_) => Node::ReceiveEnd(rank, peer),
        };
        let program = self.model.program(self.state.job, rank);
        let proc = &self.state.procs[usize::from(rank)];
        let mut found = None;
        // Requests from this one on have not begun.
        let mut to_come = Ordinal::MAX;
        for step in &program.steps[usize::from(self.pc(rank))..] {
            match &step.act {
                Act::Start(ordinal) => {
                    let concerned = match program.starts[usize::from(*ordinal)] {
                        Start::Send { to, .. } => flow == Flow::To(to as u16),
                        Start::Receive { from: Source::Rank(from), .. } => flow == Flow::From(from.0 as u16),
                        Start::Receive { .. } => flow == Flow::From(peer),
                        Start::Barrier => false,
                    };
                    if concerned {
                        break;
                    }
                    to_come = to_come.min(*ordinal);
                }
                Act::Wait(requests) => {
                    for request in requests.iter() {
                        if !self.awaits_arrival(proc, rank, *request, *request >= to_come) {
                            continue;
                        }
                        let end = self.end_of_request(rank, *request);
                        if end == own {
                            return own;
                        }
                        if end == Node::SendEnd(rank, peer) || end == Node::ReceiveEnd(rank, peer) {
                            found = Some(end);
                        } else if self.far && found.is_none() {
                            found = Some(self.missing_partner(rank, *request).unwrap_or(end));
                        }
                    }
                }
                // A cancelled request completes without any arrival.
                Act::Cancel(_) => break,
                Act::Test(_) | Act::Probe(..) | Act::Touch { .. } => {}
            }
        }
        found.unwrap_or(Node::Step(rank))
    }

    /// The partner that a request has yet to get, if it surely has none: nothing else completes it.
    fn missing_partner(&self, rank: u16, request: Ordinal) -> Option<Node> {
        match self.model.program(self.state.job, rank).starts[usize::from(request)] {
            Start::Send { to, .. } => {
                let to = to as u16;
                let there = &self.state.procs[usize::from(to)];
                let message = Message { from: rank, send: request };
                let takes = |receive: &Ordinal| match self.model.program(self.state.job, to).starts
                    [usize::from(*receive)]
                {
                    Start::Receive { from: Source::Rank(from), .. } => from.0 == u32::from(rank),
                    _ => true,
                };
                let begun =
                    self.state.procs[usize::from(rank)].open.iter().any(|open| open.ordinal == request);
                let under_way = || {
                    self.state.flights.iter().any(|(_, flight)| {
                        matches!(flight, Flight::Packet(Packet::Rts { .. }, Some(brings)) if *brings == message)
                    })
                };
                let unmatched = !begun || there.arrived.contains(&message) || under_way();
                let none =
                    unmatched && !there.waiting.iter().any(takes) && !self.has_arrivals(rank, to, What::Back);
                none.then_some(Node::Post(to, rank))
            }
            Start::Receive { from: Source::Rank(from), .. } => {
                let from = from.0 as u16;
                let waits = self.state.procs[usize::from(rank)].waiting.contains(&request);
                (waits && !self.has_arrivals(rank, from, What::Forward)).then_some(Node::Send(from, rank))
            }
            _ => None,
        }
    }

    /// Whether a request is open and incomplete, or will surely be so once it has begun: something has to
    /// arrive at its end before it is complete.
    fn awaits_arrival(&self, proc: &Proc<P>, rank: u16, request: Ordinal, to_come: bool) -> bool {
        if !to_come {
            return proc.open.iter().any(|open| open.ordinal == request) && !proc.is_over(request);
        }
        let options = &self.model.jobs()[self.state.job as usize].options;
        match self.model.program(self.state.job, rank).starts[usize::from(request)] {
            // An announcement that is here already could let it be written at once.
            Start::Send { to, tag, len, synchronous, buffer } => {
                let memory = carrousel_rank::Memory { address: u64::from(buffer), key: 0 };
                let message = Send { to: RankId(to), tag: Tag(tag), len, memory, synchronous };
                self.far && (synchronous || len > options.eager_threshold) && !proc.rank.could_write(&message)
            }
            Start::Receive { .. } | Start::Barrier => false,
        }
    }

    /// What could send a message from `peer` to `at`, if none is under way.
    fn needs_messages(&self, at: u16, peer: u16, need: &mut dyn FnMut(Node)) {
        if !self.has_arrivals(at, peer, What::Forward) {
            if self.will_send(peer, at) {
                need(self.before_next(peer, Flow::To(at)));
            }
            if self.facts.is_ordered(peer, at) {
                need(Node::SendEnd(peer, at));
            }
        }
    }

    fn needs_of_step(&self, rank: u16, need: &mut dyn FnMut(Node)) {
        let Some(act) = self.model.next_act(self.state, rank) else { return };
        let proc = &self.state.procs[usize::from(rank)];
        if proc.refuses
            && let Some((request, to)) = self.model.unbuffered(self.state, rank).next()
        {
            // Its message has to arrive, and then to be received.
            let message = Message { from: rank, send: request };
            let has_come = self.state.procs[usize::from(to)].arrived.contains(&message);
            need(if has_come { Node::Post(to, rank) } else { self.receive_end(to, rank) });
            return;
        }
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

    /// Whether something is under way that comes out at `at`.
    fn has_arrivals(&self, at: u16, peer: u16, what: What) -> bool {
        let route = Route { at, peer, context: Context::MESSAGES, what };
        self.state.flights.binary_search_by(|(other, _)| other.cmp(&route)).is_ok()
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
