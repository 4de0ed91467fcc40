//! Speculative, adaptive rendezvous between one pair of ranks.
//!
//! All messages from one rank to another in one communicator are a *flow*. A message goes out eagerly, with its data,
//! or by *rendezvous*. In a rendezvous the sender announces the message (RTS) and the receiver reads the data. If the
//! receiver was early and has announced its receive (RTR), the sender writes the data at once. Then neither side waits
//! inside the library for the other. `PROTOCOL.md` has the messages, and charts of runs; rules.toml has the rules.
//!
//! **Promises.**
//! - A write goes only into the receive that MPI's matching gives the message, and only while that receive waits,
//!   however announcements cross, are skipped, declined or mispredicted. Two rule sets keep this promise behind one
//!   interface, [`Protocol`]: [`Mirror`], the default, in which both ends compute the same matching, and [`Published`],
//!   the handshake of the thesis in its sound reading.
//! - Eager messages that no receive has taken fit a window. A message that would exceed it is a rendezvous: none waits
//!   for room. So the window, however small, stops no program that works without buffers.
//! - Adaptation ([`Adaptation`]), which decides whether announcing pays, cannot affect safety: any message may be
//!   announced or declined at any time, and the checker explores each choice.
//! - The rules are functions of a type, and in production all are on. No configuration can switch one off; types with a
//!   rule off exist only in `verify` and in tests.
//! - The tables of [`SendSide`] and [`ReceiveSide`] say which call of an end is legal when; others panic in debug
//!   builds.
//! - A packet has one encoding ([`wire`], behind the header of all protocols), and all other bytes are refused with a
//!   reason. A fuzz target feeds bytes of a hostile peer to `wire` and to a rank; ordinary tests replay its corpus.
//!
//! **Leaves to others.** More than one peer: the queues of receives and messages, which all flows of a process share,
//! and receives from any source (`carrousel-rank` composes them). The data, the network.
//! **Entry point.** [`SendSide::rendezvous`] and [`ReceiveSide::announce`]; begin reading at [`Packet`], then `mirror`.
//!
//! ```
//! use carrousel_matching::{Handle, Tag, TagSelector};
//! use carrousel_rendezvous::*;
//! let memory = Memory { address: 0x1000, key: 7 };
//! let receive = Handle { index: 0, generation: 0 };
//! let rtr = RtrId { receive, index: 0 };
//! let mut sender = <Mirror as Protocol>::Sender::default();
//! // The peer announces a receive of 1 MiB ...
//! sender.rtr(&Rtr { tag: TagSelector::exact(Tag(3)), seen: 0, ahead: 0, receive, len: 1 << 20, memory }, Adaptation::Fixed)?;
//! // ... so a message that fits is written into it without further ado.
//! let message = Outgoing { tag: Tag(3), len: 1 << 20, send: receive };
//! let route = sender.rendezvous(&message, Adaptation::Fixed, || true);
//! assert_eq!(route, Route::Write(Target { rtr, len: 1 << 20, memory }));
//! # Ok::<(), Violation>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod adapt;
mod mirror;
mod packet;
mod published;
mod sides;
mod under_way;
mod window;
pub mod wire;

pub use adapt::{Adaptation, Fate, Usage};
pub use carrousel_wire::{Direction, Memory};
pub use mirror::{AllMirrorRules, Mirror, MirrorReceiver, MirrorRules, MirrorSender};
pub use packet::{Hint, Packet, Rtr, RtrId};
pub use published::{
    AllPublishedRules, Published, PublishedReceiver, PublishedRules, PublishedSender, Resume,
};
pub use sides::{
    Blockers, Candidate, Matched, Notice, Outgoing, Protocol, ReceiveSide, Release, Route, SendSide, Target,
    Unmark, Violation,
};
pub use window::{EagerSent, EagerTaken, MESSAGE_COST, NO_WINDOW, cost};
