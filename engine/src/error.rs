//! The errors of an endpoint.

use crate::call::FailedCall;
use carrousel_rank::wire::WireError;
use carrousel_rank::{ProtocolError, UsageError};
use carrousel_system::inherited::Inherited;
use thiserror::Error;

/// An error of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// A mistake of the application; nothing has begun.
    #[error("{mistake}{}", of_call(.call))]
    Usage {
        /// The mistake.
        mistake: UsageError,
        /// The call, if it is one about a message.
        call: Option<Box<FailedCall>>,
    },
    /// A message is longer than its receive; nothing was written past the end.
    #[error("a message of {sent} bytes does not fit the {room} bytes of its receive{}", of_call(.call))]
    Truncated {
        /// Bytes of the message.
        sent: u64,
        /// Bytes of the receive.
        room: u64,
        /// The receive, with the sender and the tag of the message.
        call: Option<Box<FailedCall>>,
    },
    /// A peer has ended, or its connection is broken.
    #[error("{}", lost(*.rank, .why.as_deref()))]
    PeerLost {
        /// The peer.
        rank: u32,
        /// The reason, as far as it is known.
        why: Option<String>,
    },
    /// A peer does not speak the protocol.
    #[error("{0}")]
    Protocol(#[from] ProtocolError),
    /// A peer has sent bytes that are no packet.
    #[error("rank {rank} sent bytes that are no packet: {why}")]
    Malformed {
        /// The peer.
        rank: u32,
        /// The reason.
        why: WireError,
    },
    /// A peer cannot be connected.
    #[error("rank {rank} cannot be connected: {why}")]
    Connect {
        /// The peer.
        rank: u32,
        /// The reason.
        why: String,
    },
    /// No transport leads to a rank.
    #[error("rank {rank} is on another node: {why}")]
    Unreachable {
        /// The rank.
        rank: u32,
        /// The reason why there is no transport between nodes.
        why: String,
    },
    /// There are no more communicators.
    #[error("there are no more communicators")]
    TooManyCommunicators,
    /// The job cannot be joined.
    #[error("{0}")]
    Launch(String),
    /// An option has an invalid value, or does not exist.
    #[error("{0}")]
    Option(String),
    /// There is no shared memory for the rings.
    #[error("{0}")]
    Memory(String),
    /// The requested trace cannot be written.
    #[error("{0}")]
    Trace(String),
    /// This process is a child that its parent has made by `fork` when it was part of a job: the child is not.
    #[error("{0}")]
    Inherited(#[from] Inherited),
    /// A mistake of this library.
    #[error("{0}; please report this")]
    Internal(&'static str),
}

/// The call that an error is about, behind what is wrong.
pub fn of_call(call: &Option<Box<FailedCall>>) -> String {
    call.as_ref().map_or_else(String::new, |call| format!(": {call}"))
}

/// A peer that is lost, in words: with a cause, it may live.
pub fn lost(rank: u32, why: Option<&str>) -> String {
    why.map_or_else(|| format!("rank {rank} is gone"), |why| format!("rank {rank} is lost: {why}"))
}

/// An error inside the library, in one word: successful calls then move no value as large as an [`enum@Error`].
pub type BoxedError = Box<Error>;

impl From<BoxedError> for Error {
    #[cold]
    fn from(fault: BoxedError) -> Self {
        *fault
    }
}

impl From<UsageError> for BoxedError {
    #[cold]
    fn from(mistake: UsageError) -> Self {
        Self::new(Error::Usage { mistake, call: None })
    }
}
