//! The raw endpoint of a process, which carries out the decisions of its rank.
//!
//! The state machine of `carrousel-rank` decides about messages. It is the same type that the checker explores and
//! the simulator runs. This crate carries its decisions out: registered memory, transports, progress, connections,
//! and the launcher.
//!
//! **Promises.** Requests are handles, memory is pointers and lengths, peers are ranks of the job: there are no
//! lifetimes of the application, and no names of MPI. A tag has 64 bits, of which a receive may ignore any, and 8
//! bytes of data travel with a message if its sender wants that. No buffer is touched once its request has ended. An
//! [`Endpoint`] is `Send`: several threads drive it behind a lock, one thread without. If a peer dies, the calls that
//! need it return an error in bounded time.
//! **Leaves to others.** When memory may be lent: `carrousel`, the safe interface, and other libraries that embed an
//! endpoint, promise that by their `unsafe` calls. What the bits of a tag mean.
//! **Entry point.** [`join`], then [`Endpoint`].
#![deny(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

mod backends;
mod endpoint;
mod error;
mod join;
mod local;
mod site;

pub use backends::{AnyNetwork, Introduced, describe_verbs, verbs_choice};
pub use endpoint::{
    Awaited, COMPARED, ClaimedMessage, Endpoint, Found, Launcher, LeftBehind, LookUp, Membership,
    NodeTopology, OpenPeers, OpenRequest, PmiConnection, ReduceOp, SendEnvelope, SendKind, TagText, Taken,
    WaitStrategy, Waiting, WaitingRequest,
};
pub use error::{BoxedError, Error};
#[doc(hidden)]
pub use join::join_by;
pub use join::{Joined, check_usage_of_build, join};
pub use local::LocalJob;
pub use site::{CallContext, CallSite, Caller, Located, SourceLine};
