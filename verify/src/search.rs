//! The goal of a search, and the status that its threads share: how far it is, and which situations it has covered.

use crate::breadth_first::Settled;
use crate::program::Job;
use carrousel_scenario::Check;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A situation that a proof has to cover: one that never met a crossing proves little about crossings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CoverPoint {
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

impl CoverPoint {
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

/// The goal of a search: a shortest path to one violation. The search ends when it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchGoal {
    /// The check that is violated; `None` for a promise of the library's.
    pub(crate) check: Option<Check>,
    /// The site of the violation; `None` if it is at the end of an execution.
    pub(crate) at: Option<ViolationSite>,
    /// The most states to expand.
    pub(crate) most: u64,
}

/// The steps that can be the last one of an execution that violates a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViolationSite {
    /// Steps of this rank's program.
    Step(u16),
    /// Steps of this rank's program, and arrivals at it.
    Rank(u16),
}

/// The status of a search, which all its threads write to.
#[derive(Debug, Default)]
pub struct SearchStatus {
    /// Counts by [`CoverPoint`].
    pub(crate) reached: [AtomicU64; CoverPoint::ALL.len()],
    /// States whose successors were asked for.
    pub expanded: AtomicU64,
    /// Explore no further.
    pub stop: AtomicBool,
    /// In some execution all ranks end their programs.
    pub(crate) ends: AtomicBool,
    /// A search with a goal has expanded as many states as it may.
    pub(crate) beyond: AtomicBool,
    /// The search is over. Paths that are walked again are not stopped.
    pub(crate) is_over: AtomicBool,
    /// Which properties are known not to hold.
    pub(crate) settled: Settled,
    /// The first message that each wildcard receive got, by rank and ordinal; 0 for none yet.
    pub(crate) matches: Vec<AtomicU64>,
}

/// The number of a check's property among those of a model.
pub(crate) fn property_of(check: Check) -> usize {
    1 + check as usize
}

impl SearchStatus {
    pub(crate) fn new(jobs: &[Job]) -> Self {
        let receives = match jobs {
            [job] => job.ranks.iter().map(|program| program.starts.len()).sum(),
            // Families of jobs test the protocol, not the determinism of their programs.
            _ => 0,
        };
        Self {
            matches: (0..receives).map(|_| AtomicU64::new(0)).collect(),
            settled: Settled::new(1 + Check::ALL.len()),
            ..Self::default()
        }
    }

    /// How often a situation was met.
    pub fn reached(&self, what: CoverPoint) -> u64 {
        self.reached[what as usize].load(Ordering::Relaxed)
    }

    /// Whether a search has ended at its bound without reaching its goal.
    pub(crate) fn is_beyond(&self) -> bool {
        self.beyond.load(Ordering::Relaxed)
    }

    /// Ends the search: from now on paths are walked again.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.stop.store(false, Ordering::Relaxed);
    }
}
