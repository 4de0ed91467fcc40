//! Errors, sorted by the one to blame: the program, or a peer and the driver.

use crate::calls::GrantWord;
use crate::kinds::EpochKind;
use crate::names::OperationId;
use crate::staging::StagingError;
use carrousel_lock::LockError;
use carrousel_wire::RankId;
use core::fmt;

/// An epoch as errors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EpochName {
    /// Its kind.
    pub kind: EpochKind,
    /// How many epochs of the window were opened before it.
    pub number: u64,
    /// Its target, if it has exactly one.
    pub target: Option<RankId>,
}

impl fmt::Display for EpochName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.number)?;
        self.target.map_or(Ok(()), |target| write!(f, " (of {target})"))
    }
}

/// The program's mistake (`MPI_ERR_RMA_SYNC` unless stated otherwise); the call changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum EpochUsageError {
    /// `MPI_ERR_RANK`.
    #[error("{rank} does not exist in a window of {ranks} ranks")]
    NoSuchRank {
        /// The rank that was named.
        rank: RankId,
        /// Ranks of the window.
        ranks: u32,
    },
    /// `MPI_ERR_GROUP`.
    #[error("{0} is in the group twice")]
    RankTwice(RankId),
    /// An open epoch does not admit what is to be opened, or accessed.
    #[error("epoch-usage: no {opened} can be opened while the {open} is open; close that one first")]
    InTheWay {
        /// What was to be opened.
        opened: EpochKind,
        /// The epoch in the way.
        open: EpochName,
    },
    /// A call closes or tests an epoch of a kind of which none is open.
    #[error("epoch-usage: no {0} is open that this call could close")]
    NoneToClose(EpochKind),
    /// An operation without an epoch.
    #[error("epoch-usage: no epoch is open in which {target} could be accessed")]
    NoAccess {
        /// The target of the operation.
        target: RankId,
    },
    /// An operation whose target is not one of the open epoch.
    #[error("epoch-usage: {target} is not a target of the {open}, which is open")]
    NotATarget {
        /// The target of the operation.
        target: RankId,
        /// The epoch in the way.
        open: EpochName,
    },
    /// An operation in a fence epoch inside which another epoch was opened.
    #[error(
        "epoch-usage: the {open} takes no operations, as other epochs were opened inside it; call fence first"
    )]
    Enclosing {
        /// The fence epoch.
        open: EpochName,
    },
    /// A flush without an epoch of a lock.
    #[error("epoch-usage: a flush needs an open lock or lock_all epoch{}", OfTarget(*.target))]
    NoneToFlush {
        /// The target, if one was named.
        target: Option<RankId>,
    },
}

/// Words for the target of a flush.
struct OfTarget(Option<RankId>);

impl fmt::Display for OfTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |target| write!(f, " of {target}"))
    }
}

/// An event that no correct peer or driver causes; it changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum EpochEventError {
    /// A rank that does not exist.
    #[error("{peer} does not exist in a window of {ranks} ranks")]
    NoSuchPeer {
        /// The rank that was named.
        peer: RankId,
        /// Ranks of the window.
        ranks: u32,
    },
    /// Done for an exposure that is not active, or that is done.
    #[error("{peer} is done with exposure {access}, which does not wait for it; {exposures} were activated")]
    UnexpectedDone {
        /// The sender.
        peer: RankId,
        /// The id in the packet.
        access: u64,
        /// Exposures that were activated for this peer.
        exposures: u64,
    },
    /// A lock request or release out of its turn.
    #[error("{peer} names lock {access}, and lock {due} is due")]
    LockOutOfTurn {
        /// The sender.
        peer: RankId,
        /// The id in the packet.
        access: u64,
        /// The id that it should have.
        due: u64,
    },
    /// A lock request or release that the lock refuses.
    #[error("a packet about the lock cannot be: {0}")]
    Lock(#[from] LockError),
    /// A packet, or a report of the driver, about staging buffers that they do not admit.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// A grant word is less than it was.
    #[error(
        "{peer} has written {found} into a grant word ({word:?}) that was {had}: grants are never taken back"
    )]
    GrantsWentBack {
        /// The peer.
        peer: RankId,
        /// Which word.
        word: GrantWord,
        /// The value that was known.
        had: u64,
        /// The new value.
        found: u64,
    },
    /// A lock is granted that was not requested.
    #[error("{peer} has granted lock {found}, and {requested} were requested")]
    NotRequested {
        /// The peer.
        peer: RankId,
        /// The new value of the grant word.
        found: u64,
        /// Locks that were requested.
        requested: u64,
    },
    /// The driver reports an operation that is not issued, or has completed.
    #[error("{0} is not under way")]
    NoSuchOperation(OperationId),
}
