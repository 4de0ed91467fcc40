//! Statements with `source(NAME)` and `tag(NAME)`: their actions are known when their process gets to them.

use crate::action::Action;
use crate::communicators::Groups;
use crate::envelope::source;
use crate::meaning::{Named, meaning};
use carrousel_rank::{Communicator, RankId, Source};
use carrousel_scenario as scenario;
use carrousel_scenario::{CommunicatorId, Op, Received, RequestId, ValueError};
use std::sync::Arc;

/// A statement with values that only an execution has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deferred {
    statement: Arc<scenario::Deferred>,
    on: CommunicatorId,
    groups: Arc<Groups>,
}

/// The parts of a send that are known before the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KnownSend {
    /// The receiver, as a rank of the job.
    pub to: Option<RankId>,
    /// The tag.
    pub tag: Option<u32>,
    /// Bytes.
    pub len: Option<u64>,
    /// Complete only once the receive has begun.
    pub synchronous: bool,
}

/// The parts of a receive, or of a probe, that are known before the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KnownReceive {
    /// The senders whose messages match, as ranks of the job.
    pub from: Option<Source>,
    /// The bytes that fit; `None` for a probe, too.
    pub len: Option<u64>,
}

impl Deferred {
    /// Takes a statement whose outline has a meaning.
    pub(crate) fn new(statement: &Arc<scenario::Deferred>, on: CommunicatorId, groups: &Arc<Groups>) -> Self {
        Self { statement: Arc::clone(statement), on, groups: Arc::clone(groups) }
    }

    /// Its communicator.
    pub fn communicator(&self) -> Communicator {
        self.groups.of(self.on).communicator
    }

    /// The action of the statement. `received` returns the messages for which names stand.
    ///
    /// # Errors
    /// If a value is out of its range: the process cannot go on.
    pub fn resolve(
        &self,
        received: impl Fn(RequestId) -> Option<Received>,
    ) -> Result<Action<'static>, ValueError> {
        // No statement that uses messages waits for requests of other statements, or names a group.
        let op = self.statement.resolve(received)?;
        Ok(meaning(&op, self.on, &self.groups, Named::default()))
    }

    /// The names whose messages it uses.
    pub fn reads(&self) -> impl Iterator<Item = RequestId> {
        self.statement.reads()
    }

    /// The known parts of its send; `None` if it does not send.
    pub fn sending(&self) -> Option<KnownSend> {
        let (to, tag, len, synchronous) = match *self.statement.outline() {
            Op::Send { to, tag, size, synchronous, .. } => (to, tag, size, synchronous),
            Op::SendRecv { to, send_tag, send_size, .. } => (to, send_tag, send_size, false),
            _ => return None,
        };
        let to = self.known(0, to).map(|to| self.groups.of(self.on).rank(to));
        Some(KnownSend { to, tag: self.known(1, tag), len: self.known(2, len), synchronous })
    }

    /// The known parts of its receive or probe; `None` if it does neither.
    pub fn receiving(&self) -> Option<KnownReceive> {
        let (from, len) = match *self.statement.outline() {
            Op::Recv { from, size, .. } => (self.known(0, from), self.known(2, size)),
            Op::SendRecv { from, recv_size, .. } => (self.known(3, from), self.known(5, recv_size)),
            Op::Probe { from, .. } => (self.known(0, from), None),
            _ => return None,
        };
        Some(KnownReceive { from: from.map(|from| source(from, self.groups.of(self.on))), len })
    }

    /// The value in a slot of [`scenario::verb::Verb::slots`], if it is known.
    fn known<T>(&self, slot: usize, value: T) -> Option<T> {
        (!self.statement.is_deferred(slot)).then_some(value)
    }
}
