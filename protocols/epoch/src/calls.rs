//! What a window is told, and what it says: calls, events, outputs.

use crate::blocks::Blocks;
use crate::kinds::EpochKind;
use crate::names::{FlushPoint, OperationId, RequestId};
use alloc::sync::Arc;
use carrousel_lock::Mode;
use carrousel_wire::RankId;

/// A call of the program.
///
/// A call that closes an epoch never waits: it returns a request, and a blocking close is the same call, after which the
/// driver waits for that request (nonblocking-rma-epochs VII-C). Calls that open an epoch return nothing, since their
/// request would be complete at birth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call<'a> {
    /// Opens an exposure epoch for these origins; no rank is named twice.
    Post(&'a [RankId]),
    /// Closes the exposure epoch.
    Wait,
    /// Closes the exposure epoch if all of its origins are done.
    Test,
    /// Opens an access epoch to these targets; no rank is named twice.
    Start(&'a [RankId]),
    /// Closes the access epoch.
    Complete,
    /// Opens a lock epoch.
    Lock {
        /// The rank whose memory is locked.
        target: RankId,
        /// How.
        mode: Mode,
    },
    /// Closes the lock epoch of this target.
    Unlock(RankId),
    /// Opens a lock_all epoch.
    LockAll,
    /// Closes the lock_all epoch.
    UnlockAll,
    /// Closes the fence epoch that is open, if one is, and opens the next.
    Fence,
    /// Accesses the memory of a target.
    Transfer {
        /// What.
        transfer: Transfer,
        /// Whether the operation has a request of its own.
        with_request: bool,
    },
    /// Completes the operations that were called so far, without closing the epoch.
    Flush(Flush),
    /// As [`Call::Flush`], with a request.
    FlushWithRequest(Flush),
}

impl Call<'_> {
    /// Whether it opens an epoch and closes none: whatever request it is given is complete at birth.
    pub const fn only_opens(&self) -> bool {
        matches!(self, Self::Post(_) | Self::Start(_) | Self::Lock { .. } | Self::LockAll)
    }
}

/// A call that keeps its own group, for drivers that make it later.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnedCall {
    /// With an empty group.
    call: Call<'static>,
    group: Arc<[RankId]>,
}

impl OwnedCall {
    /// The same call.
    pub fn call(&self) -> Call<'_> {
        match self.call {
            Call::Start(_) => Call::Start(&self.group),
            Call::Post(_) => Call::Post(&self.group),
            call => call,
        }
    }

    /// The same, with another name for the local buffers if it is an operation.
    pub fn with_local(mut self, local: u64) -> Self {
        if let Call::Transfer { transfer, .. } = &mut self.call {
            transfer.local = local;
        }
        self
    }
}

impl From<Call<'_>> for OwnedCall {
    fn from(call: Call<'_>) -> Self {
        let none: &[RankId] = &[];
        let (call, group) = match call {
            Call::Post(group) => (Call::Post(&[]), group),
            Call::Start(group) => (Call::Start(&[]), group),
            Call::Wait => (Call::Wait, none),
            Call::Test => (Call::Test, none),
            Call::Complete => (Call::Complete, none),
            Call::Lock { target, mode } => (Call::Lock { target, mode }, none),
            Call::Unlock(target) => (Call::Unlock(target), none),
            Call::LockAll => (Call::LockAll, none),
            Call::UnlockAll => (Call::UnlockAll, none),
            Call::Fence => (Call::Fence, none),
            Call::Transfer { transfer, with_request } => (Call::Transfer { transfer, with_request }, none),
            Call::Flush(flush) => (Call::Flush(flush), none),
            Call::FlushWithRequest(flush) => (Call::FlushWithRequest(flush), none),
        };
        Self { call, group: group.into() }
    }
}

/// The operations that a flush completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flush {
    /// Those to this target; to all targets if none.
    pub target: Option<RankId>,
    /// Only at this rank: the local buffers can be used again.
    pub is_local: bool,
}

impl From<Flush> for FlushPoint {
    fn from(Flush { target, is_local }: Flush) -> Self {
        Self { target, is_local }
    }
}

/// What a call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Returned {
    /// Nothing to wait for.
    Nothing,
    /// [`Output::Complete`] names this request when the epoch, the operation or the flush is complete; perhaps in the
    /// same call.
    Request(RequestId),
    /// A blocking flush waits until [`Window::is_flushed`](crate::Window::is_flushed).
    Flush(FlushPoint),
}

impl Returned {
    /// The request, if there is one.
    pub const fn request(self) -> Option<RequestId> {
        match self {
            Self::Request(request) => Some(request),
            Self::Nothing | Self::Flush(_) => None,
        }
    }
}

/// What an operation does to the memory of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransferKind {
    /// Writes.
    Put,
    /// Reads.
    Get,
    /// Combines local data with the target's.
    Accumulate,
    /// The same, and reads what was there.
    GetAccumulate,
    /// The same for one element.
    FetchAndOp,
    /// Writes one element if it equals another, and reads what was there.
    CompareAndSwap,
}

impl TransferKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Put, Self::Get, Self::Accumulate, Self::GetAccumulate, Self::FetchAndOp, Self::CompareAndSwap];

    /// Its name for people, which is that of its statement in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Get => "get",
            Self::Accumulate => "acc",
            Self::GetAccumulate => "get_acc",
            Self::FetchAndOp => "fetch_op",
            Self::CompareAndSwap => "cas",
        }
    }

    /// Whether data comes back from the target.
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Put | Self::Accumulate)
    }

    /// Whether it is one of the accumulates, which are atomic, and which MPI orders (MPI-4.1 12.7.2).
    pub const fn accumulates(self) -> bool {
        !matches!(self, Self::Put | Self::Get)
    }
}

/// One operation. The window passes it on as it is, and looks only at target and kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// The rank whose memory is accessed.
    pub target: RankId,
    /// How.
    pub kind: TransferKind,
    /// Where in the target's part of the window.
    pub place: Blocks,
    /// The driver's name for the local buffers and operands.
    pub local: u64,
}

/// A word of an origin's memory that a target writes one-sidedly, by origin and target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GrantWord {
    /// How many exposures the target has activated for the origin.
    Exposures,
    /// How many locks the target has granted to the origin.
    Locks,
}

/// A packet from one rank of a window to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packet {
    /// The access with this id is over: it was closed, and its last transfer is before this packet.
    Done {
        /// Its id, which is also that of the exposure; from 1.
        access: u64,
    },
    /// A lock is requested.
    LockRequest {
        /// How.
        mode: Mode,
        /// The id of the access, counted among those with locks; from 1.
        access: u64,
    },
    /// A lock is released: the access with this id is over.
    LockRelease {
        /// The id of its request.
        access: u64,
    },
    /// A staging buffer is asked for, for the operand of an accumulate whose access is granted.
    StagingRequest,
    /// A staging buffer is there. Where it is, the driver says beside this.
    StagingGrant,
}

impl Packet {
    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done { .. } => "DONE",
            Self::LockRequest { .. } => "LOCK",
            Self::LockRelease { .. } => "UNLOCK",
            Self::StagingRequest => "STAGE",
            Self::StagingGrant => "BUFFER",
        }
    }
}

/// What a packet stands behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// Nothing: it may overtake data. Only the checker uses it.
    Free,
    /// All data and packets that were posted to this peer before: the target has the data when it takes the packet.
    /// What reads and atomics bring back may come later.
    Lane,
    /// The same, and what reads and atomics bring back has arrived before the packet leaves.
    Fenced,
}

/// Something that has happened outside the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A packet has come. Those of one peer come in the order in which they were posted.
    Packet {
        /// The sender.
        from: RankId,
        /// The packet.
        packet: Packet,
    },
    /// A peer has written a grant word. Values may be skipped: only the newest counts.
    Granted {
        /// The peer.
        from: RankId,
        /// Which word.
        word: GrantWord,
        /// Its value.
        value: u64,
    },
    /// The local buffers of an operation can be used again, and it has not been reported complete.
    LocallyComplete(OperationId),
    /// An operation is complete at its target, and so at this rank.
    Complete(OperationId),
    /// This rank's processor has applied an operand that an origin has put into a staging buffer. Operations and packets
    /// of one peer are taken in the order in which they were posted, so this comes before the packets behind it.
    Applied {
        /// The origin.
        origin: RankId,
    },
    /// A peer has died. Nothing of it comes any more, and operations to it no longer touch any memory here: the driver
    /// reports no completion of theirs from now on.
    Died(RankId),
}

/// Work for the driver, which carries it out in this order, before the next input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// Begin a transfer. Its completion is an [`Event`].
    Issue {
        /// What to name in the event.
        operation: OperationId,
        /// The number of its epoch, from 0, in the order in which epochs were opened.
        epoch: u64,
        /// What.
        transfer: Transfer,
        /// The operand goes into the staging buffer that its target has given for it, and is applied from there.
        is_staged: bool,
    },
    /// Post a packet. The peer may be this rank.
    Post {
        /// The receiver.
        to: RankId,
        /// The packet.
        packet: Packet,
        /// What it stands behind.
        order: Order,
    },
    /// Store a grant word in the memory of an origin, which may be this rank.
    Store {
        /// The origin.
        to: RankId,
        /// Which of its words for this rank.
        word: GrantWord,
        /// The new value.
        value: u64,
    },
    /// A request is complete. Each request is named once.
    Complete {
        /// The request.
        request: RequestId,
        /// Whether what it stands for has succeeded.
        result: Result<(), Failure>,
    },
    /// Something that the program has to be told.
    Report(Report),
}

/// Why an epoch, an operation or a flush has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Failure {
    /// A peer of it has died.
    #[error("{0} has died")]
    PeerDied(RankId),
}

/// Something that only the host of the memory can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Report {
    /// `epoch-usage`: memory is to be locked while its exposure epoch is open. The request waits for the end of that epoch.
    #[error(
        "{origin} requests a lock ({mode}) of memory that an open {exposure} exposes; close the epoch first"
    )]
    LockedWhileExposed {
        /// The rank that requests the lock.
        origin: RankId,
        /// How.
        mode: Mode,
        /// The epoch in the way.
        exposure: EpochKind,
    },
    /// A rank has died that holds the lock of this memory. It stays held.
    #[error("{origin} has died while it held the lock ({mode}) of this memory, which may be half written")]
    HolderDied {
        /// The holder.
        origin: RankId,
        /// How it held the lock.
        mode: Mode,
    },
}
