//! One process of a job: matching and rendezvous composed into one pure state machine.
//!
//! [`Rank`] is the type that drivers share: the engine feeds it application calls and what the network
//! reports, and carries out what it asks for; the simulator does so in virtual time; the checker
//! explores every order of the same calls and events over the same type.
//!
//! **Promises.** Point-to-point messages, collectives and windows with MPI's semantics. No call or event blocks,
//! allocates in steady state, or panics on what a peer sends: an impossible packet is a
//! [`ProtocolError`] that names the peer.
//! **Leaves to others.** The data (memory is named, never touched), the network, time, waiting.
//! **The driver's law.** *Perform every output, in order, before the next input.* Packets of one
//! (peer, context, lane) must be fed in the order in which they were sent.
//! **Entry point.** [`Rank::call`], [`Rank::claim`] and [`Rank::event`]; begin reading at [`Call`], [`Event`], [`Work`].
//!
//! ```
//! use carrousel_rank::*;
//! let job = Job { ranks: 2 };
//! let (mut rank, mut work) = (Rank::<Mirror>::new(RankId(0), &job, &Options::default()), Vec::new());
//! let memory = Memory { address: 0x1000, key: 7 };
//! let (to, tag, communicator) = (RankId(1), Tag(0), Communicator::WORLD);
//! let small = Send { to, tag, communicator, len: 8, memory, synchronous: false, data: None };
//! let request = rank.call(Call::Send(small), &mut work)?;
//! assert!(rank.is_complete(request)); // a small message does not wait for its receive
//! assert!(matches!(work[0], Work::Send { packet: Packet::Eager { len: 8, .. }, .. }));
//! # Ok::<(), UsageError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod calls;
#[cfg(feature = "checker")]
mod checker;
mod collectives;
mod communicators;
mod errors;
mod messages;
mod options;
mod rank;
mod signature;
mod status;
mod window_work;
mod windows;
mod work;

pub use calls::{Call, Collective, Event, Receive, ReceiveClaimed, Send, check_mpi_tag};
pub use carrousel_collective::{Kind, Schedule, ShapeError};
pub use carrousel_epoch as epoch;
pub use carrousel_matching::{
    Communicator, Context, Envelope, Handle, Pattern, RankId, Source, Tag, TagSelector, mpi,
};
pub use carrousel_rendezvous::{
    Hint, MESSAGE_COST, Mirror, MirrorRules, NO_WINDOW, Packet, Protocol, Published, Release, Rtr, RtrId,
    cost, wire,
};
pub use carrousel_wire::{Direction, Memory, Read, Write};
#[cfg(feature = "checker")]
pub use checker::Explore;
pub use collectives::LANES;
pub use communicators::Members;
pub use errors::{PacketError, ProtocolError, UsageError};
pub use messages::{ANNOUNCED_FROM, collective_of};
pub use options::{Job, Options, Speculation, Transfer};
pub use rank::Rank;
pub use signature::Signature;
pub use status::{Arrived, Failure, Status};
pub use window_work::{WindowIndex, WindowWork};
pub use windows::{Called, WindowError};
pub use work::{Kept, Sink, Work};
