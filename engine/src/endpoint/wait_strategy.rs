//! How a rank waits: it polls as often as it can, then offers the processor to others, and blocks where it may. Once
//! a period it takes the slow path, which is too expensive for every poll: it checks whether peers live, and asks the
//! launcher.

use carrousel_system::{Point, SYSTEM, System};
use std::time::{Duration, Instant};

/// Empty polls before the slow path: some ten microseconds.
const SPINS: u32 = 2_000;
/// The same where another rank waits for this one's processor: the rank that is waited for is probably not running.
const SPINS_CROWDED: u32 = 20;
/// Empty polls between two looks at the clock.
const CLOCK: u32 = 256;
const CLOCK_CROWDED: u32 = 16;
/// A rank that can block spins this long first. An answer that comes soon needs no sleep. Nor does an answer that
/// waits for the next tick of a scheduler (4 ms, most often): the scheduler prefers a process that has just slept to
/// the kernel's threads, which makes more of the answers late.
const AWAKE: Duration = Duration::from_millis(5);
/// The time between two turns of the slow path: short for a person, long for a message.
pub(super) const PERIOD: Duration = Duration::from_millis(10);

/// Empty polls after which the slow path may be due even if there were arrivals between them: the awaited peer may
/// have ended while others go on sending.
const SELDOM: u32 = 1 << 12;

/// Decides what a waiting call does after each empty poll.
#[derive(Clone, Copy, Debug)]
pub struct WaitStrategy {
    /// Empty polls in all.
    polls: u32,
    /// Empty polls before the last arrival.
    before: u32,
    /// Whether another rank waits for the processor of this one.
    crowded: bool,
    /// Whether the rank can block, see [`WaitStep::Block`].
    blocks: bool,
    /// Nothing, while the wait is short: most waits end before anything of it is stored.
    times: Option<Times>,
}

/// The times of a wait that is not short.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    /// The time of the last arrival, once that is long ago.
    since: Option<Instant>,
    /// The time at which the slow path is due.
    next: Option<Instant>,
    /// The same while there are arrivals all the time, which begin no long wait.
    seldom: Option<Instant>,
}

/// Decides when a program that polls by itself, and computes meanwhile, takes the slow path.
pub(super) type PollsTimer = SlowPathTimer<{ PERIOD.as_millis() as u64 }>;
/// The same for a program that starts messages and waits for none: it learns by the slow path that a peer has ended.
pub(super) type StartsTimer = SlowPathTimer<1000>;

/// Decides when the slow path is due, once in so many milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlowPathTimer<const PERIOD_MS: u64> {
    polls: u32,
    next: Option<Instant>,
}

impl<const PERIOD_MS: u64> SlowPathTimer<PERIOD_MS> {
    /// Polls between two looks at the clock: few, as each may come after a long computation.
    const CLOCK: u32 = 16;
    /// Polls between two offers of the processor, where others wait for it: some tens of microseconds, a hundredth of the time that
    /// a scheduler gives. Programs that offer it themselves should not do it twice: with 8, a job of Open MPI's, which does,
    /// lost a third of its messages.
    const OFFER: u32 = 64;

    /// Counts an empty poll. Returns whether the slow path is due. If `others_wait` for the processor, which it asks now and
    /// then, it also offers it to them, as a rank that waits does, where it looks at the clock: so a poll costs no more for it.
    #[inline]
    pub(super) fn is_due(&mut self, others_wait: impl FnOnce() -> bool) -> bool {
        self.polls = self.polls.wrapping_add(1);
        self.polls.is_multiple_of(Self::CLOCK) && self.look_at_clock(others_wait)
    }

    #[cold]
    fn look_at_clock(&mut self, others_wait: impl FnOnce() -> bool) -> bool {
        if self.polls.is_multiple_of(Self::OFFER) && others_wait() {
            SYSTEM.yield_now();
        }
        self.is_due_at(SYSTEM.now())
    }

    fn is_due_at(&mut self, now: Instant) -> bool {
        once_a(Duration::from_millis(PERIOD_MS), &mut self.next, now)
    }
}

/// Whether the action that is planned for `next` is due; it is planned again for a period later. The first call only
/// plans.
fn once_a(period: Duration, next: &mut Option<Instant>, now: Instant) -> bool {
    let is_due = next.is_some_and(|next| now >= next);
    if is_due || next.is_none() {
        *next = Some(now + period);
    }
    is_due
}

/// The step after an empty poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitStep {
    /// Poll again.
    Spin,
    /// Poll again, after a look at who else wants this rank's processor.
    Look,
    /// Poll again; a long wait has begun.
    LongWait,
    /// Take the slow path.
    SlowPath,
    /// Take the slow path, although there was an arrival not long ago.
    BusySlowPath,
    /// Block until something arrives, at most for [`PERIOD`].
    Block,
}

impl WaitStrategy {
    #[inline]
    pub(super) fn new(crowded: bool, blocks: bool) -> Self {
        Self { polls: 0, before: 0, crowded, blocks, times: None }
    }

    /// Another rank waits for the processor of this one, or none does any more.
    pub(super) fn set_crowded(&mut self, crowded: bool) {
        self.crowded = crowded;
    }

    /// There was an arrival.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.before = self.polls;
        if let Some(times) = &mut self.times {
            times.since = None;
        }
    }

    /// There was no arrival.
    #[inline]
    pub(super) fn empty_poll(&mut self) -> WaitStep {
        SYSTEM.passes(Point::EmptyPoll);
        self.polls = self.polls.wrapping_add(1);
        if self.is_soon() && !self.polls.is_multiple_of(SELDOM) { WaitStep::Spin } else { self.long() }
    }

    /// Whether there was an arrival not long ago.
    #[inline]
    fn is_soon(&self) -> bool {
        self.polls.wrapping_sub(self.before) < if self.crowded { SPINS_CROWDED } else { SPINS }
    }

    #[cold]
    fn long(&mut self) -> WaitStep {
        if self.is_soon() {
            let is_due = once_a(PERIOD, &mut self.times.get_or_insert_default().seldom, SYSTEM.now());
            return if is_due { WaitStep::BusySlowPath } else { WaitStep::Spin };
        }
        // Not while spinning: since Skylake the hint takes 140 cycles, as long as a message's way.
        std::hint::spin_loop();
        // With a processor of its own a rank does not yield: others might keep the processor for a long time.
        if self.crowded {
            SYSTEM.yield_now();
        }
        let empty = self.polls.wrapping_sub(self.before);
        if !empty.is_multiple_of(if self.crowded { CLOCK_CROWDED } else { CLOCK }) {
            return WaitStep::Spin;
        }
        self.at(SYSTEM.now())
    }

    /// The step at a time at which the last arrival is long ago.
    fn at(&mut self, now: Instant) -> WaitStep {
        let times = self.times.get_or_insert_default();
        let since = *times.since.get_or_insert(now);
        match times.next {
            Some(next) if now < next && self.blocks && now - since >= AWAKE => WaitStep::Block,
            Some(next) if now < next => WaitStep::Look,
            before => {
                times.next = Some(now + PERIOD);
                if before.is_none() { WaitStep::LongWait } else { WaitStep::SlowPath }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_program_that_polls_takes_the_slow_path_once_a_period() {
        let (mut timer, began) = (PollsTimer::default(), Instant::now());
        let due = (0..=25).filter(|ms| timer.is_due_at(began + *ms * MS)).collect::<Vec<_>>();
        assert_eq!(due, [10, 20]);
    }

    /// The steps at every millisecond of a wait that is long already.
    fn says(mut strategy: WaitStrategy) -> Vec<WaitStep> {
        let began = Instant::now();
        (0..=10).map(|ms| strategy.at(began + ms * MS)).collect()
    }

    #[test]
    fn a_rank_that_can_block_does_once_nothing_has_arrived_for_long() {
        use WaitStep::{Block, LongWait, Look, SlowPath};
        let awake = [LongWait, Look, Look, Look, Look];
        assert_eq!(says(WaitStrategy::new(false, true)), [&awake[..], &[Block; 5], &[SlowPath]].concat());
        assert_eq!(says(WaitStrategy::new(false, false)), [&awake[..], &[Look; 5], &[SlowPath]].concat());
    }

    #[test]
    fn a_rank_looks_sooner_where_a_peer_waits_for_its_processor() {
        let polls = |crowded: bool| {
            let mut strategy = WaitStrategy::new(!crowded, false);
            strategy.set_crowded(crowded);
            (1..).find(|_| strategy.empty_poll() != WaitStep::Spin)
        };
        assert_eq!((polls(true), polls(false)), (Some(32), Some(2048)));
    }

    #[test]
    fn arrivals_do_not_put_the_slow_path_off_for_ever() {
        let mut strategy = WaitStrategy::new(false, false);
        let began = Instant::now();
        let seldom = || {
            for _ in 0..SPINS / 2 {
                if strategy.empty_poll() == WaitStep::BusySlowPath {
                    return true;
                }
            }
            strategy.reset();
            began.elapsed() > 1000 * PERIOD
        };
        assert!(std::iter::repeat_with(seldom).any(|found| found));
        assert!(began.elapsed() < 1000 * PERIOD);
    }

    #[test]
    fn an_arrival_keeps_the_rank_awake() {
        let (mut strategy, began) = (WaitStrategy::new(false, true), Instant::now());
        assert_eq!(strategy.at(began), WaitStep::LongWait);
        assert_eq!(strategy.at(began + AWAKE), WaitStep::Block);
        strategy.reset();
        assert_eq!(strategy.at(began + AWAKE), WaitStep::Look);
        assert_eq!(strategy.at(began + PERIOD), WaitStep::SlowPath, "the slow path is not put off by it");
        assert_eq!(strategy.at(began + PERIOD + MS), WaitStep::Block);
    }
}
