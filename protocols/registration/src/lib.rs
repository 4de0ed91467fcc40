//! Registered memory of one process: the registration cache, and the choice of the buffers that are used often enough
//! to be in it.
//!
//! An adapter reads and writes only memory that is registered with it. [`Cache`] keeps registrations when their
//! transfer is over, finds them again, and ends them when room is needed or their pages are gone. [`Reuse`] counts the
//! uses of small buffers, and compares them with thresholds that have a text form ([`Thresholds`]). A buffer that is
//! used often is registered, and its messages, though small, are no longer copied. [`RegistrationCache`] combines both
//! for a driver. `PROTOCOL.md` has what driver and cache tell each other; rules.toml has the rules.
//!
//! **Promises.**
//! - A registration that is handed out covers the range, and none of its pages was invalidated since it was made. None
//!   is deregistered while a transfer holds it.
//! - A message that cannot have a registration is copied: it never waits for one.
//! - No valid registration covers another one, so a look-up is one search in a tree, for any lengths.
//! - The answers of [`Reuse`] are advice. It remembers names of registrations; only the cache knows whether a name is
//!   still valid. Wrong counts cost time, never data.
//!
//! **Leaves to others.** Registering and deregistering, pointers and keys (a driver keeps its keys in a list by
//! `RegionId.index`), transfers. The parameters of a machine: from how many uses on a registration pays is measured,
//! and passed in. Noticing invalidations: unless every unmapping is reported before it is done, no registration may be
//! kept.
//! **Entry point.** [`RegistrationCache::transfer`], [`RegistrationCache::acquire`] and [`RegistrationCache::release`];
//! begin reading at [`Acquired`], then [`Advice`], then `cache/life` for the life of a registration.
//!
//! ```
//! use carrousel_registration::*;
//! // On this machine a registration pays for 4 uses; register at the second one, hoping for the others.
//! let policy = Policy { thresholds: Thresholds::uniform(4), speculation_percent: 50, ..Policy::default() };
//! let mut memory = RegistrationCache::<AllCacheRules, AllReuseRules>::new(Limits::default(), policy);
//! let (mut work, address) = (Vec::new(), 0x7f00_1200);
//! assert_eq!(memory.transfer(address, 2000, Path::EagerByWrite, &mut work), Route::Copy);
//! let route = memory.transfer(address, 2000, Path::EagerByWrite, &mut work);
//! let Route::Register(region, pages) = route else { return Err("it is used for the second time") };
//! // The driver asks its adapter for these pages, and says that it has them.
//! assert_eq!(memory.registered(region, &mut work), Ok(Registration::Usable));
//! // The message is on its way from the buffer itself. The application unmaps a neighbour ...
//! memory.invalidate(pages, &mut work);
//! assert_eq!(work, []);
//! // ... and when the transfer is done, the registration goes.
//! memory.release(region, &mut work).map_err(|_| "it was held")?;
//! assert_eq!(work, [Deregister(region)]);
//! assert_eq!(memory.transfer(address, 2000, Path::EagerByWrite, &mut work), Route::Copy);
//! # Ok::<(), &str>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod cache;
mod registration_cache;
mod span;
mod uses;

pub use cache::{
    Acquired, AllCacheRules, Cache, CacheRules, Deregister, Limits, RegionError, Registration,
    RegistrationError,
};
pub use registration_cache::{AllReuseRules, Completion, RegistrationCache, ReuseRules, Route};
pub use span::{RegionId, Span};
pub use uses::{Advice, CLASSES, Path, Policy, Reuse, Thresholds, ThresholdsError};
