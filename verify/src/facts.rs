//! Facts about a job that hold in every execution: which ends of which flows a rank may still use.

use crate::admission::all_refused;
use crate::happens_before::HappensBefore;
use crate::program::{Act, Job, Later, Ordinal, Program, Sought, Start};
use crate::settings::Settings;
use crate::weakest::WindowPlan;
use crate::window_facts::WindowFacts;
use carrousel_rank::{
    ANNOUNCED_FROM, Call, Communicator, Context, Rank, RankId, Source, Speculation, Transfer, cost, mpi,
};
use carrousel_rendezvous::{Notice, Protocol, Release};
use std::collections::{BTreeMap, BTreeSet};

/// Facts about a job.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    ranks: Vec<RankFacts>,
    writes_end_silently: bool,
    release: Release,
    may_exceed_window: bool,
    /// What a step does depends on its rank and its input, and not on what other ranks have begun.
    pub(crate) steps_are_local: bool,
    /// Of its windows.
    pub(crate) windows: WindowFacts,
    /// The same under the weakest MPI; empty otherwise.
    pub(crate) plan: WindowPlan,
    /// Ranks that may send a message without data to a receiver that is known only at run time.
    empty_to_any: Vec<u16>,
}

/// For each peer the last step that is about it. A step whose peer is known only at run time is about all peers, and
/// kept once: there may be as many programs as peers.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastStep {
    named: BTreeMap<u16, u16>,
    all: Option<u16>,
}

impl LastStep {
    /// Of one peer.
    pub(crate) fn of(&self, peer: u16) -> Option<u16> {
        self.named.get(&peer).copied().max(self.all)
    }

    /// Of any peer.
    pub(crate) fn of_any(&self) -> Option<u16> {
        self.named.values().copied().max().max(self.all)
    }

    /// Steps have to be added in the order of the program.
    fn add(&mut self, peer: Option<u16>, pc: u16) {
        match peer {
            Some(peer) => drop(self.named.insert(peer, pc)),
            None => self.all = Some(pc),
        }
    }
}

/// Some ranks, or all.
#[derive(Clone, Debug, Default)]
struct Several {
    all: bool,
    /// Sorted, once all are known.
    named: Vec<u16>,
}

impl Several {
    fn contains(&self, rank: u16) -> bool {
        self.all || self.named.binary_search(&rank).is_ok()
    }

    fn is_empty(&self) -> bool {
        !self.all && self.named.is_empty()
    }
}

/// Facts about one rank's program. A step is named by its position.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankFacts {
    /// The last step that sends to each rank.
    pub(crate) last_send: LastStep,
    /// The last step that receives from each rank by name, or cancels such a receive.
    pub(crate) last_receive: LastStep,
    /// The first step that is the last one with some peer, by name or not.
    first_last: Option<u16>,
    /// The last step that receives from any source, or probes for a message from any source that a later statement
    /// asks about.
    pub(crate) last_from_any: Option<u16>,
    /// It claims messages.
    claims: bool,
    /// The last test.
    pub(crate) last_test: Option<u16>,
    /// The last step, or the end, before which more receives may be posted than are announced at a time. There, a
    /// message that takes one of the oldest lets another receive be announced, whatever its source.
    pub(crate) last_crowded: Option<u16>,
    /// By window: the last step about it.
    last_on_window: BTreeMap<u16, u16>,
    /// The collectives of each communicator: the steps that enter them, and their requests.
    collectives: BTreeMap<Communicator, Vec<(u16, Ordinal)>>,
    /// The last step that enters a collective.
    pub(crate) last_collective: Option<u16>,
    /// Ranks whose messages may meet an announcement, or a cancellation: the order of events at an end
    /// of such a flow matters. All other flows come to the same end in every order.
    ordered_from: Several,
    /// The ranks of `ordered_from` whose messages may be answered in the call that posts their receive.
    answers_posts_from: Several,
}

impl Facts {
    /// The facts about a job under protocol `P`.
    pub(crate) fn new<P: Protocol>(job: &Job, settings: Settings) -> Self {
        let notice = P::notice();
        // Under the other rules a receive acknowledges the RTS that it takes.
        let acknowledges = notice != Notice::FinBehindWrite;
        let mut ranks: Vec<RankFacts> =
            job.ranks.iter().map(|program| RankFacts::new(program, job)).collect();
        // The senders of messages without data, by receiver; `None` if that is known only at run time.
        let mut empty_to: BTreeMap<Option<u16>, Vec<u16>> = BTreeMap::new();
        for (rank, program) in job.ranks.iter().enumerate() {
            for to in empty_sends(program) {
                empty_to.entry(to).or_default().push(rank as u16);
            }
        }
        for (rank, facts) in ranks.iter_mut().enumerate() {
            let rank = rank as u16;
            facts.answers_posts_from = if acknowledges || may_take_nothing(job, rank) {
                facts.ordered_from.clone()
            } else {
                let senders = empty_to.get(&Some(rank)).into_iter().flatten().copied();
                let named = senders.filter(|from| facts.ordered_from.contains(*from)).collect();
                Several { all: false, named }
            };
        }
        let empty_to_any = empty_to.remove(&None).unwrap_or_default();
        let writes_end_silently = notice == Notice::FinBehindWrite && job.options.transfer == Transfer::Read;
        let may_exceed_window = (0..job.ranks.len() as u16).any(|rank| may_exceed_window::<P>(job, rank));
        let refused = all_refused(job);
        let steps = HappensBefore::new(job, settings.without);
        let plan = match settings.portable {
            true => WindowPlan::new(job, &refused, &steps, settings.without),
            false => WindowPlan::default(),
        };
        let windows = WindowFacts::new(job, settings.portable, refused, &steps);
        let release = P::release();
        let steps_are_local = plan.is_empty() && job.ranks.iter().all(|program| program.later.is_empty());
        Self {
            ranks,
            writes_end_silently,
            release,
            may_exceed_window,
            steps_are_local,
            windows,
            plan,
            empty_to_any,
        }
    }

    /// Whether the completion of a write concerns its request only: the notice travels behind the data, and the flow
    /// has forgotten the message by then.
    pub(crate) fn writes_end_silently(&self) -> bool {
        self.writes_end_silently
    }

    /// Whether the completion of a read concerns its request only: the notice travels behind the data.
    pub(crate) fn reads_end_silently(&self) -> bool {
        self.release == Release::AtsBehindRead
    }

    /// Whether a sender may have its buffer back while it is being read. Reads and packets are in conflict then,
    /// which are independent otherwise.
    pub(crate) fn reads_race(&self) -> bool {
        self.release == Release::AtsBesideRead
    }

    /// Whether some message may exceed the eager window of its receiver. How it is sent then depends on earlier
    /// arrivals, and the reduction assumes that it depends on size and mode alone.
    pub(crate) fn may_exceed_window(&self) -> bool {
        self.may_exceed_window
    }

    /// Whether some rank claims messages, about which the reduction knows nothing.
    pub(crate) fn claims(&self) -> bool {
        self.ranks.iter().any(|rank| rank.claims)
    }

    /// Whether posting a receive from a rank may send an answer, so that its order with announcements matters.
    pub(crate) fn answers_posts(&self, from: u16, to: u16) -> bool {
        let facts = self.rank(to);
        facts.answers_posts_from.contains(from)
            || facts.ordered_from.contains(from) && self.empty_to_any.binary_search(&from).is_ok()
    }

    /// Whether posting a receive from any source may send an answer.
    pub(crate) fn answers_some_posts(&self, to: u16) -> bool {
        let facts = self.rank(to);
        !facts.answers_posts_from.is_empty()
            || self.empty_to_any.iter().any(|from| facts.ordered_from.contains(*from))
    }

    pub(crate) fn rank(&self, rank: u16) -> &RankFacts {
        &self.ranks[usize::from(rank)]
    }

    /// Whether the order of events matters at the ends of the flow between two ranks.
    pub(crate) fn is_ordered(&self, from: u16, to: u16) -> bool {
        self.rank(to).ordered_from.contains(from)
    }
}

impl RankFacts {
    fn new(program: &Program, job: &Job) -> Self {
        let mut facts = Self { last_crowded: last_crowded(program, job), ..Self::default() };
        for (pc, step) in program.steps.iter().enumerate() {
            let pc = pc as u16;
            if let Some(window) = program.window_of_act(&step.act) {
                facts.last_on_window.insert(window, pc);
            }
            match &step.act {
                Act::Start(ordinal) => match program.starts[usize::from(*ordinal)] {
                    Start::Later(index) => facts.later(pc, &program.later[usize::from(index)], job),
                    start => facts.start(pc, *ordinal, &start, job),
                },
                Act::Claim(ordinal) => {
                    facts.start(pc, *ordinal, &program.starts[usize::from(*ordinal)], job);
                    facts.claims = true;
                }
                Act::Cancel(ordinal) => match program.starts[usize::from(*ordinal)] {
                    Start::Receive { from: Source::Rank(from), .. } => {
                        facts.last_receive.add(Some(from.0 as u16), pc);
                        facts.ordered_from.named.push(from.0 as u16);
                    }
                    _ => {
                        // A receive from any source meets every flow.
                        facts.last_from_any = Some(pc);
                        facts.ordered_from.all = true;
                    }
                },
                Act::Test(_) => facts.last_test = Some(pc),
                Act::Probe { sought, into: Some(_) } => {
                    let from = match *sought {
                        Sought::Known(_, from, _) => Some(from),
                        Sought::Later(index) => program.later[usize::from(index)].from(),
                    };
                    if from == Some(Source::Any) {
                        facts.last_from_any = Some(pc);
                    }
                }
                // The end of a claim, of which jobs are not reduced.
                Act::ReceiveClaimed(_) | Act::Discard(_) => {}
                // `WindowFacts` knows of these.
                Act::Access(_) | Act::TouchWindow(_) | Act::AwaitGrants(_) => {}
                Act::Wait(_) | Act::Probe { .. } | Act::Touch { .. } | Act::Compute(_) | Act::Define(_) => {}
            }
        }
        facts.ordered_from.named.sort_unstable();
        facts.ordered_from.named.dedup();
        let peers: BTreeSet<u16> = [&facts.last_send, &facts.last_receive]
            .iter()
            .flat_map(|last| last.named.keys().copied())
            .collect();
        facts.first_last = peers.into_iter().map(|peer| facts.last_with(peer)).min().flatten();
        facts
    }

    /// The last step that sends to a rank, or receives from it by name.
    fn last_with(&self, peer: u16) -> Option<u16> {
        self.last_send.of(peer).max(self.last_receive.of(peer))
    }

    /// Whether a rank that is at step `pc` will send to a rank, or receive from it by name.
    pub(crate) fn will_name(&self, pc: u16, peer: u16) -> bool {
        self.first_last.is_some_and(|first| pc <= first)
            || self.last_with(peer).is_some_and(|last| pc <= last)
    }

    /// The last step about a window.
    pub(crate) fn last_on_window(&self, window: u16) -> Option<u16> {
        self.last_on_window.get(&window).copied()
    }

    /// Whether the order of events matters at the receiving end of some flow.
    pub(crate) fn has_ordered(&self) -> bool {
        !self.ordered_from.is_empty()
    }

    /// The collectives of a communicator: the steps that enter them, and their requests.
    pub(crate) fn collectives(&self, communicator: Communicator) -> &[(u16, Ordinal)] {
        self.collectives.get(&communicator).map_or(&[], |calls| calls)
    }

    /// How many collectives of a communicator a rank has entered that is at step `pc`.
    pub(crate) fn entered(&self, communicator: Communicator, pc: u16) -> usize {
        self.collectives(communicator).partition_point(|(step, _)| *step < pc)
    }

    /// The number of the collective of this request among those of its communicator, from 0.
    pub(crate) fn number_of(&self, communicator: Communicator, collective: Ordinal) -> usize {
        self.collectives(communicator).partition_point(|(_, request)| *request < collective)
    }

    fn start(&mut self, pc: u16, ordinal: Ordinal, start: &Start, job: &Job) {
        match *start {
            Start::Send { to, .. } => self.last_send.add(Some(to as u16), pc),
            Start::Receive { from: Source::Rank(from), len, .. } => {
                self.receive(pc, Some(from.0 as u16), len, job);
            }
            Start::Receive { .. } => {
                self.last_from_any = Some(pc);
                self.ordered_from.all |= job.options.transfer == Transfer::Write;
            }
            Start::Collective { communicator, .. } => {
                self.collectives.entry(communicator).or_default().push((pc, ordinal));
                self.last_collective = Some(pc);
            }
            Start::Synchronize(_) | Start::Access(_) | Start::Later(_) => {}
        }
    }

    /// A receive from a rank, or from one that is known only at run time.
    fn receive(&mut self, pc: u16, from: Option<u16>, len: u64, job: &Job) {
        self.last_receive.add(from, pc);
        let announced = job.options.speculation != Speculation::Off && len > job.options.eager_threshold;
        if announced || job.options.transfer == Transfer::Write {
            self.ordered_from.all |= from.is_none();
            self.ordered_from.named.extend(from);
        }
    }

    /// A start whose values are known only at run time: its peer may be any, and its size, too.
    fn later(&mut self, pc: u16, later: &Later, job: &Job) {
        if later.sends {
            self.last_send.add(later.to().map(|to| to as u16), pc);
            return;
        }
        let len = later.len().unwrap_or(u64::MAX);
        match later.from() {
            Some(Source::Any) => {
                let (from, tag, communicator) = (Source::Any, mpi::ANY_TAG, later.deferred.communicator());
                let start = Start::Receive { from, tag, communicator, len, buffer: later.own };
                self.start(pc, 0, &start, job);
            }
            Some(Source::Rank(from)) => self.receive(pc, Some(from.0 as u16), len, job),
            None => self.receive(pc, None, len, job),
        }
    }
}

/// The last step, or the end, before which more receives may be posted than are announced at a time. Every receive
/// that the program has started and not waited for counts, and one for each such collective.
fn last_crowded(program: &Program, job: &Job) -> Option<u16> {
    if job.options.speculation == Speculation::Off {
        return None;
    }
    let is_posted = |ordinal: &Ordinal| match program.starts[usize::from(*ordinal)] {
        Start::Receive { .. } | Start::Collective { .. } => true,
        Start::Later(index) => !program.later[usize::from(index)].sends,
        Start::Send { .. } | Start::Synchronize(_) | Start::Access(_) => false,
    };
    let mut posted: BTreeSet<Ordinal> = BTreeSet::new();
    let mut last = None;
    for (pc, step) in program.steps.iter().enumerate() {
        match &step.act {
            Act::Start(ordinal) if is_posted(ordinal) => _ = posted.insert(*ordinal),
            Act::Wait(ordinals) => ordinals.iter().for_each(|ordinal| _ = posted.remove(ordinal)),
            _ => {}
        }
        if posted.len() > ANNOUNCED_FROM {
            last = Some(pc as u16 + 1);
        }
    }
    last
}

/// Whether a rank may send more eager messages to another one, in one communicator, than the window takes, if no receive
/// takes any.
fn may_exceed_window<P: Protocol>(job: &Job, rank: u16) -> bool {
    let options = &job.options;
    let mut process =
        Rank::<P>::new(RankId(rank.into()), &carrousel_rank::Job { ranks: job.ranks.len() as u32 }, options);
    let program = &job.ranks[usize::from(rank)];
    for group in &program.groups {
        // A communicator that cannot be defined has no collectives.
        let _ = process.define(group.communicator, group.members.clone(), &mut Vec::new());
    }
    let mut sent: BTreeMap<(Context, u32), u64> = BTreeMap::new();
    // Eager bytes of messages whose receiver is known only at run time.
    let mut sent_to_any = 0_u64;
    let mut send = |context, to, len| {
        if len <= options.eager_threshold {
            let sum = sent.entry((context, to)).or_default();
            *sum = sum.saturating_add(cost(len));
        }
    };
    for start in &program.starts {
        let call = match *start {
            Start::Later(index) => {
                let later = &program.later[usize::from(index)];
                if later.sends && !later.is_synchronous() {
                    // Its receiver may be any rank, and its size any, unless the outline says more.
                    let len = later.len().unwrap_or(options.eager_threshold);
                    match later.to() {
                        Some(to) => send(later.deferred.communicator().messages(), to, len),
                        None if len <= options.eager_threshold => {
                            sent_to_any = sent_to_any.saturating_add(cost(len));
                        }
                        None => {}
                    }
                }
                continue;
            }
            Start::Synchronize(_) | Start::Access(_) => continue,
            start => start.call(),
        };
        match call {
            Call::Send(message) if !message.synchronous => {
                send(message.communicator.messages(), message.to.0, message.len);
            }
            Call::Collective(call) => {
                let Ok(schedule) = process.schedule(&call) else { continue };
                let messages = (0..schedule.rounds()).filter_map(|number| schedule.round(number).send);
                // A peer is a member's number here, as good as its rank: nobody else sends in this context.
                messages.for_each(|message| send(call.communicator.collectives(), message.peer, message.len));
            }
            _ => {}
        }
    }
    let most = |(&(context, _), &sum): (&(Context, u32), &u64)| {
        if context.is_collective() { sum } else { sum.saturating_add(sent_to_any) }
    };
    sent.iter().map(most).chain([sent_to_any]).any(|sum| sum > options.eager_window)
}

/// The receivers of messages that a program may send by RTS without data, which are answered at once; `None` for one
/// that is known only at run time.
fn empty_sends(program: &Program) -> impl Iterator<Item = Option<u16>> {
    program.starts.iter().filter_map(|start| match *start {
        Start::Send { to, len: 0, synchronous: true, .. } => Some(Some(to as u16)),
        Start::Later(index) => {
            let later = &program.later[usize::from(index)];
            let is_empty = later.sends && later.is_synchronous() && later.len().is_none_or(|len| len == 0);
            is_empty.then(|| later.to().map(|to| to as u16))
        }
        _ => None,
    })
}

/// Whether a rank may take a message by RTS and answer at once, without a transfer to wait for.
fn may_take_nothing(job: &Job, rank: u16) -> bool {
    let program = &job.ranks[usize::from(rank)];
    let empty_receive = program.starts.iter().any(|start| match *start {
        Start::Receive { len, .. } => len == 0,
        Start::Later(index) => {
            let later = &program.later[usize::from(index)];
            !later.sends && later.len().is_none_or(|len| len == 0)
        }
        _ => false,
    });
    empty_receive || job.options.transfer == Transfer::Write
}
