//! How a rank waits: it looks as often as it can, then less greedily.

use std::thread;
use std::time::{Duration, Instant};

/// Looks in vain before anything else is done than looking: some ten microseconds.
const SPINS: u32 = 2_000;
/// The same where ranks are more than processors: whoever is waited for probably does not run.
const SPINS_CROWDED: u32 = 20;
/// Looks in vain between two at the clock.
const CLOCK: u32 = 256;
const CLOCK_CROWDED: u32 = 16;
/// Between two looks at what is dear to look at: short for a person, long for a message.
const PERIOD: Duration = Duration::from_millis(10);

/// Counts looks in vain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    idle: u32,
    crowded: bool,
    /// When it is time for what is dear.
    next: Option<Instant>,
}

/// What to do about a look in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idle {
    /// Look again.
    Again,
    /// This is going to be a long wait: it begins now.
    Begins,
    /// It is time for what is dear.
    Long,
}

impl Pace {
    #[inline]
    pub(super) fn new(crowded: bool) -> Self {
        Self { idle: 0, crowded, next: None }
    }

    /// Something has arrived.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.idle = 0;
    }

    /// Nothing has arrived.
    #[inline]
    pub(super) fn idle(&mut self) -> Idle {
        self.idle = self.idle.wrapping_add(1);
        if self.idle < if self.crowded { SPINS_CROWDED } else { SPINS } { Idle::Again } else { self.long() }
    }

    #[cold]
    fn long(&mut self) -> Idle {
        // Not before: some processors take as long for it as a message for its way (140 cycles since Skylake).
        std::hint::spin_loop();
        // A processor of one's own is not given away: others might keep it for a long time.
        if self.crowded {
            thread::yield_now();
        }
        if !self.idle.is_multiple_of(if self.crowded { CLOCK_CROWDED } else { CLOCK }) {
            return Idle::Again;
        }
        let now = Instant::now();
        match self.next {
            Some(next) if now < next => Idle::Again,
            before => {
                self.next = Some(now + PERIOD);
                if before.is_none() { Idle::Begins } else { Idle::Long }
            }
        }
    }
}
