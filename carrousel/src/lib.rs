//! Message passing between processes, in safe Rust: the proven protocols, carried out. The crate that programs name.
//!
//! The calls of MPI, by its chapters: messages between two ranks ([`Communicator::send`], [`Communicator::scope`],
//! [`Communicator::isend`], [`Communicator::probe`], [`Communicator::mprobe`]), collectives ([`Communicator::barrier`]
//! and its siblings), communicators ([`Communicator::split`]), and the job ([`init`], [`Job::finalize`]). Below them is
//! the raw endpoint of `carrousel-engine`, which carries out what the rank's state machine decides.
//!
//! **Promises.**
//! - Messages as MPI defines them: standard and synchronous sends, receives by source and tag or any, in the order of
//!   the standard. A tag that reaches the endpoint is one of MPI's, or `MPI_ANY_TAG`; another one is an error before
//!   anything begins.
//! - A buffer is the library's from the call that starts its request to the one that ends it, and no code of the
//!   application can reach it meanwhile. Calls that wait borrow it (`blocking`), requests own it (`request`), scopes
//!   outlast it (`scope`). What the endpoint's `unsafe` calls ask for is promised in `point_to_point` and
//!   `collectives`, and nowhere else.
//! - If a peer dies, the calls that need it return an error in bounded time.
//! - Every public call that can wait, or that starts a request, is `#[track_caller]`: reports name lines of the
//!   program.
//! - The messages by which ranks find out whether they call the same collective (`agreement`, and `usage`, if the
//!   option `check_usage` asks for it) do not depend on that collective, so the check ends even if the collective would
//!   not. Either all ranks check or none: the option of rank 0 counts.
//! - A message of steady state allocates nothing (`tests/allocation.rs`), and a connected peer takes at most 8 KiB next
//!   to its ring, as much with 1,024 peers as with 64 (`tests/memory.rs` prints a table).
//!
//! **Leaves to others.** Starting processes (`carrousel run`, or any launcher that speaks PMI-1).
//! **Limits.** Between nodes the library needs InfiniBand or RoCE, and the feature `verbs`. A rank is one thread: the
//! result of [`init`] stays in it. Messages move while a call of this library runs. A call that waits polls all the
//! time. If there are more ranks than processors, it lets other ranks run in between, and sleeps after some
//! milliseconds, until a peer of its node wakes it; loops of tests or probes let others run, too. Between nodes, a rank
//! that has a node of one processor for itself sleeps until its adapter has an arrival, because the kernel may need
//! that processor for it.
//! **Entry point.** [`init`], then [`Communicator`]. [`threads`] makes a job of threads, for tests.
//!
//! ```no_run
//! let job = carrousel::init()?;
//! let world = job.world();
//! if world.rank() == 0 {
//!     world.send(&[1.0f64, 2.0], 1, 7)?;
//! } else {
//!     let mut values = [0.0f64; 2];
//!     let status = world.recv(&mut values, carrousel::Any, 7)?;
//!     assert_eq!((status.source, values), (0, [1.0, 2.0]));
//! }
//! # Ok::<(), carrousel::Error>(())
//! ```
#![deny(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

mod collectives;
mod communicators;
mod complex;
mod element;
mod error;
mod job;
mod point_to_point;
mod shared;
mod uninterrupted;
mod usage;

#[doc(hidden)]
pub use carrousel_engine::AnyNetwork;
pub use carrousel_engine::{
    CallSite, FailedCall, SourceLine, Waiting, WaitingRequest, describe_verbs, verbs_choice,
};
#[doc(hidden)]
pub use collectives::{ReduceOp, on_bytes, part};
pub use communicators::Communicator;
pub use complex::{Complex32, Complex64};
pub use element::Element;
pub use error::{Class, Error};
pub use job::{Job, init, init_with, threads};
#[doc(hidden)]
pub use job::{in_one_thread, in_one_thread_apart, in_one_thread_over};
pub use point_to_point::{
    Any, Message, Outstanding, RankOrTag, Request, Scope, ScopedRequest, Source, Status, Tag, block_on,
    wait_all, wait_any, wait_some,
};
pub use usage::{Disagreement, NotReceived, RankCall, Unreceived};
/// The crate by which structures become elements: see [`Element`].
pub use zerocopy;
