//! The entries of the two queues: posted receives, and messages that arrived before their receive, claimed or not.

use crate::{Arrived, Kept};
use carrousel_matching::{Envelope, Handle, Requested};
use carrousel_rendezvous::{Memory, RtrId};

/// A posted receive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Posting {
    pub(super) request: Handle,
    pub(super) len: u64,
    pub(super) memory: Memory,
    /// Worth an announcement: it names its source and expects a rendezvous.
    pub(super) candidate: bool,
    pub(super) rtr: Option<RtrId>,
}

impl Requested for Posting {
    #[inline]
    fn request(&self) -> Handle {
        self.request
    }
}

impl Posting {
    /// Worth an announcement, and not announced.
    pub(super) fn is_unannounced(&self) -> bool {
        self.candidate && self.rtr.is_none()
    }
}

/// A message that arrived before its receive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Arrival {
    Kept { kept: Kept, data: Option<u64>, len: u64 },
    Rts { send: Handle, data: Option<u64>, len: u64, memory: Memory },
}

impl Arrival {
    /// What is told of it.
    pub(super) fn arrived(&self, envelope: Envelope) -> Arrived {
        let (Self::Kept { data, len, .. } | Self::Rts { data, len, .. }) = *self;
        Arrived { envelope, data, len }
    }
}

/// A message that was claimed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Claimed {
    pub(super) envelope: Envelope,
    pub(super) arrival: Arrival,
}

/// What an RTS offers to the receive that it meets.
pub(super) struct Offer {
    /// The peer's request.
    pub(super) send: Handle,
    pub(super) data: Option<u64>,
    pub(super) len: u64,
    pub(super) memory: Memory,
}
