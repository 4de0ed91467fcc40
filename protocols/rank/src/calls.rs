//! The inputs of a rank.

use crate::UsageError;
use carrousel_collective::Kind;
use carrousel_matching::{Communicator, Handle, Pattern, RankId, Source, Tag, TagSelector, mpi};
use carrousel_rendezvous::{Memory, Packet};
use carrousel_wire::Report;

/// A message that the application sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Send {
    /// To whom. A rank is a peer of itself: its messages to itself travel as all others do.
    pub to: RankId,
    /// With which tag.
    pub tag: Tag,
    /// Among which ranks.
    pub communicator: Communicator,
    /// Bytes.
    pub len: u64,
    /// Where they are; the library's until the request is complete.
    pub memory: Memory,
    /// Complete only when the receive has begun (`MPI_Issend`).
    pub synchronous: bool,
    /// 8 bytes that the receiver gets with the message, beside its own (libfabric's `FI_REMOTE_CQ_DATA`), if there are any.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub data: Option<u64>,
}

/// A receive that the application posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Receive {
    /// From whom.
    pub from: Source,
    /// With which tag.
    pub tag: TagSelector,
    /// Among which ranks.
    pub communicator: Communicator,
    /// Bytes that fit.
    pub len: u64,
    /// Where they go; the library's until the request is complete.
    pub memory: Memory,
}

impl Receive {
    /// The messages that it accepts.
    #[inline]
    pub(crate) fn pattern(&self) -> Pattern {
        Pattern { source: self.from, tag: self.tag, context: self.communicator.messages() }
    }
}

/// A receive of a message that was claimed ([`Rank::claim`](crate::Rank::claim)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct ReceiveClaimed {
    /// The request that has claimed it, which is the receive's from now on.
    pub message: Handle,
    /// Bytes that fit.
    pub len: u64,
    /// Where they go; the library's until the request is complete.
    pub memory: Memory,
}

/// A collective operation of all members of a communicator, which call the same ones in the same order and
/// agree on kind, root, `len` and `element`.
///
/// How many bytes source and target have depends on kind and `comm_rank`
/// ([`carrousel_collective::Schedule::source_and_target_len`]); they do not overlap. All memory is the library's
/// until the request is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Collective {
    /// Which operation.
    pub kind: Kind,
    /// Among which ranks.
    pub communicator: Communicator,
    /// The root's `comm_rank` among the members; no matter where the operation has none.
    pub root: u32,
    /// Bytes of one element of a reduction, of which none is divided; no matter for other operations.
    pub element: u32,
    /// Bytes of one contribution; of an all-to-all, from each member to each.
    pub len: u64,
    /// What this rank contributes.
    pub source: Memory,
    /// Where its result goes.
    pub target: Memory,
    /// Room for what passes through: [`crate::Rank::schedule`] says how much.
    pub scratch: Memory,
}

impl Collective {
    /// A barrier, which needs no memory.
    pub const fn barrier(communicator: Communicator) -> Self {
        let nowhere = Memory { address: 0, key: 0 };
        let (source, target, scratch) = (nowhere, nowhere, nowhere);
        Self { kind: Kind::Barrier, communicator, root: 0, element: 1, len: 0, source, target, scratch }
    }
}

/// What the application asks for. Each call opens a request, but those that name one; none waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum Call {
    /// Send a message.
    Send(Send),
    /// Post a receive.
    Receive(Receive),
    /// Enter a collective.
    Collective(Collective),
    /// Receive a message that was claimed.
    ReceiveClaimed(ReceiveClaimed),
    /// Discard a message that was claimed: the request completes with its envelope and without its bytes.
    Discard(Handle),
    /// Cancel a receive, if it has no message yet; the request still completes and says which.
    Cancel(Handle),
}

impl Call {
    /// Whether MPI has the call's tag: for drivers that take tags from an application of MPI's, as a rank takes any.
    ///
    /// # Errors
    /// When MPI has no such tag.
    #[inline(always)]
    pub const fn check_mpi_tag(&self) -> Result<(), UsageError> {
        match self {
            Self::Send(Send { tag, .. }) => check_mpi_tag(*tag),
            Self::Receive(Receive { tag, .. }) => check_mpi_tag(tag.tag()),
            Self::Collective(_) | Self::ReceiveClaimed(_) | Self::Discard(_) | Self::Cancel(_) => Ok(()),
        }
    }
}

/// Whether MPI has this tag: the one that a call names, or that of a selector.
///
/// # Errors
/// When it has not.
#[inline(always)]
pub const fn check_mpi_tag(tag: Tag) -> Result<(), UsageError> {
    if mpi::is_tag(tag) { Ok(()) } else { Err(UsageError::TagTooGreat { tag: tag.0 }) }
}

/// What the driver reports: a packet, a completion, a loss, or the handle of a receive
/// that it announces, if that [may be announced](crate::Rank::may_announce). The data of a [`Packet::Eager`] is at hand
/// until the outputs are performed.
pub type Event = Report<Packet, Handle>;
