//! Statements with `source(NAME)` and `tag(NAME)`, whose values are known when their rank reaches them.
//!
//! What a rank knows of messages is part of its state ([`Proc::received`]), as long as a statement may ask for it.
//! Requests that were started with such values are kept with the state of the job ([`State::begun`]), as long as the
//! request or its message exists. Before that, only the outline of the statement is known.

use crate::network::Message;
use crate::program::{Act, Later, Ordinal, Program, Sought, Start, number_of};
use crate::state::{Proc, State};
use carrousel_program::{Action, Operation, Received, RequestId, ValueError};
use carrousel_rank::{Pattern, Protocol};

impl Later {
    /// The action of the statement; an error if a value leaves its range.
    fn action<P: Protocol>(&self, proc: &Proc<P>) -> Result<Action<'static>, ValueError> {
        self.deferred.resolve(|name| proc.message_of(name))
    }

    /// The start of the request.
    pub(crate) fn start<P: Protocol>(&self, proc: &Proc<P>) -> Option<Start> {
        let is_it = |operation: &Operation| matches!(operation, Operation::Send(_)) == self.sends;
        let operation = self.action(proc).ok()?.operations().find(is_it)?;
        Some(Start::of(operation, |buffer| number_of(buffer, || self.own)))
    }
}

/// The statement of an act that asks messages for its values.
pub(crate) fn later_of<'a>(program: &'a Program, act: &Act) -> Option<&'a Later> {
    let index = match *act {
        Act::Start(ordinal) => match program.starts[usize::from(ordinal)] {
            Start::Later(index) => index,
            _ => return None,
        },
        Act::Probe { sought: Sought::Later(index), .. } | Act::Compute(index) => index,
        _ => return None,
    };
    program.later.get(usize::from(index))
}

/// The value with which the next act of a rank leaves its range, so that it cannot go on.
pub(crate) fn fault<P: Protocol>(program: &Program, proc: &Proc<P>) -> Option<ValueError> {
    let step = program.steps.get(usize::from(proc.pc))?;
    later_of(program, &step.act)?.action(proc).err()
}

/// The messages that a probe looks for; `None` if a value leaves its range.
pub(crate) fn sought<P: Protocol>(program: &Program, proc: &Proc<P>, sought: Sought) -> Option<Pattern> {
    match sought {
        Sought::Known(communicator, source, tag) => {
            Some(Pattern { source, tag, context: communicator.messages() })
        }
        Sought::Later(index) => {
            let later = program.later.get(usize::from(index))?;
            match later.action(proc).ok()? {
                Action::Probe(pattern) => Some(pattern),
                _ => None,
            }
        }
    }
}

impl<P: Protocol> Proc<P> {
    /// The message that a name stands for.
    pub(crate) fn message_of(&self, name: RequestId) -> Option<Received> {
        let at = self.received.binary_search_by_key(&name, |(name, _)| *name).ok()?;
        Some(self.received[at].1)
    }

    /// Makes a name stand for a message.
    pub(crate) fn learn(&mut self, name: RequestId, message: Received) {
        match self.received.binary_search_by_key(&name, |(name, _)| *name) {
            Ok(at) => self.received[at].1 = message,
            Err(at) => self.received.insert(at, (name, message)),
        }
    }
}

impl<P: Protocol> State<P> {
    /// The start of a request whose values came from messages.
    pub(crate) fn begun_start(&self, rank: u16, ordinal: Ordinal) -> Option<Start> {
        let at =
            self.begun.binary_search_by_key(&(rank, ordinal), |(rank, ordinal, _)| (*rank, *ordinal)).ok()?;
        Some(self.begun[at].2)
    }

    /// Keeps the start of a request whose values came from messages.
    pub(crate) fn begin(&mut self, rank: u16, ordinal: Ordinal, start: Start) {
        let at = self.begun.partition_point(|(other, number, _)| (*other, *number) < (rank, ordinal));
        self.begun.insert(at, (rank, ordinal, start));
    }

    /// Forgets requests of which neither the request nor the message is left, so that states that differ in nothing
    /// else are one.
    pub(crate) fn forget_what_is_over(&mut self) {
        if !self.begun.is_empty() {
            let mut begun = std::mem::take(&mut self.begun);
            begun.retain(|(rank, ordinal, _)| self.has(*rank, *ordinal));
            self.begun = begun;
        }
    }

    /// Whether a request is open, or its message somewhere.
    fn has(&self, rank: u16, ordinal: Ordinal) -> bool {
        let message = Message { from: rank, send: ordinal };
        let holds = |proc: &Proc<P>| {
            proc.arrived.contains(&message)
                || proc.kept.iter().any(|(_, kept)| *kept == message)
                || proc.open.iter().any(|open| open.message == Some(message))
        };
        self.procs[usize::from(rank)].is_open(ordinal)
            || self.procs.iter().any(|proc| holds(proc))
            || self.network.iter().any(|(_, item)| item.message() == Some(message))
    }
}
