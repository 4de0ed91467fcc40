//! What an exploration is to find, and what its threads share: how far it is, and what it has met.

use crate::program::Job;
use carrousel_scenario::Check;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a proof has met on its way: one that never met a crossing proves little about crossings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reached {
    /// A message was written into an announced receive.
    Written,
    /// An RTR met a message under way by RTS.
    Crossed,
    /// An eager message met an announced receive.
    Mispredicted,
    /// A sender declined to write.
    Declined,
    /// A receive was cancelled.
    Cancelled,
    /// A message was claimed.
    Claimed,
}

impl Reached {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Written, Self::Crossed, Self::Mispredicted, Self::Declined, Self::Cancelled, Self::Claimed];

    /// A column heading.
    pub fn name(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Crossed => "crossed",
            Self::Mispredicted => "mispredicted",
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::Claimed => "claimed",
        }
    }
}

/// What a search is for: a shortest path to one violation. It ends when it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Focus {
    /// The check that is violated; `None` for a promise of the library's.
    pub(crate) check: Option<Check>,
    /// Where its violation is, and of what kind; `None` for one that is at the end of an execution.
    pub(crate) at: Option<Place>,
    /// States to expand, at most.
    pub(crate) most: u64,
}

/// Where something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a step of this rank's program, whatever has come to it before.
    Step(u16),
    /// In a step of this rank's program, or in what comes to it.
    Rank(u16),
}

/// What the threads of an exploration write to.
#[derive(Debug, Default)]
pub struct Shared {
    /// Counts by [`Reached`].
    pub(crate) reached: [AtomicU64; Reached::ALL.len()],
    /// States whose successors were asked for.
    pub expanded: AtomicU64,
    /// Explore no further.
    pub stop: AtomicBool,
    /// A search for something has expanded as much as it may.
    pub(crate) beyond: AtomicBool,
    /// Nothing is searched any more, only walked again: nothing stops that.
    pub(crate) is_over: AtomicBool,
    /// The bits of the checks whose violation has been reported.
    pub(crate) reported: [AtomicBool; Check::ALL.len()],
    /// A broken promise has been reported.
    pub(crate) broken: AtomicBool,
    /// The first message that each wildcard receive got, by rank and ordinal; 0 for none yet.
    pub(crate) matches: Vec<AtomicU64>,
}

impl Shared {
    pub(crate) fn new(jobs: &[Job]) -> Self {
        let receives = match jobs {
            [job] => job.ranks.iter().map(|program| program.starts.len()).sum(),
            // Families of jobs are about the protocol, not about their programs.
            _ => 0,
        };
        Self { matches: (0..receives).map(|_| AtomicU64::new(0)).collect(), ..Self::default() }
    }

    /// How often something was met.
    pub fn reached(&self, what: Reached) -> u64 {
        self.reached[what as usize].load(Ordering::Relaxed)
    }

    /// Whether a search for something has ended without it because it was too long.
    pub(crate) fn is_beyond(&self) -> bool {
        self.beyond.load(Ordering::Relaxed)
    }

    /// From now on paths are walked again.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.stop.store(false, Ordering::Relaxed);
    }
}
