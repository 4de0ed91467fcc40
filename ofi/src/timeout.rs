//! Waits of the host's: libfabric's timeouts are milliseconds, or negative for ever.

use std::time::{Duration, Instant};

/// Empty turns before a waiting thread offers the processor to others.
const SPINS: u32 = 1000;
/// Empty turns before it sleeps between them.
const YIELDS: u32 = 20_000;
/// How long.
const SLEEP: Duration = Duration::from_micros(50);

/// The end of a wait.
#[derive(Debug)]
pub(crate) struct Timeout {
    until: Option<Instant>,
    turns: u32,
}

impl Timeout {
    pub(crate) fn new(milliseconds: i32) -> Self {
        let wait = u64::try_from(milliseconds).ok().map(Duration::from_millis);
        Self { until: wait.map(|wait| Instant::now() + wait), turns: 0 }
    }

    /// After an empty turn: whether the wait is over.
    pub(crate) fn is_over(&mut self) -> bool {
        self.turns = self.turns.saturating_add(1);
        match self.turns {
            ..SPINS => {}
            SPINS..YIELDS => std::thread::yield_now(),
            YIELDS.. => std::thread::sleep(SLEEP),
        }
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}
