//! The entries of the two queues: posted receives, and messages that arrived before their receive, claimed or not.

use crate::{Arrived, Kept};
use carrousel_matching::{Envelope, Handle, Requested};
use carrousel_rendezvous::{LineId, Memory};

/// A posted receive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Posting {
    pub(crate) request: Handle,
    pub(crate) len: u64,
    pub(crate) memory: Memory,
    /// Worth an announcement: it names its source and expects a rendezvous.
    pub(crate) candidate: bool,
    pub(crate) line: Option<LineId>,
}

impl Requested for Posting {
    #[inline]
    fn request(&self) -> Handle {
        self.request
    }
}

impl Posting {
    /// Worth an announcement, and not announced.
    pub(crate) fn is_unannounced(&self) -> bool {
        self.candidate && self.line.is_none()
    }
}

/// A message that arrived before its receive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arrival {
    Kept { kept: Kept, data: Option<u64>, len: u64 },
    Rts { send: Handle, data: Option<u64>, len: u64, memory: Memory },
}

impl Arrival {
    /// What is told of it.
    pub(crate) fn arrived(&self, envelope: Envelope) -> Arrived {
        let (Self::Kept { data, len, .. } | Self::Rts { data, len, .. }) = *self;
        Arrived { envelope, data, len }
    }
}

/// A message that was claimed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claimed {
    pub(crate) envelope: Envelope,
    pub(crate) arrival: Arrival,
}

/// What an RTS offers to the receive that it meets.
pub(crate) struct Offer {
    /// The peer's request.
    pub(crate) send: Handle,
    pub(crate) data: Option<u64>,
    pub(crate) len: u64,
    pub(crate) memory: Memory,
}
