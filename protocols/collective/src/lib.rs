//! The messages that the members of a collective operation exchange, round by round: barrier, broadcast, reduce,
//! allreduce, gather, allgather, all-to-all.
//!
//! **Promises.**
//! - A [`Schedule`] of rounds for every kind and number of members. In each round a member sends at most one message
//!   and receives at most one; when both are over, it copies or combines bytes.
//! - If every member carries out its rounds in order, and messages of one pair stay in order, each gets the result that
//!   MPI-4.1, chapter 6 defines, and no member waits for ever, even if every send waits for its receive.
//! - A round is computed when it is asked for. Nothing allocates, and a schedule has the size of a few words, for any
//!   number of members.
//!
//! **Leaves to others.** Requests, communicators, messages and memory: members are numbers, bytes are positions in a
//! source, a target and scratch. The operation of a reduction. It has to be associative and commutative: the algorithms
//! do not combine in the order of the members. The order depends on the shape only, never on time, and all members of
//! an allreduce get the same bytes.
//! **Entry point.** [`Schedule::new`] and [`Schedule::round`]; begin reading at [`Round`].
//!
//! The members have to agree on the shape, except for `me`. `source` and `target` must not overlap.
//!
//! ```
//! use carrousel_collective::{At, Buffer, Kind, Schedule, Shape};
//! let shape = Shape { kind: Kind::Broadcast, members: 4, me: 0, root: 0, len: 8, element: 1 };
//! let root = Schedule::new(&shape)?;
//! assert_eq!(root.rounds(), 2);
//! let first = root.round(0).send.map(|message| (message.peer, message.at.buffer));
//! assert_eq!(first, Some((2, Buffer::Source))); // who passes it on to member 3, while the root sends to 1
//! # Ok::<(), carrousel_collective::ShapeError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

mod bruck;
mod dissemination;
mod doubling;
mod gather;
mod pairwise;
mod ring;
mod round;
mod schedule;
mod shape;
mod tree;

pub use round::{At, Buffer, Local, Message, Round, What};
pub use schedule::{Algorithm, Schedule};
pub use shape::{Kind, Shape, ShapeError};
