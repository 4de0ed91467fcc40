//! Some windows with the network between them, explored in every order of events.
//!
//! Data and packets of a pair of ranks arrive in the order in which they were posted. Reads and atomics act at any time
//! after they have arrived, and a fenced packet stays behind them. Grant words are seen late, and only their newest value
//! is. After each step, the properties are checked that every program must keep.

mod check;
mod program;
mod rank;

pub(crate) use program::Program;
use program::{Step, Steps};

use carrousel_epoch::*;
use carrousel_wire::RankId;
use rank::Rank;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What is on its way on a lane.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
enum Item {
    Data(OpName),
    Packet(Packet, Order),
}

/// An operation: its origin, and its place among those.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
struct OpName {
    origin: usize,
    at: usize,
}

/// One state.
#[derive(Clone, Hash)]
struct State<R> {
    ranks: Vec<Rank<R>>,
    /// By sender and receiver.
    lanes: BTreeMap<(usize, usize), VecDeque<Item>>,
    /// Reads and atomics that have arrived, and have not acted.
    reading: BTreeSet<OpName>,
    /// Writes that have acted, which their origin does not know.
    unreported: BTreeSet<OpName>,
    /// Grant words by host, origin and word: the value that is stored, and the one that was seen.
    words: BTreeMap<(usize, usize, GrantWord), (u64, u64)>,
    /// Messages of the program that were not received, by sender and receiver.
    messages: BTreeMap<(usize, usize), usize>,
    /// Done and LockRelease, by sender, receiver, and access.
    finished: BTreeSet<(usize, usize, GrantWord, u64)>,
    reports: Vec<Report>,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Program(usize),
    Deliver(usize, usize, usize),
    Act(OpName),
    Report(OpName),
    CompleteLocally(OpName),
    See(usize, usize, GrantWord),
}

/// What an exploration has found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Explored {
    pub(crate) states: usize,
    /// The first violation, and the steps to it.
    pub(crate) violation: Option<(String, Vec<String>)>,
    /// Reports of hosts in any execution.
    pub(crate) reports: Vec<Report>,
}

impl Explored {
    /// The property that is violated.
    pub(crate) fn property(&self) -> Option<&str> {
        self.violation.as_ref().and_then(|(what, _)| what.split(':').next())
    }
}

/// Explores every execution of a program, up to the first violation.
pub(crate) fn explore<R: EpochRules>(program: &Program) -> Explored {
    let mut found = Explored::default();
    let first = State::<R>::new(program);
    let mut known = BTreeSet::from([fingerprint(&first)]);
    // Breadth first, so that a counterexample is a shortest one.
    let mut queue = VecDeque::from([(first, None::<usize>, String::new())]);
    let mut past: Vec<(Option<usize>, String)> = Vec::new();
    while let Some((state, from, line)) = queue.pop_front() {
        found.states += 1;
        past.push((from, line));
        let told = |mut at: Option<usize>, past: &[(Option<usize>, String)]| {
            let mut lines = Vec::new();
            while let Some(here) = at {
                lines.push(past[here].1.clone());
                at = past[here].0;
            }
            lines.reverse();
            lines
        };
        let here = Some(past.len() - 1);
        let actions = state.actions(program);
        if actions.is_empty() && !state.is_over(program) {
            let what = format!("never-stuck: {}", state.stuck(program));
            found.violation = Some((what, told(here, &past)));
            return found;
        }
        if actions.is_empty()
            && let Err(what) = state.check_quiet(program)
        {
            found.violation = Some((what, told(here, &past)));
            return found;
        }
        for action in actions {
            let mut next = state.clone();
            let result = next.step(program, action).and_then(|()| next.check(program));
            if let Err(what) = result {
                let mut lines = told(here, &past);
                lines.push(format!("{action:?}"));
                found.violation = Some((what, lines));
                return found;
            }
            for report in &next.reports {
                if !found.reports.contains(report) {
                    found.reports.push(*report);
                }
            }
            if known.insert(fingerprint(&next)) {
                queue.push_back((next, here, format!("{action:?}")));
            }
        }
    }
    found
}

/// Follows one execution, which a seed decides, to its end. The violation, if there is one.
pub(crate) fn run<R: EpochRules>(program: &Program, seed: u64) -> Result<(), String> {
    let mut state = State::<R>::new(program);
    let mut random = seed;
    loop {
        let actions = state.actions(program);
        // Knuth, MMIX: the high bits are the better ones.
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let Some(action) = actions.get((random >> 33) as usize % actions.len().max(1)) else {
            if !state.is_over(program) {
                return Err(format!("never-stuck: {}", state.stuck(program)));
            }
            return state.check_quiet(program);
        };
        state.step(program, *action)?;
        state.check(program)?;
    }
}

fn fingerprint<R: EpochRules>(state: &State<R>) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

pub(crate) fn id(rank: usize) -> RankId {
    RankId(rank as u32)
}

fn index(rank: RankId) -> usize {
    rank.0 as usize
}

impl<R: EpochRules> State<R> {
    fn new(program: &Program) -> Self {
        let ranks = program.ranks.len();
        Self {
            ranks: (0..ranks).map(|me| Rank::new(me, ranks, program.flags)).collect(),
            lanes: BTreeMap::new(),
            reading: BTreeSet::new(),
            unreported: BTreeSet::new(),
            words: BTreeMap::new(),
            messages: BTreeMap::new(),
            finished: BTreeSet::new(),
            reports: Vec::new(),
        }
    }

    fn is_over(&self, program: &Program) -> bool {
        let ended = |(rank, steps): (&Rank<R>, &Steps)| rank.at == steps.len() && rank.waits_for.is_none();
        self.ranks.iter().zip(&program.ranks).all(ended)
    }

    fn actions(&self, program: &Program) -> Vec<Action> {
        let mut actions = Vec::new();
        for (me, rank) in self.ranks.iter().enumerate() {
            let next = program.ranks[me].get(rank.at);
            let received = |from: &usize| self.messages.get(&(*from, me)).is_some_and(|count| *count > 0);
            let can_go = match next {
                Some(Step::Receive(from)) => received(from),
                Some(Step::WaitAll) => rank.requests.is_empty(),
                Some(_) => true,
                None => rank.waits_for.is_some(),
            };
            if can_go && rank.is_free() {
                actions.push(Action::Program(me));
            }
        }
        for ((from, to), lane) in &self.lanes {
            for (at, item) in lane.iter().enumerate() {
                let may_arrive = match item {
                    Item::Packet(_, Order::Free) => true,
                    Item::Packet(_, Order::Fenced) => {
                        let reads = |op: &OpName| op.origin == *from && self.op(*op).target == *to;
                        at == 0 && !self.reading.iter().any(reads)
                    }
                    Item::Packet(_, Order::Lane) | Item::Data(_) => at == 0,
                };
                if may_arrive {
                    actions.push(Action::Deliver(*from, *to, at));
                }
            }
        }
        actions.extend(self.reading.iter().map(|op| Action::Act(*op)));
        actions.extend(self.unreported.iter().map(|op| Action::Report(*op)));
        let unseen = self.words.iter().filter(|(_, (stored, seen))| stored != seen);
        actions.extend(unseen.map(|((host, origin, word), _)| Action::See(*host, *origin, *word)));
        if program.has_local {
            for (origin, rank) in self.ranks.iter().enumerate() {
                let pending = rank.ops.iter().enumerate().filter(|(_, op)| op.name.is_some() && !op.is_local);
                let writes = pending.filter(|(_, op)| !op.kind.reads() && !op.is_complete);
                actions.extend(writes.map(|(at, _)| Action::CompleteLocally(OpName { origin, at })));
            }
        }
        actions
    }

    fn step(&mut self, program: &Program, action: Action) -> Result<(), String> {
        match action {
            Action::Program(me) => self.program_step(program, me),
            Action::Deliver(from, to, at) => {
                match self.lanes.get_mut(&(from, to)).and_then(|lane| lane.remove(at)) {
                    Some(Item::Data(op)) if self.op(op).kind.reads() => {
                        self.reading.insert(op);
                        Ok(())
                    }
                    Some(Item::Data(op)) => {
                        self.act(op)?;
                        self.unreported.insert(op);
                        Ok(())
                    }
                    Some(Item::Packet(packet, _)) => {
                        self.check_finished(from, to, packet)?;
                        self.event(to, Event::Packet { from: id(from), packet })
                    }
                    None => Ok(()),
                }
            }
            Action::Act(op) => {
                self.reading.remove(&op);
                self.act(op)?;
                self.complete(op)
            }
            Action::Report(op) => {
                self.unreported.remove(&op);
                self.complete(op)
            }
            Action::CompleteLocally(op) => {
                let known = &mut self.ranks[op.origin].ops[op.at];
                known.is_local = true;
                let Some(name) = known.name else { return Ok(()) };
                self.event(op.origin, Event::LocallyComplete(name))
            }
            Action::See(host, origin, word) => {
                let Some((stored, seen)) = self.words.get_mut(&(host, origin, word)) else { return Ok(()) };
                *seen = *stored;
                let value = *stored;
                self.event(origin, Event::Granted { from: id(host), word, value })
            }
        }
    }

    fn op(&self, op: OpName) -> &rank::Op {
        &self.ranks[op.origin].ops[op.at]
    }

    fn complete(&mut self, op: OpName) -> Result<(), String> {
        let known = &mut self.ranks[op.origin].ops[op.at];
        known.is_local = true;
        known.is_complete = true;
        let Some(name) = known.name else { return Ok(()) };
        self.event(op.origin, Event::Complete(name))
    }

    fn event(&mut self, at: usize, event: Event) -> Result<(), String> {
        let mut out = Vec::new();
        let result = self.ranks[at].window.event(event, &mut out);
        result.map_err(|error| format!("honest-packets: rank {at} refuses {event:?}: {error}"))?;
        self.perform(at, out)
    }

    /// Carries the outputs of a rank out.
    fn perform(&mut self, me: usize, out: Vec<Output>) -> Result<(), String> {
        self.ranks[me].note_epochs();
        for output in out {
            match output {
                // Nothing here is as large as to be staged.
                Output::Issue { operation, epoch, transfer, .. } => {
                    let op = OpName { origin: me, at: operation.age as usize - 1 };
                    self.check_issue(me, epoch, transfer)?;
                    let access = self.ranks[me].access_of(epoch, transfer.target);
                    let known = &mut self.ranks[me].ops[op.at];
                    known.name = Some(operation);
                    known.access = access;
                    self.lanes.entry((me, index(transfer.target))).or_default().push_back(Item::Data(op));
                }
                Output::Post { to, packet, order } => {
                    self.check_post(me, index(to), packet)?;
                    self.lanes.entry((me, index(to))).or_default().push_back(Item::Packet(packet, order));
                }
                Output::Store { to, word, value } => {
                    self.words.entry((me, index(to), word)).or_default().0 = value;
                }
                Output::Complete { request, result } => {
                    self.check_complete(me, request, result)?;
                }
                Output::Report(report) => self.reports.push(report),
            }
        }
        Ok(())
    }

    fn program_step(&mut self, program: &Program, me: usize) -> Result<(), String> {
        let Some(step) = program.ranks[me].get(self.ranks[me].at).copied() else {
            self.ranks[me].waits_for = None;
            return Ok(());
        };
        self.ranks[me].waits_for = None;
        self.ranks[me].at += 1;
        match step {
            Step::Send(to) => *self.messages.entry((me, to)).or_default() += 1,
            Step::Receive(from) => *self.messages.entry((from, me)).or_default() -= 1,
            Step::WaitAll => {}
            Step::Call(call, is_blocking) => {
                let mut out = Vec::new();
                let rank = &mut self.ranks[me];
                rank.before_call(call);
                let returned = rank.window.call(call, &mut out).map_err(|error| format!("usage: {error}"))?;
                rank.after_call(call, returned, is_blocking);
                self.perform(me, out)?;
            }
        }
        Ok(())
    }
}
