//! The connection between two ranks of different nodes, without the network under it.
//!
//! [`Handshake`] makes the connection. Both ends may begin. They exchange datagrams, which may be lost, doubled and
//! overtaken, and tell each other which queue pair they have made. [`Credits`] keep the connection from overrunning: a
//! packet needs a receive buffer at the peer, and without a credit for one it waits. Where packets travel by two rails,
//! [`SequenceNumbers`] say which rail a packet may take, and [`ReorderBuffer`] restores their order. `PROTOCOL.md` has
//! the messages, and runs; rules.toml has the rules.
//!
//! **Promises.** `carrousel verify --suite connection` explores all of this.
//! - A handshake says *up* only when the peer's queue pair is connected to its own: no packet that an end sends over
//!   the connection is dropped. Both ends come up if now and then a datagram arrives.
//! - A tick changes nothing once an end is up; it then sends only answers. So a connection that is made costs no
//!   datagram.
//! - The packets on their way never need more than [`Credits::buffers`] receive buffers. Taking a packet, and giving
//!   its credit back, needs no credit. So while both ends take what arrives, neither waits for ever, however few
//!   buffers there are.
//! - Packets of one direction that travel by two rails are taken in the order in which they were sent, after the writes
//!   before them, and the packets that wait for their turn never exceed the window. So with two rails nothing can
//!   happen that could not happen with one.
//!
//! **Leaves to others.** Queue pairs, addresses, datagrams and clocks: a driver makes them, sends, and decides when a
//! tick is. The content of packets.
//! **Entry point.** [`Handshake::begin`] and [`Credits::spend`].
//!
//! ```
//! use carrousel_connection::{Credits, Rules};
//! let (mut sender, mut receiver) = (Credits::<Rules>::new(4), Credits::<Rules>::new(4));
//! while sender.spend() {}
//! assert_eq!(sender.left(), 0);
//! for _ in 0..4 {
//!     receiver.took();
//! }
//! // No packet in the other direction could carry them: they have to be given back alone.
//! assert!(receiver.owes());
//! sender.given(receiver.give())?;
//! assert_eq!(sender.left(), 4);
//! # Ok::<(), carrousel_connection::CreditError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod credits;
mod handshake;
mod order;

pub use credits::{CreditError, CreditRules, Credits};
pub use handshake::{FOR_EVER, Handshake, HandshakeRules, Hello, Progress};
pub use order::{NUMBERS, ORDERED_MAX, OrderRules, Rail, ReorderBuffer, SequenceError, SequenceNumbers};

/// Every rule is on: the type of production.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules;

impl CreditRules for Rules {}
impl HandshakeRules for Rules {}
impl OrderRules for Rules {}
