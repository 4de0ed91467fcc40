//! A path taken apart: the effects of each action, found by comparing the states around it.

use super::epochs::{Epoch, follow};
use crate::action::Action;
use crate::explore::Path;
use crate::network::{Channel, ChannelKind, InFlight, Message, Reading};
use crate::program::{Ordinal, Start};
use crate::state::{Proc, State};
use carrousel_rank::{Handle, Packet, Protocol, collective_of};
use carrousel_scenario::{Received, RequestId};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// An index into [`Execution::sent`].
pub(super) type SentId = usize;

/// A path, taken apart.
#[derive(Debug, Default)]
pub(super) struct Execution {
    /// One for each action, in order.
    pub(super) steps: Vec<ExecutedStep>,
    /// All items that were ever in flight, in the order in which they were sent.
    pub(super) sent: Vec<Sent>,
    /// All epochs of windows, in the order in which they were opened.
    pub(super) epochs: Vec<Epoch>,
    /// The ordinals of the library's handles, of released requests, too.
    names: HashMap<(u16, Handle), Ordinal>,
    /// What ranks have started with values that only an execution has.
    pub(super) begun: HashMap<(u16, Ordinal), Start>,
}

/// One action, and its effects at the rank where it happened.
#[derive(Debug)]
pub(super) struct ExecutedStep {
    /// Where it happened.
    pub(super) at: u16,
    /// What it was.
    pub(super) action: Action,
    /// Of a step of a rank's program: its position.
    pub(super) pc: Option<u16>,
    /// The item that came out of the network.
    pub(super) landed: Option<SentId>,
    /// What went into it.
    pub(super) sent: Vec<SentId>,
    /// Requests that became complete.
    pub(super) completed: Vec<Ordinal>,
    /// The receive and the message that the oracle has matched.
    pub(super) matched: Option<(Ordinal, Message)>,
    /// The message that found no receive.
    pub(super) kept: Option<Message>,
    /// Names that stand for a message now, and that the program asks about.
    pub(super) learnt: Vec<(RequestId, Received)>,
}

/// An item that was put in flight.
#[derive(Debug)]
pub(super) struct Sent {
    /// The way that it took.
    pub(super) channel: Channel,
    /// What it was.
    pub(super) item: InFlight,
    /// The step that sent it.
    pub(super) launched: usize,
    /// The step at which it came out, if it did.
    pub(super) landed: Option<usize>,
    /// Of a packet, data or a completed transfer: the message that it belongs to, where that is known.
    pub(super) message: Option<Message>,
}

impl Execution {
    /// Takes a path apart.
    pub(super) fn new<P: Protocol>(path: &Path<P>) -> Self {
        let mut execution = Self::default();
        let mut queues: BTreeMap<Channel, VecDeque<SentId>> = BTreeMap::new();
        for pair in path.steps.windows(2) {
            if let [(before, Some(action)), (after, _)] = pair {
                execution.step(before, *action, after, &mut queues);
            }
        }
        execution
    }

    /// A step without the path to it: items that are in flight before it have no known origin.
    pub(super) fn of_step<P: Protocol>(before: &State<P>, action: Action, after: &State<P>) -> Self {
        let mut execution = Self::of_state(before);
        let mut queues: BTreeMap<Channel, VecDeque<SentId>> = BTreeMap::new();
        for (id, sent) in execution.sent.iter().enumerate() {
            queues.entry(sent.channel).or_default().push_back(id);
        }
        execution.step(before, action, after, &mut queues);
        execution
    }

    /// The open requests and the items in flight of a state without the path to it.
    pub(super) fn of_state<P: Protocol>(state: &State<P>) -> Self {
        let mut execution = Self::default();
        execution.begin(state);
        for (at, proc) in state.ranks() {
            let named = proc.open.iter().filter_map(|open| Some(((at, open.handle?), open.ordinal)));
            execution.names.extend(named);
        }
        for (channel, item) in state.network.iter() {
            let at = if channel.kind == ChannelKind::Written { channel.at } else { channel.peer };
            let message = match *item {
                InFlight::Read(Reading { request, .. }, _) => taken(state, *channel, request),
                InFlight::Completion(request) if channel.kind != ChannelKind::Written => {
                    taken(state, *channel, request)
                }
                _ => execution.message_of(at, *channel, item, None),
            };
            execution.sent.push(Sent { channel: *channel, item: *item, launched: 0, landed: None, message });
        }
        execution
    }

    /// Keeps what ranks have started with values that only an execution has.
    fn begin<P: Protocol>(&mut self, state: &State<P>) {
        self.begun.extend(state.begun.iter().map(|(rank, ordinal, start)| ((*rank, *ordinal), *start)));
    }

    /// The ordinal of a request, by the library's handle.
    pub(super) fn ordinal(&self, rank: u16, handle: Handle) -> Option<Ordinal> {
        // A request of a collective's round is told as the collective.
        self.names.get(&(rank, collective_of(handle).unwrap_or(handle))).copied()
    }

    fn step<P: Protocol>(
        &mut self,
        before: &State<P>,
        action: Action,
        after: &State<P>,
        queues: &mut BTreeMap<Channel, VecDeque<SentId>>,
    ) {
        let (at, taken) = match action {
            Action::Step { rank, .. } | Action::Announce { rank, .. } => (rank, None),
            Action::Lock(lock) => (lock.origin, None),
            Action::Land(channel) => (channel.at, Some((channel, 0))),
            Action::Overtake { channel, place } => (channel.at, Some((channel, place))),
        };
        let (Some(old), Some(new)) = (before.procs.get(usize::from(at)), after.procs.get(usize::from(at)))
        else {
            return;
        };
        for open in &new.open {
            self.names.extend(open.handle.map(|handle| ((at, handle), open.ordinal)));
        }
        self.begin(after);
        let this = self.steps.len();
        let landed = taken.and_then(|(channel, place)| queues.get_mut(&channel)?.remove(place));
        if let Some(landed) = landed {
            self.sent[landed].landed = Some(this);
        }
        follow(&mut self.epochs, this, at, new);
        let brought = landed.and_then(|landed| self.sent[landed].message);
        let kept = new.arrived.iter().find(|message| !old.arrived.contains(message)).copied();
        let matched = matched(old, new, brought, kept);
        let mut sent = Vec::new();
        for channel in after.network.channels() {
            let Some((name, _)) = channel.first().map(|item| &**item) else { continue };
            let queue = queues.entry(*name).or_default();
            for (channel, item) in channel.iter().skip(queue.len()).map(|item| &**item) {
                let message = self.message_of(at, *channel, item, matched);
                sent.push(self.sent.len());
                queue.push_back(self.sent.len());
                self.sent.push(Sent {
                    channel: *channel,
                    item: *item,
                    launched: this,
                    landed: None,
                    message,
                });
            }
        }
        let pc = matches!(action, Action::Step { .. }).then_some(old.pc);
        let completed = newly_complete(old, new);
        let learnt = new.received.iter().filter(|message| !old.received.contains(message)).copied().collect();
        self.steps.push(ExecutedStep { at, action, pc, landed, sent, completed, matched, kept, learnt });
    }

    /// The message that something in flight belongs to; `at` is where it was sent.
    fn message_of(
        &self,
        at: u16,
        channel: Channel,
        item: &InFlight,
        matched: Option<(Ordinal, Message)>,
    ) -> Option<Message> {
        if channel.context.is_collective() {
            return None;
        }
        let own = |send: Handle| Some(Message { from: at, send: self.ordinal(at, send)? });
        let theirs = |send: Handle| Some(Message { from: channel.at, send: self.ordinal(channel.at, send)? });
        match *item {
            InFlight::Data(data, _) => Some(data.message),
            InFlight::Packet(_, Some(message)) => Some(message),
            InFlight::Packet(
                Packet::Ats { send } | Packet::RtsAck { send } | Packet::Cts { send, .. },
                _,
            ) => theirs(send),
            InFlight::Packet(..)
            | InFlight::Notice(_)
            | InFlight::Transfer(_)
            | InFlight::Moved(_)
            | InFlight::OfEpoch { .. }
            | InFlight::Granted(..) => None,
            // A read moves the message that its receive has just got, a write the rank's own.
            InFlight::Read(..) => matched.map(|(_, message)| message),
            InFlight::Completion(request) if channel.kind == ChannelKind::Written => own(request),
            InFlight::Completion(request) => {
                let is_its = |sent: &&Sent| match sent.item {
                    InFlight::Read(reading, _) => sent.channel == channel && reading.request == request,
                    _ => false,
                };
                self.sent.iter().rev().find(is_its)?.message
            }
        }
    }
}

/// The message that a receive of the rank at a channel's end has.
fn taken<P: Protocol>(state: &State<P>, channel: Channel, receive: Handle) -> Option<Message> {
    let proc = state.procs.get(usize::from(channel.at))?;
    proc.open.iter().find(|open| open.handle == Some(receive))?.message
}

/// The match of a step: a waiting receive or an arrived message has left its queue.
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
