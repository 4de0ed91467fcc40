//! Errors, and the class that MPI gives each.

use crate::usage::{Disagreement, NotReceived};
use carrousel_engine::{self as engine, FailedCall, of_call};
use carrousel_rank::epoch::{EpochUsageError, OperationError};
use carrousel_rank::wire::WireError;
use carrousel_rank::{ProtocolError, UsageError};
use carrousel_system::inherited::Inherited;
use std::fmt;
use thiserror::Error;

/// MPI's error classes (MPI-4.1, 9.4), those that can occur here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// `MPI_ERR_RANK`: there is no such rank.
    Rank,
    /// `MPI_ERR_TAG`: a tag is out of its range.
    Tag,
    /// `MPI_ERR_REQUEST`: there is no such request.
    Request,
    /// `MPI_ERR_TRUNCATE`: a message is longer than its receive.
    Truncate,
    /// `MPI_ERR_COUNT`: bytes are no whole number of elements.
    Count,
    /// `MPI_ERR_PROC_FAILED` of the fault tolerance working group: a peer is gone.
    ProcessFailed,
    /// `MPI_ERR_RMA_SYNC`: a call on a window outside of the epoch that it needs.
    RmaSync,
    /// `MPI_ERR_RMA_RANGE`: an access outside of a window's memory.
    RmaRange,
    /// `MPI_ERR_OP`: an operation that is not defined for its type.
    Op,
    /// `MPI_ERR_NO_MEM`: there is too little memory.
    NoMemory,
    /// `MPI_ERR_OTHER`: the message says what.
    Other,
    /// `MPI_ERR_INTERN`: a mistake of this library.
    Internal,
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rank => "MPI_ERR_RANK",
            Self::Tag => "MPI_ERR_TAG",
            Self::Request => "MPI_ERR_REQUEST",
            Self::Truncate => "MPI_ERR_TRUNCATE",
            Self::Count => "MPI_ERR_COUNT",
            Self::ProcessFailed => "MPI_ERR_PROC_FAILED",
            Self::RmaSync => "MPI_ERR_RMA_SYNC",
            Self::RmaRange => "MPI_ERR_RMA_RANGE",
            Self::Op => "MPI_ERR_OP",
            Self::NoMemory => "MPI_ERR_NO_MEM",
            Self::Other => "MPI_ERR_OTHER",
            Self::Internal => "MPI_ERR_INTERN",
        })
    }
}

/// An error of the library. Its `Debug` form is the text for people, too, for programs whose `main` returns it.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A mistake of the application; nothing has begun.
    #[error("{class}: {mistake}{}", of_call(.call), class = self.class())]
    Usage {
        /// The mistake.
        mistake: UsageError,
        /// The call, where it is known.
        call: Option<Box<FailedCall>>,
    },
    /// A request is used that has ended.
    #[error("{class}: the request has ended", class = self.class())]
    Ended,
    /// There is no such rank in a communicator.
    #[error(
        "{class}: rank {rank} does not exist in a communicator of {ranks} ranks{}",
        of_call(.call),
        class = self.class()
    )]
    NoSuchRank {
        /// The rank that was named.
        rank: u32,
        /// The number of ranks.
        ranks: u32,
        /// The call, where it is known.
        call: Option<Box<FailedCall>>,
    },
    /// A buffer does not have the length that the operation needs.
    #[error("{class}: a buffer of {found} elements, expected {expected}{}", of_call(.call), class = self.class())]
    BufferLength {
        /// Its elements.
        found: usize,
        /// The elements that it should have.
        expected: usize,
        /// The call, where it is known.
        call: Option<Box<FailedCall>>,
    },
    /// A message is longer than its receive; nothing was written past the end.
    #[error(
        "{class}: a message of {sent} bytes does not fit the {room} bytes of its receive{}",
        of_call(.call),
        class = self.class()
    )]
    Truncated {
        /// Bytes of the message.
        sent: u64,
        /// Bytes of the receive.
        room: u64,
        /// The receive, with the sender and the tag of the message, where it is known.
        call: Option<Box<FailedCall>>,
    },
    /// A message does not consist of whole elements.
    #[error(
        "{class}: a message of {bytes} bytes is no whole number of elements of {element} bytes{}",
        of_call(.call),
        class = self.class()
    )]
    Uneven {
        /// Bytes of the message.
        bytes: u64,
        /// Bytes of an element.
        element: usize,
        /// The call that has asked for elements, with the sender and the tag of the message.
        call: Option<Box<FailedCall>>,
    },
    /// A peer has ended, or its connection is broken.
    #[error("{class}: {}", engine::lost(*.rank, .why.as_deref()), class = self.class())]
    PeerLost {
        /// The peer.
        rank: u32,
        /// The reason, as far as it is known.
        why: Option<String>,
    },
    /// A peer does not speak the protocol.
    #[error("{class}: {0}", class = self.class())]
    Protocol(#[from] ProtocolError),
    /// A peer has sent bytes that are no packet.
    #[error("{class}: rank {rank} sent bytes that are no packet: {why}", class = self.class())]
    Malformed {
        /// The peer.
        rank: u32,
        /// The reason.
        why: WireError,
    },
    /// A peer cannot be connected.
    #[error("{class}: rank {rank} cannot be connected: {why}", class = self.class())]
    Connect {
        /// The peer.
        rank: u32,
        /// The reason.
        why: String,
    },
    /// No transport leads to a rank.
    #[error("{class}: rank {rank} is on another node: {why}", class = self.class())]
    Unreachable {
        /// The rank.
        rank: u32,
        /// The reason why there is no transport between nodes.
        why: String,
    },
    /// There are no more communicators.
    #[error("{class}: there are no more communicators", class = self.class())]
    TooManyCommunicators,
    /// The job cannot be joined.
    #[error("{class}: {0}", class = self.class())]
    Launch(String),
    /// An option has an invalid value, or does not exist.
    #[error("{class}: {0}", class = self.class())]
    Option(String),
    /// There is no shared memory for the rings.
    #[error("{class}: {0}", class = self.class())]
    Memory(String),
    /// The requested trace cannot be written.
    #[error("{class}: {0}", class = self.class())]
    Trace(String),
    /// Ranks have called different collectives of a communicator, and none of these has begun (option `check_usage`).
    #[error("{class}: {0}", class = self.class())]
    Disagreement(Box<Disagreement>),
    /// Messages were not received when the job was left (option `check_usage`).
    #[error("{class}: {0}", class = self.class())]
    NotReceived(Box<NotReceived>),
    /// An access outside of a window's memory.
    #[error(
        "{class}: elements {begin} to {end} of the window at rank {rank}, which has {len}",
        class = self.class()
    )]
    OutOfWindow {
        /// The target.
        rank: u32,
        /// The first element.
        begin: usize,
        /// The one behind the last.
        end: usize,
        /// The elements that the target has.
        len: usize,
    },
    /// An access in blocks that cannot be.
    #[error(
        "{class}: {len} elements in blocks of {block}, which begin {distance} apart: blocks are whole, not empty, and do not \
         overlap",
        class = self.class()
    )]
    Blocks {
        /// Elements of the access.
        len: usize,
        /// Elements of a block.
        block: usize,
        /// Elements from the begin of a block to the begin of the next.
        distance: usize,
    },
    /// An atomic operation is not defined for its type.
    #[error("{class}: {0}", class = self.class())]
    Operation(#[from] OperationError),
    /// What an operation fetches is asked for before the operation is complete.
    #[error(
        "{class}: the operation is not complete: close or flush its epoch before its result is taken",
        class = self.class()
    )]
    NotFetched,
    /// The program asks for something that real runs do not have yet.
    #[error("{class}: {0} cannot be carried out in real runs yet; `carrousel sim --app` simulates it", class = self.class())]
    SimulatedOnly(&'static str),
    /// This process is a child that its parent has made by `fork` when it was part of a job: the child is not.
    #[error("{class}: {0}", class = self.class())]
    Inherited(Inherited),
    /// A mistake of this library.
    #[error("{class}: {0}; please report this", class = self.class())]
    Internal(&'static str),
}

impl From<engine::Error> for Error {
    #[cold]
    fn from(error: engine::Error) -> Self {
        use engine::Error as Raw;
        match error {
            Raw::Usage { mistake, call } => Self::Usage { mistake, call },
            Raw::Truncated { sent, room, call } => Self::Truncated { sent, room, call },
            Raw::PeerLost { rank, why } => Self::PeerLost { rank, why },
            Raw::Protocol(error) => Self::Protocol(error),
            Raw::Malformed { rank, why } => Self::Malformed { rank, why },
            Raw::Connect { rank, why } => Self::Connect { rank, why },
            Raw::Unreachable { rank, why } => Self::Unreachable { rank, why },
            Raw::TooManyCommunicators => Self::TooManyCommunicators,
            Raw::Launch(why) => Self::Launch(why),
            Raw::Option(why) => Self::Option(why),
            Raw::Memory(why) => Self::Memory(why),
            Raw::Trace(why) => Self::Trace(why),
            Raw::Inherited(inherited) => Self::Inherited(inherited),
            Raw::Internal(what) => Self::Internal(what),
        }
    }
}

impl From<UsageError> for Error {
    #[cold]
    fn from(mistake: UsageError) -> Self {
        Self::Usage { mistake, call: None }
    }
}

impl From<engine::BoxedError> for Error {
    #[cold]
    fn from(error: engine::BoxedError) -> Self {
        (*error).into()
    }
}

impl Error {
    /// The error with the call that it is about, if it is one that names a call, and does not yet.
    #[doc(hidden)]
    #[cold]
    pub fn of(mut self, failed: impl FnOnce() -> Box<FailedCall>) -> Self {
        match &mut self {
            Self::Usage { call, .. }
            | Self::NoSuchRank { call, .. }
            | Self::BufferLength { call, .. }
            | Self::Truncated { call, .. }
            | Self::Uneven { call, .. } => {
                call.get_or_insert_with(failed);
            }
            _ => {}
        }
        self
    }

    /// The class of the error, as MPI has it.
    pub fn class(&self) -> Class {
        match self {
            Self::Usage { mistake, .. } => match mistake {
                UsageError::NoSuchRank { .. } => Class::Rank,
                UsageError::TagTooGreat { .. } => Class::Tag,
                UsageError::Window(EpochUsageError::NoSuchRank { .. }) => Class::Rank,
                UsageError::Window(_) => Class::RmaSync,
                _ => Class::Request,
            },
            Self::NoSuchRank { .. } => Class::Rank,
            Self::BufferLength { .. } => Class::Count,
            Self::NotFetched => Class::RmaSync,
            Self::OutOfWindow { .. } => Class::RmaRange,
            Self::Operation(OperationError::NoInteger { .. }) => Class::Op,
            Self::Operation(OperationError::Length { .. }) => Class::Count,
            Self::Ended => Class::Request,
            Self::Truncated { .. } => Class::Truncate,
            Self::Uneven { .. } | Self::Blocks { .. } => Class::Count,
            Self::PeerLost { .. } => Class::ProcessFailed,
            Self::Memory(_) => Class::NoMemory,
            Self::Internal(_) => Class::Internal,
            Self::Protocol(_)
            | Self::Malformed { .. }
            | Self::Connect { .. }
            | Self::Unreachable { .. }
            | Self::TooManyCommunicators
            | Self::Launch(_)
            | Self::Option(_)
            | Self::Disagreement(_)
            | Self::NotReceived(_)
            | Self::SimulatedOnly(_)
            | Self::Inherited(_)
            | Self::Trace(_) => Class::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn what_main_returns_is_printed_for_people() {
        let lost = Error::PeerLost { rank: 1, why: None };
        assert_eq!(format!("{lost:?}"), lost.to_string());
        assert!(lost.to_string().contains("rank 1 is gone"), "{lost}");
    }

    #[test]
    fn a_peer_that_lives_is_not_gone() {
        let lost = Error::PeerLost { rank: 1, why: Some("its memory is not there".to_owned()) };
        assert!(lost.to_string().ends_with(": rank 1 is lost: its memory is not there"), "{lost}");
    }
}
