//! A connected peer: its ring, and what waits for room in it.

use super::frames::{FRAGMENT, Fragment};
use super::process::Process;
use crate::segment::Word;
use crate::sync::Ordering;
use crate::{Producer, PushError, Ring};
use carrousel_transport::{Context, Handle, Memory, Packet, Regions};
use nix::unistd::Pid;
use std::collections::VecDeque;
use zerocopy::IntoBytes;

/// What waits for room in a ring.
#[derive(Debug)]
pub(super) enum PendingSend {
    /// A frame, as it is.
    Frame(u32, Vec<u8>),
    /// Bytes that go in pieces.
    Fragmented(FragmentedSend),
}

#[derive(Debug)]
pub(super) struct FragmentedSend {
    pub(super) from: Memory,
    pub(super) into: Memory,
    pub(super) len: u64,
    /// Bytes that have gone.
    pub(super) sent: u64,
    pub(super) op: FragmentedOp,
}

/// What happens when all bytes of a stream have gone.
#[derive(Debug)]
pub(super) enum FragmentedOp {
    /// A write of this process is complete, and its notice follows.
    Write(Handle, Option<(Context, Packet)>),
    /// The last piece says that this read of the peer is complete.
    GetReply(Handle),
}

/// One peer.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) ring: Producer<Ring>,
    /// The number of the last transfer that was shared with it.
    pub(super) transfer: u32,
    /// Whether it has finished: 1 if so.
    pub(super) finished: Word,
    pub(super) pid: Pid,
    pub(super) process: Process,
    /// Whether its memory can be copied from and to.
    pub(super) direct: bool,
    pub(super) pending: VecDeque<PendingSend>,
    /// Reads that it was asked for, or that wait for such ones, in the order in which they were posted.
    pub(super) reads: VecDeque<PendingRead>,
}

/// A read that is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PendingRead {
    pub(super) request: Handle,
    /// The peer was not asked: there is nothing to be sent, only a turn to be waited for.
    pub(super) is_empty: bool,
    /// What the peer is told when the data is here.
    pub(super) notice: Option<(Context, Packet)>,
}

impl Peer {
    /// The number of the next transfer that is shared with it.
    pub(super) fn next_transfer(&mut self) -> u32 {
        self.transfer = self.transfer.wrapping_add(1);
        self.transfer
    }

    /// Pushes a frame that need not arrive. False if it has not been pushed.
    pub(super) fn try_push(&mut self, tag: u32, bytes: &[u8]) -> bool {
        self.pending.is_empty() && self.ring.push(tag, &[bytes]).is_ok()
    }

    /// Whether its process has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.process.has_ended()
    }

    /// Whether it is stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.process.is_stopped()
    }

    /// Whether something that was posted to it is not complete.
    pub(super) fn has_outstanding(&self) -> bool {
        let is_write = |one: &PendingSend| {
            matches!(one, PendingSend::Fragmented(FragmentedSend { op: FragmentedOp::Write(..), .. }))
        };
        !self.reads.is_empty() || self.pending.iter().any(is_write)
    }

    /// Whether it has said that it is through.
    pub(super) fn has_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire) == 1
    }

    /// Drops what waits for room: how much that is.
    pub(super) fn drop_pending(&mut self) -> usize {
        let dropped = self.pending.len();
        self.pending.clear();
        dropped
    }
}

impl FragmentedSend {
    /// Pushes the next piece.
    pub(super) fn push(
        &mut self,
        ring: &mut Producer<Ring>,
        regions: &impl Regions,
    ) -> Result<(), PushError> {
        if self.len == 0 && matches!(self.op, FragmentedOp::Write(..)) {
            return Ok(());
        }
        let at = |memory: Memory| Memory { address: memory.address.wrapping_add(self.sent), ..memory };
        let room = ring.largest().saturating_sub(size_of::<Fragment>()) as u64;
        let len = (self.len - self.sent).min(room);
        // A request that has ended meanwhile has its memory back: the peer gets zeros, which it has lost
        // the right to look at.
        let zeros = [0; 64];
        let bytes = regions.bytes(at(self.from), len).unwrap_or(&zeros[..zeros.len().min(len as usize)]);
        let len = bytes.len() as u64;
        let last = self.sent + len == self.len;
        let read =
            if let FragmentedOp::GetReply(read) = self.op { Some(read).filter(|_| last) } else { None };
        ring.push(FRAGMENT, &[Fragment::new(at(self.into), read).as_bytes(), bytes])?;
        self.sent += len;
        Ok(())
    }
}
