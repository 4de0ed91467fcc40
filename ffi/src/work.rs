//! The work of a rank, as C has it.

use crate::names::{carrousel_handle, carrousel_memory, carrousel_status};
use crate::packet::carrousel_packet;
use crate::window_names::carrousel_window_work;
use ::carrousel_rank::{Kept, Packet, Read, Work, Write};

/// What the host has to do.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_work_kind {
    /// Send `packet` to `peer` in `context`; with an EAGER, the `len` bytes at `from`.
    Send = 1,
    /// Write `len` bytes at `from` to `into`, memory of `peer`, then send `packet` behind them, if
    /// `has_packet`. Then comes the event `WRITTEN` of `request`.
    Write = 2,
    /// Read `len` bytes at `from`, memory of `peer`, to `into`, then send `packet` to it, if `has_packet`.
    /// Then comes the event `READ` of `request`.
    Read = 3,
    /// Copy the first `len` bytes behind the packet at hand to `into`.
    Place = 4,
    /// Keep the `len` bytes behind the packet at hand, under the name `kept`.
    Keep = 5,
    /// Copy the first `len` bytes that were kept as `kept` to `into`, and forget them.
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

/// One thing to do. Fields that `carrousel_work_kind` does not name for `kind` are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_work {
    /// A `carrousel_work_kind`.
    pub kind: u32,
    /// The peer.
    pub peer: u32,
    /// The context of the packet.
    pub context: u16,
    /// 1 if there is a packet.
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

impl From<Work> for carrousel_work {
    #[inline]
    fn from(work: Work) -> Self {
        use carrousel_work_kind as K;
        let of = |kind: carrousel_work_kind| Self { kind: kind as u32, ..Self::default() };
        let with = |packet: Option<Packet>, work: Self| Self {
            has_packet: packet.is_some().into(),
            packet: packet.map(Into::into).unwrap_or_default(),
            ..work
        };
        match work {
            Work::Send { to, context, packet, data } => {
                let len = if let Packet::Eager { len, .. } = packet { len } else { 0 };
                let from = data.map(Into::into).unwrap_or_default();
                let work = Self { peer: to.0, context: context.0, from, len, ..of(K::Send) };
                with(Some(packet), work)
            }
            Work::Write { context, write: Write { to, from, into, len, request, notice }, .. } => {
                let (from, into, request) = (from.into(), into.into(), request.into());
                let work = Self { peer: to.0, context: context.0, from, into, len, request, ..of(K::Write) };
                with(notice, work)
            }
            Work::Read { context, read: Read { of: peer, from, into, len, request, notice }, .. } => {
                let (from, into, request) = (from.into(), into.into(), request.into());
                let work = Self { peer: peer.0, context: context.0, from, into, len, request, ..of(K::Read) };
                with(notice, work)
            }
            Work::Place { into, len, request } => {
                Self { into: into.into(), len, request: request.into(), ..of(K::Place) }
            }
            Work::Keep { kept, len } => Self { kept: kept.into(), len, ..of(K::Keep) },
            Work::Take { kept, into, len, request } => {
                let (kept, into, request) = (kept.into(), into.into(), request.into());
                Self { kept, into, len, request, ..of(K::Take) }
            }
            Work::Copy { from, into, len } => {
                Self { from: from.into(), into: into.into(), len, ..of(K::Copy) }
            }
            Work::Combine { request, from, into, len } => {
                let (request, from, into) = (request.into(), from.into(), into.into());
                Self { request, from, into, len, ..of(K::Combine) }
            }
            Work::Complete { request, status } => {
                Self { request: request.into(), status: status.into(), ..of(K::Complete) }
            }
            Work::Window { window, work } => {
                Self { window: window.0, window_work: work.into(), ..of(K::Window) }
            }
        }
    }
}
