//! Messages between processes of one node, through shared memory.
//!
//! A process creates one [`Segment`] and hands its file descriptor to its peers. The segment has a ring
//! for each of them, which takes memory when it is used: a queue of messages, which that peer alone fills, with a
//! [`Producer`], and the segment's owner alone empties, with a [`Consumer`]. A peer that has connected announces
//! itself ([`announce`]). A message is a tag of 32 bits and some bytes; the caller gives them their meaning.
//!
//! **Promises.** Messages of a ring arrive once, whole, and in the order in which they were pushed, which
//! is the order that `carrousel-transport` asks of packets of one direction. No call waits for another process, whatever that
//! process does and whenever it dies; the messages that it pushed before can still be taken. No message costs a system
//! call, a lock, or an allocation in steady state, but for the system call that wakes a receiver that sleeps. A peer may write anything at any time to the memory
//! that it shares: this process takes wrong bytes for a message at worst, or gets a [`CorruptRingError`], for
//! good; its other memory is safe, and no call panics or fails to return. Nothing remains on the node
//! when the last process that has a segment is gone, however it ended: a segment has no name.
//! **Leaves to others.** Which processes are peers, and how the descriptor reaches them; which message a tag
//! announces; waiting until a ring has room, or a message; messages larger than [`largest`] have to go in
//! fragments, or another way. [`Node`] does all of this for the ranks of a node: it keeps the contract of
//! `carrousel-transport` over these rings.
//! **Limits.** Processes of one user, in one PID namespace where [`Segment::open_of`] is used. Each
//! peer can map the whole segment, the rings of others too: a hostile peer cannot harm this process, but it can
//! change the messages that others send to it. Linux only.
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
