//! What protocols and transports share: the names of ranks, requests and memory, the header of every packet, and the
//! operations and reports between a rank and what carries its packets.
//!
//! A packet is a [`Header`] of four bytes, a body that only its protocol can read, and data. A transport carries all
//! three, and reads of them the [`Direction`] alone, which is a bit of the header. So transports know no protocol, and
//! a protocol that is new needs no new transport. [`Write`], [`Read`] and [`Report`] are generic in the packet: to a
//! rank it is what its protocol decided, to a transport bytes ([`Head`]). A driver changes one into the other with
//! `map` and `decoded`, and copies no field.
//!
//! **Promises.**
//! - One header, and one version, for the packets of all protocols. A header of another version, or of a protocol that
//!   does not exist, is refused with the reason; version and protocol have the first byte for ever.
//! - Each header has one encoding. None is a word with version 0: a transport may mark frames of its own by these.
//!
//! **Leaves to others.** Bodies: each protocol encodes and decodes its own (`carrousel-rendezvous`: `wire`), and has
//! its own errors for them. Which operations are ordered: `carrousel-transport`.
//! **Entry point.** [`Header`] for bytes; [`Report`] and [`Write`] for what is between a rank and a transport.
//!
//! ```
//! use carrousel_wire::{Context, Direction, Head, Header, HeaderError, Protocol};
//! let header = Header::new(Protocol::Messages, Direction::ToSender, 2, Context::MESSAGES);
//! let head = Head::new(header, [&7_u32.to_le_bytes(), &[]]);
//! assert_eq!((head.direction(), head.as_bytes().len()), (Direction::ToSender, 8));
//! let later = Header::from_bytes([31 << 3, 0x82, 0, 0]);
//! assert_eq!(later.protocol(), Err(HeaderError::Version(31)));
//! ```
#![no_std]
#![forbid(unsafe_code)]

mod context;
mod head;
mod header;
mod names;
mod operations;
#[cfg(feature = "serde")]
mod serialised;

pub use context::{Communicator, Context};
pub use head::{BODY_MAX, HEAD_MAX, Head};
pub use header::{Direction, Header, HeaderError, Protocol, VERSION};
pub use names::{Handle, Memory, RankId};
pub use operations::{Read, Report, Write};
