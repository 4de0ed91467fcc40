//! The closure of a persistent set: for each action that is possible, all that conflict with it; for each that is not
//! possible yet, one without which it never will be.

use super::View;
use super::node::{Flow, Node, Nodes, WorkIsOver};
use crate::action::Action;
use crate::later::sought;
use crate::network::{Channel, ChannelKind, Message};
use crate::program::{Act, Ordinal, Start};
use crate::state::Proc;
use carrousel_rank::{Call, Explore, Pattern, Protocol, Source};

impl<P: Protocol> View<'_, P> {
    /// The possible actions of the smallest set that contains `seeds` and is closed under conflict and,
    /// for what is not possible yet, under what could make it possible. None if they are more than `most`: such a set is
    /// given up as soon as it is known to hold more, and so is one with a node of `large`, whose own sets are known to.
    pub(super) fn closure(
        &self,
        seeds: &[Node],
        most: usize,
        large: &Nodes,
    ) -> Result<Option<Vec<Action>>, WorkIsOver> {
        let mut nodes = Nodes::default();
        seeds.iter().for_each(|seed| _ = nodes.insert(*seed));
        let (mut next, mut actions) = (0, 0);
        while let Some(node) = nodes.list.get(next).copied() {
            next += 1;
            actions += self.least_actions(node);
            if actions > most || large.contains(&node) {
                return Ok(None);
            }
            // A node for the flows of all peers is looked at once for each peer.
            let peers = match node {
                Node::ReceiveEnds(_) | Node::Collective(_) | Node::Window(_) => usize::from(self.ranks()),
                _ => 0,
            };
            let left = self.work.get().checked_sub(1 + peers);
            self.work.set(left.unwrap_or(0));
            left.ok_or(WorkIsOver)?;
            self.needs(node, &mut |needed| _ = nodes.insert(needed));
        }
        let found = self.possible(&nodes);
        Ok(Some(found).filter(|found| found.len() <= most))
    }

    /// At least so many actions enter a set with a node, and with no other one.
    fn least_actions(&self, node: Node) -> usize {
        match node {
            Node::Step(rank) => usize::from(self.model.can_step(self.state, rank)),
            // All arrivals that it stands for, or none.
            Node::ReceiveEnds(at) if self.is_wild(at) => self.arrivals_of(node).count(),
            Node::ReceiveEnds(_) => 0,
            node => self.arrivals_of(node).filter(|channel| self.end_of(*channel) == node).count(),
        }
    }

    /// The channels whose oldest items arrive at an end.
    fn arrivals_of(&self, node: Node) -> impl Iterator<Item = Channel> {
        let of_window = matches!(node, Node::Window(_)).then(|| self.state.network.heads());
        let heads = node.of_arrivals().into_iter().flat_map(|at| self.state.network.heads_at(at));
        let heads = heads.chain(of_window.into_iter().flatten());
        let free = heads.filter(|(channel, item)| self.state.network.is_free(*channel, item));
        let channels = free.map(|(channel, _)| *channel);
        // Whether a rank is wild takes longer to say.
        channels.filter(move |channel| self.joint_end(*channel) == node || self.end_of(*channel) == node)
    }

    /// The end of an arrival, where a rank whose last receive from any source has its message is named jointly by that.
    fn joint_end(&self, channel: Channel) -> Node {
        match channel.kind {
            ChannelKind::Forward | ChannelKind::Read(_) if !channel.context.is_collective() => {
                Node::ReceiveEnds(channel.at)
            }
            _ => self.end_of(channel),
        }
    }

    fn needs(&self, node: Node, need: &mut dyn FnMut(Node)) {
        match node {
            Node::Step(rank) => self.needs_of_step(rank, need),
            Node::SendEnd(at, peer) => {
                if self.has_arrivals(at, peer, ChannelKind::Back)
                    || self.has_arrivals(at, peer, ChannelKind::Written)
                {
                    if self.will_test(at) {
                        need(Node::Step(at));
                    } else if self.facts.is_ordered(at, peer) && self.will_send(at, peer) {
                        need(self.before_next(at, Flow::To(peer)));
                    }
                }
                // Packets that the peer's end sends back.
                if self.lacks_arrivals(at, peer, ChannelKind::Back) {
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
                let last_receive = facts.last_receive.of_any().max(facts.last_from_any);
                let conflict = self.model.is_portable() || self.facts.rank(at).has_ordered();
                if conflict && self.is_before(at, last_receive) || self.will_test(at) {
                    need(Node::Step(at));
                }
                if self.is_crowded(at) {
                    need(Node::Collective(at));
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
            Node::Locks(window, host) => self.needs_of_locks((window, host), need),
            // Any arrival may be in conflict with any other and with any call, and may follow from any.
            Node::Window(window) => {
                for rank in 0..self.ranks() {
                    if self.is_before(rank, self.facts.rank(rank).last_on_window(window)) {
                        need(self.before_next(rank, Flow::Window(window)));
                    }
                }
            }
            Node::Collective(at) => {
                if self.will_test(at) {
                    need(Node::Step(at));
                }
                if self.is_crowded(at) {
                    need(Node::ReceiveEnds(at));
                }
                for peer in (0..self.ranks()).filter(|peer| *peer != at) {
                    if self.is_before(peer, self.facts.rank(peer).last_collective) {
                        need(Node::Step(peer));
                    }
                    need(Node::Collective(peer));
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
        let end = Node::ReceiveEnd(at, peer);
        let announces = || self.announcements_of(at).iter().any(|(_, of)| *of == end);
        self.state.network.heads_at(at).any(|(channel, _)| self.end_of(*channel) == end) || announces()
    }

    /// A node that must happen before the next step of `rank` that concerns `flow`: the end that completes a request
    /// for which the rank waits before that step, or else the step that it is at. Any such request is right; those of
    /// the same flow, and then of the same peer, add the fewest nodes.
    fn before_next(&self, rank: u16, flow: Flow) -> Node {
        let (peer, own) = match flow {
            Flow::To(peer) => (Some(peer), Node::SendEnd(rank, peer)),
            Flow::From(peer) => (Some(peer), Node::ReceiveEnd(rank, peer)),
            Flow::Window(window) => (None, Node::Window(window)),
        };
        let is_of_peer = |end: Node| {
            peer.is_some_and(|peer| end == Node::SendEnd(rank, peer) || end == Node::ReceiveEnd(rank, peer))
        };
        let program = self.model.program(self.state.job, rank);
        let proc = &self.state.procs[usize::from(rank)];
        let mut found = None;
        // Requests from this one on have not begun.
        let mut to_come = Ordinal::MAX;
        for step in &program.steps[usize::from(self.pc(rank))..] {
            if let Flow::Window(window) = flow
                && program.window_of_act(&step.act) == Some(window)
            {
                break;
            }
            match &step.act {
                Act::Start(ordinal) => {
                    let concerned = match program.starts[usize::from(*ordinal)] {
                        // Its peer may be any, unless the outline names one.
                        Start::Later(index) => {
                            let later = &program.later[usize::from(index)];
                            match flow {
                                Flow::To(to) => {
                                    later.sends && later.to().is_none_or(|known| known == u32::from(to))
                                }
                                Flow::From(from) => {
                                    let is_it = |known: Source| match known {
                                        Source::Rank(known) => known.0 == u32::from(from),
                                        Source::Any => true,
                                    };
                                    !later.sends && later.from().is_none_or(is_it)
                                }
                                Flow::Window(_) => false,
                            }
                        }
                        Start::Send { to, .. } => flow == Flow::To(to as u16),
                        Start::Receive { from: Source::Rank(from), .. } => flow == Flow::From(from.0 as u16),
                        Start::Receive { .. } => matches!(flow, Flow::From(_)),
                        Start::Collective { .. } | Start::Synchronize(_) | Start::Access(_) => false,
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
                        if is_of_peer(end) {
                            found = Some(end);
                        } else if self.far && found.is_none() {
                            found = Some(self.missing_partner(rank, *request).unwrap_or(end));
                        }
                    }
                }
                // A cancelled request completes without any arrival.
                Act::Claim(_) | Act::ReceiveClaimed(_) | Act::Discard(_) | Act::Cancel(_) => break,
                Act::Test(_)
                | Act::Probe { .. }
                | Act::Touch { .. }
                | Act::Access(_)
                | Act::TouchWindow(_)
                | Act::Compute(_)
                | Act::Define(_)
                | Act::AwaitGrants(_) => {}
            }
        }
        found.unwrap_or(Node::Step(rank))
    }

    /// The partner of a request that has surely not been matched: nothing else completes it.
    fn missing_partner(&self, rank: u16, request: Ordinal) -> Option<Node> {
        match self.model.start(self.state, rank, request) {
            Start::Send { to, .. } => {
                let to = to as u16;
                let message = Message { from: rank, send: request };
                let takes = |receive: &Ordinal| match self.model.start(self.state, to, *receive) {
                    Start::Receive { from: Source::Rank(from), .. } => from.0 == u32::from(rank),
                    _ => true,
                };
                let begun = self.state.procs[usize::from(rank)].is_open(request);
                let none = (!begun || self.state.is_unmatched(message, to))
                    && !self.state.procs[usize::from(to)].waiting.iter().any(takes)
                    && !self.has_arrivals(rank, to, ChannelKind::Back);
                none.then_some(Node::Post(to, rank))
            }
            Start::Receive { from: Source::Rank(from), .. } => {
                let from = from.0 as u16;
                let waits = self.state.procs[usize::from(rank)].waiting.contains(&request);
                (waits && !self.has_arrivals(rank, from, ChannelKind::Forward))
                    .then_some(Node::Send(from, rank))
            }
            _ => None,
        }
    }

    /// Whether a request is open and incomplete, or will surely be so once it has begun: something has to
    /// arrive at its end before it is complete.
    fn awaits_arrival(&self, proc: &Proc<P>, rank: u16, request: Ordinal, to_come: bool) -> bool {
        if !to_come {
            return proc.is_open(request) && !self.model.is_over(self.state, rank, request);
        }
        if self.model.program(self.state.job, rank).is_of_window(request) {
            return false;
        }
        let options = &self.model.jobs()[self.state.job as usize].options;
        let start = self.model.start(self.state, rank, request);
        if matches!(start, Start::Later(_)) {
            return false;
        }
        match start.call() {
            // An announcement that is here already could let it be written at once.
            Call::Send(message) => {
                let rendezvous = message.synchronous || message.len > options.eager_threshold;
                self.far && rendezvous && !proc.rank.could_write(&message)
            }
            _ => false,
        }
    }

    /// A node that could send a message from `peer` to `at`, if in some communicator none is in flight.
    fn needs_messages(&self, at: u16, peer: u16, need: &mut dyn FnMut(Node)) {
        if self.lacks_arrivals(at, peer, ChannelKind::Forward) {
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
        if self.model.can_step(self.state, rank) {
            if let Some(end) = self.conflict_of_step(rank) {
                need(end);
            }
            self.conflicts_weakly(rank, need);
            return;
        }
        match act {
            // One request that is not complete is enough: without it the wait does not end.
            Act::Wait(requests) => {
                if let Some(request) =
                    requests.iter().find(|request| !self.model.is_over(self.state, rank, **request))
                {
                    let program = self.model.program(self.state.job, rank);
                    let is_weak = self.model.is_portable() && program.is_of_window(*request);
                    match is_weak {
                        true => self.needs_in_window(|| self.missing_for(rank, *request), need),
                        false => need(self.end_of_request(rank, *request)),
                    }
                }
            }
            Act::Probe { sought: what, .. } => {
                let program = self.model.program(self.state.job, rank);
                match sought(program, &self.state.procs[usize::from(rank)], *what) {
                    Some(Pattern { source: Source::Rank(from), .. }) => {
                        need(self.receive_end(rank, from.0 as u16));
                    }
                    Some(Pattern { source: Source::Any, .. }) => need(Node::ReceiveEnds(rank)),
                    None => {}
                }
            }
            Act::AwaitGrants(opening) if self.model.is_portable() => {
                self.needs_in_window(|| self.missing_lock(rank, *opening), need)
            }
            Act::AwaitGrants(opening) => need(self.end_of_request(rank, *opening)),
            _ => {}
        }
    }

    /// Whether an item in flight comes out at `at`, in some communicator.
    fn has_arrivals(&self, at: u16, peer: u16, kind: ChannelKind) -> bool {
        self.channels(at, peer, kind).any(|channel| self.state.network.has(channel))
    }

    /// Whether in some communicator no item in flight comes out at `at`: one may be sent there, and is not possible
    /// yet.
    fn lacks_arrivals(&self, at: u16, peer: u16, kind: ChannelKind) -> bool {
        !self.channels(at, peer, kind).all(|channel| self.state.network.has(channel))
    }

    /// The channels of the messages that two ranks may exchange.
    fn channels(&self, at: u16, peer: u16, kind: ChannelKind) -> impl Iterator<Item = Channel> {
        let communicators = self.model.program(self.state.job, at).shared_with(peer);
        communicators.map(move |it| Channel { at, peer, context: it.messages(), kind })
    }

    fn possible(&self, nodes: &Nodes) -> Vec<Action> {
        let mut actions = Vec::new();
        for node in &nodes.list {
            if let Node::Step(rank) = node {
                self.model.steps(self.state, *rank, &mut actions);
            }
        }
        for node in &nodes.list {
            if let Node::Locks(window, host) = node {
                self.lock_steps((*window, *host), &mut actions);
            }
        }
        let before_arrivals = actions.len();
        for node in &nodes.list {
            let arrivals = self.arrivals_of(*node).filter(|channel| {
                // A joint end looks for all arrivals that it stands for.
                *node == self.joint_end(*channel) || !nodes.contains(&self.joint_end(*channel))
            });
            actions.extend(arrivals.map(Action::Land));
        }
        actions[before_arrivals..].sort_unstable_by_key(|action| match action {
            Action::Land(channel) => Some(*channel),
            _ => None,
        });
        let before_announcements = actions.len();
        if before_announcements == 0 {
            // Announcements alone do not count as possible: an execution ends where nothing else is.
            return actions;
        }
        // In the order of the ranks, and of their receives.
        let mut announcements = Vec::new();
        for node in &nodes.list {
            let Some(rank) = node.of_arrivals() else { continue };
            let all = Node::ReceiveEnds(rank);
            for (number, (action, end)) in self.announcements_of(rank).iter().enumerate() {
                if *node == all || node == end && !nodes.contains(&all) {
                    announcements.push((rank, number, *action));
                }
            }
        }
        announcements.sort_unstable_by_key(|(rank, number, _)| (*rank, *number));
        actions.extend(announcements.into_iter().map(|(_, _, action)| action));
        actions
    }

    /// The announcements that a rank may make, each with its end.
    fn announcements_of(&self, rank: u16) -> &[(Action, Node)] {
        self.announcements.of(self.ranks(), rank, || {
            let mut announcements = Vec::new();
            self.model.announcements(self.state, rank, &mut announcements);
            let end = |action: &Action| match *action {
                Action::Announce { rank, receive } => Some((*action, self.end_of_request(rank, receive))),
                _ => None,
            };
            announcements.iter().filter_map(end).collect()
        })
    }
}
