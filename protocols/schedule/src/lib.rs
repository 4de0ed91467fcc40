//! The order of the transfers of one epoch: those to other nodes first, copies on the node while the network streams.
//!
//! A network adapter moves data by itself. A copy on the node takes the processor. An epoch is over soonest if all
//! remote transfers are under way before the first large copy begins (intra-epoch-scheduling 3 and 4). So a remote
//! transfer and a small copy are carried out in the call that asks for them, and a large copy is queued until the epoch
//! is closed or flushed: in each sweep after that, copies come behind everything remote. While a call waits for the
//! grant of another node, and the network has nothing to do, copies are made meanwhile ([`Patience`]). [`Threshold`]
//! says which copies are large, by default 8 KiB or from what a machine was measured to take; [`scheduled`] and
//! [`unscheduled`] are the published bounds. `PROTOCOL.md` has what driver and schedule tell each other; rules.toml has
//! the rules.
//!
//! **Promises.**
//! - Each transfer is passed on once. Accumulates to one target keep their order. What tells a target that an epoch has
//!   no more transfers for it stands behind these.
//! - What somebody waits for is due: no close, flush or wait for a request is delayed, as the copies that it covers are
//!   due from then on. An epoch is never longer for being scheduled (a property of the tests).
//! - Nothing here is searched: a transfer, a demand of one target and a due copy take the logarithm of the number of
//!   targets that have queued copies.
//!
//! **Leaves to others.** Windows and epochs: what is offered was granted, or its grant comes (`carrousel-epoch` says
//! which). Carrying transfers out, their completions, and when to sweep.
//! **Entry point.** [`Schedule::offer`], [`Schedule::demand`] and [`Schedule::take_due`]; begin reading at
//! [`Transfer`].
//!
//! ```
//! use carrousel_schedule::*;
//! let mut schedule = Schedule::<&str, u32>::new(Threshold::default());
//! let copy = Transfer { place: Place::Node, bytes: 1 << 20, granted: Granted::InCall, accumulates: false };
//! // A large copy to rank 1, of this node, waits; what goes to rank 8, on another, is posted at once ...
//! assert_eq!(schedule.offer(1, copy, "copy to 1"), None);
//! assert_eq!(schedule.offer(8, Transfer { place: Place::Remote, ..copy }, "put to 8"), Some("put to 8"));
//! // ... and so has the network, when the epoch is closed, something to do while this rank copies.
//! assert_eq!(schedule.notice(1, "done for 1"), None);
//! schedule.demand(&1);
//! assert_eq!(schedule.take_due(), Some("copy to 1"));
//! assert_eq!(schedule.take_due(), Some("done for 1"));
//! assert_eq!(schedule.take_due(), None);
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod latency;
mod patience;
mod rules;
mod schedule;
mod threshold;

pub use latency::{Costs, scheduled, unscheduled};
pub use patience::Patience;
pub use rules::{AllScheduleRules, ScheduleRules};
pub use schedule::{Granted, Place, Schedule, Transfer};
pub use threshold::{DEFAULT_THRESHOLD, Measured, Threshold};
