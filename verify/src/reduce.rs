//! Partial-order reduction: leaves out orders of events that make no difference.
//!
//! Events at different ranks commute: one takes the oldest item out of a channel, the other adds a newest one. So do
//! most events at one rank, because its library keeps flows apart: an event at one *end* of a flow (the sending or
//! the receiving one) does not concern the others. All other pairs are in conflict, and for each state
//! [`enough_actions`] returns a *persistent set*: some of the actions, such that nothing that can happen without them
//! ever conflicts with them. Exploring only these reaches every end state, and makes every local step of every
//! execution (P. Godefroid, Partial-Order Methods for the Verification of Concurrent Systems, chapter 4); no proviso
//! is needed as no execution is infinite.
//!
//! Conflicts at one rank are:
//! - arrivals and announcements at one end of a flow that may be announced or cancelled
//!   ([`Facts::is_ordered`]), with the sends and cancellations of the program there; where posting a
//!   receive may send an answer ([`Facts::answers_posts`]), with that too;
//! - arrivals from different ranks, while a receive from any source is pending or to come, or while so many receives are
//!   or will be posted that only the oldest are announced (there, arrivals of collectives too);
//! - a test, with whatever may complete its request.
//!
//! A flow here is all that one rank sends to another, in whatever communicators they are in together.
//!
//! Of windows, what comes out of the network commutes with nearly all: grants, completions and packets of different peers
//! come to the same end in every order, and so do calls and arrivals, because what may not be done yet is done in the
//! order of the calls. Conflicts are:
//! - requests of different ranks for one lock, unless all are shared, or nobody keeps that lock while waiting for anything
//!   else (`brief_locks`);
//! - requests of different ranks for staging buffers, unless there is one for each of them;
//! - the end of a transfer with the beginning of another access that could race with it, unless their epochs, a wait or a
//!   barrier keep them apart in every order (`access_order`). To begin early and to end late shows more races than the
//!   reverse, so only ends, and what the program does to its own memory, are in conflict. Nothing else depends on it: once a
//!   race is found, it does not matter any more;
//! - requests and releases of locks with calls that open or close exposures, if one window has both: what its host does
//!   depends on which comes first. So are calls that unlock it, if it is exposed to a group.
//!
//! In jobs with windows, an action without conflicts is taken alone. In a state without such an action, sets are looked for.
//! There, all arrivals of a window are one node, which needs the next call of each rank on that window. Messages are in a set
//! only if a rank waits for them before that call.
//!
//! Under the weakest MPI a call on a window may return where the library waits. Such a step is never taken alone, as a wait
//! that counts on buffers is not, so that every state in which only such steps are left is met. It can only stop being
//! such a step, by a grant or an arrival, and it changes nothing but the place of its rank in its program. Nothing of a
//! library runs for windows there; `reduce/weakest.rs` has the conflicts of their calls, and sets are looked for.
//!
//! Everything else commutes: posting a receive with the arrival of a message (the match is the same),
//! waiting, and arrivals of different flows. So does the arrival of data that a rank reads, which its library is told of
//! later, unless the packet that leaves behind it may be before or behind an announcement. So does all that happens in a
//! collective: its messages name their source, are received in the order in which they were sent and are never announced,
//! so that each member comes to the same end in every order (G. Kahn, The Semantics of a Simple Language for Parallel
//! Programming, 1974).
//! Getting to know a communicator is a step of such a kind: it concerns collectives of that communicator only, which
//! the rank enters behind it.

mod announcements;
mod closure;
mod node;
mod weakest;

use self::announcements::Announcements;
use self::node::{Node, Nodes, WorkIsOver};
use crate::action::Action;
use crate::facts::Facts;
use crate::model::Model;
use crate::network::{Channel, ChannelKind, InFlight};
use crate::program::{Act, Ordinal, Start, Synchronization};
use crate::search::ViolationSite;
use crate::state::{Outlook, State};
use carrousel_rank::epoch::{Call, Packet};
use carrousel_rank::{Protocol, Source};
use std::cell::Cell;

/// The work that may go into the persistent sets of one state, in nodes and their peers: on very many ranks, the set
/// of each seed may hold nearly all actions.
const WORK_MAX: usize = 1 << 22;

/// A set of so many actions is small.
const FEW_ACTIONS: usize = 2;

/// After so many seeds a small set is small enough: to look for one of a single action, in a state of many ranks, takes longer
/// than the states that it might save.
const SEEDS: usize = 4;

/// Appends a persistent set of the actions that are possible in `state`: in the worst case all of them.
pub(crate) fn enough_actions<P: Protocol>(model: &Model<P>, state: &State<P>, actions: &mut Vec<Action>) {
    let (work, announcements) = (Cell::new(WORK_MAX), Announcements::default());
    let facts = model.facts(state.job);
    let view = View { model, state, facts, far: false, work: &work, announcements: &announcements };
    let far = View { far: true, ..view };
    if view.lone_action(actions) {
        return;
    }
    if view.needs_all() {
        model.all_actions(state, actions);
        return;
    }
    // Of two ranks, each can only wait for the other: both views lead to the same sets.
    let views: &[_] = if state.procs.len() > 2 { &[&view, &far] } else { &[&view] };
    // In a state of many ranks a large set takes long to make, and most states have a small one.
    let best = smallest_set(views, view.seeds(), FEW_ACTIONS)
        .or_else(|| smallest_set(views, view.all_seeds().into_iter(), usize::MAX));
    match best {
        Some(best) => actions.extend(best),
        None if work.get() == 0 => model.all_actions(state, actions),
        // Only announcements are possible, or nothing: no rank goes on any more, and announcements commute.
        None => {
            model.all_actions(state, actions);
            let ends = |action: &Action| match action {
                Action::Announce { rank, receive } => Some(view.end_of_request(*rank, *receive)),
                _ => None,
            };
            let all: Option<Vec<Node>> = actions.iter().map(ends).collect();
            if let Some(first) = all.and_then(|ends| ends.first().copied()) {
                actions.retain(|action| ends(action) == Some(first));
            }
        }
    }
}

/// The smallest persistent set that one of the views has for one of the seeds, if it has at most so many actions.
fn smallest_set<P: Protocol>(
    views: &[&View<'_, P>],
    seeds: impl Iterator<Item = Node>,
    most: usize,
) -> Option<Vec<Action>> {
    let mut best: Option<Vec<Action>> = None;
    // By view, the seeds whose sets are larger: no set with one of them is small.
    let mut large: [Nodes; 2] = Default::default();
    let mut before = None;
    for (tried, seed) in seeds.filter(|seed| before.replace(*seed) != Some(*seed)).enumerate() {
        for (view, large) in views.iter().zip(&mut large) {
            // Any set found so far is persistent. Looking for a smaller one must not take longer than it saves.
            let most = best.as_ref().map_or(most, |best| best.len() - 1);
            match view.closure(&[seed], most, large) {
                Ok(Some(found)) if found.is_empty() => continue,
                Ok(Some(found)) => best = Some(found),
                Ok(None) => {}
                Err(WorkIsOver) => return best,
            }
            large.insert(seed);
            let enough = if tried < SEEDS { 1 } else { FEW_ACTIONS };
            if best.as_ref().is_some_and(|best| best.len() <= enough) {
                return best;
            }
        }
    }
    best
}

/// Appends a persistent set of which every execution with a violation at `place` contains an action. A search that
/// takes only these finds a shortest such execution, because an action of a persistent set can be moved to the front.
/// Appends nothing if no more actions happen at `place`.
pub(crate) fn actions_towards<P: Protocol>(
    model: &Model<P>,
    state: &State<P>,
    place: ViolationSite,
    actions: &mut Vec<Action>,
) {
    let (work, announcements) = (Cell::new(WORK_MAX), Announcements::default());
    let facts = model.facts(state.job);
    let view = View { model, state, facts, far: false, work: &work, announcements: &announcements };
    if view.needs_all() {
        model.all_actions(state, actions);
        return;
    }
    let mut seeds = Vec::new();
    match place {
        ViolationSite::Step(rank) => seeds.push(Node::Step(rank)),
        ViolationSite::Rank(rank) => {
            seeds.extend([Node::Step(rank), Node::Collective(rank)]);
            for peer in 0..view.ranks() {
                seeds.extend([view.receive_end(rank, peer), Node::SendEnd(rank, peer)]);
            }
            match model.is_portable() {
                true => seeds
                    .extend(facts.plan.all_contended().map(|((window, host), _)| Node::Locks(window, host))),
                false => {
                    seeds.extend((0..model.jobs()[state.job as usize].windows.len() as u16).map(Node::Window))
                }
            }
        }
    }
    let far = View { far: true, ..view };
    let near = view.closure(&seeds, usize::MAX, &Nodes::default());
    let near = near.ok().flatten();
    let most = near.as_ref().and_then(|near| near.len().checked_sub(1)).unwrap_or(usize::MAX);
    let far = far.closure(&seeds, most, &Nodes::default()).ok().flatten();
    match (near, far) {
        (Some(near), Some(far)) => actions.extend(if far.is_empty() { near } else { far }),
        (Some(found), None) | (None, Some(found)) => actions.extend(found),
        (None, None) => model.all_actions(state, actions),
    }
}

struct View<'a, P: Protocol> {
    model: &'a Model<P>,
    state: &'a State<P>,
    facts: &'a Facts,
    /// Of a rank that waits, take the requests that it waits for instead of the step that it is at. Both lead to
    /// persistent sets; which one is smaller depends on the state.
    far: bool,
    /// The work that may still go into persistent sets.
    work: &'a Cell<usize>,
    /// The announcements of this state, for all sets that are looked for.
    announcements: &'a Announcements,
}

impl<P: Protocol> View<'_, P> {
    fn pc(&self, rank: u16) -> u16 {
        self.state.procs[usize::from(rank)].pc
    }

    fn ranks(&self) -> u16 {
        self.state.procs.len() as u16
    }

    /// What persistent sets are made from. Flows that have begun come first: a flow at rest has one state, a flow under way
    /// has as many as it has stages, and those of several flows multiply.
    fn seeds(&self) -> impl Iterator<Item = Node> {
        let heads = self.state.network.heads().map(|(channel, _)| self.end_of(*channel));
        // A send to a rank that waits is most likely what it waits for, and nothing more is in its set. On many ranks, most others
        // have large sets.
        let steps = std::iter::once_with(|| {
            let may_go_on =
                |rank: &u16| !self.is_refused(*rank) && !self.model.need_not_return(self.state, *rank);
            let steps = self.possible_steps().filter(may_go_on);
            let (awaited, others): (Vec<u16>, Vec<u16>) =
                steps.partition(|rank| self.sends_to_waiting(*rank));
            awaited.into_iter().chain(others)
        });
        let steps = steps.flatten();
        let locks = std::iter::once_with(|| {
            let [locks, _] = self.lock_seeds();
            locks
        });
        heads.chain(steps.map(Node::Step)).chain(locks.flatten())
    }

    /// Whether the next step of a rank begins a send to one that waits.
    fn sends_to_waiting(&self, rank: u16) -> bool {
        let Some(Act::Start(ordinal)) = self.model.next_act(self.state, rank) else { return false };
        match self.model.program(self.state.job, rank).starts[usize::from(*ordinal)] {
            Start::Send { to, .. } => self.state.procs[to as usize].outlook == Outlook::Waits,
            _ => false,
        }
    }

    /// The seeds; in a state without any, the steps that may happen there nevertheless.
    fn all_seeds(&self) -> Vec<Node> {
        let mut seeds: Vec<Node> = self.seeds().collect();
        if seeds.is_empty() {
            // Only steps that count on buffers are possible. That the execution may end here has been checked; if it goes
            // on, each of these steps alone is a persistent set.
            seeds.extend(self.possible_steps().filter(|rank| !self.is_refused(*rank)).map(Node::Step));
            let [_, others] = self.lock_seeds();
            seeds.extend(others);
        }
        if seeds.is_empty() {
            // Whatever else happens has to happen before a step that ends the execution.
            seeds.extend(self.possible_steps().map(Node::Step));
        }
        seeds
    }

    /// The ranks that can go on.
    fn possible_steps(&self) -> impl Iterator<Item = u16> {
        (0..self.ranks()).filter(|rank| self.model.can_step(self.state, *rank))
    }

    /// Whether arrivals from different ranks are in conflict at a rank.
    fn is_wild(&self, rank: u16) -> bool {
        self.model.may_receive_from_any(self.state.job, rank, &self.state.procs[usize::from(rank)])
            || self.is_crowded(rank)
    }

    /// Whether a rank may have more receives posted than are announced at a time: each arrival that takes one may let
    /// a receive of another flow be announced.
    fn is_crowded(&self, rank: u16) -> bool {
        self.is_before(rank, self.facts.rank(rank).last_crowded)
    }

    fn is_before(&self, rank: u16, last: Option<u16>) -> bool {
        last.is_some_and(|last| self.pc(rank) <= last)
    }

    /// Whether the next step of a rank ends the execution: whatever else happens has to happen before.
    fn is_refused(&self, rank: u16) -> bool {
        self.facts.windows.is_refused(rank, self.pc(rank))
    }

    fn will_test(&self, rank: u16) -> bool {
        self.is_before(rank, self.facts.rank(rank).last_test)
    }

    fn will_send(&self, rank: u16, to: u16) -> bool {
        self.is_before(rank, self.facts.rank(rank).last_send.of(to))
    }

    fn will_receive(&self, rank: u16, from: u16) -> bool {
        let facts = self.facts.rank(rank);
        self.is_before(rank, facts.last_receive.of(from)) || self.is_before(rank, facts.last_from_any)
    }

    fn end_of(&self, channel: Channel) -> Node {
        let Channel { at, peer, context, kind } = channel;
        match kind {
            _ if context.is_collective() => Node::Collective(at),
            ChannelKind::Back | ChannelKind::Written => Node::SendEnd(at, peer),
            ChannelKind::Forward | ChannelKind::Read(_) => self.receive_end(at, peer),
            ChannelKind::Lane(window)
            | ChannelKind::Get(window)
            | ChannelKind::Fetch(window)
            | ChannelKind::Moved(window)
            | ChannelKind::Grants(window) => Node::Window(window),
        }
    }

    fn receive_end(&self, at: u16, peer: u16) -> Node {
        if self.is_wild(at) { Node::ReceiveEnds(at) } else { Node::ReceiveEnd(at, peer) }
    }

    /// The end at which a request is completed.
    fn end_of_request(&self, rank: u16, request: Ordinal) -> Node {
        match self.model.program(self.state.job, rank).window_of(request) {
            Some(window) => self.end_in_window(rank, window),
            None => self.end_of_start(rank, &self.model.start(self.state, rank, request)),
        }
    }

    /// What ends the requests of a rank on a window: under the weakest MPI, its own step says what that is.
    fn end_in_window(&self, rank: u16, window: u16) -> Node {
        if self.model.is_portable() { Node::Step(rank) } else { Node::Window(window) }
    }

    /// The end at which a request is completed that begins so.
    fn end_of_start(&self, rank: u16, start: &Start) -> Node {
        match *start {
            Start::Send { to, .. } => Node::SendEnd(rank, to as u16),
            Start::Receive { from: Source::Rank(from), .. } => self.receive_end(rank, from.0 as u16),
            Start::Receive { .. } => Node::ReceiveEnds(rank),
            Start::Collective { .. } => Node::Collective(rank),
            // It has not begun: the rank has to go on.
            Start::Synchronize(_) | Start::Access(_) | Start::Later(_) => Node::Step(rank),
        }
    }

    /// Whether no set but that of all actions is known to do: the conflicts of promises that depend on events are not followed.
    fn needs_all(&self) -> bool {
        self.facts.windows.assertions.depend_on_events()
    }

    /// Looks for an action without conflicts, which is a persistent set alone. Steps that count on buffers are not
    /// taken here, so that a state where no other action is left is explored as a possible end.
    fn lone_action(&self, actions: &mut Vec<Action>) -> bool {
        let job = &self.model.jobs()[self.state.job as usize];
        if !self.model.is_portable() && self.facts.windows.assertions.depend_on_locks(job, self.state) {
            return false;
        }
        let is_bound = |rank: u16| match self.state.procs[usize::from(rank)].outlook {
            Outlook::Waits => true,
            Outlook::Bound => !self.facts.windows.are_used,
            Outlook::Unknown | Outlook::Free => false,
        };
        for rank in (0..self.ranks()).filter(|rank| !is_bound(*rank)) {
            if self.model.can_step(self.state, rank)
                && self.conflict_of_step(rank).is_none()
                && !self.is_in_conflict(rank)
                && !self.is_refused(rank)
                && !self.model.need_not_return(self.state, rank)
            {
                self.model.steps(self.state, rank, actions);
                return true;
            }
        }
        if let Some(step) = self.brief_lock_step() {
            actions.push(Action::Lock(step));
            return true;
        }
        let network = &self.state.network;
        let is_lone = |channel: Channel, item: &InFlight| {
            network.is_free(channel, item) && self.conflicts_nowhere(channel, item)
        };
        let lone = network.heads().find(|(channel, item)| is_lone(*channel, item));
        actions.extend(lone.map(|(channel, _)| Action::Land(*channel)));
        lone.is_some()
    }

    /// The end whose arrivals the next step of a rank, which it can take, conflicts with.
    fn conflict_of_step(&self, rank: u16) -> Option<Node> {
        let proc = &self.state.procs[usize::from(rank)];
        let act = self.model.next_act(self.state, rank)?;
        let is_free = match proc.outlook {
            Outlook::Unknown => self.model.is_free(self.state.job, rank, proc, act),
            outlook => outlook == Outlook::Free,
        };
        match act {
            _ if is_free => None,
            // Only a probe of any source is not free.
            Act::Probe { .. } => Some(Node::ReceiveEnds(rank)),
            Act::TouchWindow(own) => {
                let may_race = || self.facts.windows.may_race_at(self.state, rank, self.pc(rank));
                (self.model.seeks_races() && may_race()).then_some(Node::Window(own.window.0 as u16))
            }
            Act::Test(request)
            | Act::Claim(request)
            | Act::ReceiveClaimed(request)
            | Act::Discard(request)
            | Act::Cancel(request) => Some(self.end_of_request(rank, *request)),
            Act::Start(ordinal) => match self.model.next_start(self.state.job, rank, proc, *ordinal) {
                Start::Synchronize(call) => {
                    let program = self.model.program(self.state.job, rank);
                    let call = &program.synchronizations[usize::from(call)];
                    self.is_in_conflict_of_windows(rank, call).then_some(Node::Window(call.window))
                }
                start => Some(self.end_of_start(rank, &start)),
            },
            Act::Wait(_)
            | Act::Touch { .. }
            | Act::Access(_)
            | Act::AwaitGrants(_)
            | Act::Compute(_)
            | Act::Define(_) => None,
        }
    }

    /// Whether something is in conflict with a call that opens, closes or flushes an epoch.
    fn is_in_conflict_of_windows(&self, rank: u16, call: &Synchronization) -> bool {
        let windows = &self.facts.windows;
        let job = &self.model.jobs()[self.state.job as usize];
        windows.assertions.depend_on_order(job, self.state, rank)
            || match call.call() {
                Call::Post(_) | Call::Wait | Call::Test | Call::Fence => windows.is_mixed(call.window),
                Call::Unlock(_) | Call::UnlockAll => windows.is_locked_and_posted(call.window),
                _ => false,
            }
    }

    /// Whether something that may happen conflicts with what comes out of the network for a window.
    fn conflicts_in_window(&self, window: u16, channel: Channel, item: &InFlight) -> bool {
        let windows = &self.facts.windows;
        match item {
            InFlight::OfEpoch { packet, .. }
                if windows.is_mixed(window)
                    && matches!(packet, Packet::LockRequest { .. } | Packet::LockRelease { .. }) =>
            {
                true
            }
            InFlight::OfEpoch { packet: Packet::StagingRequest, .. } => {
                windows.may_lack_buffer(window, channel.at)
            }
            InFlight::Transfer(moving) => {
                self.model.seeks_races() && windows.may_race(self.state, channel.origin(), moving.access)
            }
            InFlight::OfEpoch { packet: Packet::LockRequest { mode, .. }, .. } => {
                windows.locks_race(self.state, window, channel.at, (channel.peer, *mode))
            }
            _ => false,
        }
    }

    fn conflicts_nowhere(&self, channel: Channel, item: &InFlight) -> bool {
        let Channel { at, peer, context, kind } = channel;
        // The adapter takes the data and sends the packet behind it, of which no library notices. Whether that leaves before
        // an announcement matters, and nothing else.
        if matches!(item, InFlight::Read(_, Some(_))) && !self.facts.is_ordered(peer, at) {
            return true;
        }
        if self.will_test(at) {
            return false;
        }
        match kind {
            _ if context.is_collective() => !self.is_crowded(at),
            ChannelKind::Written if self.facts.writes_end_silently() => true,
            ChannelKind::Read(_)
                if self.facts.reads_end_silently() && matches!(item, InFlight::Completion(_)) =>
            {
                true
            }
            ChannelKind::Back | ChannelKind::Written => !self.facts.is_ordered(at, peer),
            ChannelKind::Lane(window)
            | ChannelKind::Get(window)
            | ChannelKind::Fetch(window)
            | ChannelKind::Moved(window)
            | ChannelKind::Grants(window) => !self.conflicts_in_window(window, channel, item),
            ChannelKind::Forward | ChannelKind::Read(_) => {
                !self.facts.is_ordered(peer, at) && !self.is_wild(at)
            }
        }
    }
}
