//! Why a peer of the node cannot be connected.

use super::memory::MemoryShortageError;
use crate::{Layout, SegmentError};
use carrousel_transport::RankId;
use thiserror::Error;

/// Why a peer cannot be connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// It is not on this node.
    #[error("{0} is not on this node")]
    NotOnNode(RankId),
    /// Its process has ended.
    #[error("{0} has ended")]
    ProcessEnded(RankId),
    /// Its process has a number that means another one here.
    #[error(
        "{rank} is in another PID namespace (pid:[{theirs}]) than this rank (pid:[{own}]), and ranks of a node share \
         memory within one only: start them in one container, or in containers that share theirs (`--pid=host`), or \
         let all ranks talk over the network (the option `verbs=all`)"
    )]
    OtherPidNamespace {
        /// The peer.
        rank: RankId,
        /// The PID namespace of the peer.
        theirs: u64,
        /// That of this process.
        own: u64,
    },
    /// The process that it is said to be does not have its segment.
    #[error(
        "{rank} is said to be process {pid}, in which its shared memory is not found{}: ranks of a node have to be of \
         one user, in one PID namespace, and see its /proc",
        because(.why)
    )]
    SegmentNotFound {
        /// The peer.
        rank: RankId,
        /// Its process.
        pid: u32,
        /// What was found instead; none is the segment of another process.
        why: Option<SegmentError>,
    },
    /// Its segment is not made as that of this process is.
    #[error(
        "{rank} has rings of {} bytes for {} ranks, and this rank of {} bytes for {}: all ranks of a job need the same \
         options",
        .theirs.ring_bytes(), .theirs.peers(), .own.ring_bytes(), .own.peers()
    )]
    LayoutMismatch {
        /// The peer.
        rank: RankId,
        /// How its segment is made.
        theirs: Layout,
        /// How that of this process is.
        own: Layout,
    },
    /// Its segment cannot be used.
    #[error("the shared memory of {rank} cannot be used: {why}")]
    Segment {
        /// The peer.
        rank: RankId,
        /// Why not.
        why: SegmentError,
    },
    /// There is too little memory for another ring.
    #[error(transparent)]
    Memory(#[from] MemoryShortageError),
}

fn because(why: &Option<SegmentError>) -> String {
    why.as_ref().map_or_else(String::new, |why| format!(" ({why})"))
}

impl ConnectError {
    /// Whether it is for want of memory.
    pub fn is_shortage(&self) -> bool {
        match self {
            Self::Memory(_) => true,
            Self::Segment { why, .. } => why.is_shortage(),
            _ => false,
        }
    }
}
