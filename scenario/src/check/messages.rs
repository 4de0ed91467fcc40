//! Decides which names stand for a message that is there: that of a probe, or of a complete receive.
//!
//! The statements of a `repeat` are checked once. A round changes the state of a name in the same way each time. So
//! the state at the beginning of a later round is the state at the end of one, and a name that a round uses before
//! binding it is checked again at the `end`.

use std::sync::Arc;

use super::values::Values;
use crate::ids::RequestId;
use crate::parse::LocatedProblem;
use crate::problem::{Problem, clip};
use crate::span::Span;
use crate::verb::Verb;

/// The state of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing has bound it.
    #[default]
    Unbound,
    /// A request without a message.
    NoMessage,
    /// A receive that may not be complete.
    Open,
    /// A message.
    Complete,
}

#[derive(Clone, Copy, Debug, Default)]
struct Held {
    state: State,
    /// The time at which it was bound, counted in statements.
    bound: u32,
    /// The time at which it was waited for by name.
    waited: u32,
}

/// A use of a name inside of a `repeat`.
#[derive(Clone, Debug)]
struct Use {
    id: RequestId,
    name: Arc<str>,
    at: Span,
    /// The times at which the name was bound before, and waited for.
    bound: u32,
    waited: u32,
}

/// An open `repeat`.
#[derive(Debug)]
struct Round {
    start: u32,
    /// Whether there is a later round.
    again: bool,
    /// The first of its uses in [`Messages::uses`].
    uses: usize,
}

/// The states of the names of one rank.
#[derive(Debug, Default)]
pub(super) struct Messages {
    held: Vec<Held>,
    /// Receives that may not be complete.
    open: Vec<RequestId>,
    now: u32,
    /// The time of the last `wait all`.
    waited_all: u32,
    rounds: Vec<Round>,
    uses: Vec<Use>,
}

impl Messages {
    /// The number of entries in its tables.
    pub(super) fn entries(&self) -> usize {
        self.uses.len()
    }

    fn held(&mut self, id: RequestId) -> &mut Held {
        let index = id.0 as usize;
        if self.held.len() <= index {
            self.held.resize(index + 1, Held::default());
        }
        &mut self.held[index]
    }

    /// A statement begins.
    pub(super) fn tick(&mut self) {
        self.now += 1;
    }

    /// A statement with keyword `verb` has bound a name.
    pub(super) fn bind(&mut self, id: RequestId, verb: Verb) {
        let state = match verb {
            Verb::Recv | Verb::SendRecv | Verb::Probe => State::Complete,
            Verb::IRecv => State::Open,
            _ => State::NoMessage,
        };
        let now = self.now;
        let held = self.held(id);
        if state == State::Open && held.state != State::Open {
            held.state = state;
            self.open.push(id);
        }
        let held = self.held(id);
        (held.state, held.bound) = (state, now);
    }

    /// The rank waits for a name.
    pub(super) fn wait(&mut self, id: RequestId) {
        let now = self.now;
        let held = self.held(id);
        held.waited = now;
        if held.state == State::Open {
            held.state = State::Complete;
        }
    }

    /// The rank waits for everything.
    pub(super) fn wait_all(&mut self) {
        self.waited_all = self.now;
        for id in std::mem::take(&mut self.open) {
            let held = self.held(id);
            if held.state == State::Open {
                held.state = State::Complete;
            }
        }
    }

    /// The present statement uses the message of a name.
    pub(super) fn ask(&mut self, id: RequestId, name: &Arc<str>, at: Span) -> Result<(), Problem> {
        let Held { state, bound, waited } = *self.held(id);
        match state {
            State::Unbound => return Err(Problem::UnknownRequest { name: clip(name), help: None }),
            State::NoMessage => return Err(Problem::NoMessage { name: clip(name) }),
            State::Open => return Err(Problem::NotComplete { name: clip(name), again: false }),
            State::Complete => {}
        }
        if self.rounds.last().is_some_and(|round| bound <= round.start) {
            let waited = waited.max(self.waited_all);
            self.uses.push(Use { id, name: Arc::clone(name), at, bound, waited });
        }
        Ok(())
    }

    /// A `repeat` begins.
    pub(super) fn begin_rounds(&mut self, rounds: u64) {
        self.tick();
        self.rounds.push(Round { start: self.now, again: rounds > 1, uses: self.uses.len() });
    }

    /// The `end` of the `repeat` that began last.
    pub(super) fn end_rounds(&mut self, values: &mut Values) -> Result<(), LocatedProblem> {
        let Some(round) = self.rounds.pop() else { return Ok(()) };
        let uses: Vec<Use> = self.uses.drain(round.uses..).collect();
        let outer = self.rounds.last().map(|round| round.start);
        let mut wrong = Ok(());
        for it in uses {
            values.spend(1).map_err(|problem| (it.at, problem))?;
            let state = self.held(it.id).state;
            // The round binds it, but after its use; the round may wait for it before that.
            let again = match state {
                State::Complete => None,
                State::Open if it.waited > round.start => None,
                State::NoMessage => Some(Problem::NoMessage { name: clip(&it.name) }),
                _ => Some(Problem::NotComplete { name: clip(&it.name), again: true }),
            };
            if let Some(problem) = again.filter(|_| round.again && wrong.is_ok()) {
                wrong = Err((it.at, problem));
            }
            if outer.is_some_and(|start| it.bound <= start) {
                self.uses.push(it);
            }
        }
        wrong
    }
}
