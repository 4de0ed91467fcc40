//! The work of a rank, as C has it.

use crate::names::{carrousel_handle, carrousel_memory, carrousel_status};
use crate::packet::carrousel_packet;
use crate::window_names::carrousel_window_work;
use ::carrousel_rank::{Kept, Packet, Read, Work, Write};
use core::mem::MaybeUninit;

/// What the host has to do.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_work_kind {
    /// Send `packet` to `peer` in `context`, and behind it the `len` bytes at `from`: 0 for all but an EAGER.
    Send = 1,
    /// Write `len` bytes at `from` to `into`, memory of `peer`, then send `packet` behind them in `context`, if
    /// `has_packet`. Then comes the event `WRITTEN` of `request`.
    Write = 2,
    /// Read `len` bytes at `from`, memory of `peer`, to `into`, then send `packet` to it in `context`, if
    /// `has_packet`. Then comes the event `READ` of `request`.
    Read = 3,
    /// Copy the first `len` bytes behind the packet at hand to `into`, for the receive `request`.
    Place = 4,
    /// Keep the `len` bytes behind the packet at hand, under the name `kept`.
    Keep = 5,
    /// Copy the first `len` bytes that were kept as `kept` to `into`, for the receive `request`, and forget them.
    Take = 6,
    /// Copy `len` bytes from `from` to `into`.
    Copy = 7,
    /// Combine `len` bytes at `from` with those at `into`, by the operation of the reduction `request`.
    Combine = 8,
    /// `request` is complete, as `status` says.
    Complete = 9,
    /// The window `window` asks for what `window_work` says.
    Window = 10,
}

/// The name of the data of a message that has arrived before its receive.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_kept {
    /// The sender.
    pub from: u32,
    /// In which context.
    pub context: u16,
    /// Its number among the messages of this sender and context.
    pub number: u32,
}

impl From<Kept> for carrousel_kept {
    fn from(Kept { from, context, number }: Kept) -> Self {
        Self { from: from.0, context: context.0, number }
    }
}

/// One thing to do. The library writes the fields that `carrousel_work_kind` names for `kind`, and leaves the
/// others as they are: a host that has never set them must not read them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_work {
    /// A `carrousel_work_kind`. Written for every kind.
    pub kind: u32,
    /// The peer.
    pub peer: u32,
    /// The context of the packet.
    pub context: u16,
    /// 1 if there is a packet. Written for every kind.
    pub has_packet: u32,
    /// The packet.
    pub packet: carrousel_packet,
    /// Where bytes are.
    pub from: carrousel_memory,
    /// Where they go.
    pub into: carrousel_memory,
    /// How many.
    pub len: u64,
    /// The request.
    pub request: carrousel_handle,
    /// The name of kept data.
    pub kept: carrousel_kept,
    /// The window.
    pub window: u32,
    /// How a request ended.
    pub status: carrousel_status,
    /// What a window asks for.
    pub window_work: carrousel_window_work,
}

/// Writes these fields of a thing to do, and no others.
macro_rules! write_fields {
    ($out:ident: $($field:ident: $value:expr),+ $(,)?) => {{
        let out = $out.as_mut_ptr();
        $(
            let value = $value;
            // SAFETY: it is the room of the host for the whole structure, of which nothing is read.
            unsafe { (&raw mut (*out).$field).write(value) };
        )+
    }};
}

impl carrousel_work {
    /// Writes what a rank asks for to room of the host: not the whole structure, most of which is of kinds that small
    /// messages have not.
    #[inline]
    pub(crate) fn write(work: &Work, out: &mut MaybeUninit<Self>) {
        use carrousel_work_kind as K;
        let (kind, notice) = match *work {
            Work::Send { to, context, packet, data } => {
                let len = if let Packet::Eager { len, .. } = packet { len } else { 0 };
                let from = data.map(Into::into).unwrap_or_default();
                write_fields!(out: peer: to.0, context: context.0, from: from, len: len);
                (K::Send, Some(packet))
            }
            Work::Write { context, write: Write { to, from, into, len, request, notice }, .. } => {
                write_fields!(out: peer: to.0, context: context.0, from: from.into(), into: into.into());
                write_fields!(out: len: len, request: request.into());
                (K::Write, notice)
            }
            Work::Read { context, read: Read { of: peer, from, into, len, request, notice }, .. } => {
                write_fields!(out: peer: peer.0, context: context.0, from: from.into(), into: into.into());
                write_fields!(out: len: len, request: request.into());
                (K::Read, notice)
            }
            Work::Place { into, len, request } => {
                write_fields!(out: into: into.into(), len: len, request: request.into());
                (K::Place, None)
            }
            Work::Keep { kept, len } => {
                write_fields!(out: kept: kept.into(), len: len);
                (K::Keep, None)
            }
            Work::Take { kept, into, len, request } => {
                write_fields!(out: kept: kept.into(), into: into.into(), len: len, request: request.into());
                (K::Take, None)
            }
            Work::Copy { from, into, len } => {
                write_fields!(out: from: from.into(), into: into.into(), len: len);
                (K::Copy, None)
            }
            Work::Combine { request, from, into, len } => {
                write_fields!(out: request: request.into(), from: from.into(), into: into.into(), len: len);
                (K::Combine, None)
            }
            Work::Complete { request, status } => {
                write_fields!(out: request: request.into(), status: status.into());
                (K::Complete, None)
            }
            Work::Window { window, work } => {
                write_fields!(out: window: window.0, window_work: work.into());
                (K::Window, None)
            }
        };
        write_fields!(out: kind: kind as u32, has_packet: notice.is_some().into());
        if let Some(packet) = notice {
            write_fields!(out: packet: packet.into());
        }
    }
}
