//! A rank that does what a scenario says.

use crate::program::{self, Action};
use carrousel_rank::Handle;
use carrousel_scenario::{Op, Program, RequestId, Scenario, Step};
use std::sync::Arc;

/// Where a rank is in its program, and what it has started there.
#[derive(Debug)]
pub(crate) struct Script {
    program: Arc<Program>,
    /// The statement that is being executed.
    at: usize,
    /// By request variable.
    variables: Vec<Option<Handle>>,
    /// Requests that `wait all` waits for, closed ones among them.
    open: Vec<Handle>,
    closed: usize,
}

impl Script {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        let variables = vec![None; program.requests.len()];
        Self { at: 0, variables, open: Vec::new(), closed: 0, program }
    }

    /// The statements of the program.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.program.steps
    }

    fn step(&self) -> &Step {
        &self.program.steps[self.at]
    }

    /// What the next statement does; `None` at the end of the program.
    pub(crate) fn action(&self) -> Option<Action> {
        if self.at == self.program.steps.len() { None } else { program::action(&self.program, self.at) }
    }

    /// Whether what the statement starts goes on when it has returned.
    pub(crate) fn starts_request(&self) -> bool {
        self.step().op.starts_request()
    }

    /// Whether the statement only looks whether a request is complete.
    pub(crate) fn tests(&self) -> bool {
        matches!(self.step().op, Op::Test(_))
    }

    /// The requests of other statements that this one is about, closed ones among them.
    pub(crate) fn look_up(&mut self, into: &mut Vec<Handle>) {
        match &self.program.steps[self.at].op {
            Op::Wait(names) => into.extend(names.iter().filter_map(|name| self.variables[name.0 as usize])),
            Op::Test(name) => into.extend(self.variables[name.0 as usize]),
            Op::WaitAll => {
                into.append(&mut self.open);
                self.closed = 0;
            }
            _ => {}
        }
    }

    /// The statement has started a request that goes on when it has returned.
    pub(crate) fn opened(&mut self, request: Handle) {
        self.open.push(request);
        if let Some(RequestId(variable)) = self.step().bind {
            self.variables[variable as usize] = Some(request);
        }
    }

    /// A request is over; `is_open` says which are not.
    pub(crate) fn released(&mut self, is_open: impl Fn(Handle) -> bool) {
        self.closed += 1;
        if self.closed > 64 && self.closed * 2 > self.open.len() {
            self.open.retain(|request| is_open(*request));
            self.closed = 0;
        }
    }

    /// The statement returns.
    pub(crate) fn end(&mut self) {
        self.at += 1;
    }

    /// The line of the statement that is being executed.
    pub(crate) fn line(&self) -> u32 {
        let last = self.program.steps.len().saturating_sub(1);
        self.program.steps.get(self.at.min(last)).map_or(0, |step| step.line)
    }

    /// That statement, as it is written.
    pub(crate) fn written(&self, scenario: &Scenario) -> String {
        self.step().written(scenario, &self.program).to_string()
    }
}
