//! The model: a sender, a receiver, and the packets between them.

use super::bounds::{EAGER, PairProgram, ProgressBounds};
use super::state::{PairAction, PairEnd, PairState, RECEIVER, SENDER};
use super::tell;
use crate::machine::{Machine, promises};
use crate::rules::EnvironmentRules;
use crate::situations::{Situations, situations};
use carrousel_rank::{
    Call, Communicator, Event, Handle, Job, Memory, Options, Packet, Protocol, Rank, RankId, Read, Receive,
    Send, Source, Speculation, Tag, Work, Write, cost,
};
use stateright::{Model, Property};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The programs within some bounds under `P`.
pub(super) struct PairModel<P: Protocol> {
    pub(super) programs: Vec<PairProgram>,
    window: u64,
    /// Whether initial progress takes in all arrivals, and not only the first.
    takes_all: bool,
    counts: Arc<Situations<PairCoverPoint>>,
    protocol: PhantomData<P>,
}

situations! {
    /// A situation that an exploration has to cover.
    pub(super) enum PairCoverPoint {
        /// A call has posted a write.
        Written = "written",
        /// A call has posted a read.
        Read = "read",
        /// A call was made while its partner's packet was on its way.
        Crossed = "crossed",
        /// An arrival was taken in behind others.
        BehindOthers = "behind others",
        /// There was no room for a small message.
        NoRoom = "no room",
    }
}

fn memory() -> Memory {
    Memory { address: 0, key: 0 }
}

impl<P: Protocol> PairModel<P> {
    pub(super) fn new<E: EnvironmentRules>(bounds: ProgressBounds) -> Self {
        Self {
            programs: bounds.programs(),
            window: bounds.eager_window(),
            takes_all: E::progress_takes_all(),
            counts: Arc::default(),
            protocol: PhantomData,
        }
    }

    pub(super) fn program(&self, state: &PairState<P>) -> &PairProgram {
        &self.programs[state.program as usize]
    }

    /// The next call of a rank.
    pub(super) fn next_call(&self, state: &PairState<P>, end: usize) -> Option<Call> {
        let (program, at) = (self.program(state), state.ends[end].calls.len());
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
    fn partner(&self, state: &PairState<P>, end: usize) -> Option<Handle> {
        let (program, at) = (self.program(state), state.ends[end].calls.len());
        let (send, receive) =
            if end == SENDER { (at, program.receive_of(at)?) } else { (program.send_of(at)?, at) };
        let theirs = if end == SENDER { receive } else { send };
        let partner = *state.ends[1 - end].calls.get(theirs)?;
        if !program.is_rendezvous(send, receive) {
            return None;
        }
        let heard = state.ends[end].heard.contains(&partner);
        if !heard {
            self.counts.note(PairCoverPoint::Crossed);
        }
        heard.then_some(partner)
    }

    fn call(&self, state: &mut PairState<P>, end: usize) {
        let (Some(call), partner) = (self.next_call(state, end), self.partner(state, end)) else { return };
        if state.ends[end].rank.needs_initial_progress(&call) {
            if state.ends[end].arrived.len() > 1 {
                self.counts.note(PairCoverPoint::BehindOthers);
            }
            if matches!(call, Call::Send(Send { len: EAGER, .. })) {
                self.counts.note(PairCoverPoint::NoRoom);
            }
            let all = state.ends[end].arrived.len();
            (0..if self.takes_all { all } else { all.min(1) }).for_each(|_| self.take(state, end));
        }
        let mut work = Vec::new();
        // Every call of these programs is valid.
        let Ok(request) = state.ends[end].rank.call(call, &mut work) else { return };
        let at = state.ends[end].calls.len();
        state.ends[end].calls.push(request);
        if let Some(partner) = partner {
            let moves = |work: &Work| match work {
                Work::Write { receive, .. } => end == SENDER && *receive == partner,
                Work::Read { send, .. } => end == RECEIVER && *send == partner,
                _ => false,
            };
            if work.iter().any(moves) {
                self.counts.note(if end == SENDER { PairCoverPoint::Written } else { PairCoverPoint::Read });
            } else {
                state.late = Some((end, at));
            }
        }
        perform(state, end, work);
    }

    /// Feeds the first arrival to a rank.
    fn take(&self, state: &mut PairState<P>, end: usize) {
        let Some(event) = state.ends[end].arrived.pop_front() else { return };
        let mut work = Vec::new();
        let told = state.ends[end].rank.event(event, &mut work);
        debug_assert_eq!(told, Ok(()));
        perform(state, end, work);
    }
}

/// Performs the work of a rank, and lets it announce what it may, as the engine does.
fn perform<P: Protocol>(state: &mut PairState<P>, end: usize, mut work: Vec<Work>) {
    let this = &mut state.ends[end].rank;
    while let Some(receive) = this.may_announce() {
        let told = this.event(Event::Announce(receive), &mut work);
        debug_assert_eq!(told, Ok(()));
    }
    for work in work {
        match work {
            Work::Send { packet, .. } => {
                if let Packet::Eager { len, .. } = packet {
                    state.held += cost(len);
                }
                state.ends[1 - end].coming.push_back(packet);
            }
            // All that was sent: no receive of these programs is shorter than an eager message.
            Work::Place { len, .. } | Work::Take { len, .. } => state.held -= cost(len),
            Work::Write { write: Write { request, notice, .. }, .. } => {
                state.ends[1 - end].coming.extend(notice);
                state.ends[end].transfers.push((Event::Written(request), None));
            }
            Work::Read { read: Read { request, notice, .. }, .. } => {
                state.ends[end].transfers.push((Event::Read(request), notice));
            }
            _ => {}
        }
    }
}

impl<P: Protocol> Model for PairModel<P> {
    type State = PairState<P>;
    type Action = PairAction;

    fn init_states(&self) -> Vec<PairState<P>> {
        let options = Options {
            eager_threshold: EAGER,
            eager_window: self.window,
            speculation: Speculation::Always,
            // Room is told for its own sake.
            credit_every: u16::MAX,
            ..Options::default()
        };
        let end = |me| PairEnd {
            rank: Rank::new(RankId(me), &Job { ranks: 2 }, &options),
            calls: Vec::new(),
            coming: VecDeque::new(),
            transfers: Vec::new(),
            arrived: VecDeque::new(),
            heard: Vec::new(),
        };
        let state = |program| PairState { program, ends: [0, 1].map(end), held: 0, late: None };
        (0..self.programs.len() as u32).map(state).collect()
    }

    fn actions(&self, state: &PairState<P>, actions: &mut Vec<PairAction>) {
        if self.counts.is_stopped() || self.broken(state).is_some() {
            return;
        }
        for (at, end) in state.ends.iter().enumerate() {
            actions.extend(self.next_call(state, at).map(|_| PairAction::Call(at)));
            actions.extend((!end.coming.is_empty()).then_some(PairAction::Arrive(at)));
            actions.extend((0..end.transfers.len()).map(|transfer| PairAction::Land(at, transfer)));
            actions.extend((!end.arrived.is_empty()).then_some(PairAction::Take(at)));
        }
    }

    fn next_state(&self, state: &PairState<P>, action: PairAction) -> Option<PairState<P>> {
        let mut next = state.clone();
        match action {
            PairAction::Call(end) => self.call(&mut next, end),
            PairAction::Arrive(at) => {
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
            PairAction::Land(at, transfer) => {
                let (event, notice) = next.ends[at].transfers.remove(transfer);
                next.ends[at].arrived.push_back(event);
                next.ends[1 - at].coming.extend(notice);
            }
            PairAction::Take(end) => self.take(&mut next, end),
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises()
    }
}

impl<P: Protocol> Machine for PairModel<P> {
    fn broken(&self, state: &PairState<P>) -> Option<String> {
        if let Some((end, at)) = state.late {
            return Some(tell::late(self.program(state), end, at));
        }
        if state.held > self.window.max(cost(EAGER)) {
            return Some(format!("bounded: eager messages take {} bytes, of {}", state.held, self.window));
        }
        let is_quiet =
            |end: &PairEnd<P>| end.coming.is_empty() && end.arrived.is_empty() && end.transfers.is_empty();
        let (to, tag) = (RankId(RECEIVER as u32), Tag(0));
        let (communicator, memory) = (Communicator::WORLD, memory());
        let small = Send { to, tag, communicator, len: EAGER, memory, synchronous: false, data: None };
        let refused = state.held == 0
            && state.ends.iter().all(is_quiet)
            && !state.ends[SENDER].rank.sends_eagerly(&small);
        refused.then(|| "room-returns: all has been taken, and the sender does not know".to_owned())
    }

    /// Each rank has made its calls, and the rest happens in its waits.
    fn is_done(&self, state: &PairState<P>) -> bool {
        (0..2).all(|end| self.next_call(state, end).is_none())
    }

    fn is_owed(&self, _: PairAction) -> bool {
        true
    }

    fn line(&self, before: &PairState<P>, action: PairAction, after: &PairState<P>) -> String {
        tell::line(self.program(before), before, action, after)
    }

    fn met(&self) -> Vec<(&'static str, u64)> {
        self.counts.met()
    }

    fn stop(&self) -> &AtomicBool {
        &self.counts.stop
    }

    fn stuck(&self, _: &PairState<P>) -> String {
        "never-stuck: a call cannot be made".to_owned()
    }
}
