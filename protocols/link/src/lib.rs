//! The connection between two ranks of different nodes, without the network under it.
//!
//! [`Handshake`] makes it: two ends that may both want to begin tell each other by datagrams, which may be
//! lost, doubled and overtaken, which queue pair each of them has made for the other. [`Credits`] keep it
//! from overrunning: a packet needs a receive buffer at the peer, and whoever has no credit for one waits.
//! Where packets travel by two ways, [`Numbers`] and [`InOrder`] make one order of them again.
//!
//! **Promises.** A handshake says *up* only when the peer can receive, and both ends get there if now and then
//! a datagram arrives. What is on its way never needs more than [`Credits::buffers`] receive buffers, and while
//! both ends take what arrives, none waits for ever, with fewer buffers neither. Packets of two ways are taken in the
//! order in which they were sent, and never are more kept than the window. `carrousel verify --suite link`
//! explores all of this; rules.toml has the rules.
//! **Leaves to others.** Queue pairs, datagrams, timers: a driver makes, sends, and ticks. What a packet is.
//! **Entry point.** [`Handshake::begin`] and [`Credits::spend`].
//!
//! ```
//! use carrousel_link::{Credits, Rules};
//! let (mut sender, mut receiver) = (Credits::<Rules>::new(4), Credits::<Rules>::new(4));
//! while sender.spend() {}
//! assert_eq!(sender.left(), 0);
//! for _ in 0..4 {
//!     receiver.took();
//! }
//! // Nothing goes the other way that could carry them: they have to be given back alone.
//! assert!(receiver.owes());
//! sender.given(receiver.give())?;
//! assert_eq!(sender.left(), 4);
//! # Ok::<(), carrousel_link::TooMany>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod credits;
mod handshake;
mod order;

pub use credits::{CreditRules, Credits, TooMany};
pub use handshake::{FOR_EVER, Handshake, HandshakeRules, Hello, Progress};
pub use order::{InOrder, NUMBERS, Numbers, ORDERED_MAX, OrderRules, Untimely, Way};

/// Every rule on: what runs in production.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules;

impl CreditRules for Rules {}
impl HandshakeRules for Rules {}
impl OrderRules for Rules {}
