//! Registered memory of one process: the registration cache.
//!
//! An adapter reads and writes only memory that is registered with it. [`Cache`] keeps registrations when
//! their transfer is over, finds them again, and ends them when room is needed or their pages are gone.
//!
//! **Promises.** A registration that is handed out covers the range, and none of its pages was invalidated
//! since it was made. None is deregistered while somebody holds it.
//! **Leaves to others.** Registering and deregistering, keys, transfers, and hearing of invalidations: without
//! means that tell of every unmapping before it is done, no registration may be kept.
//! **Entry point.** [`Cache::acquire`] and [`Cache::release`]; begin reading at [`Acquired`].
//!
//! ```
//! use carrousel_reuse::*;
//! let mut cache = Cache::<AllCacheRules>::new(Limits::default());
//! let mut work = Vec::new();
//! let buffer = Span::new(0x7f00_1200, 64 << 10).ok_or("there is no such buffer")?;
//! // Nothing is registered: the driver asks its adapter for these pages, and says that it has them.
//! let Acquired::Register(region, pages) = cache.acquire(buffer, &mut work) else { return Err("it is new") };
//! assert!(pages.contains(buffer));
//! assert_eq!(cache.registered(region, &mut work), Ok(Registration::Usable));
//! // The next transfer finds them. While it lasts, the application unmaps the buffer's neighbour ...
//! assert_eq!(cache.acquire(buffer, &mut work), Acquired::Hit(region));
//! cache.release(region, &mut work).map_err(|_| "it was held")?;
//! cache.invalidate(pages, &mut work);
//! assert_eq!(work, []);
//! // ... and when it is over, the registration goes.
//! cache.release(region, &mut work).map_err(|_| "it was held")?;
//! assert_eq!(work, [Deregister(region)]);
//! # Ok::<(), &str>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod cache;
mod span;

pub use cache::{
    Acquired, AllCacheRules, Cache, CacheRules, Deregister, Limits, Misuse, Refusal, Registration,
};
pub use span::{RegionId, Span};
