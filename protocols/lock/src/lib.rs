//! The lock of one process's part of a window: passive-target locks, shared or exclusive.
//!
//! There are two locks, with the same order: first in, first out, with neighbouring shared requests side by side.
//! [`LockManager`] is the queue at the host of the memory, fed by packets. [`TicketLock`] is one origin's side of a
//! lock whose words ([`Word`]) lie in memory that origin and host share, so that nobody waits for a host that computes;
//! [`HostTickets`] takes tickets there for origins on other nodes, so that there is one queue. An [`Inspection`] finds
//! out whether the ticket that blocks belongs to a process that is dead. `PROTOCOL.md` has the messages, and charts of
//! runs; rules.toml has the rules.
//!
//! **Promises.** `carrousel verify --suite lock` explores all of this.
//! - An exclusive holder is alone. A request is granted after all that arrived before it, and is granted if holders
//!   release.
//! - No call waits. A ticket is taken, and its turn is an answer to a later access.
//! - A request, a release and a grant cost the same for any number of ranks, and a rank has one request at most.
//! - A process that dies as a holder frees nothing, and is told; a request that waits in a queue goes with its origin.
//! - An error changes no state.
//!
//! **Leaves to others.** How requests, grants and releases travel; that a release stands behind the holder's data;
//! epochs; how a death is noticed. Shared memory: this crate says which access is due, with the memory order that it
//! needs, and a driver carries it out. Loom explores these accesses with these orders, and finds memory half written,
//! or a process that is called dead and is not, when one of them is weaker.
//! **Entry point.** [`LockManager::request`] and [`TicketLock::request`].
//!
//! ```
//! use carrousel_lock::{AllLockRules, Grant, LockManager, Mode};
//! use carrousel_wire::RankId;
//! let mut lock = LockManager::<AllLockRules>::new(4);
//! let mut grants = Vec::new();
//! lock.request(RankId(0), Mode::Shared, &mut grants)?;
//! lock.request(RankId(1), Mode::Exclusive, &mut grants)?;
//! // The third request does not overtake the second, although the lock is held in its mode.
//! lock.request(RankId(2), Mode::Shared, &mut grants)?;
//! assert_eq!(grants, [Grant { origin: RankId(0), mode: Mode::Shared }]);
//! lock.release(RankId(0), &mut grants)?;
//! assert_eq!(grants.pop(), Some(Grant { origin: RankId(1), mode: Mode::Exclusive }));
//! # Ok::<(), carrousel_lock::LockError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod host;
mod inspection;
mod manager;
mod mode;
mod ticket;
mod words;

pub use host::HostTickets;
pub use inspection::{DeadOwner, Inspected, Inspection, InspectionError};
pub use manager::{AllLockRules, Death, LockError, LockManager, LockRules, Standing};
pub use mode::{Grant, Mode};
pub use ticket::{AllTicketRules, Progress, TicketError, TicketLock, TicketRules};
pub use words::{Access, Owner, TicketWords, Word};
