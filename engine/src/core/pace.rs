//! How a rank waits: it looks as often as it can, then less greedily.

use std::thread;

/// Looks in vain before the processor is offered to others: some microseconds, less than a message of
/// a peer that runs takes.
const SPINS: u32 = 2_000;
/// Looks in vain between two looks at what is dear to look at.
const LOOKS: u32 = 1 << 14;

/// Counts looks in vain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    idle: u32,
    looks: u32,
}

impl Pace {
    #[inline]
    pub(super) fn new() -> Self {
        Self { idle: 0, looks: 0 }
    }

    /// Something has arrived.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.idle = 0;
    }

    /// Nothing has arrived. True now and then: it is time for what is dear.
    #[inline]
    pub(super) fn idle(&mut self) -> bool {
        self.idle = self.idle.wrapping_add(1);
        if self.idle < SPINS {
            std::hint::spin_loop();
            return false;
        }
        // Ranks may be more than processors: whoever we wait for may need this one.
        thread::yield_now();
        let look = self.idle.is_multiple_of(LOOKS);
        self.looks = self.looks.saturating_add(u32::from(look));
        look
    }

    /// Whether what is dear is looked at for the first time in this wait.
    #[inline]
    pub(super) fn is_first_look(&self) -> bool {
        self.looks == 1
    }
}
