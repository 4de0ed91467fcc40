//! The surroundings of the machine: their bounds, the rules that they keep, and what they have met.

use super::bounds::Bounds;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whether those around the machine keep their rules. What breaks one exists only in ablations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    /// All do.
    Right,
    /// The driver waits where it should copy.
    DriverWaits,
    /// The kernel tells of an unmapping some time after it is done.
    KernelTellsLate,
}

/// What an exploration has to meet to say anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// A small message was copied, its buffer not used often enough.
    Copied,
    /// A message went out through a registration of its own.
    Registered,
    /// A message went out through a registration that was there.
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

impl Reached {
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

/// What the threads of an exploration write to.
#[derive(Default)]
pub(super) struct Shared {
    reached: [AtomicU64; Reached::ALL.len()],
    pub(super) is_broken: AtomicBool,
    /// Explore no further.
    pub(super) stop: AtomicBool,
}

impl Shared {
    /// How often each thing was met, by its name in tables.
    pub(super) fn met(&self) -> Vec<(&'static str, u64)> {
        let count = |what: Reached| self.reached[what as usize].load(Ordering::Relaxed);
        Reached::ALL.map(|what| (what.name(), count(what))).to_vec()
    }
}

/// The application, the driver, the adapter and the kernel.
pub(super) struct Environment {
    pub(super) bounds: Bounds,
    pub(super) around: Around,
    pub(super) shared: Arc<Shared>,
}

impl Environment {
    pub(super) fn new(bounds: Bounds, around: Around) -> Self {
        Self { bounds, around, shared: Arc::default() }
    }

    /// Counts something that has been met.
    pub(super) fn reach(&self, what: Reached) {
        self.shared.reached[what as usize].fetch_add(1, Ordering::Relaxed);
    }
}
