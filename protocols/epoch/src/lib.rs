//! The epochs of one process in one window of one-sided communication: fence, post and start, lock and lock_all, none
//! of whose calls waits (nonblocking-rma-epochs).
//!
//! A [`Window`] is one rank's part of a window. It takes the program's calls, packets and grants of peers, and reports
//! about operations, and says what to do: which transfers to begin, which packets to post behind them, which grant
//! words to write. An epoch that may not begin yet is deferred, its operations are recorded, and they are replayed when
//! it is activated. `PROTOCOL.md` has the messages, and charts of runs; rules.toml has the rules.
//!
//! **Promises.**
//! - No transfer begins before its target has granted the access, whose id is that of the exposure.
//! - Epochs are activated in the order in which they were opened, each beside those only that [`may_overlap`] allows.
//! - An exposure ends after the last transfer of each origin, and without progress of the origin: Done stands behind
//!   the data on an ordered lane.
//! - An origin has one staging buffer of a target at most, or one request that waits, and it asks only when its access
//!   is granted. So every buffer comes back, and no packet waits for another one's credit.
//! - Locks and exposures are counted apart. With one counter for both, as published, a lock inside a fence epoch takes
//!   the grant of the fence.
//! - A request is complete once, and an error changes nothing. Matching with a peer takes constant time, and the same
//!   ten words, however many epochs are pending (benches).
//!
//! **Leaves to others.** Data, packets' bytes, and the order on the wire that [`Order`] asks for; in which order
//! transfers are best begun; waiting, and handles for the program; who dies.
//! **Entry point.** [`Window::call`] and [`Window::event`]; begin reading at [`Call`], then [`may_overlap`]. `peers` is
//! the matching triple, `epoch` one epoch. In `window`: `open` and `close` are the calls, `activate` the deferred
//! epochs, `grants` what peers tell, `host` the lock of this rank's memory, `flush` the ages of operations, `staging`
//! the way of large accumulates through a buffer of their target.
//!
//! ```
//! use carrousel_epoch::*;
//! use carrousel_wire::RankId;
//! let (origin, target) = (RankId(0), RankId(1));
//! let mut window = Window::<AllEpochRules>::new(origin, 2, Flags::default());
//! let mut work = Vec::new();
//! let put = Transfer { target, kind: TransferKind::Put, place: Blocks::contiguous(0, 8), local: 0 };
//! window.call(Call::Start(&[target]), &mut work)?;
//! window.call(Call::Transfer { transfer: put, with_request: false }, &mut work)?;
//! let closed = window.call(Call::Complete, &mut work)?;
//! assert_eq!(work, [], "the target is late: nothing moves, and no call waits");
//! let grant = Event::Granted { from: target, word: GrantWord::Exposures, value: 1 };
//! window.event(grant, &mut work)?;
//! let [Output::Issue { operation, .. }, Output::Post { packet, order, .. }] = work[..] else { panic!("{work:?}") };
//! assert_eq!((packet, order), (Packet::Done { access: 1 }, Order::Lane), "it arrives behind the data");
//! work.clear();
//! window.event(Event::Complete(operation), &mut work)?;
//! assert_eq!(work, [Output::Complete { request: closed.request().ok_or("no request")?, result: Ok(()) }]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod accumulate;
mod blocks;
mod calls;
mod epoch;
mod errors;
mod inefficiency;
mod kinds;
mod names;
mod peers;
mod rules;
mod setup;
mod slab;
mod staging;
mod window;

pub use accumulate::{AccumulateOp, ElementType, OperationError};
pub use blocks::Blocks;
pub use calls::{
    Call, Event, Failure, Flush, GrantWord, Order, Output, OwnedCall, Packet, Report, Returned, Transfer,
    TransferKind,
};
pub use errors::{EpochEventError, EpochName, EpochUsageError};
pub use inefficiency::Inefficiency;
pub use kinds::{EpochKind, Flags, Relation, may_overlap};
pub use names::{FlushPoint, OperationId, RequestId};
pub use peers::Counts;
pub use rules::{AllEpochRules, Covers, EpochRules};
pub use setup::{Neighbours, Staging, WindowSetup};
pub use staging::StagingError;
pub use window::{EpochView, OriginView, TargetView, Window};

pub use carrousel_lock::Mode;
pub use carrousel_wire::RankId;
