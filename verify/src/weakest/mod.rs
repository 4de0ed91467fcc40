//! The weakest MPI on windows: what MPI-4.1, chapter 12, promises of them, and nothing of any library.
//!
//! Under the weakest MPI a window has no state machine and no network, as a collective has no schedule there: a library's
//! own order (epochs in turn, requests in a queue, data behind data) would hide races that another MPI shows. What is left
//! are the calls of the ranks, and for how long each access may be *under way*: from its call, or from the moment when its
//! target lets it in, until a call returns of which MPI says that it completes the access there. Two accesses race if
//! they are under way together in some execution, and the search delays what ends an access for as long as it may.
//!
//! Programs have no branches. So nearly all is a fact of the job (`WindowPlan`), or follows from which calls have been made
//! and have returned. Only the locks for which ranks contend have a state of their own ([`Weakest`]).
//!
//! **Every order that this model takes for granted is an [`Order`]**, with the section of MPI that promises it, in
//! `orders.toml`; each can be switched off, and a scenario needs it.
//!
//! Begin reading at `plan`, which `walk` and `relations` make (`apart` and `before` have what keeps accesses apart), then `moments` (what may have begun, returned, and must return), `races`, and `locks`.

mod accumulates;
mod apart;
mod before;
pub(crate) mod calls;
mod held;
mod locks;
pub(crate) mod moments;
pub(crate) mod names;
mod orders;
pub(crate) mod plan;
pub(crate) mod races;
mod relations;
mod walk;

pub use held::{LockStep, Weakest};
pub use orders::{NoSuchOrder, Order, REGISTER};
pub(crate) use plan::WindowPlan;
