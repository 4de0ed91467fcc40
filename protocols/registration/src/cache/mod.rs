//! The registration cache: its vocabulary.
//!
//! Registering memory costs a system call, and more than a copy of a small message. So the cache keeps a registration
//! when its transfer is over, and finds it again when the buffer is used again. A registration is deregistered when
//! room is needed, or when its pages are gone (lazy deregistration, speculative-rendezvous 3.5.1).

mod life;
mod slots;

pub use life::Cache;

use crate::{RegionId, Span};
use core::fmt::Debug;
use core::hash::Hash;

/// The safety rules of the cache, one function each; `rules.toml` gives the purpose of each. Types that switch a rule
/// off exist only in the checker.
pub trait CacheRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// A registration is handed out for a range only if it covers all of it.
    fn covers() -> bool {
        true
    }
    /// A registration that is requested by name is handed out only while that name is valid.
    fn name_is_checked() -> bool {
        true
    }
    /// A registration with an invalidated page is never handed out again.
    fn invalidation_kills() -> bool {
        true
    }
    /// A registration that has to go while it is in use is deregistered when its last use ends.
    fn in_use_stays() -> bool {
        true
    }
    /// An invalidation reaches registrations that the driver has not answered yet.
    fn invalidation_reaches_registering() -> bool {
        true
    }
    /// A registration that was invalidated before the driver's answer is used by no transfer, not even by the one
    /// that requested it.
    fn stale_is_not_used() -> bool {
        true
    }
    /// Only registrations that are not in use are evicted.
    fn evicts_idle_only() -> bool {
        true
    }
}

/// Every rule is on: the type of production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllCacheRules {}
impl CacheRules for AllCacheRules {}

/// The bounds of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// The size of a page is 2^`page_bits` bytes.
    pub page_bits: u32,
    /// The most registrations at a time, including those under way and those in use.
    pub entries: u32,
    /// The most bytes that are registered at a time, in whole pages; pages of two registrations count twice.
    pub bytes: u64,
}

impl Default for Limits {
    /// Pages of 4 KiB, 4,096 registrations, 1 GiB.
    fn default() -> Self {
        Self { page_bits: 12, entries: 4096, bytes: 1 << 30 }
    }
}

/// The answer to a request for registered memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "who acquires has to release"]
pub enum Acquired {
    /// The memory is registered. The caller releases it later.
    Hit(RegionId),
    /// The driver now registers these pages, and reports by [`Cache::registered`] or [`Cache::failed`].
    Register(RegionId, Span),
    /// The memory cannot be registered. The data have to go another way.
    Refused(RegistrationError),
}

/// Why memory cannot be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum RegistrationError {
    /// Even evicting every idle registration would not make enough room.
    #[error("the range is larger than what may be registered in all")]
    TooLarge,
    /// The registrations that would have to be evicted are in use.
    #[error("what is registered is in use")]
    Full,
    /// The last page of the range would end behind the last address.
    #[error("the range ends at the end of all addresses")]
    NoSuchPages,
}

/// The use that can be made of a registration that the driver was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a stale registration must not be used"]
pub enum Registration {
    /// It is held for the transfer that requested it. The caller releases it later.
    Usable,
    /// The pages were invalidated before the answer came, so the registration may be of pages that are gone. It is
    /// deregistered and held by no transfer: the caller requests it again, or sends another way.
    Stale,
}

/// Work for the driver: deregister this region, and forget its keys. No transfer uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deregister(pub RegionId);

/// A mistake of the driver. The cache has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RegionError {
    /// The registration does not exist, or no longer.
    #[error("{0} does not exist")]
    NoSuchRegion(RegionId),
    /// An answer to a request that was not made, or a second answer.
    #[error("{0} is not being registered")]
    NotAsked(RegionId),
    /// A release without an acquisition.
    #[error("{0} is not held")]
    NotHeld(RegionId),
}
