//! The raw endpoint of a process: its rank's decisions, carried out.
//!
//! What a rank does about a message is decided by the state machine of `carrousel-rank`, the same type that the checker
//! explores and the simulator runs. This crate carries its decisions out: registered memory, transports, progress,
//! connections, and the launcher.
//!
//! **Promises.** Requests are handles, memory is pointers and lengths, peers are ranks of the job: nothing here has a
//! lifetime of the application's, and no name of MPI. No buffer is touched once its request has ended. An [`Endpoint`] is
//! `Send`: several threads drive it behind a lock, one thread without. A peer that dies is an error of the calls that need
//! it, in bounded time.
//! **Leaves to others.** When memory may be lent: `carrousel`, the safe interface, and other libraries that embed an
//! endpoint, promise that by the `unsafe` calls of theirs.
//! **Entry point.** [`join`], then [`Endpoint`].
#![deny(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

mod backends;
mod endpoint;
mod error;
mod join;
mod local;
mod site;

pub use backends::{AnyNetwork, describe_verbs, verbs_choice};
pub use endpoint::{
    Awaited, COMPARED, Endpoint, Found, Launcher, LeftBehind, LookUp, Membership, NodeTopology,
    PmiConnection, ReduceOp, SendKind, Taken, WaitStrategy, Waiting, WaitingRequest,
};
pub use error::{BoxedError, Error};
pub use join::{Joined, check_usage_of_build, join};
pub use local::LocalJob;
pub use site::{CallContext, CallSite, Caller, Located, SourceLine};
