//! A connected peer: its ring, and the sends that wait for room in it.

use super::address::Address;
use super::frames::{FRAGMENT, Fragment, MOVED};
use super::helpfulness::Helpfulness;
use super::pending_atomics::PendingAtomics;
use super::process::Process;
use crate::doorbell;
use crate::layout::{FINISHED, LEAVES};
use crate::segment::Word;
use crate::sync::{Ordering, Sound};
use crate::{Producer, PushError, Ring};
use carrousel_system::{Point, SYSTEM, System};
use carrousel_transport::{Handle, Head, Memory, Regions};
use rustix::process::Pid;
use std::collections::VecDeque;
use zerocopy::IntoBytes;

/// Whether this word of a segment's header says that its owner has sent all of its messages.
pub(super) fn says_finished(word: &Word) -> bool {
    word.load(Ordering::Acquire) == FINISHED
}

/// A send that waits for room in a ring.
#[derive(Debug)]
pub(super) enum PendingSend {
    /// A frame: its tag and its payload.
    Frame(u32, Vec<u8>),
    /// Bytes that go in fragments.
    Fragmented(FragmentedSend),
}

/// A transfer whose bytes go through the ring in fragments.
#[derive(Debug)]
pub(super) struct FragmentedSend {
    pub(super) from: Memory,
    pub(super) into: Memory,
    pub(super) len: u64,
    /// Bytes that are in the ring.
    pub(super) sent: u64,
    pub(super) op: FragmentedOp,
}

/// The operation of a fragmented send, which says what happens when all of its bytes are in the ring.
#[derive(Debug)]
pub(super) enum FragmentedOp {
    /// A write of this process is complete, and its notice follows.
    Write(Handle, Option<Head>),
    /// The last fragment says that this read of the peer is complete.
    GetReply(Handle),
}

/// The ring to a peer, which is woken if it sleeps.
#[derive(Debug)]
pub(super) struct PeerRing {
    ring: Producer<Ring>,
    /// The memory of the first ring, for its control words.
    control: Ring,
    /// The largest frame, in this ring or in the one to which it can move.
    largest: usize,
    /// The peer's doorbell.
    doorbell: Word,
}

impl PeerRing {
    /// A ring whose frames have so many bytes at most, here or in the one to which it can move.
    pub(super) fn new(ring: Producer<Ring>, largest: usize, doorbell: Word) -> Self {
        let control = ring.memory().clone();
        Self { ring, control, largest, doorbell }
    }

    /// Moves to another ring. Returns false if that cannot be said in this one, which its consumer has damaged then.
    pub(super) fn move_to(&mut self, second: Producer<Ring>) -> bool {
        let is_said = self.ring.push_last(MOVED).is_ok();
        if is_said {
            self.ring_doorbell();
            self.ring = second;
        }
        is_said
    }

    /// Pushes a message; see [`Producer::push`].
    #[inline]
    pub(super) fn push(&mut self, tag: u32, parts: &[&[u8]]) -> Result<(), PushError> {
        self.ring.push(tag, parts)?;
        self.ring_doorbell();
        Ok(())
    }

    /// Pushes words and data; see [`Producer::push_words`].
    #[inline]
    pub(super) fn push_words<const WORDS: usize>(
        &mut self,
        tag: u32,
        words: [u64; WORDS],
        data: &[u8],
    ) -> Result<(), PushError> {
        self.ring.push_words(tag, words, data)?;
        self.ring_doorbell();
        Ok(())
    }

    #[inline(always)]
    fn ring_doorbell(&self) {
        SYSTEM.passes(Point::Pushed);
        if doorbell::is_asleep::<Sound>(&self.doorbell) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        if doorbell::wake(&self.doorbell) {
            self.doorbell.wake_waiter();
        }
    }

    pub(super) fn largest(&self) -> usize {
        self.largest
    }

    /// The memory of its control words.
    pub(super) fn control(&self) -> &Ring {
        &self.control
    }
}

/// Where the second ring to a peer is.
#[derive(Clone, Copy, Debug)]
pub(super) struct SecondRing {
    pub(super) address: Address,
    /// The place of this process in the peer's segment.
    pub(super) place: usize,
    /// There was no memory for it when the first was full: that one is used as long as it takes all frames.
    pub(super) is_spared: bool,
}

/// A connected peer.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) ring: PeerRing,
    /// The ring to which it can move.
    pub(super) second: Option<SecondRing>,
    /// The number of the last transfer that it was asked to help with.
    pub(super) transfer: u32,
    /// Whether it helps when it is asked.
    pub(super) helpfulness: Helpfulness,
    /// The word that says how far its process is, see [`crate::layout`].
    pub(super) stage: Word,
    /// The word that says on which processor it runs, plus 1.
    pub(super) processor: Word,
    pub(super) pid: Pid,
    pub(super) process: Process,
    /// Whether its memory can be copied from and to.
    pub(super) direct: bool,
    pub(super) pending: VecDeque<PendingSend>,
    /// Reads that it was asked for, and empty ones that wait for these, in the order in which they were posted.
    pub(super) reads: VecDeque<PendingRead>,
    pub(super) atomics: PendingAtomics,
}

/// A read that is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PendingRead {
    pub(super) request: Handle,
    /// The read has no data: the peer was not asked, and the read completes after those before it.
    pub(super) is_empty: bool,
    /// The packet that the peer gets when the data has arrived.
    pub(super) notice: Option<Head>,
}

impl Peer {
    /// The number of the next transfer that it is asked to help with.
    pub(super) fn next_transfer(&mut self) -> u32 {
        self.transfer = self.transfer.wrapping_add(1);
        self.transfer
    }

    /// Pushes a frame if there is room and no send waits. Returns whether it was pushed.
    pub(super) fn try_push(&mut self, tag: u32, bytes: &[u8]) -> bool {
        self.pending.is_empty() && self.ring.push(tag, &[bytes]).is_ok()
    }

    /// Whether its process has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.process.has_ended()
    }

    /// Whether its process is stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.process.is_stopped()
    }

    /// Whether something that was posted to it is not complete.
    pub(super) fn has_outstanding(&self) -> bool {
        !self.reads.is_empty() || !self.atomics.is_empty() || self.has_writes()
    }

    /// Whether data is copied directly now: data of a write that goes through the ring is not overtaken.
    pub(super) fn copies_directly(&self) -> bool {
        self.direct && !self.has_writes()
    }

    /// Whether the data of a write waits for room.
    fn has_writes(&self) -> bool {
        let is_write = |one: &PendingSend| {
            matches!(one, PendingSend::Fragmented(FragmentedSend { op: FragmentedOp::Write(..), .. }))
        };
        self.pending.iter().any(is_write)
    }

    /// Whether it has said that it has sent all of its messages.
    pub(super) fn has_finished(&self) -> bool {
        says_finished(&self.stage)
    }

    /// Whether its application may still receive messages.
    pub(super) fn receives(&self) -> bool {
        !matches!(self.stage.load(Ordering::Acquire), LEAVES | FINISHED)
    }

    /// Whether it still runs, and in another process.
    pub(super) fn runs_elsewhere(&self) -> bool {
        !self.has_finished() && self.pid != SYSTEM.pid()
    }

    /// Drops the sends that wait for room, and returns their number.
    pub(super) fn drop_pending(&mut self) -> usize {
        let dropped = self.pending.len();
        self.pending.clear();
        dropped
    }
}

impl FragmentedSend {
    /// Pushes the next fragment.
    pub(super) fn push(&mut self, ring: &mut PeerRing, regions: &impl Regions) -> Result<(), PushError> {
        if self.len == 0 && matches!(self.op, FragmentedOp::Write(..)) {
            return Ok(());
        }
        let at = |memory: Memory| Memory { address: memory.address.wrapping_add(self.sent), ..memory };
        let room = ring.largest().saturating_sub(size_of::<Fragment>()) as u64;
        let len = (self.len - self.sent).min(room);
        // A request that has ended meanwhile has released its memory: the peer, which has lost the right to read it,
        // gets zeros.
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
