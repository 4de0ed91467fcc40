//! What an endpoint knows of the requests of its engine that have not ended, by their position: none is searched.

use super::pieces::Pieces;
use super::rma_packets::Head;
use crate::fi::Errno;
use carrousel_rank::{Handle, RankId};
use std::collections::HashMap;

/// What a request is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// For nothing: there is none.
    #[default]
    Free,
    /// A send of the host's.
    Send,
    /// A receive of the host's.
    Receive,
    /// A receive of the host's into several buffers.
    Scattered,
    /// The part of a buffer for many messages that the next one gets, by the buffer's number.
    Chunk(u64),
    /// A packet of one-sided operations.
    Packet,
    /// The data of a write on its way to its target, by the operation's number.
    WriteData(u64),
    /// The data of a read on its way here, by the operation's number.
    ReadData(u64),
    /// The data of a peer's write.
    Written,
    /// Bytes that somebody waits for elsewhere.
    Internal,
}

/// A write whose data is on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct TargetWrite {
    pub(super) from: RankId,
    pub(super) head: Head,
    pub(super) cntr: Option<usize>,
    pub(super) source: u64,
    /// Why there is no room for it.
    pub(super) refused: Option<Errno>,
}

/// What an endpoint keeps for a request until it has ended; most requests have nothing.
#[derive(Debug)]
pub(super) enum Kept {
    /// Bytes on their way to a peer. The host has them back, and takes the message for sent.
    Copy { _bytes: Box<[u8]> },
    /// What is sent, or room for what is received.
    Bytes(Box<[u8]>),
    /// The bytes of a receive into several buffers, and these buffers.
    Scattered(Box<[u8]>, Pieces),
    /// A peer's write.
    Write(TargetWrite),
}

/// A request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Op {
    pub(super) role: Role,
    generation: u32,
    /// Whether its completion is reported; its failure always is.
    pub(super) reports: bool,
    /// Of the completion.
    pub(super) flags: u64,
    pub(super) context: usize,
    pub(super) buffer: usize,
}

impl Op {
    /// A request of the host's.
    #[inline]
    pub(super) fn new(role: Role, reports: bool, flags: u64, context: usize, buffer: usize) -> Self {
        Self { role, generation: 0, reports, flags, context, buffer }
    }

    /// One of the endpoint's own.
    pub(super) fn internal(role: Role) -> Self {
        Self { role, ..Self::default() }
    }
}

/// The requests that have not ended.
#[derive(Debug, Default)]
pub(super) struct Ops {
    list: Vec<Op>,
    /// By position.
    kept: HashMap<u32, Kept>,
    /// How many have begun, and how many of these have ended.
    begun: u64,
    ended: u64,
}

impl Ops {
    /// A request begins.
    #[inline(always)]
    pub(super) fn begin(&mut self, request: Handle, op: Op) {
        let at = request.index as usize;
        if self.list.len() <= at {
            self.grow(at);
        }
        self.begun += 1;
        self.list[at] = Op { generation: request.generation, ..op };
    }

    /// Has room for this position from now on.
    #[cold]
    fn grow(&mut self, at: usize) {
        self.list.resize_with(at + 1, Op::default);
    }

    /// A request begins for which something is kept.
    pub(super) fn begin_keeping(&mut self, request: Handle, op: Op, kept: Kept) {
        self.begin(request, op);
        self.kept.insert(request.index, kept);
    }

    /// A request, if it has begun and not ended.
    #[inline]
    pub(super) fn get(&self, request: Handle) -> Option<&Op> {
        let op = self.list.get(request.index as usize)?;
        (op.generation == request.generation && op.role != Role::Free).then_some(op)
    }

    /// A request ends.
    #[inline]
    pub(super) fn end(&mut self, request: Handle) {
        if let Some(op) = self.list.get_mut(request.index as usize) {
            op.role = Role::Free;
            self.ended += 1;
        }
    }

    /// What was kept for a request that has ended.
    pub(super) fn take_kept(&mut self, request: Handle) -> Option<Kept> {
        self.kept.remove(&request.index)
    }

    /// Keeps the copies for ever that were not delivered: a peer that reads one later must not find other data there.
    pub(super) fn leak_copies(&mut self) {
        let copies = self.kept.drain().map(|(_, kept)| kept).filter(|kept| matches!(kept, Kept::Copy { .. }));
        copies.for_each(std::mem::forget);
    }

    /// The first request for which this holds.
    pub(super) fn find(&self, is_wanted: impl Fn(&Op) -> bool) -> Option<Handle> {
        let at = self.list.iter().position(is_wanted)?;
        Some(Handle { index: at as u32, generation: self.list[at].generation })
    }

    /// How many have not ended.
    #[inline]
    pub(super) fn open(&self) -> usize {
        (self.begun - self.ended) as usize
    }

    /// How many have begun, and how many have ended.
    pub(super) fn counts(&self) -> [u64; 2] {
        [self.begun, self.ended]
    }

    /// The operations that have not ended, by position.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Handle, &Op)> {
        let of = |(index, op): (u32, _)| {
            let op: &Op = op;
            (Handle { index, generation: op.generation }, op)
        };
        (0..).zip(&self.list).map(of).filter(|(_, op)| op.role != Role::Free)
    }
}
