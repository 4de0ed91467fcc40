//! The loads between two ranks: packets, and the parts of writes and reads.

use carrousel_rank::{Context, Handle, Packet};
use carrousel_transport::Operation;

/// A load.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    /// A packet, with this many bytes of data behind it.
    Packet { context: Context, packet: Packet, data: u64 },
    /// The data of a write.
    Write { request: Handle, len: u64 },
    /// The acknowledgement of a write, card to card.
    Written { request: Handle },
    /// The request of a read, with the packet that the reader's card sends back when it has the data. That of an atomic is
    /// one of 8 bytes: what is before a read is before it, and what is before an atomic is before a read.
    ReadRequest { request: Handle, len: u64, notice: Option<(Context, Packet)> },
    /// The data of a read.
    ReadData { request: Handle, len: u64, notice: Option<(Context, Packet)> },
}

impl Load {
    pub(crate) fn operation(&self) -> Operation {
        match self {
            Self::Packet { packet, .. } => Operation::Send(packet.direction()),
            Self::Write { .. } | Self::Written { .. } => Operation::Write,
            Self::ReadRequest { .. } | Self::ReadData { .. } => Operation::Read,
        }
    }

    /// Its name for people.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Packet { packet, .. } => packet.name(),
            Self::Write { .. } => "WRITE",
            Self::Written { .. } => "write acknowledgement",
            Self::ReadRequest { .. } => "read request",
            Self::ReadData { .. } => "READ",
        }
    }

    /// The bytes of messages in it.
    pub(crate) fn data(&self) -> u64 {
        match self {
            Self::Packet { data, .. } => *data,
            Self::Write { len, .. } | Self::ReadData { len, .. } => *len,
            Self::Written { .. } | Self::ReadRequest { .. } => 0,
        }
    }
}
