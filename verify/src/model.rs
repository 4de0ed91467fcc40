//! Some jobs, and what their ranks can do next.

mod transitions;

pub use crate::settings::Settings;
pub use transitions::PROMISES;

use crate::action::{Action, Choice};
use crate::facts::Facts;
use crate::grants::lacks_own_lock;
use crate::happens_before::AwaitedMembers;
use crate::later::{self, later_of, sought};
use crate::learned::{Learned, StepBegin, StepInput};
use crate::network::Message;
use crate::program::{Act, Job, Ordinal, Program, Start};
use crate::search::{CoverPoint, SearchGoal, SearchStatus, property_of};
use crate::state::{Outlook, Proc, State};
use crate::violation::Violation;
use crate::weakest::Order;
use carrousel_rank::{Call, Explore, Pattern, Protocol, Source, Speculation, mpi};
use carrousel_scenario::Check;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

/// Some jobs over protocol `P`, each in every order of events.
pub struct Model<P: Protocol> {
    jobs: Arc<[Job]>,
    facts: Arc<[Facts]>,
    /// The initial states of the jobs, made at the first call that asks for them.
    initial: Arc<OnceLock<Vec<State<P>>>>,
    settings: Settings,
    reduces: bool,
    shared: Arc<SearchStatus>,
    focus: Option<SearchGoal>,
    /// `None` if each step is to be carried out.
    pub(crate) learned: Option<Learned<P>>,
}

impl<P: Protocol> Model<P> {
    /// A model of these jobs.
    pub fn new(jobs: Arc<[Job]>, settings: Settings) -> Self {
        let facts: Arc<[Facts]> = jobs.iter().map(|job| Facts::new::<P>(job, settings)).collect();
        let irreducible = |facts: &Facts| {
            let depends = !facts.plan.is_empty() && facts.windows.assertions.depend_on_events();
            facts.reads_race()
                || facts.may_exceed_window()
                || facts.claims()
                || facts.plan.defers_in_conflict()
                || depends
        };
        let reduces = settings.reduce && settings.ordered && !facts.iter().any(irreducible);
        let shared = Arc::new(SearchStatus::new(&jobs));
        let initial = Arc::default();
        Self {
            jobs,
            facts,
            initial,
            settings,
            reduces,
            shared,
            focus: None,
            learned: Some(Learned::default()),
        }
    }

    /// The same model for a search with a goal. It shares the facts about the jobs: of a job with many ranks there
    /// are as many searches.
    pub(crate) fn focused(&self, reduce: bool, focus: SearchGoal) -> Self {
        Self {
            jobs: Arc::clone(&self.jobs),
            facts: Arc::clone(&self.facts),
            initial: Arc::clone(&self.initial),
            settings: Settings { reduce, ..self.settings },
            reduces: reduce && self.reduces,
            shared: Arc::new(SearchStatus::new(&self.jobs)),
            focus: Some(focus),
            learned: Some(Learned::default()),
        }
    }

    /// Whether it matters if a check holds: not for a search that knows that it does not, or that looks for something else.
    pub(crate) fn seeks(&self, check: Check) -> bool {
        match self.focus {
            Some(goal) => goal.check.is_none_or(|sought| sought == check),
            None => !self.shared.settled.is_settled(property_of(check)),
        }
    }

    /// Whether a violation makes a difference. One that is known already does not: two states are one that differ in it alone.
    pub(crate) fn tells(&self, violation: &Violation) -> bool {
        violation.is_last() || self.seeks(violation.check)
    }

    /// Whether it matters which accesses are under way together.
    pub(crate) fn seeks_races(&self) -> bool {
        self.seeks(Check::RmaRace)
    }

    /// Whether orders that make no difference are left out.
    pub(crate) fn reduces(&self) -> bool {
        self.reduces
    }

    /// The status that all threads of the search share.
    pub fn shared(&self) -> &Arc<SearchStatus> {
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

    /// Forgets the order in which messages of different senders, or in different communicators, have arrived at a rank,
    /// if no receive from any source is pending or to come: nothing depends on it any more, and states that differ in
    /// nothing else are one.
    pub fn forget_arrival_order(&self, job: u32, rank: u16, proc: &mut Proc<P>) {
        if !self.may_receive_from_any(job, rank, proc) {
            proc.rank.forget_arrival_order();
            let communicator =
                |message: &Message| self.program(job, message.from).communicator_of(message.send);
            proc.arrived.sort_by_key(|message| (communicator(message), message.from));
            proc.kept.sort_by_key(|(kept, _)| *kept);
        }
    }

    pub(crate) fn is_portable(&self) -> bool {
        self.settings.portable
    }

    /// The steps that this search has carried out before, if what comes of a step depends on its rank and input only, and on
    /// what a step asks of transfers and buffers. Not when a path is walked again: what was known late in the search, so that
    /// a step does not tell it, may be what the path is to show.
    pub(crate) fn learned(&self, begin: &StepBegin<P>) -> Option<&Learned<P>> {
        let StepBegin { job, me, proc, input } = begin;
        let touches = || {
            let step = self.program(*job, *me).steps.get(usize::from(proc.pc));
            step.is_some_and(|step| matches!(step.act, Act::TouchWindow(_)))
        };
        let is_local =
            self.facts(*job).steps_are_local && !(matches!(input, StepInput::Step(_)) && touches());
        let is_over = || self.shared.is_over.load(Ordering::Relaxed);
        self.learned.as_ref().filter(|_| is_local && !is_over())
    }

    pub(crate) fn is_finished(&self, state: &State<P>, rank: u16) -> bool {
        self.next_act(state, rank).is_none()
    }

    pub(crate) fn can_step(&self, state: &State<P>, rank: u16) -> bool {
        match state.procs[usize::from(rank)].outlook {
            Outlook::Unknown => {
                self.next_act(state, rank).is_some_and(|act| self.is_enabled(state, rank, act))
            }
            Outlook::Waits => false,
            Outlook::Free | Outlook::Bound => true,
        }
    }

    /// What follows from the state of a rank alone for its next step.
    pub(crate) fn outlook(&self, job: u32, rank: u16, proc: &Proc<P>) -> Outlook {
        let next = self.program(job, rank).steps.get(usize::from(proc.pc)).map(|step| &step.act);
        match next {
            _ if self.settings.portable => Outlook::Unknown,
            Some(act) if self.is_possible(job, rank, proc, act) => match self.is_free(job, rank, proc, act) {
                true => Outlook::Free,
                false => Outlook::Bound,
            },
            _ => Outlook::Waits,
        }
    }

    /// Whether nothing of the network is in conflict with an act, whatever other ranks do. Under the weakest MPI, a receive from
    /// any source chooses among what has arrived, and so does its probe; and the network has nothing of windows.
    pub(crate) fn is_free(&self, job: u32, rank: u16, proc: &Proc<P>, act: &Act) -> bool {
        let (facts, program, portable) = (self.facts(job), self.program(job, rank), self.settings.portable);
        match act {
            Act::Probe { sought: what, into: Some(_) } if portable => {
                sought(program, proc, *what).is_none_or(|pattern| pattern.source != Source::Any)
            }
            Act::Wait(_)
            | Act::Probe { .. }
            | Act::Touch { .. }
            | Act::Access(_)
            | Act::AwaitGrants(_)
            | Act::Compute(_)
            | Act::Define(_) => true,
            Act::Start(ordinal) => match self.next_start(job, rank, proc, *ordinal) {
                Start::Collective { .. } | Start::Access(_) | Start::Later(_) => true,
                Start::Send { to, .. } => !facts.is_ordered(rank, to as u16),
                Start::Receive { from: Source::Rank(from), .. } => !facts.answers_posts(from.0 as u16, rank),
                Start::Receive { .. } => !portable && !facts.answers_some_posts(rank),
                Start::Synchronize(_) => portable,
            },
            Act::TouchWindow(_) => portable,
            Act::Test(request) => portable && program.is_of_window(*request),
            Act::Claim(_) | Act::ReceiveClaimed(_) | Act::Discard(_) | Act::Cancel(_) => false,
        }
    }

    /// Whether an act can happen: a wait can return, a probe finds a message, and the values of the act are in their
    /// ranges.
    fn is_enabled(&self, state: &State<P>, rank: u16, act: &Act) -> bool {
        match act {
            Act::Wait(requests) => requests.iter().all(|request| self.is_over(state, rank, *request)),
            Act::AwaitGrants(opening) if self.settings.portable => {
                self.facts(state.job).plan.may_return_from(state, rank, *opening)
            }
            act => self.is_possible(state.job, rank, &state.procs[usize::from(rank)], act),
        }
    }

    /// Whether an act can happen where no other rank lets it.
    fn is_possible(&self, job: u32, rank: u16, proc: &Proc<P>, act: &Act) -> bool {
        let program = self.program(job, rank);
        match act {
            Act::Wait(requests) => requests.iter().all(|request| proc.is_over(*request)),
            Act::Probe { sought: what, .. } => {
                sought(program, proc, *what).is_some_and(|pattern| proc.rank.probe(&pattern).is_some())
            }
            Act::Claim(ordinal) => match program.starts[usize::from(*ordinal)] {
                Start::Receive { from, tag, communicator, .. } => {
                    let pattern = Pattern { source: from, tag, context: communicator.messages() };
                    proc.rank.probe(&pattern).is_some()
                }
                _ => false,
            },
            Act::AwaitGrants(opening) => {
                !program.synchronization(*opening).is_some_and(|it| lacks_own_lock(proc, it))
            }
            act => later_of(program, act).is_none() || later::fault(program, proc).is_none(),
        }
    }

    /// Whether a request is released or complete.
    pub(crate) fn is_over(&self, state: &State<P>, rank: u16, request: Ordinal) -> bool {
        let proc = &state.procs[usize::from(rank)];
        let start = self.program(state.job, rank).starts[usize::from(request)];
        proc.is_over(request) || self.settings.portable && self.may_leave(state, rank, request, start)
    }

    /// Whether MPI lets a rank leave what the library waits in, whatever the schedule: a collective that it has entered as
    /// soon as all members whose data it needs have entered, and a barrier when all members have (MPI-4.1, 6.1 and 6.14);
    /// what windows wait for, as [`weakest`](crate::weakest) says.
    fn may_leave(&self, state: &State<P>, rank: u16, request: Ordinal, start: Start) -> bool {
        let (kind, communicator, root, len) = match start {
            Start::Collective { kind, communicator, root, len } => (kind, communicator, root, len),
            Start::Synchronize(_) | Start::Access(_) => {
                return self.facts(state.job).plan.may_end(state, rank, request);
            }
            _ => return false,
        };
        let facts = self.facts(state.job);
        let number = facts.rank(rank).number_of(communicator, request);
        let is_there =
            |other: u16| facts.rank(other).entered(communicator, state.procs[usize::from(other)].pc) > number;
        let root = self.program(state.job, rank).rank_in(communicator, root);
        let keeps = self.settings.without != Some(Order::CollectivesWait);
        let all_are = || !keeps || !self.is_alone_in(state, rank, request);
        match AwaitedMembers::of(kind, len, rank == root) {
            AwaitedMembers::Nobody => true,
            AwaitedMembers::Root => is_there(root),
            AwaitedMembers::All => all_are(),
        }
    }

    /// Whether the next step of a rank returns from a wait that the weakest MPI need not let return: for a message
    /// without a receive, which MPI may not have buffered, for a collective that some rank has not entered, for a grant, or
    /// for an access whose target has not granted it. Such a rank counts as waiting for as long as anything else can
    /// happen, and a state in which nothing else can is a deadlock.
    pub(crate) fn need_not_return(&self, state: &State<P>, rank: u16) -> bool {
        if !self.settings.portable {
            return false;
        }
        let proc = &state.procs[usize::from(rank)];
        let requests = match self.next_act(state, rank) {
            Some(Act::Wait(requests)) => requests,
            Some(Act::AwaitGrants(opening)) => {
                return !self.facts(state.job).plan.must_return_from(state, rank, *opening);
            }
            _ => return false,
        };
        requests.iter().any(|request| {
            let message = Message { from: rank, send: *request };
            match self.start(state, rank, *request) {
                Start::Send { to, .. } => proc.is_open(*request) && state.is_unmatched(message, to as u16),
                // It may wait until all members have entered it (MPI-4.1, 6.14).
                Start::Collective { .. } => proc.is_open(*request) && self.is_alone_in(state, rank, *request),
                Start::Synchronize(_) | Start::Access(_) => {
                    proc.is_open(*request) && !self.facts(state.job).plan.must_end(state, rank, *request)
                }
                Start::Receive { .. } | Start::Later(_) => false,
            }
        })
    }

    /// The start of a request, with its values; [`Start::Later`] if it has not begun, or has been forgotten.
    pub(crate) fn start(&self, state: &State<P>, rank: u16, ordinal: Ordinal) -> Start {
        match self.program(state.job, rank).starts[usize::from(ordinal)] {
            later @ Start::Later(_) => state.begun_start(rank, ordinal).unwrap_or(later),
            start => start,
        }
    }

    /// The start of the request that a rank starts next; [`Start::Later`] if a value leaves its range.
    pub(crate) fn next_start(&self, job: u32, rank: u16, proc: &Proc<P>, ordinal: Ordinal) -> Start {
        let program = self.program(job, rank);
        match program.starts[usize::from(ordinal)] {
            later @ Start::Later(index) => program.later[usize::from(index)].start(proc).unwrap_or(later),
            start => start,
        }
    }

    /// Whether some member has not entered a collective that this rank has.
    pub(crate) fn is_alone_in(&self, state: &State<P>, rank: u16, collective: Ordinal) -> bool {
        let (facts, program) = (self.facts(state.job), self.program(state.job, rank));
        let communicator = program.communicator_of(collective);
        let number = facts.rank(rank).number_of(communicator, collective);
        // Members of other communicators with this number have collectives of their own under it. Of steps that are free those of
        // the first ranks are taken first, so that one which has not entered is found at once from behind.
        (0..state.procs.len() as u16).rev().filter(|other| program.is_member(communicator, *other)).any(
            |other| facts.rank(other).entered(communicator, state.procs[usize::from(other)].pc) <= number,
        )
    }

    /// The senders, without the first one, of messages that a receive from any source could take or a probe could
    /// find.
    fn other_sources(&self, state: &State<P>, rank: u16, pattern: &Pattern) -> Vec<u16> {
        let arrived = state.procs[usize::from(rank)].arrived.iter().filter(|message| {
            match self.start(state, message.from, message.send) {
                Start::Send { tag, communicator, .. } => {
                    pattern.tag.matches(mpi::tag(tag)) && pattern.context == communicator.messages()
                }
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

    /// Whether a rank has a receive from any source pending or ahead, or a probe from any source whose sender a later
    /// statement asks for.
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
        if !self.can_step(state, rank) {
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
                if matches!(start, Start::Send { .. })
                    && let Call::Send(message) = start.call()
                    && proc.rank.could_write(&message)
                {
                    push(Choice::Decline);
                }
                if self.settings.portable
                    && let Start::Receive { from: source @ Source::Any, tag, communicator, .. } = start
                {
                    let pattern = Pattern { source, tag, context: communicator.messages() };
                    self.other_sources(state, rank, &pattern).into_iter().map(Choice::From).for_each(push);
                }
            }
            Act::Probe { sought: what, into: Some(_) } => {
                push(Choice::Plain);
                if self.settings.portable
                    && let Some(pattern @ Pattern { source: Source::Any, .. }) = sought(program, proc, *what)
                {
                    self.other_sources(state, rank, &pattern).into_iter().map(Choice::From).for_each(push);
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

    /// Appends every action that is possible in a state.
    pub fn all_actions(&self, state: &State<P>, actions: &mut Vec<Action>) {
        for rank in 0..state.procs.len() as u16 {
            self.steps(state, rank, actions);
            self.announcements(state, rank, actions);
        }
        let free = state.network.heads().filter(|(channel, item)| state.network.is_free(*channel, item));
        actions.extend(free.map(|(channel, _)| Action::Land(*channel)));
        self.facts(state.job).plan.lock_steps(state, |step| actions.push(Action::Lock(step)));
        if !self.settings.ordered {
            for channel in state.network.channels() {
                let route_of = |place: usize| Action::Overtake { channel: channel[0].0, place };
                actions.extend((1..channel.len()).map(route_of));
            }
        }
    }

    /// Whether a rank cannot go on because a value in its next statement leaves its range.
    pub(crate) fn is_at_fault(&self, job: u32, rank: u16, proc: &Proc<P>) -> bool {
        let program = self.program(job, rank);
        !program.later.is_empty() && later::fault(program, proc).is_some()
    }

    pub(crate) fn reach(&self, what: CoverPoint) {
        self.shared.reached[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The message that a wildcard receive got in the first execution that reached it, if that was another one.
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
}
