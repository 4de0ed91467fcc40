//! The loads between two ranks: packets, the parts of writes and reads, and what windows send each other.

use carrousel_rank::epoch::{self, GrantWord, OperationId, TransferKind};
use carrousel_rank::{Context, Direction, Handle, Packet, WindowIndex};
use carrousel_transport::Operation;

/// What has asked for a write or a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// A message's request.
    Message(Handle),
    /// An operation on a window.
    Window(WindowIndex, OperationId),
}

/// What an operation brings that the target's processor carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accumulation {
    pub(crate) kind: TransferKind,
    pub(crate) len: u64,
    /// It is in a staging buffer of the target.
    pub(crate) is_staged: bool,
}

/// A load.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    /// A packet, with this many bytes of data behind it.
    Packet { context: Context, packet: Packet, data: u64 },
    /// The data of a write.
    Write { owner: Owner, len: u64 },
    /// The acknowledgement of a write, card to card.
    Written { owner: Owner },
    /// The request of a read, with the packet that the reader's card sends back when it has the data. That of an atomic is
    /// one of 8 bytes: what is before a read is before it, and what is before an atomic is before a read.
    ReadRequest { owner: Owner, len: u64, notice: Option<(Context, Packet)> },
    /// The data of a read.
    ReadData { owner: Owner, len: u64, notice: Option<(Context, Packet)> },
    /// A packet of a window.
    OfWindow { window: WindowIndex, packet: epoch::Packet },
    /// A grant word, which the card writes into the origin's memory.
    Grant { window: WindowIndex, word: GrantWord, value: u64 },
    /// The operand of an operation that the target's processor carries out: one executor of all that is atomic. A staged one
    /// is written into a buffer there, with its notice behind it.
    Apply { window: WindowIndex, operation: OperationId, accumulation: Accumulation },
    /// Its result, or that it is done.
    Applied { window: WindowIndex, operation: OperationId, accumulation: Accumulation },
}

impl Load {
    pub(crate) fn operation(&self) -> Operation {
        match self {
            Self::Packet { packet, .. } => Operation::Send(packet.direction()),
            Self::Write { .. } | Self::Written { .. } | Self::Grant { .. } => Operation::Write,
            Self::ReadRequest { .. } | Self::ReadData { .. } => Operation::Read,
            Self::OfWindow { .. } | Self::Apply { .. } | Self::Applied { .. } => {
                Operation::Send(Direction::ToReceiver)
            }
        }
    }

    /// Its name for people.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Packet { packet, .. } => packet.name(),
            Self::Write { owner: Owner::Message(_), .. } => "WRITE",
            Self::Write { owner: Owner::Window(..), .. } => "PUT",
            Self::Written { .. } => "write acknowledgement",
            Self::ReadRequest { .. } => "read request",
            Self::ReadData { owner: Owner::Message(_), .. } => "READ",
            Self::ReadData { owner: Owner::Window(..), .. } => "GET",
            Self::OfWindow { packet, .. } => packet.name(),
            Self::Grant { .. } => "GRANT",
            Self::Apply { accumulation, .. } => match accumulation.kind {
                TransferKind::FetchAndOp => "FETCH_OP",
                TransferKind::CompareAndSwap => "CAS",
                _ => "ACC",
            },
            Self::Applied { .. } => "RESULT",
        }
    }

    /// The bytes of messages, or of windows, in it.
    pub(crate) fn data(&self) -> u64 {
        match self {
            Self::Packet { data, .. } => *data,
            Self::Write { len, .. } | Self::ReadData { len, .. } => *len,
            Self::Apply { accumulation, .. } => accumulation.len,
            Self::Applied { accumulation, .. } => {
                if accumulation.kind.reads() {
                    accumulation.len
                } else {
                    0
                }
            }
            Self::Written { .. } | Self::ReadRequest { .. } | Self::OfWindow { .. } | Self::Grant { .. } => 0,
        }
    }

    /// Whether something comes back from the target that a fence behind it waits for.
    pub(crate) fn fetches(&self) -> bool {
        match self {
            Self::ReadRequest { .. } => true,
            Self::Apply { accumulation, .. } => accumulation.kind.reads(),
            _ => false,
        }
    }

    /// Whether it is what comes back.
    pub(crate) fn brings_back(&self) -> bool {
        match self {
            Self::ReadData { .. } => true,
            Self::Applied { accumulation, .. } => accumulation.kind.reads(),
            _ => false,
        }
    }
}
