//! Messages between processes of one node, through shared memory.
//!
//! A process creates one [`Segment`] and hands its file descriptor to its peers. The segment has a ring for each of
//! them, which takes memory when it is used: a queue of messages, which that peer alone fills, with a [`Producer`], and
//! the segment's owner alone empties, with a [`Consumer`]. A peer that has connected announces itself ([`announce`]),
//! and wakes an owner that sleeps by its doorbell. These carry bytes, and connect nothing. [`Node`] puts them together,
//! and keeps the contract of `carrousel-transport` between the ranks of a node. Where the system permits it, writes and
//! reads are copied directly, and a large one by both processes (`cooperative_copy`) if the peer is waiting; otherwise
//! they go through the rings in fragments. The process that has a word serves atomics on it (`atomics`).
//!
//! **Promises.** [`Node`] passes the conformance suite in both ways.
//! - Messages of a ring arrive once, whole, and in the order in which they were pushed, also those of a process that has
//!   died since.
//! - No call waits for another process, whatever that process does and whenever it dies, but the one that is meant to
//!   sleep. No message costs a system call, a lock, or an allocation in steady state, but for the system call that
//!   wakes a receiver.
//! - Shared memory is accessed as atomic words, and every number of another process is read once, and checked before it
//!   is used. So a peer that writes anything at any time causes wrong bytes or a [`CorruptRingError`] at worst, for
//!   good: never undefined behaviour, a panic or an endless loop. `unsafe` is in `segment`, which maps memory, and in
//!   `fetch`, for a hint to the processor.
//! - Nothing remains on the node when the last process that has a segment is gone: a segment has no name. A pair of
//!   ranks takes memory when one connects to the other, and too little memory is an error of `connect`, not a signal. A
//!   peer that is only waited for is watched, and not connected.
//! - An address is of one node (a boot of a system, a PID namespace, and the RDMA adapters, by which clones of a
//!   running machine differ), of one process, by the time at which it began, and of one segment, by a random number in
//!   it.
//! - Memory orders are constants of a type. Loom explores the shipped ring, and finds a torn message if any of them is
//!   weaker; and the doorbell, where it finds a lost wake-up when a barrier or the last poll is left out.
//!   (`RUSTFLAGS="--cfg loom" cargo test --release -p carrousel-transport-shm --test loom`)
//!
//! **Leaves to others.** Which processes are peers, and how the descriptor reaches them. The end of a job: only ranks
//! that have connected to a rank, or watch it, see that it has finished, and others take it for lost; the engine lets
//! no process end before all have passed their last barrier.
//! **Limits.** Linux, and processes of one user, in one PID namespace where [`Segment::open_of`] is used. Each peer can
//! map the whole segment: a hostile one cannot harm this process, but can change the messages that others send to it. A
//! message is a tag of 32 bits and at most [`largest`] bytes.
//! **Entry point.** [`Node`] for ranks, [`Segment::create`] for rings; begin reading at [`Producer::push`] and
//! [`Consumer::take`].
//!
//! ```
//! use carrousel_transport_shm::{Consumer, Layout, Producer, Segment};
//! use std::os::fd::AsFd;
//! // Each process may have two peers, and a ring of 1,024 words for each.
//! let mine = Segment::create(Layout::new(2, 1024)?)?;
//! let mut inbound = Consumer::new(mine.ring(1)?)?;
//!
//! // In the process that is peer 1, which has been given the descriptor:
//! let theirs = Segment::open(mine.as_fd())?;
//! let mut outbound = Producer::new(theirs.ring(1)?)?;
//! outbound.push(7, &[b"header", b"and data"])?;
//!
//! let mut message = Vec::new();
//! assert_eq!(inbound.pop(&mut message)?, Some(7));
//! assert_eq!(message, b"headerand data");
//! assert_eq!(inbound.pop(&mut message)?, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod announce;
pub mod doorbell;
mod error;
mod fetch;
mod frame;
#[cfg(not(loom))]
mod layout;
#[cfg(not(loom))]
mod node;
pub mod ring;
// Mapping memory needs `unsafe`, and so does prefetching a cache line (`fetch`); the rest of the crate does without.
pub mod chunk_queue;
#[cfg(not(loom))]
#[allow(unsafe_code, reason = "maps memory")]
mod segment;
mod sync;

pub use error::{CorruptRingError, PushError, RingSizeError};
pub use frame::Frame;
#[cfg(not(loom))]
pub use layout::{Layout, LayoutError};
#[cfg(not(loom))]
pub use node::{
    Address, AddressError, ConnectError, Loss, MemoryShortageError, Node, NodeError, Out, Settings,
};
pub use ring::{Consumer, Producer, largest};
#[cfg(not(loom))]
pub use segment::{Ring, Segment, SegmentError};
