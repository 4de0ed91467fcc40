//! The transport contract: the order and the completions that ranks may rely on when they post operations to each other.
//!
//! A transport carries four operations between each pair of ranks: it *sends* packets, *writes* into registered memory of
//! the peer, *reads* from it, and changes a 64-bit word of it by an *atomic*. Of a packet it reads the [`Header`] and
//! nothing else, and of that the direction: bodies and data are bytes, which its handler takes apart. The contract has the
//! guarantees of the reliable connections of InfiniBand (work request ordering; `ibv_post_send` and its
//! `IBV_SEND_FENCE`), less those that our protocols do
//! without.
//!
//! **Promises.** No transport knows a protocol, and this crate knows no transport: each is a crate of its own, and a
//! protocol that is new changes none of them. What bytes mean, and that they mean nothing, their handler finds out. A
//! transport is given the time when it is polled, and says when it wants to be polled next. That time may be old, so no poll
//! reads a clock; what waits within one call, for a peer that copies, and threads of a transport's own read one. Every
//! check of the suite has been seen failing: on records made by hand, and on a transport that is broken in one way at a
//! time (`transport/tests`).
//! **Leaves to others.** Opening connections, and when (`transport-shm`, `transport-verbs`).
//! **Entry point.** `contract`, the contract as traits; then `network`, what an endpoint needs of a network beyond that, and
//! `memory_domain`, how memory is registered. [`conformance`] has plans with the operations of each rank, players that post
//! them over any transport and note the arrivals, and a check that names the operations and the row of the table where a
//! record breaks the contract.
//!
//! # Order
//!
//! Of two operations that one rank posts to one peer, the effect of the earlier precedes that of the
//! later, as the peer and its memory see it:
//!
//! | earlier ↓ later → | send, forward | send, back | write | read | atomic |
//! | --- | --- | --- | --- | --- | --- |
//! | **send, forward** | yes | no (directions) | yes | yes | yes |
//! | **send, back** | no (directions) | yes | no (directions) | yes | yes |
//! | **write** | yes | no (directions) | yes | yes | yes |
//! | **read** | only if fenced | only if fenced | only if fenced | yes | only if fenced |
//! | **atomic** | only if fenced | only if fenced | only if fenced | only if fenced | yes |
//!
//! - *Only if fenced*: the peer may serve a read or an atomic after operations that were posted behind it. A fence on
//!   the later operation holds it back until all earlier reads and atomics are complete; it holds nothing else back.
//!   Two operations can be posted with a fence:
//!   - an atomic, by [`Atomic::fenced`] (`IBV_SEND_FENCE`);
//!   - the *notice* of a read: a packet back that is posted with the read and leaves when the data is there, without
//!     the help of the reader. It waits for reads only. Operations that were posted before the read precede the
//!     notice, but for atomics, and so do the notices of earlier reads; operations that are posted behind the read may
//!     precede it or not.
//!
//!   For all others, the poster waits until the completions are reported.
//! - *Lanes*: packets travel to the receiver of messages (forward: EAGER, RTS, FIN, ..) or to their sender (back: RTR,
//!   ATS, ..), as the [`Direction`] in the header says; writes carry messages, forward. **Between the directions
//!   no order may be relied on.** A transport that has one connection for each pair of ranks orders
//!   them all the same; one with several connections, or with two kinds of memory, does not.
//! - Between different pairs of ranks, and between the two directions of one pair, nothing is ordered.
//!
//! [`ordered`] is this table in code.
//!
//! # Atomics
//!
//! An [`Atomic`] reads a word, changes it, and brings back the value that it found. Nothing comes between for other
//! atomics of the same transport on memory of the same process, from any rank (`IBV_ATOMIC_HCA`): those on one word
//! take turns. Of what happens to the word at the same time by other means nothing is promised: neither of loads and stores of a processor, that of the
//! owner included, nor of writes and reads, nor of atomics that come by another transport. So a word that
//! several ranks change has one transport by which they reach it; its owner may load it when a packet behind a fence,
//! or the ranks' agreement, says that nobody changes it.
//!
//! The word is aligned to 8 bytes and registered for writing. An atomic on anything else is refused as a write to
//! memory that is not registered is: the connection is broken.
//!
//! # Completion
//!
//! | complete at the poster | implies there | implies at the peer |
//! | --- | --- | --- |
//! | send | the packet's memory may be reused | nothing |
//! | write | the source may be reused | a peer that sees a later packet of the same direction sees the data, not sooner |
//! | read | the data is in place | nothing that the peer could notice; behind the read's notice it may write over the source |
//! | atomic | the value before is reported with it | the word has changed: atomics of all ranks that begin later see it |
//!
//! A packet is delivered once, whole, and after everything that precedes it in the table; delivery is
//! the only way in which a peer learns of a write. Completions of operations of one kind that one rank
//! posted to one peer arrive in the order in which these were posted; InfiniBand orders those of
//! different kinds too, but no protocol here may rely on that. An operation may complete long before or
//! after the packet behind it is delivered: also a read, whose notice the peer may see before the reader
//! sees the completion.
//!
//! Data of a write may be in memory long before, whole or in part, and before packets that precede it are
//! delivered: memory says nothing until a packet does.
//!
//! # Broken peers
//!
//! When a connection breaks, every operation outstanding on it completes with an error, once; whether
//! its effect took place is not known. Packets that were delivered before stay delivered, none follows,
//! and later operations to the same peer complete with the same error. Other pairs notice nothing.
//!
//! A completion does not say that its operation has failed. So the loss is reported first, once, and operations that
//! complete behind it have failed; a read that completes before it has its data, and an atomic its value. A read that has
//! failed sends no notice; an atomic that has failed may have changed the word or not.
//!
//! # How each transport keeps it
//!
//! [`conformance`] is the suite that every transport passes. The network that `carrousel-verify` explores has to allow at
//! least the orders that the transports allow.
//!
//! | | `transport-shm` | `transport-verbs` | `transport-sim` | `verify`'s network |
//! | --- | --- | --- | --- | --- |
//! | send, then send of the same direction | one ring for each pair and direction | one queue pair for each pair, or two, and packets that are numbered in their direction | nothing arrives before the operations that [`ordered`] puts before it | one queue for each direction and communicator |
//! | .. of the other direction | the same ring: in order | the same queue pair: in order; of two, any order | may overtake | another queue: any order |
//! | send, then write | data may be in memory before; the packet behind it comes later | the same queue pair | arrives later | lands later |
//! | write, then send forward | the copy is made, or its fragments are in the ring, before the packet is | the same queue pair, one doorbell for both; of two, the next packet goes by that of the write | arrives later | data and notice are one entry of the queue |
//! | write, then write | copied, or put into the ring, in order | the same queue pair | arrives later | one queue |
//! | write, then read | both copied at once, or fragments and request in one ring | the same queue pair | the request arrives later | data of reads is not modelled |
//! | read, then read | copied at once, or answered in the order of asking | answered in the order of asking | one queue of answers | each completes at any time |
//! | send or write, then atomic | the frame that asks for it comes behind | the same queue pair; of two, when what went by the other one is acknowledged | the request arrives later | takes effect at any time |
//! | read, then fenced atomic | asked for when the data is in place | fenced; Soft-RoCE starts one at a time | the request arrives later | takes effect at any time |
//! | atomic, then atomic | asked for, and served, in order; a fenced one when all before it are answered | served in order; one behind a swap is posted when that is over | the request arrives later | takes effect in order |
//! | read, then its notice | posted when the copy is made, or the last fragment has arrived | fenced, posted with the read; with Soft-RoCE, behind another read | leaves when the last byte is at the reader's card | launched when the data lands, before the completion is reported |
//! | read or atomic, then another fence | the poster waits: [`Outbound`] has no other | the same | the same | the same |
//! | an atomic is whole | its owner alone serves it, when it polls | the adapter of the owner serves it | served when the request arrives | takes effect in one step |
//! | completions | one queue, in the order of posting | in the order of posting for each connection | in order for each connection | writes in order for each communicator, atomics in order for each pair, reads in any order |
//! | a write is complete | its bytes are copied, or in the ring | its acknowledgement is back, at the adapter | its acknowledgement is back | at any time |
//! | a broken peer | its process has ended unfinished, or it has written frames that no honest peer writes | it does not acknowledge or answer, or it has sent packets that no honest peer sends | never | never |
//!
//! ```
//! use carrousel_transport::{Direction, Operation, ordered};
//! // FIN may stand directly behind the data that it announces ...
//! assert!(ordered(Operation::Write, Operation::Send(Direction::ToReceiver), false));
//! // ... but a packet that follows a read has to wait for it, or be fenced.
//! assert!(!ordered(Operation::Read, Operation::Send(Direction::ToSender), false));
//! ```
#![no_std]
#![deny(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

extern crate alloc;

mod atomic;
pub mod conformance;
mod contract;
mod memory_domain;
mod name;
mod network;

pub use atomic::{Atomic, AtomicOp, AtomicsUnsupportedError};

pub use carrousel_wire::{
    BODY_MAX, Context, Direction, HEAD_MAX, Handle, Head, Header, Memory, Protocol, RankId,
};
pub use contract::{Arrival, Handler, Keys, OnlyKeys, Outbound, Payload, Read, Regions, Transport, Write};
pub use memory_domain::MemoryDomain;
pub use name::Name;
pub use network::{Network, NetworkOut, ZcopySource};

/// An operation that one rank posts to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// A packet in this direction.
    Send(Direction),
    /// A write into the peer's memory.
    Write,
    /// A read from the peer's memory.
    Read,
    /// A change of a word of the peer's memory, which brings back the value before.
    Atomic,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 5] = [
        Self::Send(Direction::ToReceiver),
        Self::Send(Direction::ToSender),
        Self::Write,
        Self::Read,
        Self::Atomic,
    ];

    /// The position of the operation in [`Operation::ALL`].
    pub const fn index(self) -> usize {
        match self {
            Self::Send(Direction::ToReceiver) => 0,
            Self::Send(Direction::ToSender) => 1,
            Self::Write => 2,
            Self::Read => 3,
            Self::Atomic => 4,
        }
    }

    const fn is_back(self) -> bool {
        matches!(self, Self::Send(Direction::ToSender))
    }
}

/// Whether the effect of `earlier` precedes that of `later`, which the same rank posted to the same
/// peer afterwards; `fenced` tells whether `later` has a fence.
pub const fn ordered(earlier: Operation, later: Operation, fenced: bool) -> bool {
    match (earlier, later) {
        (Operation::Read, Operation::Read) | (Operation::Atomic, Operation::Atomic) => true,
        (Operation::Read | Operation::Atomic, _) => fenced,
        (_, Operation::Read | Operation::Atomic) => true,
        _ => earlier.is_back() == later.is_back(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the crate's documentation; `f` is "only if fenced".
    const TABLE: [&str; 5] = ["y n y y y", "n y n y y", "y n y y y", "f f f y f", "f f f f y"];

    #[test]
    fn the_code_is_the_table() {
        for (earlier, row) in Operation::ALL.into_iter().zip(TABLE) {
            for (later, cell) in Operation::ALL.into_iter().zip(row.split(' ')) {
                assert_eq!(ordered(earlier, later, false), cell == "y", "{earlier:?}, {later:?}");
                assert_eq!(ordered(earlier, later, true), cell != "n", "{earlier:?}, fenced {later:?}");
            }
        }
    }

    #[test]
    fn words_of_a_payload_are_there_if_all_are() {
        let bytes = [1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 9];
        assert_eq!(Payload::first_words(&bytes[..]), Some([1, 0x200]));
        assert_eq!(Payload::first_words(&bytes[..16]), Some([1, 0x200]));
        assert_eq!(Payload::first_words::<2>(&bytes[..15]), None);
        assert_eq!(Payload::first_words(&bytes[..15]), Some([1]));
    }

    #[test]
    fn an_index_is_a_position() {
        for (at, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation.index(), at);
        }
    }
}
