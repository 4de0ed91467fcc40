//! Errors, sorted by the one to blame: the application, the driver, or a peer.

use crate::WindowIndex;
use carrousel_collective::ShapeError;
use carrousel_epoch::EpochUsageError;
use carrousel_matching::{Communicator, Handle, RankId};
use carrousel_rendezvous::Violation;

/// The application's mistake; the call changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UsageError {
    /// `MPI_ERR_RANK`.
    #[error("{rank} does not exist in a job of {ranks} ranks")]
    NoSuchRank {
        /// The rank that was named.
        rank: RankId,
        /// Size of the job.
        ranks: u32,
    },
    /// `MPI_ERR_TAG`, see [`Call::check_mpi_tag`](crate::Call::check_mpi_tag).
    #[error("tag {tag} is greater than 2147483647")]
    TagTooGreat {
        /// The tag that was given.
        tag: u64,
    },
    /// `MPI_ERR_REQUEST`.
    #[error("{0} is not open")]
    NoSuchRequest(Handle),
    /// `MPI_ERR_REQUEST`.
    #[error("{0} is not a receive: only receives can be cancelled")]
    NotAReceive(Handle),
    /// `MPI_ERR_REQUEST`.
    #[error("{0} is not a claimed message, or was received or discarded")]
    NotClaimed(Handle),
    /// `MPI_ERR_COMM`.
    #[error("communicator {} is not defined here", .0.index())]
    NoSuchCommunicator(Communicator),
    /// `MPI_ERR_COMM`.
    #[error("communicator {} is defined already", .0.index())]
    AlreadyDefined(Communicator),
    /// `MPI_ERR_COMM`.
    #[error("communicator {} is in use", .0.index())]
    InUse(Communicator),
    /// `MPI_ERR_GROUP`.
    #[error("{0} is not a member of the communicator that it defines")]
    NotAMember(RankId),
    /// `MPI_ERR_GROUP`.
    #[error("{0} is a member twice")]
    MemberTwice(RankId),
    /// `MPI_ERR_ROOT` or `MPI_ERR_COUNT`.
    #[error("the collective contradicts itself: {0}")]
    Collective(#[from] ShapeError),
    /// `MPI_ERR_WIN`.
    #[error("window {} does not exist here", .0.0)]
    NoSuchWindow(WindowIndex),
    /// `MPI_ERR_RMA_SYNC`, `MPI_ERR_GROUP` or `MPI_ERR_RANK`.
    #[error(transparent)]
    Window(#[from] EpochUsageError),
}

/// A peer's mistake: its packet is impossible, and was not acted upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{peer} sent an impossible packet: {wrong}")]
pub struct ProtocolError {
    /// The sender.
    pub peer: RankId,
    /// What is wrong with it.
    pub wrong: PacketError,
}

/// What is wrong with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacketError {
    /// There is no such rank in the job, or no such communicator.
    #[error("no such peer")]
    Peer,
    /// Nothing is announced, or cancelled, among the library's messages.
    #[error("it does not belong into this communicator")]
    Context,
    /// It names a request that does not exist or waits for something else.
    #[error("{0} does not wait for it")]
    Request(Handle),
    /// It was written into a receive that is not the first to match its message.
    #[error("it was written into {0}, which is not the first receive that matches")]
    NotFirstMatch(Handle),
    /// It writes or reads more than there is room for.
    #[error("its length does not fit {0}")]
    Length(Handle),
    /// It contradicts the history of its flow.
    #[error(transparent)]
    History(#[from] Violation),
}
