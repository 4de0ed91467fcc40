//! A collective that is under way.

use crate::messages::state::{End, State};
use crate::{Failure, Status};
use carrousel_collective::{At, Buffer, Schedule};
use carrousel_matching::{Communicator, Handle, Tag};
use carrousel_rendezvous::Memory;

/// A collective that is not over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Active {
    pub(crate) own: Handle,
    pub(crate) communicator: Communicator,
    pub(crate) schedule: Schedule,
    pub(crate) buffers: [Memory; 3],
    pub(crate) tag: Tag,
    /// It waits for an earlier one of its tag.
    pub(crate) deferred: bool,
    /// From 0.
    pub(crate) round: u32,
    /// Messages of this round that are not over, and one more while the round is being started.
    pub(crate) open: u8,
    pub(crate) send: Option<State>,
    pub(crate) receive: Option<State>,
    /// What went wrong; the rounds go on, so that nobody waits for this member, unless one is lost.
    pub(crate) failed: Option<Status>,
}

impl Active {
    pub(crate) fn memory(&self, at: At) -> Memory {
        let Memory { address, key } = self.buffers[match at.buffer {
            Buffer::Source => 0,
            Buffer::Target => 1,
            Buffer::Scratch => 2,
        }];
        Memory { address: address.wrapping_add(at.offset), key }
    }

    /// Whether no further round begins, as a member is lost.
    pub(crate) fn is_given_up(&self) -> bool {
        matches!(self.failed, Some(Status { failure: Some(Failure::PeerLost(_)), .. }))
    }

    pub(crate) fn is_of(&self, communicator: Communicator, tag: Tag) -> bool {
        (self.communicator, self.tag) == (communicator, tag)
    }

    pub(crate) fn request(&self, end: End) -> Option<&State> {
        match end {
            End::Send => self.send.as_ref(),
            End::Receive => self.receive.as_ref(),
        }
    }

    pub(crate) fn request_mut(&mut self, end: End) -> &mut Option<State> {
        match end {
            End::Send => &mut self.send,
            End::Receive => &mut self.receive,
        }
    }
}
