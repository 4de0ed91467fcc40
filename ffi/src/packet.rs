//! Packets between the ranks, as C has them, and as bytes.

use crate::border::{array, room};
use crate::error::{Fault, carrousel_error};
use crate::names::{carrousel_handle, carrousel_memory, data, numbered};
use ::carrousel_rank::wire::{self, Decoded};
use ::carrousel_rank::{Context, Direction, Hint, Packet, Rtr, RtrId, Tag, TagSelector};
use carrousel_wire::{HEAD_MAX, Header};
use core::mem::MaybeUninit;

/// Bytes of the longest head: room for it is enough for any packet without its data.
pub const CARROUSEL_HEAD_MAX: usize = 56;
const _: () = assert!(CARROUSEL_HEAD_MAX == HEAD_MAX);

/// Which packet it is.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_packet_kind {
    /// A message with its data behind it.
    Eager = 1,
    /// Ready to send: a message whose data waits at `memory` of the sender.
    Rts = 2,
    /// A message that was written into an announced receive.
    Fin = 3,
    /// A message that is being written into an announced receive (published rules).
    RtrAck = 4,
    /// The data of `receive` is there.
    Atp = 5,
    /// The announcement that was to be cancelled is not at the sender any more.
    CancelAck = 6,
    /// Ready to receive: `receive` waits at `memory`.
    Rtr = 7,
    /// The data of `send` has been taken.
    Ats = 8,
    /// No announcement will come for `send` (published rules).
    RtsAck = 9,
    /// Clear to send: write `send` to `memory`.
    Cts = 10,
    /// The receiver wants an announced receive back.
    Cancel = 11,
    /// So many messages are processed, and so much of the eager ones is taken.
    Ack = 12,
}
numbered!(carrousel_packet_kind: Eager, Rts, Fin, RtrAck, Atp, CancelAck, Rtr, Ats, RtsAck, Cts, Cancel, Ack);

/// What an RTS says beside its message.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_hint {
    /// Nothing.
    None = 0,
    /// Announce no receives of this envelope until told to.
    StopRtr = 1,
    /// Announce them again.
    ResumeRtr = 2,
    /// Too few announcements were used.
    Unused = 3,
}
numbered!(carrousel_hint: None, StopRtr, ResumeRtr, Unused);

/// A hint as C has it.
pub(crate) fn of_hint(hint: Hint) -> carrousel_hint {
    match hint {
        Hint::None => carrousel_hint::None,
        Hint::StopRtr => carrousel_hint::StopRtr,
        Hint::ResumeRtr => carrousel_hint::ResumeRtr,
        Hint::Unused => carrousel_hint::Unused,
    }
}

/// A hint of a host.
pub(crate) fn hint_of(number: u32) -> Result<Hint, carrousel_error> {
    Ok(match carrousel_hint::of(number)? {
        carrousel_hint::None => Hint::None,
        carrousel_hint::StopRtr => Hint::StopRtr,
        carrousel_hint::ResumeRtr => Hint::ResumeRtr,
        carrousel_hint::Unused => Hint::Unused,
    })
}

/// A packet. Fields that its kind does not have are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_packet {
    /// A `carrousel_packet_kind`.
    pub kind: u32,
    /// Of RTS: a `carrousel_hint`.
    pub hint: u32,
    /// Of EAGER, RTS, FIN, RTR-ACK and RTR: the tag.
    pub tag: u64,
    /// Of RTR: the bits of the tag that do not matter.
    pub ignore: u64,
    /// Of EAGER, RTS, FIN, RTR-ACK, RTR and CTS: bytes.
    pub len: u64,
    /// Of RTS, ATS, RTS-ACK and CTS: the request of the sender.
    pub send: carrousel_handle,
    /// Of FIN, RTR-ACK, ATP, CANCEL-ACK, RTR, CTS and CANCEL: the request of the receiver.
    pub receive: carrousel_handle,
    /// Of RTS, RTR and CTS: where the data is, or goes.
    pub memory: carrousel_memory,
    /// Of ACK: bytes.
    pub taken: u64,
    /// Of EAGER, RTS, FIN and RTR-ACK: 8 bytes beside the message's own, if `has_data` is 1.
    pub data: u64,
    /// 1 if there are these.
    pub has_data: u32,
    /// Of RTR and ACK: messages that were processed.
    pub seen: u32,
    /// Of FIN, RTR-ACK, CANCEL and CANCEL-ACK: which of the receives that the RTR of `receive` has announced.
    pub index: u16,
    /// Of RTR: how many earlier receives it announces, too.
    pub ahead: u16,
}

impl From<Packet> for carrousel_packet {
    #[inline]
    fn from(packet: Packet) -> Self {
        use carrousel_packet_kind as K;
        let of = |kind: carrousel_packet_kind| Self { kind: kind as u32, ..Self::default() };
        let message = |kind, tag: Tag, data: Option<u64>, len| Self {
            tag: tag.0,
            len,
            has_data: data.is_some().into(),
            data: data.unwrap_or_default(),
            ..of(kind)
        };
        let written = |kind, rtr: RtrId, tag, data, len| Self {
            receive: rtr.receive.into(),
            index: rtr.index,
            ..message(kind, tag, data, len)
        };
        let announced = |kind, rtr: RtrId| Self { receive: rtr.receive.into(), index: rtr.index, ..of(kind) };
        match packet {
            Packet::Eager { tag, data, len } => message(K::Eager, tag, data, len),
            Packet::Rts { tag, data, len, send, memory, hint } => {
                let (send, memory, hint) = (send.into(), memory.into(), of_hint(hint) as u32);
                Self { send, memory, hint, ..message(K::Rts, tag, data, len) }
            }
            Packet::Fin { rtr, tag, data, len } => written(K::Fin, rtr, tag, data, len),
            Packet::RtrAck { rtr, tag, data, len } => written(K::RtrAck, rtr, tag, data, len),
            Packet::Atp { receive } => Self { receive: receive.into(), ..of(K::Atp) },
            Packet::CancelAck { rtr } => announced(K::CancelAck, rtr),
            Packet::Rtr(Rtr { tag, seen, ahead, receive, len, memory }) => Self {
                tag: tag.tag().0,
                ignore: tag.ignore(),
                seen,
                ahead,
                receive: receive.into(),
                len,
                memory: memory.into(),
                ..of(K::Rtr)
            },
            Packet::Ats { send } => Self { send: send.into(), ..of(K::Ats) },
            Packet::RtsAck { send } => Self { send: send.into(), ..of(K::RtsAck) },
            Packet::Cts { send, receive, len, memory } => {
                let (send, receive, memory) = (send.into(), receive.into(), memory.into());
                Self { send, receive, len, memory, ..of(K::Cts) }
            }
            Packet::Cancel { rtr } => announced(K::Cancel, rtr),
            Packet::Ack { seen, taken } => Self { seen, taken, ..of(K::Ack) },
        }
    }
}

impl TryFrom<&carrousel_packet> for Packet {
    type Error = carrousel_error;

    #[inline]
    fn try_from(it: &carrousel_packet) -> Result<Self, carrousel_error> {
        use carrousel_packet_kind as K;
        let (tag, len, send, receive) = (Tag(it.tag), it.len, it.send.into(), it.receive.into());
        let (rtr, memory) = (RtrId { receive, index: it.index }, it.memory.into());
        let data = || data(it.has_data, it.data);
        Ok(match K::of(it.kind)? {
            K::Eager => Self::Eager { tag, data: data()?, len },
            K::Rts => Self::Rts { tag, data: data()?, len, send, memory, hint: hint_of(it.hint)? },
            K::Fin => Self::Fin { rtr, tag, data: data()?, len },
            K::RtrAck => Self::RtrAck { rtr, tag, data: data()?, len },
            K::Atp => Self::Atp { receive },
            K::CancelAck => Self::CancelAck { rtr },
            K::Rtr => {
                let tag = TagSelector::new(tag, it.ignore);
                Self::Rtr(Rtr { tag, seen: it.seen, ahead: it.ahead, receive, len, memory })
            }
            K::Ats => Self::Ats { send },
            K::RtsAck => Self::RtsAck { send },
            K::Cts => Self::Cts { send, receive, len, memory },
            K::Cancel => Self::Cancel { rtr },
            K::Ack => Self::Ack { seen: it.seen, taken: it.taken },
        })
    }
}

/// Writes the bytes of a packet of a context to `head`, which has room for `CARROUSEL_HEAD_MAX`, and their
/// number to
/// `len`. The data of an EAGER goes behind them.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_packet_encode(
    context: u16,
    packet: Option<&carrousel_packet>,
    head: *mut u8,
    len: Option<&mut MaybeUninit<usize>>,
) -> carrousel_error {
    let (Some(packet), Some(len)) = (packet, len) else { return carrousel_error::NullPointer };
    let encoded = Packet::try_from(packet).and_then(|packet| {
        let room = room(head, CARROUSEL_HEAD_MAX)?;
        let head = wire::encode(Context(context), &packet);
        let bytes = head.as_bytes();
        for (into, byte) in room.iter_mut().zip(bytes) {
            into.write(*byte);
        }
        Ok(bytes.len())
    });
    match encoded {
        Ok(bytes) => {
            len.write(bytes);
            carrousel_error::None
        }
        Err(error) => error,
    }
}

/// Reads a packet of a peer from its first `len` bytes (`CARROUSEL_HEAD_MAX` are enough) of `total`. `body`
/// gets where the data of an EAGER begins.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_packet_decode(
    bytes: *const u8,
    len: usize,
    total: usize,
    context: Option<&mut MaybeUninit<u16>>,
    packet: Option<&mut MaybeUninit<carrousel_packet>>,
    body: Option<&mut MaybeUninit<usize>>,
) -> carrousel_error {
    let (Some(context), Some(packet), Some(body)) = (context, packet, body) else {
        return carrousel_error::NullPointer;
    };
    match decode(bytes, len, total) {
        Ok((header, decoded)) => {
            context.write(header.context().0);
            packet.write(decoded.packet.into());
            body.write(Header::LEN + decoded.body);
            carrousel_error::None
        }
        Err(fault) => fault.code(),
    }
}

fn decode(bytes: *const u8, len: usize, total: usize) -> Result<(Header, Decoded), Fault> {
    if len > total {
        return Err(carrousel_error::WrongLength.into());
    }
    let bytes = array(bytes, len)?;
    let Some((header, rest)) = bytes.split_first_chunk() else {
        return Err(carrousel_error::NoPacket.into());
    };
    let header = Header::from_bytes(*header);
    Ok((header, wire::decode_body(header, rest, total - Header::LEN)?))
}

/// 1 if a packet travels to the receiver of the messages, 0 if it travels to their sender. Packets of one
/// direction, of one peer and one context, have to come in the order in which they were sent.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_packet_to_receiver(
    packet: Option<&carrousel_packet>,
    to_receiver: Option<&mut MaybeUninit<u32>>,
) -> carrousel_error {
    let (Some(packet), Some(out)) = (packet, to_receiver) else { return carrousel_error::NullPointer };
    match Packet::try_from(packet) {
        Ok(packet) => {
            out.write((packet.direction() == Direction::ToReceiver).into());
            carrousel_error::None
        }
        Err(error) => error,
    }
}
