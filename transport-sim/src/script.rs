//! A rank that executes a program of a scenario.

use crate::program::Action;
use carrousel_program::{
    self as meaning, Ordinal, Program, RankId, Received, RequestId, Statement, Tag, ValueError, received,
};
use carrousel_rank::Handle;
use carrousel_scenario::Scenario;
use std::sync::Arc;

/// The position of a rank in its program, and the requests that it has started.
#[derive(Debug)]
pub(crate) struct Script {
    program: Arc<Program>,
    /// The statement that is being executed.
    at: usize,
    /// The handles of requests, in the order of their beginnings; none of one that was complete when it began.
    requests: Vec<Option<Handle>>,
    /// By name, its message. Empty if no statement uses messages.
    received: Vec<Option<Received>>,
}

impl Script {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        let names = if program.asks_for_messages() { program.names() } else { 0 };
        let requests = Vec::with_capacity(program.requests() as usize);
        Self { at: 0, requests, received: vec![None; names], program }
    }

    /// The statements of the program.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    fn statement(&self) -> Statement<'_> {
        self.program.statement(self.at)
    }

    /// The action of the next statement; `None` at the end of the program.
    ///
    /// # Errors
    /// If a value that only this run has is out of its range.
    pub(crate) fn action(&self) -> Result<Option<Action>, ValueError> {
        if self.at == self.program.len() {
            return Ok(None);
        }
        let action = self.statement().action(|name| self.message_of(name))?;
        Ok(Some(Action::of(&self.program, self.at, &action)))
    }

    /// The message that a name stands for.
    fn message_of(&self, name: RequestId) -> Option<Received> {
        self.received[name.0 as usize]
    }

    /// Whether the request of the statement goes on after the statement has returned.
    pub(crate) fn starts_request(&self) -> bool {
        self.statement().outline().starts_request()
    }

    /// Whether the statement only tests a request.
    pub(crate) fn tests(&self) -> bool {
        matches!(self.statement().outline(), meaning::Action::Test(_))
    }

    /// The requests of other statements that this one waits for or tests, closed ones among them.
    pub(crate) fn look_up(&self, into: &mut Vec<Handle>) {
        let handle = |request: &Ordinal| self.requests[*request as usize];
        match self.statement().outline() {
            meaning::Action::Wait(requests) => into.extend(requests.iter().filter_map(handle)),
            meaning::Action::Test(request) => into.extend(request.iter().filter_map(handle)),
            _ => {}
        }
    }

    /// The statement has started its next request.
    pub(crate) fn opened(&mut self, request: Option<Handle>) {
        self.requests.push(request);
    }

    /// A request that a statement has started has ended. A receive has this message.
    pub(crate) fn released(&mut self, statement: usize, message: Option<(RankId, Tag)>) {
        let statement = self.program.statement(statement);
        if let (Some(name), Some((source, tag))) = (statement.name_of_message(), message) {
            let members = self.program.members(statement.communicator());
            self.received[name.0 as usize] = Some(received(source, tag, members));
        }
    }

    /// The statement is a probe that has found a message.
    pub(crate) fn found(&mut self, source: RankId, tag: Tag) {
        let statement = self.statement();
        let found = received(source, tag, self.program.members(statement.communicator()));
        if let Some(known) = statement.bind().and_then(|name| self.received.get_mut(name.0 as usize)) {
            *known = Some(found);
        }
    }

    /// The statement returns.
    pub(crate) fn end(&mut self) {
        self.at += 1;
    }

    /// The line of the statement that is being executed.
    pub(crate) fn line(&self) -> u32 {
        let last = self.program.len().checked_sub(1);
        last.map_or(0, |last| self.program.statement(self.at.min(last)).line())
    }

    /// The keyword of that statement.
    pub(crate) fn keyword(&self) -> &'static str {
        self.statement().keyword()
    }

    /// That statement, as it is written.
    pub(crate) fn written(&self, scenario: &Scenario) -> String {
        self.statement().written(scenario).to_string()
    }
}
