//! What can be said of a job without running it: which ends of which flows a rank may still use.

use crate::program::{Act, Job, Ordinal, Program, Start};
use crate::step::is_from_any;
use carrousel_rank::{Call, Rank, RankId, Source, Speculation, Transfer, cost};
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
    /// The last step that receives from any source.
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
                Act::Start(ordinal) => facts.start(pc, *ordinal, &program.starts[usize::from(*ordinal)], job),
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
                Act::Wait(_) | Act::Probe(..) | Act::Touch { .. } => {}
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
                debug_assert!(is_from_any(start));
                self.last_from_any = Some(pc);
                if job.options.transfer == Transfer::Write {
                    self.ordered_from.extend(0..job.ranks.len() as u16);
                }
            }
            Start::Collective { .. } => self.collectives.push((pc, ordinal)),
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
    for start in &job.ranks[usize::from(rank)].starts {
        match start.call() {
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
    let empty_send = job.ranks[usize::from(from)].starts.iter().any(
        |start| matches!(start, Start::Send { to: target, len: 0, synchronous: true, .. } if *target == u32::from(to)),
    );
    let empty_receive =
        job.ranks[usize::from(to)].starts.iter().any(|start| matches!(start, Start::Receive { len: 0, .. }));
    let transfer = job.options.transfer == Transfer::Write;
    empty_send || empty_receive || transfer
}
