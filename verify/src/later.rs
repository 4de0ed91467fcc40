//! Statements with `source(NAME)` and `tag(NAME)`: what they start is known when their rank gets to them.
//!
//! What a rank knows of messages is part of its state ([`Proc::received`]), as long as a statement may ask for it.
//! What it has started with such values is kept with the state of the job ([`State::begun`]), as long as the request
//! or its message is there. Without an execution, only what the outline of the statement says is known of it.

use crate::model::Model;
use crate::program::{Act, Buffer, Ordinal, Program, Sought, Start};
use crate::state::{Message, Proc, State};
use carrousel_rank::{Protocol, RankId, Source, TagSelector, mpi};
use carrousel_scenario as scn;
use carrousel_scenario::{Deferred, Op, RequestId, ValueError};
use std::sync::Arc;

/// A statement, or one of the two requests that a `sendrecv` starts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Later {
    /// The statement.
    pub deferred: Arc<Deferred>,
    /// It is about the sending part.
    pub sends: bool,
    /// The named buffer.
    pub named: Option<Buffer>,
    /// A buffer that nothing else has: of a message without bytes, or without a named buffer.
    pub own: Buffer,
}

/// What the sending part of a statement starts.
pub(crate) fn send(op: &Op, buffer: impl FnOnce(u64) -> Buffer) -> Option<Start> {
    match *op {
        Op::Send { to, tag, size, synchronous, .. } => {
            Some(Start::Send { to, tag, len: size, synchronous, buffer: buffer(size) })
        }
        Op::SendRecv { to, send_tag: tag, send_size: len, .. } => {
            Some(Start::Send { to, tag, len, synchronous: false, buffer: buffer(len) })
        }
        _ => None,
    }
}

/// What the receiving part of a statement starts.
pub(crate) fn receive(op: &Op, buffer: impl FnOnce(u64) -> Buffer) -> Option<Start> {
    let (from, tag, len) = match *op {
        Op::Recv { from, tag, size, .. } => (from, tag, size),
        Op::SendRecv { from, recv_tag, recv_size, .. } => (from, recv_tag, recv_size),
        _ => return None,
    };
    Some(Start::Receive { from: source_of(from), tag: selector(tag), len, buffer: buffer(len) })
}

pub(crate) fn source_of(source: scn::Source) -> Source {
    match source {
        scn::Source::Rank(rank) => Source::Rank(RankId(rank)),
        scn::Source::Any => Source::Any,
    }
}

pub(crate) fn selector(tag: scn::TagSelector) -> TagSelector {
    match tag {
        scn::TagSelector::Tag(tag) => mpi::selector(Some(tag)),
        scn::TagSelector::Any => mpi::ANY_TAG,
    }
}

impl Later {
    /// Of a send: its receiver, where that is known before.
    pub(crate) fn to(&self) -> Option<u32> {
        match *self.deferred.outline() {
            Op::Send { to, .. } | Op::SendRecv { to, .. } if !self.deferred.is_deferred(0) => Some(to),
            _ => None,
        }
    }

    /// Of a receive or probe: whose messages match, where that is known before.
    pub(crate) fn from(&self) -> Option<Source> {
        let (from, slot) = match *self.deferred.outline() {
            Op::Recv { from, .. } | Op::Probe { from, .. } => (from, 0),
            Op::SendRecv { from, .. } => (from, 3),
            _ => return None,
        };
        (!self.deferred.is_deferred(slot)).then(|| source_of(from))
    }

    /// Its bytes, where they are known before.
    pub(crate) fn len(&self) -> Option<u64> {
        let (len, slot) = match *self.deferred.outline() {
            Op::Send { size, .. } | Op::Recv { size, .. } => (size, 2),
            Op::SendRecv { send_size, .. } if self.sends => (send_size, 2),
            Op::SendRecv { recv_size, .. } => (recv_size, 5),
            _ => return None,
        };
        (!self.deferred.is_deferred(slot)).then_some(len)
    }

    /// Whether it is a synchronous send.
    pub(crate) fn is_synchronous(&self) -> bool {
        matches!(self.deferred.outline(), Op::Send { synchronous: true, .. })
    }

    /// What it starts.
    fn start<P: Protocol>(&self, proc: &Proc<P>) -> Option<Start> {
        let op = self.deferred.resolve(|name| proc.message_of(name)).ok()?;
        let buffer = |bytes: u64| self.named.filter(|_| bytes > 0).unwrap_or(self.own);
        if self.sends { send(&op, buffer) } else { receive(&op, buffer) }
    }
}

/// What an act asks messages for.
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
    later_of(program, &step.act)?.deferred.resolve(|name| proc.message_of(name)).err()
}

/// The sender and the tag that a probe looks for; `None` if that leaves its range.
pub(crate) fn sought<P: Protocol>(
    program: &Program,
    proc: &Proc<P>,
    sought: Sought,
) -> Option<(Source, TagSelector)> {
    match sought {
        Sought::Known(source, tag) => Some((source, tag)),
        Sought::Later(index) => {
            let later = program.later.get(usize::from(index))?;
            match later.deferred.resolve(|name| proc.message_of(name)).ok()? {
                Op::Probe { from, tag } => Some((source_of(from), selector(tag))),
                _ => None,
            }
        }
    }
}

impl<P: Protocol> Model<P> {
    /// What a request is. One that has not begun, or is forgotten, may be [`Start::Later`].
    pub(crate) fn start(&self, state: &State<P>, rank: u16, ordinal: Ordinal) -> Start {
        match self.program(state.job, rank).starts[usize::from(ordinal)] {
            later @ Start::Later(_) => state.begun_start(rank, ordinal).unwrap_or(later),
            start => start,
        }
    }

    /// What the request is that a rank starts next; [`Start::Later`] if a value leaves its range.
    pub(crate) fn next_start(&self, job: u32, rank: u16, proc: &Proc<P>, ordinal: Ordinal) -> Start {
        let program = self.program(job, rank);
        match program.starts[usize::from(ordinal)] {
            later @ Start::Later(index) => program.later[usize::from(index)].start(proc).unwrap_or(later),
            start => start,
        }
    }
}

impl<P: Protocol> Proc<P> {
    /// The message that a name stands for.
    pub(crate) fn message_of(&self, name: RequestId) -> Option<scn::Received> {
        let at = self.received.binary_search_by_key(&name, |(name, _)| *name).ok()?;
        Some(self.received[at].1)
    }

    /// A name stands for this message from now on.
    pub(crate) fn learn(&mut self, name: RequestId, message: scn::Received) {
        match self.received.binary_search_by_key(&name, |(name, _)| *name) {
            Ok(at) => self.received[at].1 = message,
            Err(at) => self.received.insert(at, (name, message)),
        }
    }
}

impl<P: Protocol> State<P> {
    /// What a rank has started with values of messages.
    pub(crate) fn begun_start(&self, rank: u16, ordinal: Ordinal) -> Option<Start> {
        let at =
            self.begun.binary_search_by_key(&(rank, ordinal), |(rank, ordinal, _)| (*rank, *ordinal)).ok()?;
        Some(self.begun[at].2)
    }

    /// A rank starts a request with values of messages.
    pub(crate) fn begin(&mut self, rank: u16, ordinal: Ordinal, start: Start) {
        let at = self.begun.partition_point(|(other, number, _)| (*other, *number) < (rank, ordinal));
        self.begun.insert(at, (rank, ordinal, start));
    }

    /// Forgets what has been started of which nothing is left: states that differ in that are one.
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
            || self.flights.iter().any(|(_, flight)| flight.message() == Some(message))
    }
}
