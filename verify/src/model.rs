//! The model that stateright explores.

use crate::facts::Facts;
use crate::later::{self, later_of, sought};
use crate::program::{Act, Job, Ordinal, Program, Start};
use crate::reduce;
use crate::state::{Message, Proc, State, Wrong};
use crate::step::{self, Action, Choice};
use carrousel_rank::{
    Call, Context, Explore, Kind, Pattern, Protocol, Source, Speculation, TagSelector, mpi,
};
use carrousel_scenario::Check;
use stateright::Property;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What an exploration may leave out, and what it adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Leave out orders that make no difference, and forget past ones that nobody can tell any more.
    pub reduce: bool,
    /// The weakest MPI: a standard send may wait for its receive, or not, and a collective for ranks whose data it
    /// does not need.
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
    /// A message was claimed.
    Claimed,
}

impl Reached {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Written, Self::Crossed, Self::Mispredicted, Self::Declined, Self::Cancelled, Self::Claimed];

    /// A column heading.
    pub fn name(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Crossed => "crossed",
            Self::Mispredicted => "mispredicted",
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::Claimed => "claimed",
        }
    }
}

/// The promises, and a property for each check: stateright wants functions, which can hold no check.
macro_rules! properties {
    ($model:ty, $state:ty, $promises:expr, $holds:expr) => {
        properties!(@all $model, $state, $promises, $holds; DeadlockFreedom, MatchingOrder, BufferSafety,
            MatchDeterminism, RmaRace, EpochUsage, LockExclusion, RequestLeak, UnmatchedMessage)
    };
    (@all $model:ty, $state:ty, $promises:expr, $holds:expr; $($check:ident),*) => {
        vec![
            Property::always(PROMISES, |model: &$model, state: &$state| $promises(model, state)),
            $(Property::always(Check::$check.name(), |model: &$model, state: &$state| {
                $holds(model, state, Check::$check)
            })),*
        ]
    };
}
pub(crate) use properties;

/// Some jobs over protocol `P`, each in every order of events.
pub struct Model<P: Protocol> {
    jobs: Arc<[Job]>,
    facts: Arc<[Facts]>,
    /// The states in which the jobs begin, once somebody has asked for them.
    initial: Arc<OnceLock<Vec<State<P>>>>,
    settings: Settings,
    reduces: bool,
    shared: Arc<Shared>,
    focus: Option<Focus>,
    protocol: PhantomData<P>,
}

/// What a search is for: a shortest path to one violation. It ends when it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Focus {
    /// The check that is violated; `None` for a promise of the library's.
    pub(crate) check: Option<Check>,
    /// Where its violation is, and of what kind; `None` for one that is at the end of an execution.
    pub(crate) at: Option<Place>,
    /// States to expand, at most.
    pub(crate) most: u64,
}

/// Where something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a step of this rank's program, whatever has come to it before.
    Step(u16),
    /// In a step of this rank's program, or in what comes to it.
    Rank(u16),
}

/// What the threads of an exploration write to.
#[derive(Debug, Default)]
pub struct Shared {
    /// Counts by [`Reached`].
    reached: [AtomicU64; Reached::ALL.len()],
    /// States whose successors were asked for.
    pub expanded: AtomicU64,
    /// Explore no further.
    pub stop: AtomicBool,
    /// A search for something has expanded as much as it may.
    beyond: AtomicBool,
    /// Nothing is searched any more, only walked again: nothing stops that.
    is_over: AtomicBool,
    /// The bits of the checks whose violation has been reported.
    reported: [AtomicBool; Check::ALL.len()],
    /// A broken promise has been reported.
    broken: AtomicBool,
    /// The first message that each wildcard receive got, by rank and ordinal; 0 for none yet.
    matches: Vec<AtomicU64>,
}

impl Shared {
    fn new(jobs: &[Job]) -> Self {
        let receives = match jobs {
            [job] => job.ranks.iter().map(|program| program.starts.len()).sum(),
            // Families of jobs are about the protocol, not about their programs.
            _ => 0,
        };
        Self { matches: (0..receives).map(|_| AtomicU64::new(0)).collect(), ..Self::default() }
    }

    /// How often something was met.
    pub fn reached(&self, what: Reached) -> u64 {
        self.reached[what as usize].load(Ordering::Relaxed)
    }

    /// Whether a search for something has ended without it because it was too long.
    pub(crate) fn is_beyond(&self) -> bool {
        self.beyond.load(Ordering::Relaxed)
    }

    /// From now on paths are walked again.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.stop.store(false, Ordering::Relaxed);
    }
}

impl<P: Protocol> Model<P> {
    /// A model of these jobs.
    pub fn new(jobs: Arc<[Job]>, settings: Settings) -> Self {
        let facts: Arc<[Facts]> = jobs.iter().map(Facts::new::<P>).collect();
        let irreducible = |facts: &Facts| facts.reads_race() || facts.may_exceed_window() || facts.claims();
        let reduces = settings.reduce && settings.ordered && !facts.iter().any(irreducible);
        let shared = Arc::new(Shared::new(&jobs));
        let initial = Arc::default();
        Self { jobs, facts, initial, settings, reduces, shared, focus: None, protocol: PhantomData }
    }

    /// The same for a search that is for something. What is known of the jobs is not found out again: on many ranks
    /// there are as many searches.
    pub(crate) fn focused(&self, reduce: bool, focus: Focus) -> Self {
        Self {
            jobs: Arc::clone(&self.jobs),
            facts: Arc::clone(&self.facts),
            initial: Arc::clone(&self.initial),
            settings: Settings { reduce, ..self.settings },
            reduces: reduce && self.reduces,
            shared: Arc::new(Shared::new(&self.jobs)),
            focus: Some(focus),
            protocol: PhantomData,
        }
    }

    /// Whether orders that make no difference are left out.
    pub(crate) fn reduces(&self) -> bool {
        self.reduces
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
        self.next_act(state, rank).is_some_and(|act| self.is_enabled(state, rank, act))
    }

    /// Whether a wait could end, or a probe find a message, and the values of the act are in their ranges.
    fn is_enabled(&self, state: &State<P>, rank: u16, act: &Act) -> bool {
        let (program, proc) = (self.program(state.job, rank), &state.procs[usize::from(rank)]);
        match act {
            Act::Wait(requests) => requests.iter().all(|request| self.is_over(state, rank, *request)),
            Act::Probe { sought: what, .. } => sought(program, proc, *what).is_some_and(|(source, tag)| {
                proc.rank.probe(&Pattern { source, tag, context: Context::MESSAGES }).is_some()
            }),
            Act::Claim(ordinal) => match program.starts[usize::from(*ordinal)] {
                Start::Receive { from, tag, .. } => {
                    let pattern = Pattern { source: from, tag, context: Context::MESSAGES };
                    proc.rank.probe(&pattern).is_some()
                }
                _ => false,
            },
            act => later_of(program, act).is_none() || later::fault(program, proc).is_none(),
        }
    }

    /// Whether a request is released or complete.
    pub(crate) fn is_over(&self, state: &State<P>, rank: u16, request: Ordinal) -> bool {
        let proc = &state.procs[usize::from(rank)];
        let start = self.program(state.job, rank).starts[usize::from(request)];
        proc.is_over(request) || self.settings.portable && self.may_leave(state, rank, request, start)
    }

    /// Whether MPI lets a rank leave a collective that it has entered, whatever the schedule: as soon as all ranks
    /// are there whose data it needs, and from a barrier when all are (MPI-4.1, 6.1 and 6.14).
    fn may_leave(&self, state: &State<P>, rank: u16, request: Ordinal, start: Start) -> bool {
        let Start::Collective { kind, root, len } = start else { return false };
        let facts = self.facts(state.job);
        let number = facts.rank(rank).number_of(request);
        let is_there = |other: u16| facts.rank(other).entered(state.procs[usize::from(other)].pc) > number;
        let all_are = || !self.is_alone_in(state, rank, request);
        match kind {
            Kind::Barrier => all_are(),
            _ if len == 0 => true,
            Kind::Broadcast => u32::from(rank) == root || is_there(root as u16),
            Kind::Reduce | Kind::Gather => u32::from(rank) != root || all_are(),
            Kind::AllReduce | Kind::AllGather | Kind::AllToAll => all_are(),
        }
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
        state.ranks().any(|(other, proc)| facts.rank(other).entered(proc.pc) <= number)
    }

    /// Ranks other than the first whose message a receive or a probe from any source could take or find.
    fn other_sources(&self, state: &State<P>, rank: u16, tag: TagSelector) -> Vec<u16> {
        let arrived = state.procs[usize::from(rank)].arrived.iter().filter(|message| {
            match self.start(state, message.from, message.send) {
                Start::Send { tag: sent, .. } => tag.matches(mpi::tag(sent)),
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
        if !self.is_enabled(state, rank, act) {
            return;
        }
        let mut push = |choice| actions.push(Action::Step { rank, choice });
        match act {
            Act::Test(ordinal) => {
                if self.is_over(state, rank, *ordinal) {
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
            if let Some(open) = proc.open.iter().find(|open| open.handle == Some(handle)) {
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

    /// Whether the library has kept its promises in a state. As for checks, only the first breach counts.
    pub(crate) fn keeps_promises(&self, state: &State<P>) -> bool {
        if !state.wrong.iter().any(Wrong::is_fatal) {
            return true;
        }
        self.found(None);
        self.shared.broken.swap(true, Ordering::Relaxed)
    }

    /// Ends the search if it is for this.
    fn found(&self, check: Option<Check>) {
        if self.focus.is_some_and(|focus| focus.check == check) {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a check holds in a state. Only the first violation counts, so that the report is of the
    /// shortest path: stateright keeps the last one that it is told of.
    pub(crate) fn holds(&self, state: &State<P>, check: Check) -> bool {
        if !state.wrong.iter().any(|wrong| wrong.check == check) {
            return true;
        }
        self.found(Some(check));
        self.shared.reported[check as usize].swap(true, Ordering::Relaxed)
    }
}

impl<P: Protocol> stateright::Model for Model<P> {
    type State = State<P>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        let initial = || (0..self.jobs.len() as u32).map(|job| step::initial(self, job)).collect();
        self.initial.get_or_init(initial).clone()
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>) {
        let expanded = self.shared.expanded.fetch_add(1, Ordering::Relaxed);
        if self.shared.stop.load(Ordering::Relaxed) || state.wrong.iter().any(Wrong::is_fatal) {
            return;
        }
        if self.focus.is_some_and(|focus| expanded >= focus.most)
            && !self.shared.is_over.load(Ordering::Relaxed)
        {
            self.shared.beyond.store(true, Ordering::Relaxed);
            return;
        }
        match self.focus.and_then(|focus| focus.at) {
            _ if !self.reduces => self.all_actions(state, actions),
            Some(place) => reduce::actions_towards(self, state, place, actions),
            None => reduce::enough_actions(self, state, actions),
        }
    }

    fn next_state(&self, state: &Self::State, action: Self::Action) -> Option<Self::State> {
        // One state of very many ranks may have more successors than there is memory for.
        (!self.shared.stop.load(Ordering::Relaxed)).then(|| step::after(self, state, action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties!(Self, State<P>, Self::keeps_promises, Self::holds)
    }
}
