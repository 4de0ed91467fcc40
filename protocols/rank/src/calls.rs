//! The inputs of a rank.

use carrousel_matching::{Communicator, Context, Handle, RankId, Source, Tag, TagSelector};
use carrousel_rendezvous::{Memory, Packet};

/// A message that the application sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
}

/// A receive that the application posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// What the application asks for. Each call but [`Call::Cancel`] opens a request; none waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// Send a message.
    Send(Send),
    /// Post a receive.
    Receive(Receive),
    /// Enter a barrier of all ranks.
    Barrier,
    /// Cancel a receive, if it has no message yet; the request still completes and says which.
    Cancel(Handle),
}

/// What the driver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A packet arrived. For [`Packet::Eager`] its data is at hand until the outputs are performed.
    Packet {
        /// Who sent it.
        from: RankId,
        /// In which communicator.
        context: Context,
        /// What.
        packet: Packet,
    },
    /// The [`crate::Work::Write`] of this request is complete: its memory may be reused.
    Written(Handle),
    /// The [`crate::Work::Read`] of this request is complete: the data is there.
    Read(Handle),
    /// Announce this receive, if it may be, see [`crate::Rank::may_announce`].
    Announce(Handle),
    /// The connection to a peer is lost; nothing that it owes will come.
    Lost(RankId),
}
