//! The program of a process: the action of each statement, and the requests that it starts or waits for.

use crate::action::Action;
use crate::communicators::{Group, Groups, TooMany};
use crate::deferred::Deferred;
use crate::meaning::{Named, meaning, on_window};
use crate::names::{Names, Ordinal};
use crate::operation::Operation;
use crate::windows;
use carrousel_collective::ShapeError;
use carrousel_rank::{Communicator, Members, RankId};
use carrousel_scenario as scenario;
use carrousel_scenario::{BufferId, Op, Received, RequestId, Scenario, ValueError, Written};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The reason why a scenario has no programs: a statement that no driver can carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// A statement on a window, for a driver that has none.
    #[error("`{statement}` cannot be carried out here yet: so far only messages and collectives can")]
    Window {
        /// Its line, from 1.
        line: u32,
        /// Its keyword.
        statement: &'static str,
    },
    /// More communicators than the library has numbers for.
    #[error("more communicators than {max}, which is the most that a rank may have", max = carrousel_rank::Communicator::MAX)]
    TooManyCommunicators {
        /// The line of the first that has no number.
        line: u32,
    },
    /// A collective that moves more bytes than can be counted.
    #[error("`{statement}` of {ranks} ranks moves more bytes than can be counted")]
    TooManyBytes {
        /// Its line, from 1.
        line: u32,
        /// Its keyword.
        statement: &'static str,
        /// The first rank that has it.
        rank: u32,
        /// The number of ranks of its communicator.
        ranks: u32,
        /// The library's error for the call.
        misfit: ShapeError,
    },
}

impl ProgramError {
    /// The line of the statement, from 1.
    pub fn line(&self) -> u32 {
        match *self {
            Self::Window { line, .. }
            | Self::TooManyCommunicators { line }
            | Self::TooManyBytes { line, .. } => line,
        }
    }
}

/// The program of a process, in order. Requests are numbered in the order in which statements start them.
#[derive(Debug)]
pub struct Program {
    source: Arc<scenario::Program>,
    /// All communicators of the job.
    groups: Arc<Groups>,
    /// Those of this rank, by number.
    own: Vec<Group>,
    /// By statement, and at the end: the number of requests that were started before.
    started: Vec<Ordinal>,
    /// By statement: the end, in `awaited`, of the requests that it waits for or tests.
    awaited_until: Vec<u32>,
    awaited: Vec<Ordinal>,
    /// By statement: the end, in `named`, of the ranks that it names as a group. Empty if none names any.
    named_until: Vec<u32>,
    named: Vec<RankId>,
    /// By request: the name that stands for its message. Empty if no statement uses messages.
    of_messages: Vec<Option<RequestId>>,
}

/// Refuses a scenario with statements on windows, for a driver that has none.
///
/// # Errors
/// If there is such a statement: the first one of the file.
pub fn check_no_windows(scenario: &Scenario) -> Result<(), ProgramError> {
    let steps = scenario.programs.iter().flat_map(|program| &program.steps);
    let of_window = |step: &&scenario::Step| on_window(step.op.outline(), Named::default()).is_some();
    // Of the file: the program of the lowest rank may stand behind others.
    match steps.filter(of_window).min_by_key(|step| step.line) {
        Some(step) => Err(ProgramError::Window { line: step.line, statement: step.op.name() }),
        None => Ok(()),
    }
}

/// The program of each rank of a scenario. Ranks that share their text share their program.
///
/// # Errors
/// If a statement cannot be carried out.
pub fn programs(scenario: &Scenario) -> Result<Vec<Arc<Program>>, ProgramError> {
    let groups =
        Groups::new(scenario).map_err(|TooMany { line }| ProgramError::TooManyCommunicators { line })?;
    let groups = Arc::new(groups);
    let mut made: HashMap<*const scenario::Program, Arc<Program>> = HashMap::new();
    let program = |(rank, source): (u32, &Arc<scenario::Program>)| {
        if let Some(program) = made.get(&Arc::as_ptr(source)) {
            return Ok(Arc::clone(program));
        }
        let program = Arc::new(Program::new(source, rank, &groups)?);
        made.insert(Arc::as_ptr(source), Arc::clone(&program));
        Ok(program)
    };
    (0..).zip(&scenario.programs).map(program).collect()
}

impl Program {
    fn new(source: &Arc<scenario::Program>, rank: u32, groups: &Arc<Groups>) -> Result<Self, ProgramError> {
        let statements = source.steps.len();
        let mut names = Names::new(source.requests.len());
        let mut started = Vec::with_capacity(statements + 1);
        let mut awaited_until = Vec::with_capacity(statements);
        let (mut awaited, mut asks) = (Vec::new(), false);
        let (mut named, mut named_until) = (Vec::new(), Vec::with_capacity(statements));
        for step in &source.steps {
            started.push(names.started());
            let (line, statement) = (step.line, step.op.name());
            let is_bound = step.bind.is_some();
            let action = meaning(step.op.outline(), step.on, groups, Named { is_bound, ..Named::default() });
            named.extend(windows::group(&step.op).iter().map(|rank| RankId(*rank)));
            named_until.push(named.len() as u32);
            let members = &groups.of(step.on).members;
            for operation in action.operations() {
                let (me, ranks) = (members.comm_rank(RankId(rank)).unwrap_or(0), members.len());
                let too_many = |misfit| ProgramError::TooManyBytes { line, statement, rank, ranks, misfit };
                operation.outgoing_and_incoming_len(me, ranks).map_err(too_many)?;
            }
            match action {
                Action::Start { operation, blocking } => {
                    let receives = matches!(operation, Operation::Receive(_));
                    match blocking {
                        true => names.start_blocking(step.bind, receives),
                        false => names.start(step.bind, receives),
                    }
                }
                Action::Exchange { .. } => {
                    names.start_blocking(None, false);
                    names.start_blocking(step.bind, true);
                }
                Action::Split { .. } => names.start_blocking(None, false),
                Action::Probe(_) => names.unbind(step.bind),
                Action::Wait(_) | Action::Test(_) => awaited.extend(names.awaited(&step.op)),
                Action::Synchronize(call) => match action.starts_request() {
                    true => names.start(step.bind, false),
                    // A name that is bound to a request which is complete from the beginning stands for none.
                    false => names.start_blocking(step.bind.filter(|_| !call.blocking), false),
                },
                Action::Access(access) if access.with_request => names.start(step.bind, false),
                Action::Compute { .. }
                | Action::Touch { .. }
                | Action::Access(_)
                | Action::TouchWindow(_) => {}
            }
            awaited_until.push(awaited.len() as u32);
            asks |= matches!(step.op, Op::Deferred(_));
        }
        started.push(names.started());
        let of_messages = if asks { names.of_messages } else { Vec::new() };
        let (source, groups) = (Arc::clone(source), Arc::clone(groups));
        let own = groups.of_rank(rank);
        if named.is_empty() {
            named_until = Vec::new();
        }
        Ok(Self { source, groups, own, started, awaited_until, awaited, named_until, named, of_messages })
    }

    /// The communicators that the rank is in, by ascending number; that of all ranks is the first. Ranks that share
    /// their program are in that one only.
    pub fn groups(&self) -> &[Group] {
        &self.own
    }

    /// The members of one of its communicators.
    ///
    /// # Panics
    /// If the rank is not in it.
    pub fn members(&self, communicator: Communicator) -> &Members {
        let at = self.own.binary_search_by_key(&communicator.index(), |group| group.communicator.index());
        let at = at.unwrap_or_else(|_| panic!("this rank is not in {communicator:?}"));
        &self.own[at].members
    }

    /// The number of statements.
    pub fn len(&self) -> usize {
        self.source.steps.len()
    }

    /// Whether it has no statement.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of a rank of the job in one of the communicators of this one, and how many members that has.
    ///
    /// # Panics
    /// If either rank is not in it.
    pub fn place(&self, communicator: Communicator, rank: u32) -> (u32, u32) {
        let members = self.members(communicator);
        let me =
            members.comm_rank(RankId(rank)).unwrap_or_else(|| panic!("{rank} is not in {communicator:?}"));
        (me, members.len())
    }

    /// The statement at a position, from 0.
    ///
    /// # Panics
    /// If there is no such statement.
    pub fn statement(&self, at: usize) -> Statement<'_> {
        assert!(at < self.len(), "{} statements have no number {at}", self.len());
        Statement { program: self, at }
    }

    /// All statements, in order.
    pub fn statements(&self) -> impl DoubleEndedIterator<Item = Statement<'_>> + ExactSizeIterator {
        (0..self.len()).map(|at| Statement { program: self, at })
    }

    /// The number of requests that it starts.
    pub fn requests(&self) -> Ordinal {
        self.started.last().copied().unwrap_or_default()
    }

    /// The name that stands for the message of a request once the request has ended. `None` if it is not a receive,
    /// or no statement of the program can use its message.
    pub fn name_of_message(&self, request: Ordinal) -> Option<RequestId> {
        self.of_messages.get(request as usize).copied().flatten()
    }

    /// The number of names: every [`RequestId`] is below it.
    pub fn names(&self) -> usize {
        self.source.requests.len()
    }

    /// Whether a statement uses messages.
    pub fn asks_for_messages(&self) -> bool {
        self.source.steps.iter().any(|step| matches!(step.op, Op::Deferred(_)))
    }

    /// The bytes of each named buffer, by [`BufferId`]: its largest use whose size is known before the program runs.
    pub fn buffers(&self) -> impl ExactSizeIterator<Item = u64> {
        self.source.buffers.iter().map(|buffer| buffer.size)
    }

    /// The bytes of a named buffer.
    ///
    /// # Panics
    /// If the buffer is of another program.
    pub fn buffer_len(&self, buffer: BufferId) -> u64 {
        self.source.buffers[buffer.0 as usize].size
    }
}

/// One statement of a program.
#[derive(Clone, Copy, Debug)]
pub struct Statement<'a> {
    program: &'a Program,
    at: usize,
}

impl<'a> Statement<'a> {
    /// Its line in the file, from 1.
    pub fn line(self) -> u32 {
        self.step().line
    }

    /// Its label.
    pub fn label(self) -> Option<&'a Arc<str>> {
        self.step().label.as_ref()
    }

    /// Its keyword.
    pub fn keyword(self) -> &'static str {
        self.step().op.name()
    }

    /// The communicator in which it sends, receives, or is a collective.
    pub fn communicator(self) -> Communicator {
        self.program.groups.of(self.step().on).communicator
    }

    /// The name that it binds.
    pub fn bind(self) -> Option<RequestId> {
        self.step().bind
    }

    /// The requests that it starts.
    pub fn requests(self) -> Range<Ordinal> {
        self.program.started[self.at]..self.program.started[self.at + 1]
    }

    /// The name that stands for the message of the receive which it starts, see [`Program::name_of_message`].
    pub fn name_of_message(self) -> Option<RequestId> {
        self.requests().find_map(|request| self.program.name_of_message(request))
    }

    /// Whether it has values that only an execution has.
    pub fn is_deferred(self) -> bool {
        matches!(self.step().op, Op::Deferred(_))
    }

    /// The statement, if it has values that only an execution has.
    pub fn deferred(self) -> Option<Deferred> {
        match &self.step().op {
            Op::Deferred(deferred) => Some(Deferred::new(deferred, self.step().on, &self.program.groups)),
            _ => None,
        }
    }

    /// Its action, with 0 for each value that only an execution has. If such a value is a length, the buffer is not
    /// known either.
    pub fn outline(self) -> Action<'a> {
        self.meaning_of(self.step().op.outline())
    }

    /// Its action. `received` returns the messages for which names stand.
    ///
    /// # Errors
    /// If a value that only this execution has is out of its range.
    pub fn action(self, received: impl Fn(RequestId) -> Option<Received>) -> Result<Action<'a>, ValueError> {
        match &self.step().op {
            Op::Deferred(deferred) => deferred.resolve(received).map(|op| self.meaning_of(&op)),
            op => Ok(self.meaning_of(op)),
        }
    }

    /// The statement as a person would write it.
    pub fn written(self, scenario: &'a Scenario) -> Written<'a> {
        self.step().written(scenario, &self.program.source)
    }

    fn step(self) -> &'a scenario::Step {
        &self.program.source.steps[self.at]
    }

    /// The part of a list that belongs to this statement, where `until` has the ends of all parts; nothing if it has none.
    fn part<T>(self, list: &'a [T], until: &[u32]) -> &'a [T] {
        let Some(end) = until.get(self.at) else { return &[] };
        let from = self.at.checked_sub(1).map_or(0, |before| until[before]);
        &list[from as usize..*end as usize]
    }

    fn meaning_of(self, op: &Op) -> Action<'a> {
        let Program { awaited, awaited_until, named, named_until, groups, .. } = self.program;
        let named = Named {
            awaited: self.part(awaited, awaited_until),
            group: self.part(named, named_until),
            is_bound: self.step().bind.is_some(),
        };
        meaning(op, self.step().on, groups, named)
    }
}
