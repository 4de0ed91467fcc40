//! The entries of the two queues: posted receives, and messages that arrived before their receive.

use crate::Kept;
use carrousel_matching::{Handle, Requested};
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
    Kept { kept: Kept, len: u64 },
    Rts { send: Handle, len: u64, memory: Memory },
}

/// What an RTS offers to the receive that it meets.
pub(crate) struct Offer {
    /// The peer's request.
    pub(crate) send: Handle,
    pub(crate) len: u64,
    pub(crate) memory: Memory,
    /// The receive was there first: an announcement would have been of use.
    pub(crate) waited: bool,
}
