//! Which properties are known not to hold, from which level of a search on.

use std::sync::atomic::{AtomicU32, Ordering};

/// What a search knows of some properties, by their number, in the level that it is at, or in that of the state at which a
/// path is walked again.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// By property: the first level in which it is known not to hold; 0 for none.
    since: Vec<AtomicU32>,
    level: AtomicU32,
}

impl Settled {
    /// Of so many properties.
    pub(crate) fn new(properties: usize) -> Self {
        Self { since: (0..properties).map(|_| AtomicU32::new(0)).collect(), level: AtomicU32::new(0) }
    }

    /// Whether a property is known not to hold.
    pub(crate) fn is_settled(&self, property: usize) -> bool {
        let since = self.since.get(property).map_or(0, |since| since.load(Ordering::Relaxed));
        since != 0 && since <= self.level.load(Ordering::Relaxed)
    }

    /// A level of the search begins; which properties do not hold.
    pub(super) fn learn(&self, level: u32, violated: impl Iterator<Item = bool>) {
        for (since, is_violated) in self.since.iter().zip(violated) {
            if is_violated && since.load(Ordering::Relaxed) == 0 {
                since.store(level, Ordering::Relaxed);
            }
        }
        self.enter(level);
    }

    /// What was known in a level is asked for.
    pub(super) fn enter(&self, level: u32) {
        self.level.store(level, Ordering::Relaxed);
    }
}
