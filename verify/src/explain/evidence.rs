//! The steps that a violation is about: what its sentences name, and what has led from one to the other.
//!
//! A violation names requests, messages, accesses and calls. Each stands for a few steps of the path: a message for its
//! send, its arrival and its receive. What orders two accesses, or seems to, is the chain of messages and collectives
//! between them.

use super::execution::{Execution, Sent};
use super::names::Names;
use super::stuck::Deadlock;
use crate::network::{InFlight, Message};
use crate::open_epochs::EpochForm;
use crate::program::{Act, Ordinal, Start};
use crate::violation::{BrokenAssertion, Location, ViolationKind};
use carrousel_rank::epoch::{Call, Packet};
use carrousel_rank::{Communicator, TagSelector};
use std::collections::{BTreeSet, HashMap};

/// Calls of a rank on a window that are told of a deadlock, at most: the last ones.
const CALLS_MAX: usize = 6;
/// Messages that other receives got, and that are told beside one that none got: the last ones.
const OTHERS_MAX: usize = 4;

/// Sends to others that are told instead of one that is waited for: the last ones.
const ELSEWHERE_MAX: usize = 2;

/// A collective: its communicator, the first of its ranks, and its number, from 1.
pub(super) type CollectiveId = (Communicator, u16, usize);

/// Where the steps of a path are that belong to something with a name.
pub(super) struct Evidence<'a> {
    pub(super) names: &'a Names<'a>,
    pub(super) execution: &'a Execution,
    /// The step that took a step of a program, by rank and position.
    own: HashMap<(u16, u16), usize>,
    /// The steps in which a message came, or was matched.
    arrivals: HashMap<Message, Vec<usize>>,
    /// The entries of each collective, in order.
    collectives: HashMap<CollectiveId, Vec<usize>>,
}

impl<'a> Evidence<'a> {
    pub(super) fn new(names: &'a Names<'a>, execution: &'a Execution) -> Self {
        let (mut own, mut arrivals) = (HashMap::new(), HashMap::<Message, Vec<usize>>::new());
        for (at, step) in execution.steps.iter().enumerate() {
            if let Some(pc) = step.pc {
                own.insert((step.at, pc), at);
            }
            let message = step.kept.or(step.matched.map(|(_, message)| message));
            if let Some(message) = message {
                arrivals.entry(message).or_default().push(at);
            }
        }
        let mut evidence = Self { names, execution, own, arrivals, collectives: HashMap::new() };
        for at in 0..execution.steps.len() {
            if let Some(id) = evidence.collective_of(at) {
                evidence.collectives.entry(id).or_default().push(at);
            }
        }
        evidence
    }

    /// The steps that a violation is about.
    pub(super) fn of(&self, kind: ViolationKind, deadlock: Option<&Deadlock>) -> BTreeSet<usize> {
        let mut steps: BTreeSet<usize> = BTreeSet::new();
        if let Some(deadlock) = deadlock {
            self.of_deadlock(deadlock, &mut steps);
            return self.whole_collectives(steps);
        }
        // What is seen at the end of the programs is about no step in particular.
        let is_of_end = matches!(
            kind,
            ViolationKind::Leak { .. }
                | ViolationKind::EpochLeftOpen { .. }
                | ViolationKind::GroupsDiffer { .. }
                | ViolationKind::FencesDiffer { .. }
                | ViolationKind::Unmatched { .. }
                | ViolationKind::UnmatchedOfCollective { .. }
        );
        steps.extend(self.execution.steps.len().checked_sub(1).filter(|_| !is_of_end));
        match kind {
            ViolationKind::OutOfRange { at } => self.of_values(at, &mut steps),
            ViolationKind::TooLong { at, message, receive } => {
                steps.extend(self.message(message));
                self.of_probes(at, receive, &mut steps);
            }
            ViolationKind::TooLongInCollective { at, request }
            | ViolationKind::BufferInUse { at, request, .. } => steps.extend(self.start(at, request)),
            ViolationKind::OtherMatch { at, receive, message, other } => {
                steps.extend(self.start(at, receive));
                steps.extend(self.message(message));
                steps.extend(self.message(other));
                self.of_probes(at, receive, &mut steps);
            }
            ViolationKind::Leak { at, request } => {
                steps.extend(self.start(at, request));
                steps.extend(self.own_steps(at, |act| *act == Act::Test(request)));
                if let Some((_, line)) = self.names.bound_again(at, request) {
                    let is_it = |step: &usize| {
                        let pc = self.execution.steps[*step].pc.map(usize::from);
                        pc.and_then(|pc| self.names.line(at, pc)) == Some(line)
                    };
                    steps.extend(
                        self.own_steps(at, |act| matches!(act, Act::Start(_))).into_iter().filter(is_it),
                    );
                }
            }
            ViolationKind::EpochUsage { at, .. } | ViolationKind::RequestWithoutLock { at, .. } => {
                self.of_calls(at, self.window_of_last(at), &mut steps);
            }
            ViolationKind::LockedWhileExposed { at, origin: other }
            | ViolationKind::ExposedWhileLocked { at, holder: other } => {
                self.of_calls(at, self.window_of_last(at), &mut steps);
                self.of_calls(other, None, &mut steps);
                steps.extend(self.lock_requests(at, &[other]));
            }
            ViolationKind::EpochLeftOpen { at, epoch } => {
                steps.extend(self.own.get(&(at, epoch.opened_at)));
            }
            ViolationKind::GroupsDiffer { origin, target, window } => {
                self.of_calls(origin, Some(window), &mut steps);
                self.of_calls(target, Some(window), &mut steps);
            }
            ViolationKind::FencesDiffer { at, other, window } => {
                for rank in [at, other] {
                    steps.extend(
                        self.names.fences(rank, window).iter().filter_map(|pc| self.own.get(&(rank, *pc))),
                    );
                }
            }
            ViolationKind::Asserted { at, broken } => self.of_assertion(at, broken, &mut steps),
            ViolationKind::Race { first, second, .. } => self.of_race(first, second, &mut steps),
            ViolationKind::BufferInAccess { at, access, .. } => {
                steps.extend(self.access(at, access));
                steps.extend(self.opening(at, access));
            }
            ViolationKind::Unmatched { at, message } => {
                steps.extend(self.message(message));
                steps.extend(self.others_than(at, message));
            }
            ViolationKind::UnmatchedOfCollective { at, from, communicator } => {
                let enters = |step: &usize| {
                    let step = &self.execution.steps[*step];
                    step.at == at || step.at == from
                };
                let entered = self.collectives.iter().filter(|((other, ..), _)| *other == communicator);
                steps.extend(entered.flat_map(|(_, entries)| entries).copied().filter(enters));
            }
            // The library is told by all of its packets: see `slice`.
            _ => {}
        }
        self.whole_collectives(steps)
    }

    /// The step at which it goes wrong: the last one, but what is left over at the end was begun by another.
    pub(super) fn wrong(&self, kind: ViolationKind) -> Option<usize> {
        match kind {
            ViolationKind::Stuck => None,
            ViolationKind::Leak { at, request } => self.start(at, request),
            ViolationKind::EpochLeftOpen { at, epoch } => self.own.get(&(at, epoch.opened_at)).copied(),
            ViolationKind::Unmatched { message, .. } => self.message(message).last().copied(),
            ViolationKind::GroupsDiffer { origin, target, window } => {
                let (starts, posts) = self.names.pairs(origin, target, window);
                let (rank, more, fewer) = match starts.len() > posts.len() {
                    true => (origin, starts, posts),
                    false => (target, posts, starts),
                };
                let extra = more.get(fewer.len()).filter(|_| more.len() > fewer.len());
                extra.and_then(|pc| self.own.get(&(rank, *pc)).copied())
            }
            ViolationKind::FencesDiffer { at, other, window } => {
                let extra =
                    self.names.fences(at, window).get(self.names.fences(other, window).len()).copied();
                extra.and_then(|pc| self.own.get(&(at, pc)).copied())
            }
            ViolationKind::UnmatchedOfCollective { from, communicator, .. } => {
                self.entered(from, communicator, usize::MAX)
            }
            _ => self.execution.steps.len().checked_sub(1),
        }
    }

    /// The step that starts a request.
    pub(super) fn start(&self, rank: u16, ordinal: Ordinal) -> Option<usize> {
        let pc = self.names.step_of(rank, ordinal)?;
        self.own.get(&(rank, pc as u16)).copied()
    }

    /// The send of a message, its arrival, and its receive.
    fn message(&self, message: Message) -> Vec<usize> {
        let mut steps: Vec<usize> = self.start(message.from, message.send).into_iter().collect();
        for at in self.arrivals.get(&message).into_iter().flatten().copied() {
            steps.push(at);
            let step = &self.execution.steps[at];
            steps.extend(step.matched.and_then(|(receive, _)| self.start(step.at, receive)));
        }
        steps
    }

    /// The step of an access.
    pub(super) fn access(&self, rank: u16, access: u16) -> Option<usize> {
        let pc = self.names.step_of_access(rank, access)?;
        self.own.get(&(rank, pc as u16)).copied()
    }

    /// The call that opens the epoch of an access.
    fn opening(&self, rank: u16, access: u16) -> Option<usize> {
        let program = self.names.program(rank)?;
        let it = program.accesses.get(usize::from(access))?;
        let (forms, last) =
            (EpochForm::of_access(it.transfer.target), self.names.step_of_access(rank, access)?);
        let opens = |(pc, call): &(u16, Call<'_>)| {
            usize::from(*pc) < last && EpochForm::opened_by(*call).is_some_and(|form| forms.contains(&form))
        };
        let (pc, _) = self.names.calls(rank, Some(it.window)).filter(opens).last()?;
        self.own.get(&(rank, pc)).copied()
    }

    /// The steps of a rank's program with such acts.
    fn own_steps(&self, rank: u16, is_it: impl Fn(&Act) -> bool) -> Vec<usize> {
        let steps = self.names.program(rank).map_or(&[][..], |program| &program.steps);
        let meant = (0..).zip(steps).filter(|(_, step)| is_it(&step.act));
        meant.filter_map(|(pc, _)| self.own.get(&(rank, pc)).copied()).collect()
    }

    /// The last calls of a rank on the epochs of a window, or of all; of those of one line the last.
    fn of_calls(&self, rank: u16, window: Option<u16>, steps: &mut BTreeSet<usize>) {
        let made: Vec<(u16, usize)> = self
            .names
            .calls(rank, window)
            .filter_map(|(pc, _)| Some((pc, *self.own.get(&(rank, pc))?)))
            .collect();
        let mut lines = BTreeSet::new();
        let line = |pc: u16| self.names.line(rank, usize::from(pc)).ok_or(pc);
        let last = made.iter().rev().filter(|(pc, _)| lines.insert(line(*pc)));
        steps.extend(last.map(|(_, at)| at).take(CALLS_MAX));
    }

    /// The steps without which a step, which is not the first of its rank, could not be: what has arrived was sent, and
    /// a collective from which it returns was entered. Under the weakest MPI collectives have no packets.
    pub(super) fn led_to(&self, at: usize) -> impl Iterator<Item = usize> {
        let step = &self.execution.steps[at];
        let sent = step.landed.map(|landed| self.execution.sent[landed].launched);
        let is_packetless = self.names.is_portable();
        let waited = match step.pc.and_then(|pc| self.names.act(step.at, usize::from(pc))) {
            Some(Act::Wait(requests)) if is_packetless => &requests[..],
            _ => &[],
        };
        let entered = waited.iter().filter_map(|request| self.collective_of(self.start(step.at, *request)?));
        let entries = entered.flat_map(|id| self.entries(id)).filter(move |entry| *entry < at);
        sent.into_iter().chain(entries.collect::<Vec<_>>())
    }

    /// The steps that enter a collective, in order.
    pub(super) fn entries(&self, id: CollectiveId) -> impl Iterator<Item = usize> {
        self.collectives.get(&id).into_iter().flatten().copied()
    }

    /// The window that the last step of a rank is about.
    fn window_of_last(&self, rank: u16) -> Option<u16> {
        let pc = self.execution.steps.last().filter(|step| step.at == rank)?.pc?;
        let program = self.names.program(rank)?;
        match &program.steps.get(usize::from(pc))?.act {
            Act::Start(ordinal) => Some(program.synchronization(*ordinal)?.window),
            Act::Access(access) => Some(program.accesses.get(usize::from(*access))?.window),
            _ => None,
        }
    }

    /// The arrivals of lock requests of some ranks at a host.
    fn lock_requests(&self, host: u16, ranks: &[u16]) -> Vec<usize> {
        let is_it = |step: &super::execution::ExecutedStep| {
            let Some(sent) = step.landed.map(|landed| &self.execution.sent[landed]) else { return false };
            let is_request =
                matches!(sent.item, InFlight::OfEpoch { packet: Packet::LockRequest { .. }, .. });
            is_request && sent.channel.at == host && ranks.contains(&sent.channel.peer)
        };
        let all = self.execution.steps.iter().enumerate();
        all.filter(|(_, step)| is_it(step)).map(|(at, _)| at).collect()
    }

    /// What a rank has learnt at run time, and the messages that it learnt it from.
    fn of_values(&self, rank: u16, steps: &mut BTreeSet<usize>) {
        let mut learning =
            self.execution.steps.iter().enumerate().filter(|(_, it)| it.at == rank && !it.learnt.is_empty());
        steps.extend(learning.next_back().map(|(at, _)| at));
        let here = self.execution.steps.iter().filter(|step| step.at == rank);
        if let Some((_, message)) = here.filter_map(|step| step.matched).next_back() {
            steps.extend(self.message(message));
        }
    }

    /// A probe directly before a receive.
    fn of_probes(&self, rank: u16, receive: Ordinal, steps: &mut BTreeSet<usize>) {
        let before = self.names.step_of(rank, receive).and_then(|pc| pc.checked_sub(1));
        let probe = before.filter(|pc| matches!(self.names.act(rank, *pc), Some(Act::Probe { .. })));
        steps.extend(probe.and_then(|pc| self.own.get(&(rank, pc as u16))));
    }

    fn of_assertion(&self, at: u16, broken: BrokenAssertion, steps: &mut BTreeSet<usize>) {
        let (place, window) = (|rank, step| Location { rank, step }, self.window_of_last(at));
        let named = match broken {
            BrokenAssertion::Stored { store: step }
            | BrokenAssertion::Preceded { access: step }
            | BrokenAssertion::Succeeded { fence: step } => place(at, step),
            BrokenAssertion::Put { exposure: other }
            | BrokenAssertion::SaidByOne { other, .. }
            | BrokenAssertion::NotPosted { post: other }
            | BrokenAssertion::Contended { other, .. } => other,
        };
        steps.extend(self.own.get(&(named.rank, named.step)));
        self.of_calls(at, window, steps);
    }

    fn of_race(&self, first: (u16, u16), second: (u16, Option<u16>), steps: &mut BTreeSet<usize>) {
        let last = self.execution.steps.len().saturating_sub(1);
        let one = self.access(first.0, first.1);
        let other = match second.1 {
            Some(access) => self.access(second.0, access),
            None => Some(last),
        };
        steps.extend(self.opening(first.0, first.1));
        steps.extend(second.1.and_then(|access| self.opening(second.0, access)));
        steps.extend(one.into_iter().chain(other));
        if let (Some(one), Some(other)) = (one, other) {
            steps.extend(self.chain(one, other));
            steps.extend(self.ends(first.0, first.1).into_iter().filter(|end| (one..other).contains(end)));
        }
    }

    /// The calls that have been made to complete an access: flushes, local ones too, and the end of its epoch.
    fn ends(&self, rank: u16, access: u16) -> Vec<usize> {
        let program = self.names.program(rank);
        let it = program.and_then(|program| program.accesses.get(usize::from(access)));
        let (Some(it), Some(called)) = (it, self.names.step_of_access(rank, access)) else {
            return Vec::new();
        };
        let forms = EpochForm::of_access(it.transfer.target);
        let closes = |call: Call<'_>| EpochForm::closed_by(call).is_some_and(|form| forms.contains(&form));
        let flushes = |call: Call<'_>| match call {
            Call::Flush(point) | Call::FlushWithRequest(point) => {
                point.target.is_none_or(|target| target == it.transfer.target)
            }
            _ => false,
        };
        let mut ends = Vec::new();
        for (pc, call) in self.names.calls(rank, Some(it.window)).filter(|(pc, _)| usize::from(*pc) > called)
        {
            if closes(call) || flushes(call) {
                ends.extend(self.own.get(&(rank, pc)));
            }
            if closes(call) {
                break;
            }
        }
        ends
    }

    /// The messages and collectives that lead from one step to another, each with its ends; nothing if there are none.
    pub(super) fn chain(&self, from: usize, to: usize) -> Vec<usize> {
        let steps = &self.execution.steps;
        let (Some(origin), Some(target)) = (steps.get(from), steps.get(to)) else { return Vec::new() };
        // Ranks that know of the first step: since which step, and from which.
        let mut informed: HashMap<u16, (usize, usize)> = HashMap::from([(origin.at, (from, from))]);
        for (at, step) in steps.iter().enumerate().take(to).skip(from) {
            let sent = step.landed.map(|landed| &self.execution.sent[landed]);
            let is_message = |sent: &Sent| sent.message.is_some() || sent.channel.context.is_collective();
            if sent.is_some_and(|sent| !is_message(sent)) {
                continue;
            }
            let knows =
                |before: &usize| informed.get(&steps[*before].at).is_some_and(|(since, _)| since <= before);
            if let Some(before) = self.led_to(at).find(knows) {
                informed.entry(step.at).or_insert((at, before));
            }
        }
        let mut chain = Vec::new();
        let mut rank = target.at;
        while let Some((at, before)) = informed.get(&rank).filter(|_| rank != origin.at) {
            let sent = steps[*at].landed.map(|landed| &self.execution.sent[landed]);
            match sent.map(|sent| (sent.message, sent.channel.context.communicator())) {
                Some((Some(message), _)) => chain.extend(self.message(message)),
                Some((None, communicator)) => {
                    chain.extend(self.entered(rank, communicator, to));
                    chain.extend(self.entered(steps[*before].at, communicator, before + 1));
                }
                None => chain.push(*before),
            }
            rank = steps[*before].at;
        }
        chain
    }

    /// The last entry of a rank into a collective of a communicator before a step.
    fn entered(&self, rank: u16, communicator: Communicator, before: usize) -> Option<usize> {
        let all = self.collectives.iter().filter(|((other, ..), _)| *other == communicator);
        let entries = all.flat_map(|(_, entries)| entries).copied();
        entries.filter(|at| *at < before && self.execution.steps[*at].at == rank).max()
    }

    /// The last messages that receives of a rank got that could have got this one: the send, the arrival, the receive.
    fn others_than(&self, at: u16, message: Message) -> Vec<usize> {
        let Some(Start::Send { tag: sent, communicator, .. }) = self.names.start(message.from, message.send)
        else {
            return Vec::new();
        };
        let fits = |receive: Ordinal| match self.names.start(at, receive) {
            Some(Start::Receive { communicator: other, tag, .. }) => {
                let tag: &TagSelector = tag;
                other == communicator && tag.matches(carrousel_rank::mpi::tag(*sent))
            }
            _ => false,
        };
        let matched = self.execution.steps.iter().filter(|step| step.at == at).filter_map(|it| it.matched);
        let others: Vec<Message> = matched.filter(|(receive, _)| fits(*receive)).map(|(_, it)| it).collect();
        others.iter().rev().take(OTHERS_MAX).flat_map(|other| self.message(*other)).collect()
    }

    /// Of ranks that wait for ever: the statements that wait, what they wait for that has come, or has gone elsewhere,
    /// and the calls on windows that keep each other.
    fn of_deadlock(&self, deadlock: &Deadlock, steps: &mut BTreeSet<usize>) {
        let told = deadlock.told();
        for waiting in deadlock.waiting.iter().filter(|waiting| told.contains(&waiting.rank)) {
            let rank = waiting.rank;
            steps.extend(waiting.requests.iter().filter_map(|request| self.start(rank, *request)));
            if waiting.requests.is_empty() {
                self.of_values(rank, steps);
            }
            for reason in &waiting.reasons {
                steps.extend(reason.message.into_iter().flat_map(|message| self.message(message)));
                steps.extend(reason.taken.into_iter().flat_map(|message| self.message(message)));
                for message in reason.elsewhere.iter().rev().take(ELSEWHERE_MAX) {
                    steps.extend(self.start(message.from, message.send));
                    if self.execution.begun.contains_key(&(message.from, message.send)) {
                        self.of_values(message.from, steps);
                    }
                }
                let Some(epoch) = &reason.epoch else { continue };
                let others = epoch.others.iter().copied();
                match epoch.hosts.is_empty() {
                    true => {
                        let called = others.chain([rank]);
                        called.for_each(|other| self.of_calls(other, Some(epoch.window), steps));
                    }
                    false => {
                        let all: Vec<u16> = others.chain([rank]).collect();
                        for other in &all {
                            steps.extend(self.locks(*other, epoch.window));
                        }
                        let hosts = epoch.hosts.iter();
                        steps.extend(hosts.flat_map(|host| self.lock_requests(*host, &all)));
                    }
                }
            }
        }
    }

    /// The calls of a rank that request locks of a window, the last ones.
    fn locks(&self, rank: u16, window: u16) -> Vec<usize> {
        let is_lock = |(_, call): &(u16, Call<'_>)| matches!(call, Call::Lock { .. } | Call::LockAll);
        let calls = self.names.calls(rank, Some(window)).filter(is_lock);
        let made: Vec<usize> = calls.filter_map(|(pc, _)| self.own.get(&(rank, pc)).copied()).collect();
        made.into_iter().rev().take(CALLS_MAX).collect()
    }

    /// The collective that a step enters.
    pub(super) fn collective_of(&self, at: usize) -> Option<CollectiveId> {
        let step = self.execution.steps.get(at)?;
        let program = self.names.program(step.at)?;
        let Act::Start(ordinal) = program.steps.get(usize::from(step.pc?))?.act else { return None };
        let Start::Collective { communicator, .. } = program.starts.get(usize::from(ordinal))? else {
            return None;
        };
        let is_it = |start: &&Start| matches!(start, Start::Collective { communicator: it, .. } if it == communicator);
        let number = program.starts.iter().take(usize::from(ordinal) + 1).filter(is_it).count();
        Some((*communicator, program.rank_in(*communicator, 0), number))
    }

    /// The ranks that a collective is of.
    pub(super) fn members(&self, (communicator, first, _): CollectiveId) -> Vec<u16> {
        let program = self.names.program(first);
        let is_member = |rank: &u16| program.is_some_and(|program| program.is_member(communicator, *rank));
        (0..self.names.ranks()).filter(is_member).collect()
    }

    /// With all entries of the collectives that some steps enter.
    fn whole_collectives(&self, mut steps: BTreeSet<usize>) -> BTreeSet<usize> {
        let entered: BTreeSet<CollectiveId> =
            steps.iter().filter_map(|step| self.collective_of(*step)).collect();
        let all = entered.iter().filter_map(|id| self.collectives.get(id)).flatten();
        steps.extend(all);
        steps
    }
}
