//! The connection between two ranks of different nodes, without the network under it.
//!
//! [`Handshake`] makes the connection. Both ends may begin. They exchange datagrams, which may be lost, doubled and
//! overtaken, and tell each other which queue pair they have made. [`Credits`] keep the connection from overrunning:
//! a packet needs a receive buffer at the peer, and without a credit for one it waits. Where packets travel by two
//! rails, [`SequenceNumbers`] and [`ReorderBuffer`] restore their order.
//!
//! **Promises.** A handshake says *up* only when the peer can receive. Both ends come up if now and then a datagram
//! arrives. The packets on their way never need more than [`Credits::buffers`] receive buffers. While both ends take
//! what arrives, neither waits for ever, even with fewer buffers. Packets of two rails are taken in the order in which
//! they were sent, and the packets that are kept never exceed the window. `carrousel verify --suite connection` explores
//! all of this; rules.toml has the rules.
//! **Leaves to others.** Queue pairs, datagrams and timers: a driver makes them, sends, and ticks. The content of
//! packets.
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
