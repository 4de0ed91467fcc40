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
/// Who can sleep looks for so long before. An answer that comes soon is not slept for, nor one that waits for the next tick
/// of a scheduler (4 ms, most often): who has just slept is preferred to the kernel's threads, which makes more of them late.
const AWAKE: Duration = Duration::from_millis(5);
/// Between two looks at what is dear to look at: short for a person, long for a message.
pub(super) const PERIOD: Duration = Duration::from_millis(10);

/// Looks in vain after which it may be time for what is dear, although something has arrived between them: what is waited
/// for may have ended.
const SELDOM: u32 = 1 << 12;

/// Counts looks in vain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// All of them.
    looks: u32,
    /// Those before something arrived last.
    before: u32,
    crowded: bool,
    /// Whether it can sleep, see [`Idle::Rest`].
    rests: bool,
    /// Since when nothing has arrived, once that is long.
    since: Option<Instant>,
    /// When it is time for what is dear.
    next: Option<Instant>,
    /// The same, if something arrives all the time: that begins no long wait.
    seldom: Option<Instant>,
}

/// When it is time for what is dear in a program that looks by itself, and computes meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Glances {
    looks: u32,
    next: Option<Instant>,
}

impl Glances {
    /// Looks between two at the clock: few, as each may come after a long computation.
    const CLOCK: u32 = 8;

    /// One more look; whether it is time.
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        self.looks = self.looks.wrapping_add(1);
        self.looks.is_multiple_of(Self::CLOCK) && self.is_due_at(Instant::now())
    }

    #[cold]
    fn is_due_at(&mut self, now: Instant) -> bool {
        once_a_period(&mut self.next, now)
    }
}

/// Whether it is time for what is done at `next`, which is a period later then. What is not planned yet begins now.
fn once_a_period(next: &mut Option<Instant>, now: Instant) -> bool {
    let is_due = next.is_some_and(|next| now >= next);
    if is_due || next.is_none() {
        *next = Some(now + PERIOD);
    }
    is_due
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
    /// The same, though something has arrived not long ago.
    Seldom,
    /// Sleep until something arrives, but not longer than [`PERIOD`].
    Rest,
}

impl Pace {
    #[inline]
    pub(super) fn new(crowded: bool, rests: bool) -> Self {
        Self { looks: 0, before: 0, crowded, rests, since: None, next: None, seldom: None }
    }

    /// Something has arrived.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.before = self.looks;
        self.since = None;
    }

    /// Nothing has arrived.
    #[inline]
    pub(super) fn idle(&mut self) -> Idle {
        self.looks = self.looks.wrapping_add(1);
        if self.is_soon() && !self.looks.is_multiple_of(SELDOM) { Idle::Again } else { self.long() }
    }

    /// Whether something has arrived not long ago.
    #[inline]
    fn is_soon(&self) -> bool {
        self.looks.wrapping_sub(self.before) < if self.crowded { SPINS_CROWDED } else { SPINS }
    }

    #[cold]
    fn long(&mut self) -> Idle {
        if self.is_soon() {
            let is_due = once_a_period(&mut self.seldom, Instant::now());
            return if is_due { Idle::Seldom } else { Idle::Again };
        }
        // Not before: some processors take as long for it as a message for its way (140 cycles since Skylake).
        std::hint::spin_loop();
        // A processor of one's own is not given away: others might keep it for a long time.
        if self.crowded {
            thread::yield_now();
        }
        let idle = self.looks.wrapping_sub(self.before);
        if !idle.is_multiple_of(if self.crowded { CLOCK_CROWDED } else { CLOCK }) {
            return Idle::Again;
        }
        self.at(Instant::now())
    }

    /// Nothing has arrived for long, and this is the time.
    fn at(&mut self, now: Instant) -> Idle {
        let since = *self.since.get_or_insert(now);
        match self.next {
            Some(next) if now < next && self.rests && now - since >= AWAKE => Idle::Rest,
            Some(next) if now < next => Idle::Again,
            before => {
                self.next = Some(now + PERIOD);
                if before.is_none() { Idle::Begins } else { Idle::Long }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn who_looks_by_itself_looks_around_once_a_period() {
        let (mut glances, began) = (Glances::default(), Instant::now());
        let due = (0..=25).filter(|ms| glances.is_due_at(began + *ms * MS)).collect::<Vec<_>>();
        assert_eq!(due, [10, 20]);
    }

    /// What it says at every millisecond of a wait that is long already.
    fn says(mut pace: Pace) -> Vec<Idle> {
        let began = Instant::now();
        (0..=10).map(|ms| pace.at(began + ms * MS)).collect()
    }

    #[test]
    fn who_can_sleeps_once_nothing_has_come_for_long() {
        use Idle::{Again, Begins, Long, Rest};
        let awake = [Begins, Again, Again, Again, Again];
        assert_eq!(says(Pace::new(false, true)), [&awake[..], &[Rest; 5], &[Long]].concat());
        assert_eq!(says(Pace::new(false, false)), [&awake[..], &[Again; 5], &[Long]].concat());
    }

    #[test]
    fn what_arrives_all_the_time_puts_nothing_off_for_ever() {
        let mut pace = Pace::new(false, false);
        let began = Instant::now();
        let seldom = || {
            for _ in 0..SPINS / 2 {
                if pace.idle() == Idle::Seldom {
                    return true;
                }
            }
            pace.reset();
            began.elapsed() > 1000 * PERIOD
        };
        assert!(std::iter::repeat_with(seldom).any(|found| found));
        assert!(began.elapsed() < 1000 * PERIOD);
    }

    #[test]
    fn what_arrives_keeps_it_awake() {
        let (mut pace, began) = (Pace::new(false, true), Instant::now());
        assert_eq!(pace.at(began), Idle::Begins);
        assert_eq!(pace.at(began + AWAKE), Idle::Rest);
        pace.reset();
        assert_eq!(pace.at(began + AWAKE), Idle::Again);
        assert_eq!(pace.at(began + PERIOD), Idle::Long, "what is dear is not put off by it");
        assert_eq!(pace.at(began + PERIOD + MS), Idle::Rest);
    }
}
