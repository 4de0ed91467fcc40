//! Starts the ranks of a job, and lets them find each other.
//!
//! A rank finds the launcher that has started it with [`Client::from_environment`]: ours, MPICH's hydra, or Slurm with
//! its PMI-1; they all speak the same lines. Through it, ranks exchange the addresses and descriptors with which they
//! connect, and nothing after that. [`run`] is the launcher: it starts the ranks of a [`Job`], on this node or by ssh
//! on others, and makes sure that they end.
//!
//! **Promises.**
//! - The launcher notices at once when a rank ends without finalizing, however it ended; the other ranks are told, have
//!   a grace period, and are ended. After a signal of the user that asks for the end, the ranks have time to end by it;
//!   then they are killed. Every job ends: each wait for ranks that were asked to end has a bound, or ends with the
//!   user's next signal.
//! - When [`run`] returns, no process of the job is left, grandchildren included, or it is named. When the launcher
//!   itself is killed, the ranks die with it, and so do all processes in their process groups or with their
//!   environment. No rank is reaped before all have ended, so a signal never hits another process.
//! - One thread, one `epoll`, no call that waits for a rank, a host or a reader, but one: when the first rank fails by
//!   its status, those that are dying are waited for, a second at most, as it may have failed for them. A slow reader
//!   delays the ranks that write, not the launcher.
//! - Input from a rank, a launcher, a host or the environment may be anything: it is understood, or refused with an
//!   error that quotes it and names its sender. The memory that a rank can make the launcher use is bounded. Lines of
//!   output stay whole.
//! - `server`, `kvs`, `failure_policy`, `coordinator`, `line` and `mapping` are pure; time is an input.
//!
//! **Leaves to others.** Data between ranks; the contents of reports. Security between users: a user who can start the
//! ranks can also be one. It opens no port.
//! **Limits.** Linux. PMI-1 only: launchers that speak only PMIx are refused, with an error that names a way out. Hosts
//! are reached by an ssh that needs no password.
//! **Entry points.** [`Client`] for a rank, [`run`] for a launcher; begin reading at `PmiServer::handle` (a line in,
//! effects out) and `FailurePolicy`, which decide, then `coordinator`, which puts the two together, and `launcher`, the
//! loop that carries it out. `local_ranks` are the processes of one node, with the `reaper` of their descendants, and a
//! `watchdog` for the launcher's own death. `remote` are the ranks of other hosts, where an agent runs the same
//! `local_ranks`. `topology` and `binding` choose processors, `limits` raises the system's limits.
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
#[doc(hidden)]
pub mod coordinator;
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
mod process_group;
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
