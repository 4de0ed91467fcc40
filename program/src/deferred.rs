//! Statements with `source(NAME)` and `tag(NAME)`: what they do is known when their process gets to them.

use crate::action::Action;
use crate::envelope::source;
use crate::meaning::meaning_in_program;
use carrousel_rank::{RankId, Source};
use carrousel_scenario as scenario;
use carrousel_scenario::{Op, Received, RequestId, ValueError};
use std::sync::Arc;

/// A statement with values that only an execution has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deferred(Arc<scenario::Deferred>);

/// What is known of a send before the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KnownSend {
    /// The receiver.
    pub to: Option<RankId>,
    /// Bytes.
    pub len: Option<u64>,
    /// Complete only once the receive has begun.
    pub synchronous: bool,
}

/// What is known of a receive, or of a probe, before the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KnownReceive {
    /// The senders whose messages match.
    pub from: Option<Source>,
    /// Bytes that fit; a probe has none.
    pub len: Option<u64>,
}

impl Deferred {
    /// A statement whose outline has a meaning.
    pub(crate) fn new(statement: &Arc<scenario::Deferred>) -> Self {
        Self(Arc::clone(statement))
    }

    /// What it does. `received` says what names stand for.
    ///
    /// # Errors
    /// When a value leaves its range: the process cannot go on.
    pub fn resolve(
        &self,
        received: impl Fn(RequestId) -> Option<Received>,
    ) -> Result<Action<'static>, ValueError> {
        // None of the statements that ask for messages waits for other statements' requests.
        self.0.resolve(received).map(|op| meaning_in_program(&op, &[]))
    }

    /// The names whose messages it asks for.
    pub fn reads(&self) -> impl Iterator<Item = RequestId> {
        self.0.reads()
    }

    /// What is known of its send; `None` if it sends nothing.
    pub fn sending(&self) -> Option<KnownSend> {
        let (to, len, synchronous) = match *self.0.outline() {
            Op::Send { to, size, synchronous, .. } => (to, size, synchronous),
            Op::SendRecv { to, send_size, .. } => (to, send_size, false),
            _ => return None,
        };
        Some(KnownSend { to: self.known(0, RankId(to)), len: self.known(2, len), synchronous })
    }

    /// What is known of its receive, or of the messages that it looks for; `None` if it takes none.
    pub fn receiving(&self) -> Option<KnownReceive> {
        let (from, len) = match *self.0.outline() {
            Op::Recv { from, size, .. } => (self.known(0, from), self.known(2, size)),
            Op::SendRecv { from, recv_size, .. } => (self.known(3, from), self.known(5, recv_size)),
            Op::Probe { from, .. } => (self.known(0, from), None),
            _ => return None,
        };
        Some(KnownReceive { from: from.map(source), len })
    }

    /// The value in a slot of [`scenario::verb::Verb::slots`], if it is known.
    fn known<T>(&self, slot: usize, value: T) -> Option<T> {
        (!self.0.is_deferred(slot)).then_some(value)
    }
}
