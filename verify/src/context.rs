//! The context of a step: the rank at which it happens, and the job around it.

use crate::model::Model;
use crate::network::{Leaving, Message, is_reading};
use crate::program::{Ordinal, Start};
use crate::search::CoverPoint;
use crate::state::State;
use crate::violation::{Violation, ViolationKind};
use carrousel_rank::{Call, Envelope, Handle, Pattern, Protocol, RankId, mpi};
use carrousel_scenario::Check;
use smallvec::SmallVec;

/// A step at one rank, while it is carried out.
pub(crate) struct StepContext<'a, P: Protocol> {
    pub(crate) model: &'a Model<P>,
    pub(crate) state: &'a mut State<P>,
    pub(crate) me: u16,
    /// What leaves in it, in order.
    pub(crate) leaving: Leaving,
    /// Sends that have ended in it.
    pub(crate) ended: SmallVec<[Handle; 1]>,
    /// Situations that it has met.
    pub(crate) met: SmallVec<[CoverPoint; 1]>,
}

impl<'a, P: Protocol> StepContext<'a, P> {
    pub(crate) fn new(model: &'a Model<P>, state: &'a mut State<P>, me: u16) -> Self {
        Self { model, state, me, leaving: Leaving::new(), ended: SmallVec::new(), met: SmallVec::new() }
    }

    /// Whether a peer is reading the data of a send, and has not got it yet.
    pub(crate) fn is_being_read(&self, send: Handle) -> bool {
        let own = self.leaving.iter().any(|item| is_reading(item, self.me, send));
        own || self.state.network.is_being_read(self.me, send)
    }

    pub(crate) fn reach(&mut self, what: CoverPoint) {
        self.met.push(what);
    }

    pub(crate) fn violates(&mut self, check: Check, kind: ViolationKind) {
        self.state.violations.push(Violation { check, kind });
    }

    pub(crate) fn start_of(&self, rank: u16, ordinal: Ordinal) -> Start {
        self.model.start(self.state, rank, ordinal)
    }

    pub(crate) fn envelope_of(&self, message: Message) -> (Envelope, u64) {
        match self.start_of(message.from, message.send) {
            Start::Send { tag, communicator, len, .. } => {
                let source = RankId(u32::from(message.from));
                (Envelope { source, tag: mpi::tag(tag), context: communicator.messages() }, len)
            }
            other => unreachable!("{message:?} is named by a send, not by {other:?}"),
        }
    }

    /// The 8 bytes that travel with a message's own, if it has them.
    pub(crate) fn data_of(&self, message: Message) -> Option<u64> {
        match self.start_of(message.from, message.send).call() {
            Call::Send(send) => send.data,
            other => unreachable!("{message:?} is named by a send, not by {other:?}"),
        }
    }

    pub(crate) fn pattern_of(&self, receive: Ordinal) -> (Pattern, u64) {
        match self.start_of(self.me, receive) {
            Start::Receive { from, tag, communicator, len, .. } => {
                (Pattern { source: from, tag, context: communicator.messages() }, len)
            }
            other => unreachable!("request {receive} is a receive, not {other:?}"),
        }
    }
}
