//! Atomics: the process that has the word changes it, when it polls.
//!
//! No system call changes a word of another process atomically. So a frame asks the peer, which takes the frames of all
//! its rings in turn and is the only one that changes its words, and a frame brings the value back. What precedes an
//! atomic has been copied, or is in the ring before its frame. An atomic with a fence is asked for when all that it waits
//! for is complete, and those behind it are asked for after it; they do not wait in the ring's queue, as two peers
//! would wait for answers behind each other's.

use super::frames::{self, WireMemory};
use super::outbound::Out;
use super::peer::Peer;
use crate::Frame;
use carrousel_transport::{Arrival, Atomic, AtomicOp, Handle, Memory, Regions};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// An [`AtomicRequest`].
pub(super) const ATOMIC_REQUEST: u32 = 6;
/// An [`AtomicReply`].
pub(super) const ATOMIC_REPLY: u32 = 7;

/// Asks the peer to change a word of its memory.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct AtomicRequest {
    target: WireMemory,
    op: U32,
    /// What is added, or the new value.
    operand: U64,
    /// Of a compare-and-swap.
    expected: U64,
    index: U32,
    generation: U32,
}

const FETCH_ADD: u32 = 1;
const COMPARE_SWAP: u32 = 2;
const SWAP: u32 = 3;

impl AtomicRequest {
    fn new(atomic: &Atomic) -> Self {
        let (op, operand, expected) = match atomic.op {
            AtomicOp::FetchAdd(add) => (FETCH_ADD, add, 0),
            AtomicOp::CompareSwap { expected, new } => (COMPARE_SWAP, new, expected),
            AtomicOp::Swap(new) => (SWAP, new, 0),
        };
        let Handle { index, generation } = atomic.request;
        Self {
            target: atomic.target.into(),
            op: op.into(),
            operand: operand.into(),
            expected: expected.into(),
            index: index.into(),
            generation: generation.into(),
        }
    }

    /// The operation; `None` for one that no honest peer asks for.
    fn op(&self) -> Option<AtomicOp> {
        let operand = self.operand.get();
        match self.op.get() {
            FETCH_ADD => Some(AtomicOp::FetchAdd(operand)),
            COMPARE_SWAP => Some(AtomicOp::CompareSwap { expected: self.expected.get(), new: operand }),
            SWAP => Some(AtomicOp::Swap(operand)),
            _ => None,
        }
    }
}

/// Brings back the value that an atomic has found.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct AtomicReply {
    found: U64,
    index: U32,
    generation: U32,
}

impl Out {
    pub(super) fn post_atomic(&mut self, atomic: &Atomic) {
        let failed = Arrival::Fetched(atomic.request, 0);
        let Some(local_rank) = self.connected(atomic.to) else { return self.completions.push_back(failed) };
        if !atomic.is_aligned() {
            // The peer would refuse it, and say nothing to this process.
            self.lose(local_rank);
            return self.completions.push_back(failed);
        }
        if let Some(peer) = self.peer_mut(local_rank) {
            peer.atomics.push(*atomic);
        }
        self.ask_for_atomics(local_rank);
    }

    /// Asks a peer for the atomics that wait for nothing any more.
    pub(super) fn ask_for_atomics(&mut self, local_rank: usize) {
        let next = |peer: &mut Peer| peer.atomics.ask_next(!peer.reads.is_empty());
        while let Some(atomic) = self.peer_mut(local_rank).and_then(next) {
            self.push(local_rank, ATOMIC_REQUEST, &[AtomicRequest::new(&atomic).as_bytes()]);
        }
    }

    /// Changes a word as a peer asks for it, and answers. Returns false when no honest peer asks for that.
    pub(super) fn serve_atomic(
        &mut self,
        local_rank: usize,
        frame: &Frame<'_>,
        regions: &mut impl Regions,
    ) -> bool {
        let Some(request) = frames::head::<AtomicRequest>(frame) else { return false };
        let (target, op) = (Memory::from(request.target), request.op());
        let is_aligned = target.address.is_multiple_of(Atomic::LEN);
        let (Some(op), true, Some(_)) = (op, is_aligned, self.peer_mut(local_rank)) else { return false };
        let word = regions.bytes_mut(target, Atomic::LEN).and_then(|bytes| bytes.first_chunk_mut());
        let Some(word) = word else { return false };
        let found = u64::from_ne_bytes(*word);
        *word = op.apply(found).to_ne_bytes();
        let AtomicRequest { index, generation, .. } = request;
        let reply = AtomicReply { found: found.into(), index, generation };
        self.push(local_rank, ATOMIC_REPLY, &[reply.as_bytes()]);
        true
    }

    /// A peer has answered. Returns false when it was not asked for that.
    pub(super) fn atomic_answered(&mut self, local_rank: usize, frame: &Frame<'_>) -> bool {
        let Some(reply) = frames::head::<AtomicReply>(frame) else { return false };
        let request = Handle { index: reply.index.get(), generation: reply.generation.get() };
        let is_answer = self.peer_mut(local_rank).is_some_and(|peer| peer.atomics.answered(request));
        if is_answer {
            self.completions.push_back(Arrival::Fetched(request, reply.found.get()));
            self.ask_for_atomics(local_rank);
        }
        is_answer
    }
}
