//! One rank: its driver, its requests, and the state of its CPU.

use crate::config::Config;
use crate::data::Data;
use crate::error::{SimError, Stuck};
use crate::keys::take;
use crate::program::Action;
use crate::report::Statement;
use crate::script::Script;
use crate::statements::Statements;
use crate::task::Task;
use crate::totals::Totals;
use crate::windows::{Arrival, WindowSide};
use carrousel_rank::epoch::{Flags, WindowSetup};
use carrousel_rank::{
    Call, Called, Communicator, Handle, Job, Members, Options, Pattern, Protocol, Rank, RankId, Source,
    UsageError, WindowIndex, WindowWork, Work,
};
use carrousel_scenario::Scenario;
use carrousel_schedule::Threshold;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The next action of the CPU after its present work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Begin the next statement.
    Fetch,
    /// A computation ends.
    Computed,
    /// Go on in the library, towards the goal.
    Library,
    /// Carry out the next output.
    Perform,
    /// Handle an arrival.
    Handle(Arrival),
    /// Carry out what a window's schedule had queued.
    Due(WindowIndex, WindowWork),
}

/// The purpose of a rank's stay in the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Take in all arrivals before the calls are made.
    Poll,
    /// Make the calls of the statement.
    Calls,
    /// Return once everything that the statement waits for is complete.
    Await,
    /// Take in all arrivals (the progress thread), and let the computation go on.
    Resume,
    /// The program has ended; stay in the library for the others.
    Finished,
}

/// The owner of a position in the request table.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    generation: u32,
    statement: u32,
    open: bool,
    of_window: bool,
}

/// The names of source files, without duplicates.
pub(crate) type Files = BTreeMap<&'static str, Arc<str>>;

/// The source of a rank's statements.
#[derive(Debug)]
pub(crate) enum Driver {
    /// The statements of a scenario.
    Script(Script),
    /// A future that calls the library.
    Task(Box<Task>),
}

/// One rank.
#[derive(Debug)]
pub(crate) struct Process<P: Protocol> {
    pub(crate) rank: Rank<P>,
    pub(crate) driver: Driver,
    /// The bytes of a task; a scenario has none.
    pub(crate) data: Option<Box<Data>>,
    pub(crate) phase: Phase,
    pub(crate) goal: Goal,
    /// Outputs of the last input; those before `performed` have been carried out.
    pub(crate) outputs: Vec<Work>,
    pub(crate) performed: usize,
    /// Arrivals that are not handled yet.
    pub(crate) inbox: VecDeque<Arrival>,
    /// What its windows have under way.
    pub(crate) windows: WindowSide,
    /// How its windows are made, flags apart.
    setup: WindowSetup,
    me: u32,
    pub(crate) executed: Statements,
    /// Whether the request of the statement goes on after the statement has returned.
    starts_request: bool,
    calls: [Option<Call>; 2],
    blocking: bool,
    /// The communicator that the rank has once the statement returns.
    made: Option<(Communicator, Members)>,
    /// The requests that the statement waits for.
    awaits: Vec<Handle>,
    /// Whether it waits for any one of these.
    any: bool,
    /// Whether it tests instead of waiting.
    pub(crate) tests: bool,
    probes: Option<Pattern>,
    slots: Vec<Slot>,
}

impl<P: Protocol> Process<P> {
    pub(crate) fn new(
        me: u32,
        ranks: u32,
        (options, setup, threshold): (&Options, WindowSetup, Threshold),
        config: &Config,
        driver: Driver,
    ) -> Self {
        let data = match &driver {
            Driver::Script(_) => None,
            Driver::Task(_) => Some(Box::default()),
        };
        Self {
            rank: Rank::new(RankId(me), &Job { ranks }, options),
            driver,
            data,
            phase: Phase::Fetch,
            goal: Goal::Calls,
            outputs: Vec::new(),
            performed: 0,
            inbox: VecDeque::new(),
            windows: WindowSide::new(config, threshold),
            setup,
            me,
            executed: Statements::default(),
            starts_request: false,
            calls: [None; 2],
            blocking: false,
            made: None,
            awaits: Vec::new(),
            any: false,
            tests: false,
            probes: None,
            slots: Vec::new(),
        }
    }

    /// Makes the next window.
    pub(crate) fn create_window(&mut self, flags: Flags) {
        self.rank.create_window(WindowSetup { flags, ..self.setup.clone() });
    }

    /// The line of the statement that is being executed.
    pub(crate) fn line(&self) -> u32 {
        match &self.driver {
            Driver::Script(script) => script.line(),
            Driver::Task(task) => task.line(),
        }
    }

    /// The line of an executed statement, whose request is open if it is not the present one.
    pub(crate) fn line_of(&self, statement: u32, totals: &Totals) -> u32 {
        match &self.driver {
            Driver::Script(script) => script.program().statement(statement as usize).line(),
            Driver::Task(_) => self.executed.line(statement).map_or(0, |line| totals.name(line).1),
        }
    }

    pub(crate) fn has_finished(&self) -> bool {
        self.goal == Goal::Finished
    }

    /// Begins the next statement; `None` at the end of the program.
    pub(crate) fn begin(&mut self, now: u64, totals: &mut Totals) -> Result<Option<Action>, SimError> {
        self.tests = false;
        self.any = false;
        let action = match &mut self.driver {
            Driver::Script(script) => {
                let action = script.action().map_err(|error| {
                    let (line, rank) = (script.line(), self.me);
                    SimError::OutOfRange { rank, line, error }
                })?;
                if action.is_some() {
                    (self.starts_request, self.tests) = (script.starts_request(), script.tests());
                }
                action
            }
            Driver::Task(task) => {
                let data = self.data.get_or_insert_default();
                let action = task.next(&self.rank, data, self.executed.begun(), now)?;
                self.starts_request = task.starts_request();
                (self.tests, self.any) = (task.tests(), task.waits_for_any());
                action
            }
        };
        let Some(action) = action else {
            self.goal = Goal::Finished;
            self.phase = Phase::Library;
            return Ok(None);
        };
        let line = match &self.driver {
            Driver::Script(script) => totals.line(None, script.line(), script.keyword()),
            Driver::Task(task) => {
                let name = task.call().map(|(call, place)| (Some(place), place.line(), call.name()));
                let (place, line, name) = name.unwrap_or_default();
                totals.line(place, line, name)
            }
        };
        self.executed.begin(line, now, totals);
        let statement = u64::from(self.executed.last());
        match &action {
            Action::Compute(_) | Action::Touch(_) => self.phase = Phase::Computed,
            Action::Calls { calls, blocking } => (self.calls, self.blocking) = (*calls, *blocking),
            Action::Split { call, made } => {
                (self.calls, self.blocking, self.made) = ([Some(*call), None], true, made.clone());
            }
            Action::Requests => {}
            Action::Probe(pattern) => self.probes = Some(*pattern),
            Action::Create(flags) => {
                self.create_window(*flags);
                self.phase = Phase::Computed;
            }
            Action::Window(call) => {
                match &self.driver {
                    // It names its operations after their statements, a task after their bytes.
                    Driver::Script(_) => self.windows.begin(call.clone().named(statement)),
                    Driver::Task(_) => self.windows.begin(call.clone()),
                }
                if self.windows.accesses() {
                    self.executed.opened();
                }
            }
        }
        Ok(Some(action))
    }

    /// Makes the next call of the statement; false if none is left.
    pub(crate) fn call(&mut self) -> Result<bool, UsageError> {
        let Some(call) = self.calls.iter_mut().find_map(Option::take) else {
            return self.call_window();
        };
        debug_assert!(self.outputs.is_empty(), "outputs before the next input");
        // A send begins only if the receive behind it will.
        let checked =
            std::iter::once(&call).chain(self.calls.iter().flatten()).try_for_each(|it| self.check(it));
        let opened = checked.and_then(|()| self.rank.call(call, &mut self.outputs));
        let request = match opened {
            Ok(request) => request,
            Err(error) => {
                self.calls = [None; 2];
                return Err(error);
            }
        };
        if matches!(call, Call::Cancel(_)) {
            return Ok(true);
        }
        self.opened(request, self.blocking, false);
        match &mut self.driver {
            Driver::Script(script) => script.opened(Some(request)),
            Driver::Task(task) => task.opened(request, self.data.get_or_insert_default()),
        }
        Ok(true)
    }

    /// Makes the next call of a window; false if none is left.
    fn call_window(&mut self) -> Result<bool, UsageError> {
        let Some(call) = self.windows.next_call() else {
            if let (true, Driver::Script(script)) = (self.windows.take_held_back(), &mut self.driver) {
                script.opened(None);
            }
            return Ok(false);
        };
        debug_assert!(self.outputs.is_empty(), "outputs before the next input");
        let called = self.rank.call_window(call.window, call.call(), &mut self.outputs)?;
        let request = match called {
            Called::Request(request) => Some(request),
            Called::Done | Called::Flush(_) => None,
        };
        if let Some(request) = request {
            self.opened(request, call.blocking, true);
        }
        self.windows.called(&call);
        match &mut self.driver {
            Driver::Script(script) => {
                if call.has_request() && self.windows.has_no_calls() {
                    script.opened(request);
                }
            }
            Driver::Task(task) => {
                if let Some(request) = request {
                    task.opened(request, self.data.get_or_insert_default());
                }
            }
        }
        Ok(true)
    }

    /// A request has begun.
    fn opened(&mut self, request: Handle, awaited: bool, of_window: bool) {
        let index = request.index as usize;
        if self.slots.len() <= index {
            self.slots.resize(index + 1, Slot::default());
        }
        let statement = self.executed.last();
        self.executed.opened();
        self.slots[index] = Slot { generation: request.generation, statement, open: true, of_window };
        if awaited {
            self.awaits.push(request);
        }
    }

    /// Since when the present statement has waited for epochs or flushes, if it does.
    pub(crate) fn waits_for_window_since(&self) -> Option<u64> {
        let of_window = |request: &Handle| self.slots[request.index as usize].of_window;
        let waits = self.goal == Goal::Await && self.awaits.iter().any(of_window);
        self.executed.began_at().filter(|_| waits)
    }

    /// The operation of this name on a window is complete.
    pub(crate) fn operation_is_complete(&mut self, name: u64, now: u64, totals: &mut Totals) {
        let operation = self.data.as_mut().and_then(|data| take(&mut data.operations, &name));
        let statement = operation.as_ref().map_or(name as u32, |operation| operation.statement);
        if let Some(operation) = operation {
            operation.end();
        }
        self.executed.completed(statement, now, totals);
    }

    /// Whether the library takes a call that starts a message.
    fn check(&self, call: &Call) -> Result<(), UsageError> {
        call.check_mpi_tag()?;
        match call {
            Call::Send(send) => self.rank.check_peer(Source::Rank(send.to)),
            Call::Receive(receive) => self.rank.check_peer(receive.from),
            _ => Ok(()),
        }
    }

    /// The library refuses a call. That ends a scenario; a task gets the error.
    pub(crate) fn refused(
        &mut self,
        rank: u32,
        error: UsageError,
        now: u64,
        totals: &mut Totals,
    ) -> Result<(), SimError> {
        let line = self.line();
        match &mut self.driver {
            Driver::Script(_) => return Err(SimError::Refused { rank, line, error }),
            Driver::Task(task) => task.refused(error, self.data.get_or_insert_default()),
        }
        self.awaits.clear();
        if self.windows.accesses() {
            self.executed.refused();
        }
        self.end(now, totals);
        Ok(())
    }

    /// Finds the requests that the statement waits for, if they are not its own.
    pub(crate) fn look_up(&mut self) {
        let before = self.awaits.len();
        match &mut self.driver {
            Driver::Script(script) => script.look_up(&mut self.awaits),
            Driver::Task(task) => task.look_up(&mut self.awaits),
        }
        if self.awaits.len() > before {
            let slots = &self.slots;
            self.awaits.retain(|request| is_open(slots, *request));
        }
    }

    /// Whether the statement may return; releases complete requests.
    pub(crate) fn is_satisfied(&mut self) -> bool {
        if !self.windows.has_own_lock(&self.rank) {
            return false;
        }
        if let Some(pattern) = self.probes {
            let found = self.rank.probe(&pattern).map(|arrived| (arrived.envelope, arrived.len));
            match (&mut self.driver, found) {
                (Driver::Task(task), found) => task.found(found),
                (Driver::Script(script), Some((envelope, _))) => script.found(envelope.source, envelope.tag),
                (Driver::Script(_), None) => {}
            }
            if found.is_none() && !self.tests {
                return false;
            }
            self.probes = None;
        }
        if self.tests || self.any {
            return self.is_satisfied_by_some();
        }
        while let Some(request) = self.awaits.last().copied() {
            if is_open(&self.slots, request) {
                if !self.rank.is_complete(request) {
                    return false;
                }
                self.release(request);
            }
            self.awaits.pop();
        }
        true
    }

    /// The same for a statement that needs only some of its requests, and takes the complete ones.
    fn is_satisfied_by_some(&mut self) -> bool {
        let awaits = std::mem::take(&mut self.awaits);
        let mut released = false;
        for request in &awaits {
            if self.rank.is_complete(*request) {
                released = true;
                self.release(*request);
            }
        }
        if released || self.tests {
            return true;
        }
        self.awaits = awaits;
        false
    }

    fn release(&mut self, request: Handle) {
        // The request is open and complete, so the rank does not refuse.
        let released = self.rank.release(request);
        debug_assert!(matches!(released, Ok(Some(_))));
        self.slots[request.index as usize].open = false;
        match &mut self.driver {
            Driver::Script(script) => {
                let message = released.ok().flatten().and_then(|status| status.message);
                script.released(self.slots[request.index as usize].statement as usize, message);
            }
            Driver::Task(task) => {
                if let Ok(Some(status)) = released {
                    task.released(request, status, self.data.get_or_insert_default());
                }
            }
        }
    }

    /// The statement returns.
    pub(crate) fn end(&mut self, now: u64, totals: &mut Totals) {
        let accesses = self.windows.returned(now);
        self.executed.end(!self.starts_request && !accesses, now, totals);
        if let Some((communicator, members)) = self.made.take() {
            // There is output only where a peer is lost.
            let defined = self.rank.define(communicator, members, &mut self.outputs);
            debug_assert!(defined.is_ok(), "a program makes a communicator once: {defined:?}");
        }
        match &mut self.driver {
            Driver::Script(script) => script.end(),
            Driver::Task(task) => task.end(),
        }
        self.phase = Phase::Fetch;
    }

    /// A request is complete.
    pub(crate) fn completed(&mut self, request: Handle, now: u64, totals: &mut Totals) {
        if let Some(statement) = self.statement_of(request) {
            self.executed.completed(statement, now, totals);
        }
    }

    /// The statement that started a request.
    pub(crate) fn statement_of(&self, request: Handle) -> Option<u32> {
        let slot = self.slots.get(request.index as usize)?;
        (slot.generation == request.generation).then_some(slot.statement)
    }

    /// The reason why it has not finished. `scenario` is given if it executes one.
    pub(crate) fn stuck(&self, rank: u32, scenario: Option<&Scenario>, totals: &Totals) -> Stuck {
        let (file, statement) = match &self.driver {
            Driver::Script(script) => (None, scenario.map(|scenario| script.written(scenario))),
            Driver::Task(task) => {
                let last = task.call();
                (last.map(|(_, place)| place.file()), last.map(|(call, _)| call.to_string()))
            }
        };
        let (line, statement) = (self.line(), statement.unwrap_or_default());
        Stuck { rank, file, line, statement, waits_for: self.waits_for(totals) }
    }

    /// The executed statements, for a report.
    pub(crate) fn statements(
        &self,
        rank: u32,
        totals: &Totals,
        files: &mut Files,
        into: &mut Vec<Statement>,
    ) {
        let us = |ns: u64| ns as f64 / 1000.0;
        into.extend((0..).zip(self.executed.recorded()).map(|(at, (line, times))| {
            let (file, line, op) = totals.name(*line);
            let file = file.map(|file| Arc::clone(files.entry(file).or_insert_with(|| file.into())));
            let label = match &self.driver {
                Driver::Script(script) => script.program().statement(at).label().cloned(),
                Driver::Task(_) => None,
            };
            Statement {
                rank,
                file,
                line,
                label,
                op: op.into(),
                begin_us: us(times.begin),
                end_us: us(times.end),
                complete_us: times.complete.map(us),
            }
        }));
    }

    /// The lines of other statements that this one waits for, sorted.
    fn waits_for(&self, totals: &Totals) -> Vec<u32> {
        let own = self.executed.last();
        let statements = self.awaits.iter().filter(|request| !self.rank.is_complete(**request));
        let mut lines: Vec<u32> = statements
            .filter_map(|request| self.statement_of(*request))
            .filter(|at| *at != own)
            .map(|at| self.line_of(at, totals))
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

fn is_open(slots: &[Slot], request: Handle) -> bool {
    slots.get(request.index as usize).is_some_and(|slot| slot.open && slot.generation == request.generation)
}
