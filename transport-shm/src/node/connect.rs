//! Errors of connecting to a peer of the node.

use super::memory::MemoryShortageError;
use crate::{Layout, PushError, SegmentError};
use carrousel_transport::RankId;
use thiserror::Error;

/// Why a peer cannot be connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The rank is not on this node.
    #[error("{0} is not on this node")]
    NotOnNode(RankId),
    /// The peer's process has ended.
    #[error("{0} has ended")]
    ProcessEnded(RankId),
    /// The peer is in another PID namespace, so its process number means another process here.
    #[error(
        "{rank} is in another PID namespace (pid:[{theirs}]) than this rank (pid:[{own}]), and ranks of a node share \
         memory within one only: start them in one container, or in containers that share theirs (`--pid=host`), or \
         let all ranks talk over the network (the option `verbs=always`)"
    )]
    OtherPidNamespace {
        /// The peer.
        rank: RankId,
        /// The PID namespace of the peer.
        theirs: u64,
        /// The PID namespace of this process.
        own: u64,
    },
    /// The system does not let this process look into that of the peer, most likely as they are in different user namespaces.
    #[error(
        "{rank} has its shared memory in process {pid}, into which this rank may not look: this rank is in a user \
         namespace of its own (user:[{own}]), and ranks of a node share memory within one only, unless the peer's was \
         made within it. Start the whole job in it (`unshare -Ur carrousel run ..`, and not `carrousel run .. unshare \
         -Ur ..`), or in one rootless container, or let all ranks talk over the network (the option `verbs=always`)"
    )]
    OtherUserNamespace {
        /// The peer.
        rank: RankId,
        /// The process at its address.
        pid: u32,
        /// The user namespace of this process.
        own: u64,
    },
    /// The process at the peer's address does not have the peer's segment.
    #[error(
        "{rank} has the address of process {pid}, in which its shared memory is not found{}: ranks of a node have to be \
         of one user, in one PID namespace, and see its /proc",
        because(.why)
    )]
    SegmentNotFound {
        /// The peer.
        rank: RankId,
        /// The process at its address.
        pid: u32,
        /// Why no segment could be opened; `None` when the segment of another process was found.
        why: Option<SegmentError>,
    },
    /// The peer's segment has another layout than that of this process.
    #[error(
        "{rank} has rings of {} bytes for {} ranks, and this rank of {} bytes for {}: all ranks of a job need the same \
         options",
        .theirs.ring_bytes(), .theirs.peers(), .own.ring_bytes(), .own.peers()
    )]
    LayoutMismatch {
        /// The peer.
        rank: RankId,
        /// The layout of its segment.
        theirs: Layout,
        /// The layout of this process's segment.
        own: Layout,
    },
    /// The peer's segment cannot be used.
    #[error("the shared memory of {rank} cannot be used: {why}")]
    Segment {
        /// The peer.
        rank: RankId,
        /// The cause.
        why: SegmentError,
    },
    /// What this process says of itself does not fit the peer's ring.
    #[error("{rank} cannot be told who connects: {why}")]
    Introduction {
        /// The peer.
        rank: RankId,
        /// The cause.
        why: PushError,
    },
    /// The node has too little memory for another ring.
    #[error(transparent)]
    Memory(#[from] MemoryShortageError),
}

fn because(why: &Option<SegmentError>) -> String {
    why.as_ref().map_or_else(String::new, |why| format!(" ({why})"))
}

impl ConnectError {
    /// Whether the cause is a lack of memory, or of descriptors.
    pub fn is_shortage(&self) -> bool {
        match self {
            Self::Memory(_) => true,
            Self::Segment { why, .. } => why.is_shortage(),
            _ => false,
        }
    }
}
