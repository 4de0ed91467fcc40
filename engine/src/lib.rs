//! Message passing between processes: the proven protocols, carried out.
//!
//! What a rank does about a message is decided by the state machine of `carrousel-rank`, the same type that
//! the checker explores and the simulator runs. This crate carries its decisions out: it has the
//! memory, the transport to the peers, and the calls that an application makes.
//!
//! **Promises.** Messages as MPI has them: standard and synchronous sends, receives by source and tag or any,
//! in the order of the standard. No buffer is touched when the application has it. A peer that
//! dies is an error of the calls that need it, in bounded time.
//! **Leaves to others.** Starting processes (`carrousel run`, or any launcher that speaks PMI-1).
//! **Limits.** Between nodes it takes InfiniBand or RoCE, and the feature `verbs`. A rank is one thread: what
//! [`init`] returns stays in it. Messages move while a call of this library runs. A call that waits looks all the time;
//! where ranks are more than processors it lets others run in between, and a rank that has a node of one processor for
//! itself sleeps, after some milliseconds, until its adapter has something: the kernel may need that processor for it.
//! **Entry point.** [`init`], then [`Communicator`].
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

mod communicator;
mod communicators;
mod element;
mod endpoint;
mod error;
mod group;
mod leaving;
mod lend;
mod point_to_point;
mod probe;
mod session;
mod shared;
mod site;
mod status;
mod threads;
mod usage;

pub use communicator::Communicator;
pub use element::Element;
pub use endpoint::{Waiting, WaitingRequest};
pub use error::{Class, Error};
pub use lend::{Outstanding, Request, Scope, ScopedRequest, block_on, wait_all, wait_any, wait_some};
pub use session::{Job, describe_verbs, init, init_with, verbs_choice};
pub use site::{CallSite, SourceLine};
pub use status::{Any, Source, Status, Tag};
pub use threads::threads;
#[doc(hidden)]
pub use threads::{in_one_thread, in_one_thread_apart, in_one_thread_over};
pub use usage::{Disagreement, NotReceived, RankCall, Unreceived};
#[doc(hidden)]
pub use {endpoint::on_bytes, lend::part};
