//! The time that transports are given: read on the slow path, and before a rank blocks. So no poll reads a clock, and while
//! nothing arrives the time is never older than a period.

use carrousel_system::{SYSTEM, System};
use std::time::{Duration, Instant};

/// A clock that is read once in a while.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    began: Instant,
    now: Duration,
}

impl Clock {
    /// A clock that has just been read.
    pub(super) fn new() -> Self {
        Self { began: SYSTEM.now(), now: Duration::ZERO }
    }

    /// The time at which it was last read, since it was made.
    #[inline]
    pub(super) fn now(&self) -> Duration {
        self.now
    }

    /// Reads it.
    pub(super) fn read(&mut self) -> Duration {
        self.now = SYSTEM.now() - self.began;
        self.now
    }
}
