//! How long nothing has moved at an endpoint, and whether that has been told.

use super::calls::Operation;
use carrousel_rank::{Source, TagSelector};
use std::time::{Duration, Instant};

/// What has happened so far: how many operations have begun and ended. Another number is no silence.
pub(super) type Moves = [u64; 5];

/// A search that has found nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    pub(super) of: Operation,
    pub(super) from: Source,
    pub(super) tags: TagSelector,
    /// When it was made, for the last time.
    pub(super) moves: Moves,
}

/// How long nothing has moved.
#[derive(Debug)]
pub(super) struct Silence {
    patience: Duration,
    since: Instant,
    moves: Moves,
    pub(super) told: bool,
    pub(super) sought: Option<Search>,
}

impl Silence {
    pub(super) fn new(patience: Duration) -> Self {
        Self { patience, since: Instant::now(), moves: Moves::default(), told: false, sought: None }
    }

    /// How long nothing has moved, if that has to be told now.
    pub(super) fn is_due(&mut self, moves: Moves, now: Instant) -> Option<Duration> {
        if moves != self.moves {
            (self.moves, self.since, self.told) = (moves, now, false);
        }
        let waited = now.saturating_duration_since(self.since);
        (!self.told && waited >= self.patience).then_some(waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_is_told_until_it_ends_and_no_earlier_than_after_its_time() {
        let mut silence = Silence::new(Duration::from_secs(2));
        let (began, second) = (Instant::now(), Duration::from_secs(1));
        let mut due = |moves, after| silence.is_due([moves, 0, 0, 0, 0], began + after * second);
        assert_eq!((due(1, 1), due(1, 2), due(1, 3)), (None, None, Some(2 * second)));
        assert_eq!((due(2, 4), due(2, 5), due(2, 7)), (None, None, Some(3 * second)));
        silence.told = true;
        let mut due = |moves, after| silence.is_due([moves, 0, 0, 0, 0], began + after * second);
        assert_eq!((due(2, 9), due(3, 10), due(3, 12)), (None, None, Some(2 * second)));
    }
}
