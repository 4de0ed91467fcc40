//! A rank that does what a scenario says.

use crate::program::{self, Action};
use carrousel_rank::{Handle, RankId, Tag, mpi};
use carrousel_scenario::{Op, Program, Received, RequestId, Scenario, Step, ValueError};
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
    /// Whether any statement asks for messages.
    asks: bool,
    /// Receives that names stand for, until they are over.
    receives: Vec<(Handle, RequestId)>,
    /// By request variable, the message that it stands for.
    received: Vec<Option<Received>>,
}

impl Script {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        let variables = vec![None; program.requests.len()];
        let asks = program.steps.iter().any(|step| matches!(step.op, Op::Deferred(_)));
        let received = vec![None; if asks { program.requests.len() } else { 0 }];
        Self { at: 0, variables, open: Vec::new(), closed: 0, asks, receives: Vec::new(), received, program }
    }

    /// The statements of the program.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.program.steps
    }

    fn step(&self) -> &Step {
        &self.program.steps[self.at]
    }

    /// What the next statement does; `None` at the end of the program.
    ///
    /// # Errors
    /// When a value that only this run has leaves its range.
    pub(crate) fn action(&self) -> Result<Option<Action>, ValueError> {
        let Some(step) = self.program.steps.get(self.at) else { return Ok(None) };
        Ok(match &step.op {
            Op::Deferred(deferred) => {
                let op = deferred.resolve(|name| self.received[name.0 as usize])?;
                program::action(&self.program, self.at, &op)
            }
            op => program::action(&self.program, self.at, op),
        })
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

    /// The statement has started a request, the first one if it starts two: the receive of a `sendrecv`. A blocking one
    /// is waited for by the statement itself.
    pub(crate) fn opened(&mut self, request: Handle, blocking: bool) {
        if !blocking {
            self.open.push(request);
        }
        let Some(name) = self.step().bind else { return };
        self.variables[name.0 as usize] = (!blocking).then_some(request);
        if self.asks {
            self.receives.retain(|(_, other)| *other != name);
            self.receives.push((request, name));
        }
    }

    /// A request is over, and has this message if it has one; `is_open` says which are not.
    pub(crate) fn released(
        &mut self,
        request: Handle,
        message: Option<(RankId, Tag)>,
        is_open: impl Fn(Handle) -> bool,
    ) {
        if let Some(at) = self.receives.iter().position(|(receive, _)| *receive == request) {
            let (_, name) = self.receives.swap_remove(at);
            self.received[name.0 as usize] = message.map(received);
        }
        self.closed += 1;
        if self.closed > 64 && self.closed * 2 > self.open.len() {
            self.open.retain(|request| is_open(*request));
            self.closed = 0;
        }
    }

    /// The statement is a probe that has found a message.
    pub(crate) fn found(&mut self, source: RankId, tag: Tag) {
        let Some(name) = self.step().bind else { return };
        self.variables[name.0 as usize] = None;
        if self.asks {
            self.receives.retain(|(_, other)| *other != name);
            self.received[name.0 as usize] = Some(received((source, tag)));
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

fn received((source, tag): (RankId, Tag)) -> Received {
    Received { source: source.0, tag: mpi::number(tag) }
}
