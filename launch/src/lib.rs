//! Starting the ranks of a job, and what they need to find each other.
//!
//! A rank finds the launcher that has started it with [`Client::from_environment`]: ours, MPICH's hydra, or
//! Slurm with its PMI-1; they all speak the same lines. Through it ranks exchange what they need to
//! connect (addresses, descriptors), and nothing after that. [`run`] is the launcher: it starts the ranks
//! of a [`Job`], on this node or by ssh on others, and sees to it that they end.
//!
//! **Promises.** A rank that dies without finalizing is noticed at once, whatever the way it went; the
//! others are told, have a grace period, and are ended. A signal of the user that asks for the end has its time to
//! work; then the ranks are killed. When [`run`] returns, no process of the job is left, grandchildren included,
//! or it is named; when the launcher itself is killed, the ranks die with it, and so does what is in their process
//! groups or carries their environment. Lines of output stay whole. What a rank, a launcher or the environment says
//! may be anything: it is understood, or an error that says what it was; what it can make the launcher keep is bounded.
//! **Leaves to others.** Data between ranks; what a report says. Security between users: whoever can
//! start the ranks can also be one.
//! **Limits.** Linux. PMI-1 only: launchers that speak nothing but PMIx are refused with a way out. Hosts
//! are reached by an ssh that needs no password.
//! **Entry points.** [`Client`] for a rank, [`run`] for a launcher; begin reading at `PmiServer::handle` and
//! `FailurePolicy`, which decide, and then at `launcher`, the loop that carries it out.
//!
//! ```
//! use carrousel_launch::Client;
//! // Not started by any launcher: a job of one rank.
//! # for name in ["PMI_FD", "PMI_PORT"] { assert!(std::env::var(name).is_err()); }
//! assert!(Client::from_environment()?.is_none());
//! # Ok::<(), carrousel_launch::LaunchError>(())
//! ```
#![deny(unsafe_code)]

mod binding;
mod client;
mod ending;
mod error;
mod failure_policy;
mod flow;
mod hostfile;
#[doc(hidden)]
pub mod hostile;
mod job;
mod kvs;
mod launcher;
mod limits;
mod line;
mod local_ranks;
mod mapping;
mod poll;
mod remote;
mod server;
mod signals;
mod sink;
mod topology;

pub use binding::Bind;
pub use client::{Client, PeerEvent, processors};
pub use ending::{Ending, StopReason};
pub use error::LaunchError;
pub use job::{Host, Job, Program};
pub use launcher::{Event, Outcome, SETTLED, run};
pub use limits::raise_open_files;
pub use remote::agent::agent;
pub use signals::end_by_signals;
