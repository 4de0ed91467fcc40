//! The model that stateright explores.

use crate::facts::Facts;
use crate::later::{self, sought};
use crate::program::{Act, Job, Ordinal, Program, Start};
use crate::reduce;
use crate::state::{Message, Proc, State, Wrong};
use crate::step::{self, Action, Choice};
use carrousel_rank::{Call, Protocol, Source, Speculation, Tag, TagSelector};
use carrousel_scenario::Check;
use stateright::Property;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What an exploration may leave out, and what it adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Leave out orders that make no difference, and forget past ones that nobody can tell any more.
    pub reduce: bool,
    /// The weakest MPI: a standard send may wait for its receive, or not.
    pub portable: bool,
    /// Connections keep order. They do; rule R1 says that the protocols need it.
    pub ordered: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { reduce: true, portable: false, ordered: true }
    }
}

/// The name of the property that the library keeps its promises, whatever the program does.
pub const PROMISES: &str = "promises";

/// What a proof has met on its way: one that never met a crossing proves little about crossings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reached {
    /// A message was written into an announced receive.
    Written,
    /// An RTR met a message under way by RTS.
    Crossed,
    /// An eager message met an announced receive.
    Mispredicted,
    /// A sender declined to write.
    Declined,
    /// A receive was cancelled.
    Cancelled,
}

impl Reached {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Written, Self::Crossed, Self::Mispredicted, Self::Declined, Self::Cancelled];

    /// A column heading.
    pub fn name(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Crossed => "crossed",
            Self::Mispredicted => "mispredicted",
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Some jobs over protocol `P`, each in every order of events.
pub struct Model<P: Protocol> {
    jobs: Arc<[Job]>,
    facts: Vec<Facts>,
    settings: Settings,
    shared: Arc<Shared>,
    protocol: PhantomData<P>,
}

/// What the threads of an exploration write to.
#[derive(Debug, Default)]
pub struct Shared {
    /// Counts by [`Reached`].
    reached: [AtomicU64; Reached::ALL.len()],
    /// States whose successors were asked for.
    pub expanded: AtomicU64,
    /// Set from outside: explore no further.
    pub stop: AtomicBool,
    /// The bits of the checks whose violation has been reported.
    reported: [AtomicBool; Check::ALL.len()],
    /// A broken promise has been reported.
    broken: AtomicBool,
    /// The first message that each wildcard receive got, by rank and ordinal; 0 for none yet.
    matches: Vec<AtomicU64>,
}

impl Shared {
    /// How often something was met.
    pub fn reached(&self, what: Reached) -> u64 {
        self.reached[what as usize].load(Ordering::Relaxed)
    }
}

impl<P: Protocol> Model<P> {
    /// A model of these jobs.
    pub fn new(jobs: Arc<[Job]>, settings: Settings) -> Self {
        let facts = jobs.iter().map(Facts::new::<P>).collect();
        let receives = match &*jobs {
            [job] => job.ranks.iter().map(|program| program.starts.len()).sum(),
            // Families of jobs are about the protocol, not about their programs.
            _ => 0,
        };
        let matches = (0..receives).map(|_| AtomicU64::new(0)).collect();
        let shared = Arc::new(Shared { matches, ..Shared::default() });
        Self { jobs, facts, settings, shared, protocol: PhantomData }
    }

    /// What the threads write to.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The jobs.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    pub(crate) fn facts(&self, job: u32) -> &Facts {
        &self.facts[job as usize]
    }

    pub(crate) fn program(&self, job: u32, rank: u16) -> &Program {
        &self.jobs[job as usize].ranks[usize::from(rank)]
    }

    /// The next act of a rank, unless it has finished.
    pub(crate) fn next_act(&self, state: &State<P>, rank: u16) -> Option<&Act> {
        let pc = state.procs[usize::from(rank)].pc;
        self.program(state.job, rank).steps.get(usize::from(pc)).map(|step| &step.act)
    }

    pub(crate) fn is_reducing(&self) -> bool {
        self.settings.reduce
    }

    /// Makes two states of a rank one if they differ only in the order in which messages of different senders
    /// have come, and no receive from any source is pending or to come: nobody can tell any more.
    pub fn forget_arrival_order(&self, job: u32, rank: u16, proc: &mut Proc<P>) {
        if !self.may_receive_from_any(job, rank, proc) {
            proc.rank.forget_arrival_order();
            proc.arrived.sort_by_key(|message| message.from);
            proc.kept.sort_by_key(|(kept, _)| *kept);
        }
    }

    pub(crate) fn is_portable(&self) -> bool {
        self.settings.portable
    }

    pub(crate) fn is_finished(&self, state: &State<P>, rank: u16) -> bool {
        self.next_act(state, rank).is_none()
    }

    pub(crate) fn can_step(&self, state: &State<P>, rank: u16) -> bool {
        let (program, proc) = (self.program(state.job, rank), &state.procs[usize::from(rank)]);
        self.next_act(state, rank).is_some_and(|act| step::is_enabled(program, proc, act))
    }

    /// Whether the next step of a rank returns from a wait only if MPI has buffered a message that nobody has
    /// received, or a collective does not wait for ranks that it could wait for. Under the weakest MPI the rank may as well be waiting; it then is for as long as anything
    /// else happens, and a state in which nothing else does is a deadlock.
    pub(crate) fn counts_on_buffers(&self, state: &State<P>, rank: u16) -> bool {
        if !self.settings.portable {
            return false;
        }
        let Some(Act::Wait(requests)) = self.next_act(state, rank) else { return false };
        let proc = &state.procs[usize::from(rank)];
        requests.iter().any(|request| {
            let message = Message { from: rank, send: *request };
            match self.start(state, rank, *request) {
                Start::Send { to, .. } => proc.is_open(*request) && state.is_unmatched(message, to as u16),
                // It may wait until everybody has entered it (MPI-4.1, 6.14).
                Start::Collective { .. } => proc.is_open(*request) && self.is_alone_in(state, rank, *request),
                Start::Receive { .. } | Start::Later(_) => false,
            }
        })
    }

    /// Whether some rank has not entered a collective that this one has.
    pub(crate) fn is_alone_in(&self, state: &State<P>, rank: u16, collective: Ordinal) -> bool {
        let facts = self.facts(state.job);
        let number = facts.rank(rank).number_of(collective);
        (0..).zip(&state.procs).any(|(other, proc)| facts.rank(other).entered(proc.pc) <= number)
    }

    /// Ranks other than the first whose message a receive or a probe from any source could take or find.
    fn other_sources(&self, state: &State<P>, rank: u16, tag: TagSelector) -> Vec<u16> {
        let arrived = state.procs[usize::from(rank)].arrived.iter().filter(|message| {
            match self.start(state, message.from, message.send) {
                Start::Send { tag: sent, .. } => tag.matches(Tag(sent)),
                _ => false,
            }
        });
        let mut sources: Vec<u16> = Vec::new();
        for message in arrived {
            if !sources.contains(&message.from) {
                sources.push(message.from);
            }
        }
        sources.into_iter().skip(1).collect()
    }

    /// Whether a rank has a receive from any source pending or before it, or a probe of which it asks whom it found.
    pub(crate) fn may_receive_from_any(&self, job: u32, rank: u16, proc: &Proc<P>) -> bool {
        let program = self.program(job, rank);
        self.facts(job).rank(rank).last_from_any.is_some_and(|last| proc.pc <= last)
            || proc.waiting.iter().any(|receive| program.is_from_any(*receive))
    }

    /// Appends the steps that a rank can take with its program.
    pub(crate) fn steps(&self, state: &State<P>, rank: u16, actions: &mut Vec<Action>) {
        let Some(act) = self.next_act(state, rank) else { return };
        let proc = &state.procs[usize::from(rank)];
        let program = self.program(state.job, rank);
        if !step::is_enabled(program, proc, act) {
            return;
        }
        let mut push = |choice| actions.push(Action::Step { rank, choice });
        match act {
            Act::Test(ordinal) => {
                if proc.is_over(*ordinal) {
                    push(Choice::Plain);
                }
                push(Choice::Fail);
            }
            Act::Start(ordinal) => {
                push(Choice::Plain);
                let start = self.next_start(state.job, rank, proc, *ordinal);
                if let Call::Send(message) = start.call()
                    && proc.rank.could_write(&message)
                {
                    push(Choice::Decline);
                }
                if self.settings.portable
                    && let Start::Receive { from: Source::Any, tag, .. } = start
                {
                    self.other_sources(state, rank, tag).into_iter().map(Choice::From).for_each(push);
                }
            }
            Act::Probe { sought: what, into: Some(_) } => {
                push(Choice::Plain);
                if self.settings.portable
                    && let Some((Source::Any, tag)) = sought(program, proc, *what)
                {
                    self.other_sources(state, rank, tag).into_iter().map(Choice::From).for_each(push);
                }
            }
            _ => push(Choice::Plain),
        }
    }

    /// Appends the announcements that a rank may make.
    pub(crate) fn announcements(&self, state: &State<P>, rank: u16, actions: &mut Vec<Action>) {
        if self.jobs[state.job as usize].options.speculation == Speculation::Off {
            return;
        }
        let proc = &state.procs[usize::from(rank)];
        for handle in proc.rank.announceable() {
            if let Some(open) = proc.open.iter().find(|open| open.handle == handle) {
                actions.push(Action::Announce { rank, receive: open.ordinal });
            }
        }
    }

    /// Appends everything that can happen next.
    pub fn all_actions(&self, state: &State<P>, actions: &mut Vec<Action>) {
        for rank in 0..state.procs.len() as u16 {
            self.steps(state, rank, actions);
            self.announcements(state, rank, actions);
        }
        actions.extend(state.heads().map(|(route, _)| Action::Land(*route)));
        if !self.settings.ordered {
            for route in state.flights.chunk_by(|a, b| a.0 == b.0) {
                let route_of = |place: usize| Action::Overtake { route: route[0].0, place };
                actions.extend((1..route.len()).map(route_of));
            }
        }
    }

    /// Whether a rank cannot go on because a value in its next statement leaves its range.
    pub(crate) fn is_at_fault(&self, job: u32, rank: u16, proc: &Proc<P>) -> bool {
        let program = self.program(job, rank);
        !program.later.is_empty() && later::fault(program, proc).is_some()
    }

    pub(crate) fn reach(&self, what: Reached) {
        self.shared.reached[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The message that a wildcard receive got in the first execution that got there, if it is another one.
    pub(crate) fn other_match(
        &self,
        job: u32,
        rank: u16,
        receive: Ordinal,
        message: Message,
    ) -> Option<Message> {
        if self.shared.matches.is_empty() {
            return None;
        }
        let before: usize = (0..rank).map(|earlier| self.program(job, earlier).starts.len()).sum::<usize>()
            + usize::from(receive);
        let encode = |message: Message| 1 << 32 | u64::from(message.from) << 16 | u64::from(message.send);
        let decode = |word: u64| Message { from: (word >> 16) as u16, send: word as u16 };
        let first = self.shared.matches[before].compare_exchange(
            0,
            encode(message),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        match first {
            Err(word) if decode(word) != message => Some(decode(word)),
            _ => None,
        }
    }

    fn keeps_promises(&self, state: &State<P>) -> bool {
        !state.wrong.iter().any(Wrong::is_fatal) || self.shared.broken.swap(true, Ordering::Relaxed)
    }

    /// Whether a check holds in a state. Only the first violation counts, so that the report is of the
    /// shortest path: stateright keeps the last one that it is told of.
    fn holds(&self, state: &State<P>, check: Check) -> bool {
        !state.wrong.iter().any(|wrong| wrong.check == check)
            || self.shared.reported[check as usize].swap(true, Ordering::Relaxed)
    }
}

impl<P: Protocol> stateright::Model for Model<P> {
    type State = State<P>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        (0..self.jobs.len() as u32).map(|job| step::initial(self, job)).collect()
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>) {
        self.shared.expanded.fetch_add(1, Ordering::Relaxed);
        if self.shared.stop.load(Ordering::Relaxed) || state.wrong.iter().any(Wrong::is_fatal) {
            return;
        }
        if self.settings.reduce && self.settings.ordered && !self.facts(state.job).reads_race() {
            reduce::enough_actions(self, state, actions);
        } else {
            self.all_actions(state, actions);
        }
    }

    fn next_state(&self, state: &Self::State, action: Self::Action) -> Option<Self::State> {
        Some(step::after(self, state, action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        macro_rules! always {
            ($($check:ident),*) => {
                vec![
                    Property::always(PROMISES, |model: &Self, state: &State<P>| model.keeps_promises(state)),
                    $(Property::always(Check::$check.name(), |model: &Self, state: &State<P>| {
                        model.holds(state, Check::$check)
                    })),*
                ]
            };
        }
        always!(
            DeadlockFreedom,
            MatchingOrder,
            BufferSafety,
            MatchDeterminism,
            RmaRace,
            EpochUsage,
            LockExclusion,
            RequestLeak,
            UnmatchedMessage
        )
    }
}
