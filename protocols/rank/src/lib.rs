//! One process of a job: matching and a flow for each peer and direction, requests, collectives and windows, composed
//! into one pure state machine.
//!
//! [`Rank`] is the type that drivers share: the engine feeds it application calls and what the network reports, and
//! carries out what it asks for; the simulator does so in virtual time; the checker explores every order of the same
//! calls and events over the same type. A `Rank` is made of `Messages`, `Collectives`, whose rounds are messages,
//! `Windows`, whose requests stand in the table of messages, and `Communicators`, which know of none of them; each
//! states its invariants, and asserts them after every input in debug builds.
//!
//! **The driver's law.** *Perform every output, in order, before the next input.* Packets of one (peer, context, lane)
//! must be fed in the order in which they were sent.
//!
//! **Promises.** Point-to-point messages, collectives and windows with MPI's semantics.
//! - No call or event waits, or allocates in steady state. A peer may send anything: an impossible packet is a
//!   [`ProtocolError`] that names the peer, never a panic.
//! - No request is complete while a living peer reads or writes its memory. This holds even for a collective that has
//!   lost a member: every member that knows of the loss answers each offer of memory, whether it takes it or not.
//! - It says before which calls the driver has to feed it everything that has arrived
//!   ([`Rank::needs_initial_progress`], speculative-rendezvous 4.2.1). A driver that ignores this is safe, and overlaps
//!   nothing.
//! - Messages of collectives are messages: the same queues, flows and rendezvous, in a context of their own. They are
//!   never announced. A request of a round is named after its collective, so names depend on the application's calls
//!   only; the application cannot ask about such a request.
//! - An eager send has no request unless its caller wants one ([`Rank::send_eagerly`]), and leaves the rank as if it
//!   had had one. So does a receive that its caller waits for, if its message is there ([`Rank::receive_kept`]) or is
//!   the next one ([`Rank::receive_next`]).
//! - What a window asks for, or is told, carries the window's number and nothing of messages: a message costs the same
//!   with windows as without.
//! - A rank is a peer of itself. Its messages to itself travel like all others, and nothing orders them before messages
//!   of other ranks.
//! - Calls that only the checker makes (`Explore`) stand behind a feature that no library which drives a rank has.
//!
//! **Leaves to others.** The data (memory is named, [`Memory`], never touched), the network, time. Waiting: a driver
//! calls, and asks [`Rank::is_complete`].
//! **Entry point.** [`Rank::call`], [`Rank::claim`] and [`Rank::event`]; begin reading at [`Call`], [`Event`],
//! [`Work`], then `collectives` for who runs the rounds.
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
