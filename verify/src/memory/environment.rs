//! The environment of the state machine: its bounds, its rules, and the situations that it has covered.

use super::bounds::MemoryBounds;
use crate::rules::EnvironmentRules;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A situation that an exploration has to cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryCoverPoint {
    /// A small message was copied, its buffer not used often enough.
    Copied,
    /// A message went out through a registration of its own.
    Registered,
    /// A message went out through a registration that existed before.
    Hit,
    /// A registration made room for another one.
    Evicted,
    /// A page of a registration was invalidated while a message went out through it.
    InvalidatedInUse,
    /// A page was invalidated while it was being registered.
    Stale,
    /// There was no room for a registration.
    Refused,
    /// A registration failed.
    Failed,
    /// A buffer was new to a table that has stopped growing.
    Stopped,
}

impl MemoryCoverPoint {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Copied,
        Self::Registered,
        Self::Hit,
        Self::Evicted,
        Self::InvalidatedInUse,
        Self::Stale,
        Self::Refused,
        Self::Failed,
        Self::Stopped,
    ];

    /// A column heading.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copied => "copied",
            Self::Registered => "registered",
            Self::Hit => "hit",
            Self::Evicted => "evicted",
            Self::InvalidatedInUse => "invalidated in use",
            Self::Stale => "stale",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

/// The status of a search, which all its threads write to.
#[derive(Default)]
pub(super) struct MemorySearch {
    reached: [AtomicU64; MemoryCoverPoint::ALL.len()],
    pub(super) is_broken: AtomicBool,
    /// Explore no further.
    pub(super) stop: AtomicBool,
}

impl MemorySearch {
    /// How often each situation was met, by its name in tables.
    pub(super) fn met(&self) -> Vec<(&'static str, u64)> {
        let count = |what: MemoryCoverPoint| self.reached[what as usize].load(Ordering::Relaxed);
        MemoryCoverPoint::ALL.map(|what| (what.name(), count(what))).to_vec()
    }
}

/// The application, the driver, the adapter and the kernel around the state machine.
pub(super) struct Environment {
    pub(super) bounds: MemoryBounds,
    /// Whether the driver copies a message for which there is no room, and does not wait.
    pub(super) refused_is_copied: bool,
    /// Whether the kernel reports an unmapping before it is done, and not some time after.
    pub(super) told_before_reuse: bool,
    pub(super) shared: Arc<MemorySearch>,
}

impl Environment {
    pub(super) fn new<E: EnvironmentRules>(bounds: MemoryBounds) -> Self {
        Self {
            bounds,
            refused_is_copied: E::REFUSED_IS_COPIED,
            told_before_reuse: E::TOLD_BEFORE_REUSE,
            shared: Arc::default(),
        }
    }

    /// Counts a situation that has been met.
    pub(super) fn reach(&self, what: MemoryCoverPoint) {
        self.shared.reached[what as usize].fetch_add(1, Ordering::Relaxed);
    }
}
