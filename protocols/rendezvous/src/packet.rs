//! What the two ends of a flow say to each other.

use carrousel_matching::{Handle, Tag, TagSelector};
use carrousel_wire::{Direction, Memory};

/// One announced receive, as both ends name it.
///
/// An RTR announces its own receive and the `ahead` ones before it; they are told apart by `index`,
/// counted from 0, the RTR's own receive being the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct RtrId {
    /// The receive that the RTR was sent for.
    pub receive: Handle,
    /// Which of the receives that the RTR announced.
    pub index: u16,
}

/// Ready to receive: the receiver announces a posted receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Rtr {
    /// The tags that the receive accepts.
    pub tag: TagSelector,
    /// How many matching messages of this flow the receiver had processed, modulo 2^32.
    pub seen: u32,
    /// How many earlier receives of the same tags are announced with it, without a buffer.
    pub ahead: u16,
    /// The receive.
    pub receive: Handle,
    /// Bytes that it can take.
    pub len: u64,
    /// Where to write them.
    pub memory: Memory,
}

/// What an RTS tells the receiver beside its message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum Hint {
    /// Nothing.
    #[default]
    None,
    /// Send no RTR for this envelope until told to resume (speculative-rendezvous 4.2.3).
    StopRtr,
    /// Send RTRs for this envelope again (speculative-rendezvous 4.2.3).
    ResumeRtr,
    /// Too few RTRs were used: stop speculating for now (speculative-rendezvous 4.2.6).
    Unused,
}

/// A packet of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum Packet {
    /// A message with its data behind it.
    Eager {
        /// Its tag.
        tag: Tag,
        /// Its 8 bytes beside its own, if it has them.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        data: Option<u64>,
        /// Bytes of the message, behind this packet.
        len: u64,
    },
    /// Ready to send: a message whose data waits at the sender.
    Rts {
        /// Its tag.
        tag: Tag,
        /// Its 8 bytes beside its own, if it has them.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        data: Option<u64>,
        /// Bytes.
        len: u64,
        /// The sender's request.
        send: Handle,
        /// Where the data waits.
        memory: Memory,
        /// What else the sender has to say.
        hint: Hint,
    },
    /// A message whose data has just been written into the receive that `rtr` announced.
    Fin {
        /// The announced receive.
        rtr: RtrId,
        /// The message's tag.
        tag: Tag,
        /// Its 8 bytes beside its own, if it has them.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        data: Option<u64>,
        /// Bytes written.
        len: u64,
    },
    /// A message whose data is being written into the receive that `rtr` announced; [`Packet::Atp`] follows (published rules).
    RtrAck {
        /// The announced receive.
        rtr: RtrId,
        /// The message's tag.
        tag: Tag,
        /// Its 8 bytes beside its own, if it has them.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        data: Option<u64>,
        /// Bytes that will be written.
        len: u64,
    },
    /// The data of a receive that has its message already is there.
    Atp {
        /// The receive.
        receive: Handle,
    },
    /// Answer to [`Packet::Cancel`]: the announcement is not, or no longer, at the sender.
    CancelAck {
        /// The announced receive that was asked about.
        rtr: RtrId,
    },
    /// A receive is announced.
    Rtr(Rtr),
    /// The data that the RTS of `send` offered has been taken.
    Ats {
        /// The sender's request.
        send: Handle,
    },
    /// The RTS of `send` found a receive that was not announced: no RTR will come for it (published rules).
    RtsAck {
        /// The sender's request.
        send: Handle,
    },
    /// Clear to send: answer to an RTS whose data is to be written, not read (the classical `rput`).
    Cts {
        /// The sender's request.
        send: Handle,
        /// The receive.
        receive: Handle,
        /// Bytes to write.
        len: u64,
        /// Where to write them.
        memory: Memory,
    },
    /// The receiver wants to cancel an announced receive.
    Cancel {
        /// The announced receive.
        rtr: RtrId,
    },
    /// The receiver has processed so many matching messages, and its receives have taken so much of the eager ones; only
    /// prunes, and makes room.
    Ack {
        /// Count, modulo 2^32.
        seen: u32,
        /// What messages cost ([`crate::cost`]) that receives have taken, modulo 2^64.
        taken: u64,
    },
}

impl Packet {
    /// The direction in which this packet travels.
    pub fn direction(&self) -> Direction {
        match self {
            Self::Eager { .. }
            | Self::Rts { .. }
            | Self::Fin { .. }
            | Self::RtrAck { .. }
            | Self::Atp { .. }
            | Self::CancelAck { .. } => Direction::ToReceiver,
            Self::Rtr(_)
            | Self::Ats { .. }
            | Self::RtsAck { .. }
            | Self::Cts { .. }
            | Self::Cancel { .. }
            | Self::Ack { .. } => Direction::ToSender,
        }
    }

    /// The memory of its sender that it offers to the peer, with its bytes and whether it is to be written to.
    pub fn offers(&self) -> Option<(Memory, u64, bool)> {
        match *self {
            Self::Rts { memory, len, .. } => Some((memory, len, false)),
            Self::Rtr(Rtr { memory, len, .. }) | Self::Cts { memory, len, .. } => Some((memory, len, true)),
            _ => None,
        }
    }

    /// The same packet, its memory under another key: that of the adapter through which the peer reaches it. To the
    /// protocols a key is a name that the other end gives back; which one it is makes no difference to them.
    #[must_use]
    pub fn with_key(mut self, new: u32) -> Self {
        match &mut self {
            Self::Rts { memory, .. } | Self::Rtr(Rtr { memory, .. }) | Self::Cts { memory, .. } => {
                memory.key = new;
            }
            _ => {}
        }
        self
    }

    /// The packet's name as people write it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Eager { .. } => "EAGER",
            Self::Rts { hint: Hint::StopRtr, .. } => "RTS (stop-RTR)",
            Self::Rts { hint: Hint::ResumeRtr, .. } => "RTS (resume-RTR)",
            Self::Rts { hint: Hint::Unused, .. } => "RTS (RTRs unused)",
            Self::Rts { hint: Hint::None, .. } => "RTS",
            Self::Fin { .. } => "FIN",
            Self::RtrAck { .. } => "RTR-ACK",
            Self::Atp { .. } => "ATP",
            Self::CancelAck { .. } => "CANCEL-ACK",
            Self::Rtr(_) => "RTR",
            Self::Ats { .. } => "ATS",
            Self::RtsAck { .. } => "RTS-ACK",
            Self::Cts { .. } => "CTS",
            Self::Cancel { .. } => "CANCEL",
            Self::Ack { .. } => "ACK",
        }
    }
}
