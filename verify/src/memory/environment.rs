//! The environment of the state machine: its bounds, its rules, and the situations that it has covered.

use super::bounds::MemoryBounds;
use crate::rules::EnvironmentRules;
use crate::situations::{Situations, situations};
use std::sync::Arc;

situations! {
    /// A situation that an exploration has to cover.
    pub enum MemoryCoverPoint {
        /// A small message was copied, its buffer not used often enough.
        Copied = "copied",
        /// A message went out through a registration of its own.
        Registered = "registered",
        /// A message went out through a registration that existed before.
        Hit = "hit",
        /// A registration made room for another one.
        Evicted = "evicted",
        /// A page of a registration was invalidated while a message went out through it.
        InvalidatedInUse = "invalidated in use",
        /// A page was invalidated while it was being registered.
        Stale = "stale",
        /// There was no room for a registration.
        Refused = "refused",
        /// A registration failed.
        Failed = "failed",
        /// A buffer was new to a table that has stopped growing.
        Stopped = "stopped",
    }
}

/// The status of a search, which all its threads write to.
#[derive(Default)]
pub(super) struct MemorySearch {
    pub(super) situations: Situations<MemoryCoverPoint>,
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
            refused_is_copied: E::refused_is_copied(),
            told_before_reuse: E::told_before_reuse(),
            shared: Arc::default(),
        }
    }

    /// Counts a situation that has been met.
    pub(super) fn reach(&self, what: MemoryCoverPoint) {
        self.shared.situations.note(what);
    }
}
