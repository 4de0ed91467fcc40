//! Matching of messages with receives, for one process, as MPI and libfabric's tagged messages ask for it.
//!
//! A message has a source, a tag of 64 bits and a context. A receive has a context, a source or any, a tag, and a mask
//! of the tag's bits that it ignores. An exact tag and `MPI_ANY_TAG` are two such masks ([`mpi`]). The [`Context`] is a
//! field of its own and not part of the tag, because the protocols count the messages between two ranks for each
//! context. So no receive can ask for any context.
//!
//! **Promises.**
//! - The two queues of an MPI library: receives in posting order ([`Posted`]), messages in order of arrival
//!   ([`Unexpected`]). Each gives the first entry that matches. If messages of one sender arrive in the order in which
//!   they were sent, this is MPI's non-overtaking rule (MPI-4.1, 3.5).
//! - The cost of a message does not depend on how many others wait ([`Queue`]). Tests compare the queues with a search
//!   one by one: they find the oldest entry that matches, and show nothing else of their past.
//! - As in all of `protocols/`: `no_std`, without `unsafe`, and without clock, thread, I/O, randomness or hash order
//!   (`protocols/clippy.toml` refuses them, in tests too).
//!
//! **Leaves to others.** How a message arrives and what is done with a match.
//! **Entry point.** [`Pattern::matches`]; begin reading at [`Envelope`].
//!
//! ```
//! use carrousel_matching::{Context, Envelope, Pattern, RankId, Source, Tag, TagSelector, Unexpected};
//! let mut unexpected = Unexpected::new();
//! let message = Envelope { source: RankId(3), tag: Tag(7), context: Context::MESSAGES };
//! unexpected.arrive(message, "first");
//! unexpected.arrive(message, "second");
//! // Tags 4 to 7, of any source.
//! let tag = TagSelector::new(Tag(4), 0b11);
//! let receive = Pattern { source: Source::Any, tag, context: Context::MESSAGES };
//! assert_eq!(unexpected.take_first(receive), Some((message, "first")));
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod envelope;
mod many;
pub mod mpi;
mod queue;
mod queues;
#[cfg(feature = "serde")]
mod serialised;

pub use carrousel_wire::{Communicator, Context, Handle, RankId};
pub use envelope::{Envelope, Pattern, Source, Tag, TagSelector};
pub use many::Keyed;
pub use queue::Queue;
pub use queues::{Posted, Requested, Unexpected};
