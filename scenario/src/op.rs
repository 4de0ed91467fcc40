//! The operation of one statement.

use std::sync::Arc;

use crate::assertions::Assertions;
use crate::ast::Tree;
use crate::combine::Combine;
use crate::ids::{BufferId, CommunicatorId, RequestId, Source, TagSelector, WindowId};
use crate::value::Within;

/// The operation of one statement. Every expression is evaluated for the rank that runs it, except in
/// [`Op::Deferred`].
///
/// Ranks are numbers in the communicator of the statement ([`Step::on`](crate::Step::on)), below its size. Tags are at
/// most 2^31-1, sizes and displacements in bytes, and accesses to windows are inside of them. `blocking` is false for the i-form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A statement with `source(NAME)` or `tag(NAME)`: its operation is known when the rank gets to it.
    Deferred(Arc<Deferred>),
    /// `compute TIME`: the CPU is busy, no library call.
    Compute {
        /// Nanoseconds.
        ns: u64,
    },
    /// `send`, `isend`, `ssend`, `issend`.
    Send {
        /// The receiver; may be the sender itself.
        to: u32,
        /// The tag.
        tag: u32,
        /// Bytes.
        size: u64,
        /// The named buffer; `None` is a buffer of this statement's own.
        buf: Option<BufferId>,
        /// `ssend`, `issend`: complete only once the receive has begun.
        synchronous: bool,
        /// Whether the call waits for its completion.
        blocking: bool,
    },
    /// `recv`, `irecv`.
    Recv {
        /// The senders whose messages match.
        from: Source,
        /// Which tags match.
        tag: TagSelector,
        /// Bytes of the buffer.
        size: u64,
        /// The named buffer; `None` is a buffer of this statement's own.
        buf: Option<BufferId>,
        /// Whether the call waits for its completion.
        blocking: bool,
    },
    /// `sendrecv`: a send and a receive at once, blocking.
    SendRecv {
        /// The receiver of the send.
        to: u32,
        /// The tag of the send.
        send_tag: u32,
        /// Bytes sent.
        send_size: u64,
        /// The senders whose messages the receive matches.
        from: Source,
        /// Which tags the receive matches.
        recv_tag: TagSelector,
        /// Bytes of the receive buffer.
        recv_size: u64,
    },
    /// `probe`: waits until a matching message could be received.
    Probe {
        /// The senders whose messages match.
        from: Source,
        /// Which tags match.
        tag: TagSelector,
    },
    /// `wait NAME...`: shared, because every round of a `repeat` has the same list.
    Wait(Arc<[RequestId]>),
    /// `wait all`: every open request of the rank, unnamed ones too.
    WaitAll,
    /// `test NAME`: completes the request if it can be completed now.
    Test(RequestId),
    /// `barrier`, `ibarrier`.
    Barrier {
        /// Whether the call waits for its completion.
        blocking: bool,
    },
    /// `bcast`.
    Bcast {
        /// The rank that has the data.
        root: u32,
        /// Bytes.
        size: u64,
    },
    /// `reduce`.
    Reduce {
        /// The rank that gets the result.
        root: u32,
        /// Bytes of each contribution.
        size: u64,
    },
    /// `allreduce`.
    AllReduce {
        /// Bytes of each contribution.
        size: u64,
    },
    /// `gather`.
    Gather {
        /// The rank that gets the contributions.
        root: u32,
        /// Bytes of each contribution.
        size: u64,
    },
    /// `allgather`.
    AllGather {
        /// Bytes of each contribution.
        size: u64,
    },
    /// `alltoall`.
    AllToAll {
        /// Bytes from each rank to each other one.
        size: u64,
    },
    /// `comm NAME = split color K [key K]`: a collective, in which the ranks get their communicators.
    Split {
        /// The name of the declaration.
        name: Arc<str>,
        /// The color; `None` for a rank that gets no communicator.
        color: Option<u32>,
        /// The order among the ranks of one color; of equal ones, that of the parent.
        key: i32,
        /// The communicator that this rank gets.
        made: Option<CommunicatorId>,
    },
    /// `read buf B`: the program itself reads a local buffer.
    ReadBuf(BufferId),
    /// `write buf B`: the program itself writes a local buffer.
    WriteBuf(BufferId),
    /// `load`: the program reads its own window memory.
    Load {
        /// The window.
        window: WindowId,
        /// Byte displacement.
        displacement: u64,
        /// Bytes.
        size: u64,
    },
    /// `store`: the program writes its own window memory.
    Store {
        /// The window.
        window: WindowId,
        /// Byte displacement.
        displacement: u64,
        /// Bytes.
        size: u64,
    },
    /// `put`.
    Put {
        /// The window.
        window: WindowId,
        /// The rank whose memory is written.
        target: u32,
        /// Bytes of one block.
        size: u64,
        /// Byte displacement at the target.
        displacement: u64,
        /// Blocks.
        count: u32,
        /// Bytes from the begin of one block to the begin of the next, at least `size`.
        stride: u64,
        /// The named origin buffer; `None` is a buffer of this statement's own.
        buf: Option<BufferId>,
    },
    /// `get`.
    Get {
        /// The window.
        window: WindowId,
        /// The rank whose memory is read.
        target: u32,
        /// Bytes of one block.
        size: u64,
        /// Byte displacement at the target.
        displacement: u64,
        /// Blocks.
        count: u32,
        /// Bytes from the begin of one block to the begin of the next, at least `size`.
        stride: u64,
        /// The named origin buffer; `None` is a buffer of this statement's own.
        buf: Option<BufferId>,
    },
    /// `acc`, `get_acc`: on 8-byte elements; size and displacement are multiples of 8.
    Accumulate {
        /// The window.
        window: WindowId,
        /// The rank whose memory is updated.
        target: u32,
        /// Bytes of one block, a multiple of 8.
        size: u64,
        /// Byte displacement at the target, a multiple of 8.
        displacement: u64,
        /// Blocks.
        count: u32,
        /// Bytes from the begin of one block to the begin of the next, at least `size`.
        stride: u64,
        /// How its elements are combined with the target's.
        combine: Combine,
        /// `get_acc`: what was there comes back.
        fetches: bool,
        /// The named origin buffer; `None` is a buffer of this statement's own.
        buf: Option<BufferId>,
    },
    /// `fetch_op`: on 8 bytes.
    FetchOp {
        /// The window.
        window: WindowId,
        /// The rank whose memory is updated.
        target: u32,
        /// Byte displacement at the target, a multiple of 8.
        displacement: u64,
        /// How the operand is combined with the target's element.
        combine: Combine,
    },
    /// `cas`: on 8 bytes.
    CompareSwap {
        /// The window.
        window: WindowId,
        /// The rank whose memory is updated.
        target: u32,
        /// Byte displacement at the target, a multiple of 8.
        displacement: u64,
    },
    /// `fence`, `ifence`.
    Fence {
        /// The window.
        window: WindowId,
        /// What the program promises.
        assertions: Assertions,
        /// Whether the call waits for its completion.
        blocking: bool,
    },
    /// `start`, `istart`: opens an access epoch.
    Start {
        /// The window.
        window: WindowId,
        /// The targets: a set, ascending, possibly empty.
        group: Arc<[u32]>,
        /// What the program promises.
        assertions: Assertions,
        /// Whether it is `start`.
        blocking: bool,
    },
    /// `complete`, `icomplete`: closes the access epoch.
    Complete {
        /// The window.
        window: WindowId,
        /// Whether the call waits for its completion.
        blocking: bool,
    },
    /// `post`, `ipost`: opens an exposure epoch.
    Post {
        /// The window.
        window: WindowId,
        /// The origins: a set, ascending, possibly empty.
        group: Arc<[u32]>,
        /// What the program promises.
        assertions: Assertions,
        /// Whether it is `post`.
        blocking: bool,
    },
    /// `wait_epoch`, `iwait_epoch`: closes the exposure epoch.
    WaitEpoch {
        /// The window.
        window: WindowId,
        /// Whether the call waits for its completion.
        blocking: bool,
    },
    /// `lock`, `ilock`.
    Lock {
        /// The window.
        window: WindowId,
        /// The rank whose memory is locked.
        target: u32,
        /// `exclusive`, not `shared`.
        exclusive: bool,
        /// What the program promises.
        assertions: Assertions,
        /// Whether it is `lock`.
        blocking: bool,
    },
    /// `unlock`, `iunlock`.
    Unlock {
        /// The window.
        window: WindowId,
        /// The rank whose memory is unlocked.
        target: u32,
        /// Whether the call waits for its completion.
        blocking: bool,
    },
    /// `lock_all`, `ilock_all`: shared, at every rank.
    LockAll {
        /// The window.
        window: WindowId,
        /// What the program promises.
        assertions: Assertions,
        /// Whether it is `lock_all`.
        blocking: bool,
    },
    /// `unlock_all`, `iunlock_all`.
    UnlockAll {
        /// The window.
        window: WindowId,
        /// Whether the call waits for its completion.
        blocking: bool,
    },
    /// The eight forms of `flush`.
    Flush {
        /// The window.
        window: WindowId,
        /// Operations to this rank; `None`: to all (`flush_all`, `flush_local_all`).
        target: Option<u32>,
        /// Local completion is enough.
        local: bool,
        /// Whether the call waits for its completion.
        blocking: bool,
    },
}

/// The values of a message that a receive or a probe has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Received {
    /// The rank that sent it.
    pub source: u32,
    /// Its tag.
    pub tag: u32,
}

/// A statement whose values are known when its rank gets to it; [`Deferred::resolve`] makes an [`Op`] of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deferred {
    pub(crate) outline: Op,
    pub(crate) holes: Vec<Hole>,
    pub(crate) numbers: Numbers,
    /// The names of messages in the expressions, sorted.
    pub(crate) names: Vec<(Arc<str>, RequestId)>,
}

/// The numbers that its expressions may need, and that its ranks are compared with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Numbers {
    /// This rank, if an expression uses it.
    pub(crate) me: Option<u32>,
    /// The number of all ranks.
    pub(crate) ranks: u32,
    /// The ranks that the statement may name.
    pub(crate) within: Within,
    /// The communicators in the expressions: this rank in them, and their sizes.
    pub(crate) locals: Vec<(Arc<str>, [u32; 2])>,
}

/// A value that is missing in the outline.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hole {
    /// The index in [`Verb::slots`](crate::verb::Verb::slots).
    pub(crate) slot: usize,
    pub(crate) tree: Arc<Tree>,
}

impl Op {
    /// The keyword of the statement: `isend`.
    pub fn name(&self) -> &'static str {
        const fn form(blocking: bool, call: &'static str, i_call: &'static str) -> &'static str {
            if blocking { call } else { i_call }
        }
        match *self {
            Op::Deferred(ref deferred) => deferred.outline().name(),
            Op::Compute { .. } => "compute",
            Op::Send { synchronous: false, blocking, .. } => form(blocking, "send", "isend"),
            Op::Send { synchronous: true, blocking, .. } => form(blocking, "ssend", "issend"),
            Op::Recv { blocking, .. } => form(blocking, "recv", "irecv"),
            Op::SendRecv { .. } => "sendrecv",
            Op::Probe { .. } => "probe",
            Op::Wait(_) | Op::WaitAll => "wait",
            Op::Test(_) => "test",
            Op::Barrier { blocking } => form(blocking, "barrier", "ibarrier"),
            Op::Bcast { .. } => "bcast",
            Op::Reduce { .. } => "reduce",
            Op::AllReduce { .. } => "allreduce",
            Op::Gather { .. } => "gather",
            Op::AllGather { .. } => "allgather",
            Op::AllToAll { .. } => "alltoall",
            Op::Split { .. } => "comm",
            Op::ReadBuf(_) => "read",
            Op::WriteBuf(_) => "write",
            Op::Load { .. } => "load",
            Op::Store { .. } => "store",
            Op::Put { .. } => "put",
            Op::Get { .. } => "get",
            Op::Accumulate { fetches: false, .. } => "acc",
            Op::Accumulate { fetches: true, .. } => "get_acc",
            Op::FetchOp { .. } => "fetch_op",
            Op::CompareSwap { .. } => "cas",
            Op::Fence { blocking, .. } => form(blocking, "fence", "ifence"),
            Op::Start { blocking, .. } => form(blocking, "start", "istart"),
            Op::Complete { blocking, .. } => form(blocking, "complete", "icomplete"),
            Op::Post { blocking, .. } => form(blocking, "post", "ipost"),
            Op::WaitEpoch { blocking, .. } => form(blocking, "wait_epoch", "iwait_epoch"),
            Op::Lock { blocking, .. } => form(blocking, "lock", "ilock"),
            Op::Unlock { blocking, .. } => form(blocking, "unlock", "iunlock"),
            Op::LockAll { blocking, .. } => form(blocking, "lock_all", "ilock_all"),
            Op::UnlockAll { blocking, .. } => form(blocking, "unlock_all", "iunlock_all"),
            Op::Flush { target, local, blocking, .. } => match (target.is_some(), local) {
                (true, false) => form(blocking, "flush", "iflush"),
                (true, true) => form(blocking, "flush_local", "iflush_local"),
                (false, false) => form(blocking, "flush_all", "iflush_all"),
                (false, true) => form(blocking, "flush_local_all", "iflush_local_all"),
            },
        }
    }

    /// The statement as far as it is known before the program runs: [`Deferred::outline`], or the statement itself.
    pub fn outline(&self) -> &Op {
        match self {
            Op::Deferred(deferred) => deferred.outline(),
            op => op,
        }
    }

    /// Whether the statement starts a request: true for the i-forms, and for no others. Every such statement creates
    /// a request, bound to a name or not.
    pub fn starts_request(&self) -> bool {
        match *self {
            Op::Deferred(ref deferred) => deferred.outline().starts_request(),
            Op::Send { blocking, .. }
            | Op::Recv { blocking, .. }
            | Op::Barrier { blocking }
            | Op::Fence { blocking, .. }
            | Op::Start { blocking, .. }
            | Op::Complete { blocking, .. }
            | Op::Post { blocking, .. }
            | Op::WaitEpoch { blocking, .. }
            | Op::Lock { blocking, .. }
            | Op::Unlock { blocking, .. }
            | Op::LockAll { blocking, .. }
            | Op::UnlockAll { blocking, .. }
            | Op::Flush { blocking, .. } => !blocking,
            _ => false,
        }
    }

    /// What the program promises at a call that opens an epoch.
    pub fn assertions(&self) -> Assertions {
        match *self {
            Op::Fence { assertions, .. }
            | Op::Start { assertions, .. }
            | Op::Post { assertions, .. }
            | Op::Lock { assertions, .. }
            | Op::LockAll { assertions, .. } => assertions,
            _ => Assertions::default(),
        }
    }

    /// How an atomic operation combines; the sum for others, which do not.
    pub fn combine(&self) -> Combine {
        match *self {
            Op::Accumulate { combine, .. } | Op::FetchOp { combine, .. } => combine,
            _ => Combine::default(),
        }
    }
}
