//! Adaptation: decides whether announcing receives pays (speculative-rendezvous 4.2.6).
//!
//! An RTR is *used* if its receive is written into, *dropped* if it crossed the RTS of its message, and
//! *mispredicted* if its message came eagerly. A flow stops announcing if less than 80 % of its RTRs are used. It
//! then counts the receives that were waiting when their RTS came: those could have used an RTR. It resumes when they
//! are 80 %. If the RTRs of some traffic always cross, it looks useful while the flow is silent; so each relapse
//! doubles the length of the next silence.

/// Whether the flow adapts, or the driver decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Adaptation {
    /// Nothing is counted. Every receive is announced (the static switch is elsewhere), or the driver explores both.
    Fixed,
    /// Count and decide.
    Counting,
}

/// The fate of an announced receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// The message was written into it.
    Used,
    /// Its message came by RTS: the two crossed, or the sender declined.
    Dropped,
    /// Its message came eagerly.
    Mispredicted,
}

/// The number of RTRs, or of receives while silent, that are counted before a decision.
const WINDOW: u16 = 16;
/// The least share of used RTRs, in percent, to go on, and of useful receives, to resume.
const THRESHOLD: u32 = 80;
/// The longest silence is `WINDOW << MAX_BACKOFF` receives.
const MAX_BACKOFF: u8 = 8;

/// The record of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Usage {
    silent: bool,
    /// The number of silences that brought no improvement; 0 after a useful window.
    relapses: u8,
    /// Among `counted`, the used RTRs, or, while silent, the receives that could have used one.
    useful: u16,
    counted: u16,
}

impl Usage {
    /// Whether the flow announces at present.
    pub fn speculates(&self) -> bool {
        !self.silent
    }

    /// An announced receive has its message.
    pub fn resolved(&mut self, fate: Fate) {
        if self.silent {
            return;
        }
        self.counted += 1;
        self.useful += u16::from(fate == Fate::Used);
        if self.counted == WINDOW {
            if self.share() < THRESHOLD {
                self.silence();
            } else {
                self.relapses = 0;
            }
            (self.useful, self.counted) = (0, 0);
        }
    }

    /// A receive that was not announced, though it is large enough, has its message. `waited`: it was posted before
    /// the RTS of the message came.
    pub fn unannounced(&mut self, waited: bool) {
        if !self.silent {
            return;
        }
        self.counted += 1;
        self.useful += u16::from(waited);
        if self.counted == WINDOW << self.relapses.saturating_sub(1).min(MAX_BACKOFF) {
            self.silent = self.share() < THRESHOLD;
            (self.useful, self.counted) = (0, 0);
        }
    }

    /// The sender says that too few RTRs are used.
    pub fn silence(&mut self) {
        if !self.silent {
            *self = Self { silent: true, relapses: self.relapses.saturating_add(1), useful: 0, counted: 0 };
        }
    }

    fn share(&self) -> u32 {
        u32::from(self.useful) * 100 / u32::from(self.counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of `receives` that were announced, if each announced one meets `fate`.
    fn announced(receives: usize, fate: Fate, waited: bool) -> usize {
        let mut usage = Usage::default();
        (0..receives)
            .filter(|_| {
                let speculates = usage.speculates();
                if speculates {
                    usage.resolved(fate);
                } else {
                    usage.unannounced(waited);
                }
                speculates
            })
            .count()
    }

    #[test]
    fn useful_speculation_never_stops() {
        assert_eq!(announced(1000, Fate::Used, true), 1000);
    }

    #[test]
    fn a_sender_that_is_always_early_stops_it_for_good() {
        assert_eq!(announced(100_000, Fate::Dropped, false), usize::from(WINDOW));
    }

    #[test]
    fn eternal_crossings_cost_less_and_less() {
        let many = announced(100_000, Fate::Dropped, true);
        assert!(many < 1000, "{many} of 100,000 receives were announced in vain");
    }

    #[test]
    fn a_change_of_behaviour_is_noticed() {
        let mut usage = Usage::default();
        (0..WINDOW).for_each(|_| usage.resolved(Fate::Mispredicted));
        assert!(!usage.speculates());
        (0..WINDOW).for_each(|_| usage.unannounced(true));
        assert!(usage.speculates());
    }
}
