//! A collective that is under way.

use crate::communicators::Communicators;
use crate::messages::OfRound;
use crate::{Failure, Status};
use carrousel_collective::{At, Buffer, Message, Schedule};
use carrousel_matching::{Communicator, Handle, Tag};
use carrousel_rendezvous::Memory;

/// A collective that is not over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Active {
    pub(super) own: Handle,
    pub(super) communicator: Communicator,
    pub(super) schedule: Schedule,
    pub(super) buffers: [Memory; 3],
    pub(super) tag: Tag,
    /// It waits for an earlier one of its tag.
    pub(super) deferred: bool,
    /// From 0.
    pub(super) round: u32,
    /// Messages of this round that are not over, and one more while the round is being started.
    pub(super) open: u8,
    /// What went wrong; the rounds go on, so that nobody waits for this member, unless one is lost.
    pub(super) failed: Option<Status>,
}

impl Active {
    /// A message of its rounds, as messages have them.
    #[inline(always)]
    pub(super) fn message(&self, message: Message, communicators: &Communicators) -> Option<OfRound> {
        let Message { peer, at, len } = message;
        let (own, communicator, tag) = (self.own, self.communicator, self.tag);
        let (context, memory) = (communicator.collectives(), self.memory(at));
        let peer = communicators.rank(communicator, peer)?;
        Some(OfRound { own, peer, context, tag, len, memory })
    }

    pub(super) fn memory(&self, at: At) -> Memory {
        let Memory { address, key } = self.buffers[match at.buffer {
            Buffer::Source => 0,
            Buffer::Target => 1,
            Buffer::Scratch => 2,
        }];
        Memory { address: address.wrapping_add(at.offset), key }
    }

    /// Whether no further round begins, as a member is lost.
    pub(super) fn is_given_up(&self) -> bool {
        matches!(self.failed, Some(Status { failure: Some(Failure::PeerLost(_)), .. }))
    }

    pub(super) fn is_of(&self, communicator: Communicator, tag: Tag) -> bool {
        (self.communicator, self.tag) == (communicator, tag)
    }
}
