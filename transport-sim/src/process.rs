//! One rank: its program, its requests, and what its CPU is at.

use crate::program::{self, Action};
use carrousel_rank::{Call, Event, Handle, Job, Options, Pattern, Protocol, Rank, RankId, UsageError, Work};
use carrousel_scenario::{Op, Program, RequestId};
use std::collections::VecDeque;
use std::sync::Arc;

/// What the CPU does when it has done what it is at.
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
    Handle(Event),
}

/// What a rank is in the library for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Take in what has arrived before the calls are made.
    Poll,
    /// Make the calls of the statement.
    Calls,
    /// Return once everything that the statement waits for is complete.
    Await,
    /// Take in what has arrived (the progress thread) and let the computation go on.
    Resume,
    /// The program is over; be there for the others.
    Finished,
}

/// When one executed statement began, returned, and was complete, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) complete: Option<u64>,
}

/// Whose a position in the request table is.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    generation: u32,
    statement: u32,
    open: bool,
}

/// One rank.
#[derive(Debug)]
pub(crate) struct Process<P: Protocol> {
    pub(crate) rank: Rank<P>,
    pub(crate) program: Arc<Program>,
    /// The statement that is being executed.
    pub(crate) at: usize,
    pub(crate) phase: Phase,
    pub(crate) goal: Goal,
    /// Outputs of the last input; those before `performed` are carried out.
    pub(crate) outputs: Vec<Work>,
    pub(crate) performed: usize,
    /// What has arrived and is not handled.
    pub(crate) inbox: VecDeque<Event>,
    pub(crate) times: Vec<Times>,
    calls: [Option<Call>; 2],
    blocking: bool,
    /// What the statement waits for.
    awaits: Vec<Handle>,
    probes: Option<Pattern>,
    /// By request variable.
    variables: Vec<Option<Handle>>,
    /// Requests that `wait all` waits for, closed ones among them.
    open: Vec<Handle>,
    closed: usize,
    slots: Vec<Slot>,
}

impl<P: Protocol> Process<P> {
    pub(crate) fn new(me: u32, ranks: u32, options: &Options, program: Arc<Program>) -> Self {
        Self {
            rank: Rank::new(RankId(me), &Job { ranks }, options),
            at: 0,
            phase: Phase::Fetch,
            goal: Goal::Calls,
            outputs: Vec::new(),
            performed: 0,
            inbox: VecDeque::new(),
            times: Vec::with_capacity(program.steps.len()),
            calls: [None; 2],
            blocking: false,
            awaits: Vec::new(),
            probes: None,
            variables: vec![None; program.requests.len()],
            open: Vec::new(),
            closed: 0,
            slots: Vec::new(),
            program,
        }
    }

    /// The line of the statement that is being executed.
    pub(crate) fn line(&self) -> u32 {
        let last = self.program.steps.len().saturating_sub(1);
        self.program.steps.get(self.at.min(last)).map_or(0, |step| step.line)
    }

    pub(crate) fn has_finished(&self) -> bool {
        self.goal == Goal::Finished
    }

    /// Begins the next statement; `None` at the end of the program.
    pub(crate) fn begin(&mut self, now: u64) -> Option<Action> {
        if self.at == self.program.steps.len() {
            self.goal = Goal::Finished;
            self.phase = Phase::Library;
            return None;
        }
        self.times.push(Times { begin: now, end: now, complete: None });
        let action = program::action(&self.program, self.at)?;
        match &action {
            Action::Compute(_) | Action::Touch(_) => self.phase = Phase::Computed,
            Action::Calls { calls, blocking } => (self.calls, self.blocking) = (*calls, *blocking),
            Action::Requests => {}
            Action::Probe(pattern) => self.probes = Some(*pattern),
        }
        Some(action)
    }

    /// Makes the next call of the statement; false when there is none left.
    pub(crate) fn call(&mut self) -> Result<bool, UsageError> {
        let Some(call) = self.calls.iter_mut().find_map(Option::take) else { return Ok(false) };
        debug_assert!(self.outputs.is_empty(), "outputs before the next input");
        let request = self.rank.call(call, &mut self.outputs)?;
        let index = request.index as usize;
        if self.slots.len() <= index {
            self.slots.resize(index + 1, Slot::default());
        }
        let statement = self.at as u32;
        self.slots[index] = Slot { generation: request.generation, statement, open: true };
        if self.blocking {
            self.awaits.push(request);
        } else {
            self.open.push(request);
            if let Some(RequestId(variable)) = self.program.steps[self.at].bind {
                self.variables[variable as usize] = Some(request);
            }
        }
        Ok(true)
    }

    /// Looks up what the statement waits for, if it does not wait for its own calls.
    pub(crate) fn look_up(&mut self) {
        match &self.program.steps[self.at].op {
            Op::Wait(names) => {
                let named = names.iter().filter_map(|name| self.variables[name.0 as usize]);
                self.awaits = named.filter(|request| is_open(&self.slots, *request)).collect();
            }
            Op::WaitAll => {
                let open = self.open.drain(..);
                self.awaits.extend(open.filter(|request| is_open(&self.slots, *request)));
                self.closed = 0;
            }
            _ => {}
        }
    }

    /// Whether the statement may return; releases what is complete.
    pub(crate) fn is_satisfied(&mut self) -> bool {
        if let Op::Test(name) = &self.program.steps[self.at].op {
            let request = self.variables[name.0 as usize].filter(|request| is_open(&self.slots, *request));
            if let Some(request) = request.filter(|request| self.rank.is_complete(*request)) {
                self.release(request);
            }
            return true;
        }
        if let Some(pattern) = self.probes {
            if self.rank.probe(&pattern).is_none() {
                return false;
            }
            self.probes = None;
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

    fn release(&mut self, request: Handle) {
        // It is open and complete, so there is nothing that the rank could object to.
        let released = self.rank.release(request);
        debug_assert!(matches!(released, Ok(Some(_))));
        self.slots[request.index as usize].open = false;
        self.closed += 1;
        if self.closed > 64 && self.closed * 2 > self.open.len() {
            self.open.retain(|request| is_open(&self.slots, *request));
            self.closed = 0;
        }
    }

    /// The statement returns.
    pub(crate) fn end(&mut self, now: u64) {
        if let Some(times) = self.times.last_mut() {
            times.end = now;
            if !self.program.steps[self.at].op.starts_request() {
                times.complete = Some(now);
            }
        }
        self.at += 1;
        self.phase = Phase::Fetch;
    }

    /// A request is complete.
    pub(crate) fn completed(&mut self, request: Handle, now: u64) {
        if let Some(times) = self.statement_of(request).and_then(|at| self.times.get_mut(at)) {
            times.complete = Some(now);
        }
    }

    /// The statement that opened a request.
    pub(crate) fn statement_of(&self, request: Handle) -> Option<usize> {
        let slot = self.slots.get(request.index as usize)?;
        (slot.generation == request.generation).then_some(slot.statement as usize)
    }

    /// The lines of other statements that this one waits for, sorted.
    pub(crate) fn waits_for(&self) -> Vec<u32> {
        let statements = self.awaits.iter().filter(|request| !self.rank.is_complete(**request));
        let mut lines: Vec<u32> = statements
            .filter_map(|request| self.statement_of(*request))
            .filter(|at| *at != self.at)
            .map(|at| self.program.steps[at].line)
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

fn is_open(slots: &[Slot], request: Handle) -> bool {
    slots.get(request.index as usize).is_some_and(|slot| slot.open && slot.generation == request.generation)
}
