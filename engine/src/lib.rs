//! The raw endpoint of a process: pointers, handles, lengths, ranks of the job. It carries out the decisions of its
//! rank, and decides nothing about a message: `carrousel-rank` does, the type that the checker explores and the
//! simulator runs.
//!
//! **Promises.**
//! - There are no lifetimes of the application, and no names of MPI. To an endpoint all 64 bits of a tag are alike:
//!   every tag and every mask of ignored bits is legal, and 8 bytes of data travel with a message if its sender wants
//!   that (`tests/tags.rs`). What bits mean, a library on it says.
//! - No buffer is touched once its request has ended, and no byte that is not registered under the key that names it,
//!   whatever a peer asks for. `unsafe` code that touches memory is in `endpoint/registry`, which knows the addresses;
//!   [`Endpoint`]'s `send`, `receive`, `register` and `register_mut` pass on what their callers promise.
//! - An [`Endpoint`] is `Send`: several threads drive it behind a lock, one thread without (`tests/threads.rs`).
//! - A peer is reached by one transport, which both ends see alike: where a launcher says which ranks share a node, by
//!   that, otherwise by the node that each address names. A peer that introduces itself by the other transport has no
//!   rank.
//! - A peer that sends bytes that are no packet is given up, as one whose packet is impossible (`tests/malformed.rs`).
//! - The number of a communicator is used again only when all its members take part in agreeing on it, none has it any
//!   more, and all messages that they had sent have arrived.
//! - A lost peer is an error in bounded time, and a long wait is reported. A waiting rank polls, then offers the
//!   processor to others; once a period it takes the slow path: it checks whether peers live, and asks the launcher. A
//!   program that polls by tests and probes does so, too. In a long wait, a rank of a node with more ranks than
//!   processors blocks until a peer rings its doorbell, if no rank is on another node; one that is alone on a node of
//!   one processor, until its adapter has an arrival.
//!
//! **Leaves to others.** When memory may be lent: `carrousel`, the safe interface, and other libraries that embed an
//! endpoint, promise that by their `unsafe` calls.
//! **Entry point.** [`join`] joins the job that a launcher has started, [`LocalJob`] is a job in one process,
//! [`Endpoint::open`] an endpoint that numbers its peers by address (`names`); then [`Endpoint`]. In `endpoint`:
//! `driver` feeds the rank, `work_executor` carries out its work, `packets` takes what transports report, `waiting` is
//! how calls wait, by a `wait_strategy`; `sending` and `receiving` are the ways past it of messages that need no
//! request; `lingering` and `crowd` say how long to look and when to yield. `transports` are the two of them,
//! `arrivals` handles what comes from either; `backends` names the crates of transports: a further network is a variant
//! there, by the traits of `carrousel-transport`. `report` is the line that a job says about itself.
#![deny(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

mod backends;
mod call;
mod endpoint;
mod error;
mod join;
mod local;
#[doc(hidden)]
pub mod report;
mod site;

pub use backends::{AnyNetwork, Introduced, describe_verbs, verbs_choice};
pub use call::FailedCall;
pub use endpoint::{
    Awaited, COMPARED, ClaimedMessage, Endpoint, Found, Launcher, LeftBehind, LookUp, Membership,
    NodeTopology, OpenPeers, OpenRequest, PmiConnection, ReduceOp, SendEnvelope, SendKind, TagText, Taken,
    WaitStrategy, Waiting, WaitingRequest,
};
pub use error::{BoxedError, Error, lost, of_call};
#[doc(hidden)]
pub use join::join_by;
pub use join::{Joined, check_usage_of_build, join};
pub use local::LocalJob;
pub use site::{CallContext, CallSite, Caller, Located, SourceLine};
