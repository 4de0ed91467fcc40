//! The registration cache: its vocabulary.
//!
//! Registering memory costs a system call, and more than a copy of a small message. So a registration is
//! kept when its transfer is over, and found again when the buffer is used again; it is deregistered when
//! room is needed, or when its pages are gone (lazy deregistration, speculative-rendezvous 3.5.1).

mod life;
mod slots;

pub use life::Cache;

use crate::{RegionId, Span};
use core::fmt::Debug;
use core::hash::Hash;

/// One constant for each safety rule of the cache; `rules.toml` says what each is for. The types that switch
/// one off live in the checker.
pub trait CacheRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// A registration is handed out for a range only if it covers all of it.
    const COVERS: bool = true;
    /// A registration that is asked for by name is handed out only while it is the one of that name, valid.
    const NAME_IS_CHECKED: bool = true;
    /// A registration with an invalidated page is never handed out again.
    const INVALIDATION_KILLS: bool = true;
    /// A registration that has to go while it is in use is deregistered when it is no longer.
    const IN_USE_STAYS: bool = true;
    /// An invalidation reaches registrations that the driver has not answered yet.
    const INVALIDATION_REACHES_REGISTERING: bool = true;
    /// A registration that was invalidated before its answer is used by nobody, who asked for it included.
    const STALE_IS_NOT_USED: bool = true;
    /// Only registrations that are not in use make room.
    const EVICTS_IDLE_ONLY: bool = true;
}

/// Every rule on: what runs in production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllCacheRules {}
impl CacheRules for AllCacheRules {}

/// The bounds of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// The size of a page is 2^`page_bits` bytes.
    pub page_bits: u32,
    /// Registrations at a time, those under way and those in use included.
    pub entries: u32,
    /// Bytes that are registered at a time, in whole pages; pages of two registrations count twice.
    pub bytes: u64,
}

impl Default for Limits {
    /// Pages of 4 KiB, 4,096 registrations, 1 GiB.
    fn default() -> Self {
        Self { page_bits: 12, entries: 4096, bytes: 1 << 30 }
    }
}

/// The answer to who wants registered memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "who acquires has to release"]
pub enum Acquired {
    /// It is registered. To be released.
    Hit(RegionId),
    /// The driver registers these pages now, and says so by [`Cache::registered`] or [`Cache::failed`].
    Register(RegionId, Span),
    /// It cannot be registered. The data have to go another way.
    Refused(Refusal),
}

/// Why memory cannot be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// Nothing that could make room for it would be enough.
    #[error("the range is larger than what may be registered in all")]
    TooLarge,
    /// What could make room is in use.
    #[error("what is registered is in use")]
    Full,
    /// Its last page would end behind the last address.
    #[error("the range ends at the end of all addresses")]
    NoSuchPages,
}

/// What a registration that was asked for can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a stale registration must not be used"]
pub enum Registration {
    /// It is held for who asked. To be released.
    Usable,
    /// The pages were invalidated before the answer came, so it may be of pages that are gone. It is
    /// deregistered and held for nobody: who asked asks again, or sends another way.
    Stale,
}

/// Work for the driver: deregister this region, and forget its keys. No transfer uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deregister(pub RegionId);

/// A mistake of the driver. The cache has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// There is no such registration, or no longer.
    #[error("{0} does not exist")]
    NoSuchRegion(RegionId),
    /// An answer to a question that was not asked, or a second one.
    #[error("{0} is not being registered")]
    NotAsked(RegionId),
    /// A release without an acquisition.
    #[error("{0} is not held")]
    NotHeld(RegionId),
}
