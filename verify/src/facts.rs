//! What can be said of a job without running it: which ends of which flows a rank may still use.

use crate::program::{Act, Job, Later, Ordinal, Program, Sought, Start};
use carrousel_rank::{Call, Rank, RankId, Source, Speculation, TagSelector, Transfer, cost};
use carrousel_rendezvous::{Notice, Protocol, Release};
use std::collections::BTreeMap;

/// Facts about a job.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    ranks: Vec<RankFacts>,
    writes_end_silently: bool,
    release: Release,
    may_exceed_window: bool,
}

/// Facts about one rank's program. A step is named by its position.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankFacts {
    /// The last step that sends to each rank.
    pub(crate) last_send: BTreeMap<u16, u16>,
    /// The last step that receives from each rank by name, or cancels such a receive.
    pub(crate) last_receive: BTreeMap<u16, u16>,
    /// The last step that receives from any source, or finds a message of any source for the program to ask about.
    pub(crate) last_from_any: Option<u16>,
    /// The last test.
    pub(crate) last_test: Option<u16>,
    /// The collectives: the steps that enter them, and their requests.
    pub(crate) collectives: Vec<(u16, Ordinal)>,
    /// Ranks whose messages may meet an announcement, or a cancellation: the order of events at an end
    /// of such a flow matters. All other flows come to the same end in every order.
    pub(crate) ordered_from: Vec<u16>,
    /// Of these, those whose messages may be answered in the call that posts their receive.
    answers_posts_from: Vec<u16>,
}

impl Facts {
    /// What protocol `P` makes of a job.
    pub(crate) fn new<P: Protocol>(job: &Job) -> Self {
        let notice = P::NOTICE;
        // Under the other rules a receive that takes an RTS says so.
        let acknowledges = notice != Notice::FinBehindWrite;
        let mut ranks: Vec<RankFacts> =
            job.ranks.iter().map(|program| RankFacts::new(program, job)).collect();
        for (rank, facts) in ranks.iter_mut().enumerate() {
            let mut answered = facts.ordered_from.clone();
            answered.retain(|from| acknowledges || may_transfer_nothing(job, *from, rank as u16));
            facts.answers_posts_from = answered;
        }
        let writes_end_silently = notice == Notice::FinBehindWrite && job.options.transfer == Transfer::Read;
        let may_exceed_window = (0..job.ranks.len() as u16).any(|rank| may_exceed_window::<P>(job, rank));
        Self { ranks, writes_end_silently, release: P::RELEASE, may_exceed_window }
    }

    /// Whether the completion of a write concerns its request only: everything was said behind the data,
    /// and the flow has forgotten the message when it was written.
    pub(crate) fn writes_end_silently(&self) -> bool {
        self.writes_end_silently
    }

    /// Whether the completion of a read concerns its request only: everything was said behind the data.
    pub(crate) fn reads_end_silently(&self) -> bool {
        self.release == Release::DoneBehindRead
    }

    /// Whether a sender may have its buffer back while that is being read: reads and packets, of which neither waits
    /// for the other elsewhere, are in conflict then.
    pub(crate) fn reads_race(&self) -> bool {
        self.release == Release::DoneBesideRead
    }

    /// Whether some message may find no room at its receiver, so that what it does depends on what has been said about
    /// earlier ones: the reduction takes sends by their size and mode for what they are.
    pub(crate) fn may_exceed_window(&self) -> bool {
        self.may_exceed_window
    }

    /// Whether posting a receive may send something back, so that its order with announcements matters.
    pub(crate) fn answers_posts(&self, from: u16, to: u16) -> bool {
        self.rank(to).answers_posts_from.binary_search(&from).is_ok()
    }

    pub(crate) fn rank(&self, rank: u16) -> &RankFacts {
        &self.ranks[usize::from(rank)]
    }

    /// Whether the order of events matters at the ends of the flow between two ranks.
    pub(crate) fn is_ordered(&self, from: u16, to: u16) -> bool {
        self.rank(to).ordered_from.binary_search(&from).is_ok()
    }
}

impl RankFacts {
    fn new(program: &Program, job: &Job) -> Self {
        let mut facts = Self::default();
        for (pc, step) in program.steps.iter().enumerate() {
            let pc = pc as u16;
            match &step.act {
                Act::Start(ordinal) => match program.starts[usize::from(*ordinal)] {
                    Start::Later(index) => facts.later(pc, &program.later[usize::from(index)], job),
                    start => facts.start(pc, *ordinal, &start, job),
                },
                Act::Cancel(ordinal) => match program.starts[usize::from(*ordinal)] {
                    Start::Receive { from: Source::Rank(from), .. } => {
                        facts.last_receive.insert(from.0 as u16, pc);
                        facts.ordered_from.push(from.0 as u16);
                    }
                    _ => {
                        // A receive from any source meets every flow.
                        facts.last_from_any = Some(pc);
                        facts.ordered_from.extend(0..job.ranks.len() as u16);
                    }
                },
                Act::Test(_) => facts.last_test = Some(pc),
                Act::Probe { sought, into: Some(_) } => {
                    let from = match *sought {
                        Sought::Known(from, _) => Some(from),
                        Sought::Later(index) => program.later[usize::from(index)].from(),
                    };
                    if from == Some(Source::Any) {
                        facts.last_from_any = Some(pc);
                    }
                }
                Act::Wait(_) | Act::Probe { .. } | Act::Touch { .. } | Act::Compute(_) => {}
            }
        }
        facts.ordered_from.sort_unstable();
        facts.ordered_from.dedup();
        facts
    }

    /// How many collectives a rank has entered that is at step `pc`.
    pub(crate) fn entered(&self, pc: u16) -> usize {
        self.collectives.partition_point(|(step, _)| *step < pc)
    }

    /// How many collectives there are before the one of this request.
    pub(crate) fn number_of(&self, collective: Ordinal) -> usize {
        self.collectives.partition_point(|(_, request)| *request < collective)
    }

    fn start(&mut self, pc: u16, ordinal: Ordinal, start: &Start, job: &Job) {
        match *start {
            Start::Send { to, .. } => {
                self.last_send.insert(to as u16, pc);
            }
            Start::Receive { from: Source::Rank(from), len, .. } => {
                self.last_receive.insert(from.0 as u16, pc);
                let announced =
                    job.options.speculation != Speculation::Off && len > job.options.eager_threshold;
                if announced || job.options.transfer == Transfer::Write {
                    self.ordered_from.push(from.0 as u16);
                }
            }
            Start::Receive { .. } => {
                self.last_from_any = Some(pc);
                if job.options.transfer == Transfer::Write {
                    self.ordered_from.extend(0..job.ranks.len() as u16);
                }
            }
            Start::Collective { .. } => self.collectives.push((pc, ordinal)),
            Start::Later(_) => {}
        }
    }

    /// A start with values that only an execution has: it may be of any peer, and of any size.
    fn later(&mut self, pc: u16, later: &Later, job: &Job) {
        let ranks = job.ranks.len() as u32;
        if later.sends {
            let to = later.to().map_or(0..ranks, |to| to..to + 1);
            self.last_send.extend(to.map(|to| (to as u16, pc)));
            return;
        }
        let one = |from| Start::Receive {
            from,
            tag: TagSelector::Any,
            len: later.len().unwrap_or(u64::MAX),
            buffer: later.own,
        };
        match later.from() {
            Some(from) => self.start(pc, 0, &one(from), job),
            None => (0..ranks).for_each(|from| self.start(pc, 0, &one(Source::Rank(RankId(from))), job)),
        }
    }
}

/// Whether a rank may send more eager messages to another one, in one communicator, than the window takes, if no receive
/// takes any.
fn may_exceed_window<P: Protocol>(job: &Job, rank: u16) -> bool {
    let options = &job.options;
    let process =
        Rank::<P>::new(RankId(rank.into()), &carrousel_rank::Job { ranks: job.ranks.len() as u32 }, options);
    let mut sent: BTreeMap<(bool, u32), u64> = BTreeMap::new();
    let mut send = |collective, to, len| {
        if len <= options.eager_threshold {
            let sum = sent.entry((collective, to)).or_default();
            *sum = sum.saturating_add(cost(len));
        }
    };
    let program = &job.ranks[usize::from(rank)];
    for start in &program.starts {
        let call = match *start {
            Start::Later(index) => {
                let later = &program.later[usize::from(index)];
                if later.sends && !later.is_synchronous() {
                    // It may be to every rank, and of every size, that it does not rule out.
                    let to = later.to().map_or(0..job.ranks.len() as u32, |to| to..to + 1);
                    let len = later.len().unwrap_or(options.eager_threshold);
                    to.for_each(|to| send(false, to, len));
                }
                continue;
            }
            start => start.call(),
        };
        match call {
            Call::Send(message) if !message.synchronous => send(false, message.to.0, message.len),
            Call::Collective(call) => {
                let Ok(schedule) = process.schedule(&call) else { continue };
                let messages = (0..schedule.rounds()).filter_map(|number| schedule.round(number).send);
                messages.for_each(|message| send(true, message.peer, message.len));
            }
            _ => {}
        }
    }
    sent.values().any(|sum| *sum > options.eager_window)
}

/// Whether a message by RTS may have nothing to transfer: it is answered at once.
fn may_transfer_nothing(job: &Job, from: u16, to: u16) -> bool {
    let (sender, receiver) = (&job.ranks[usize::from(from)], &job.ranks[usize::from(to)]);
    let may_be = |later: &Later| later.len().is_none_or(|len| len == 0);
    let empty_send = sender.starts.iter().any(|start| match *start {
        Start::Send { to: target, len: 0, synchronous: true, .. } => target == u32::from(to),
        Start::Later(index) => {
            let later = &sender.later[usize::from(index)];
            let is_to = later.to().is_none_or(|target| target == u32::from(to));
            later.sends && later.is_synchronous() && is_to && may_be(later)
        }
        _ => false,
    });
    let empty_receive = receiver.starts.iter().any(|start| match *start {
        Start::Receive { len, .. } => len == 0,
        Start::Later(index) => {
            let later = &receiver.later[usize::from(index)];
            !later.sends && may_be(later)
        }
        _ => false,
    });
    let transfer = job.options.transfer == Transfer::Write;
    empty_send || empty_receive || transfer
}
