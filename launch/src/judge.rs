//! When a rank's end is a failure, and what is done about it. Pure: time is an input.

use crate::ending::Ending;
use crate::job::INSISTENCE;
use std::time::Duration;

/// What follows from what happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The rank has failed: the user and the other ranks are told.
    Failed { rank: u32, ending: Ending, expected: bool },
    /// All that still run are asked to end.
    Terminate,
    /// All that still run are killed.
    Kill,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rank {
    /// It takes part, and has not said that it is done.
    counts: bool,
    finalised: bool,
    ended: bool,
    failed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// A rank has failed; the others may go on until then.
    Grace {
        until: Duration,
    },
    /// They have been asked to end.
    Terminated {
        until: Duration,
    },
    Killed,
}

/// The history of a job, as far as it decides what a rank's end means.
///
/// A rank fails by a status other than 0, a signal, an abort, or nonsense; and by ending with status 0
/// while another still counts on it: one that has called `init`, and not `finalize`. A program that never
/// calls `init` is free to end at any time.
#[derive(Debug)]
pub(crate) struct Judge {
    ranks: Vec<Rank>,
    grace: Duration,
    phase: Phase,
    first: Option<(u32, Ending)>,
    /// Signals that the ranks were sent on behalf of the user.
    forwarded: Vec<i32>,
}

impl Judge {
    pub(crate) fn new(ranks: u32, grace: Duration) -> Self {
        let ranks = vec![Rank::default(); ranks as usize];
        Self { ranks, grace, phase: Phase::Running, first: None, forwarded: Vec::new() }
    }

    /// The first failure: it decides the exit status.
    pub(crate) fn into_first(self) -> Option<(u32, Ending)> {
        self.first
    }

    /// Whether no rank is left.
    pub(crate) fn all_ended(&self) -> bool {
        self.ranks.iter().all(|rank| rank.ended)
    }

    /// The ranks beside this one that are still there.
    pub(crate) fn others(&self, rank: u32) -> Vec<u32> {
        (0..)
            .zip(&self.ranks)
            .filter(|(other, known)| *other != rank && !known.ended)
            .map(|(r, _)| r)
            .collect()
    }

    /// When [`Self::tick`] has something to do.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        match self.phase {
            Phase::Grace { until } | Phase::Terminated { until } => Some(until),
            Phase::Running | Phase::Killed => None,
        }
    }

    /// The rank takes part.
    pub(crate) fn initialised(&mut self, rank: u32, now: Duration, out: &mut Vec<Verdict>) {
        let known = &mut self.ranks[rank as usize];
        (known.counts, known.finalised) = (!known.ended, false);
        self.find_unfinished(now, out);
    }

    /// The rank is done.
    pub(crate) fn finalised(&mut self, rank: u32) {
        let known = &mut self.ranks[rank as usize];
        (known.counts, known.finalised) = (false, true);
    }

    /// The rank has failed, although its process may go on.
    pub(crate) fn failed(&mut self, rank: u32, ending: Ending, now: Duration, out: &mut Vec<Verdict>) {
        let known = &mut self.ranks[rank as usize];
        known.counts = false;
        // What a rank does when it has been asked to end is no failure of its own.
        let asked = matches!(self.phase, Phase::Terminated { .. } | Phase::Killed);
        if std::mem::replace(&mut known.failed, true) || asked {
            return;
        }
        if self.phase == Phase::Running {
            self.phase = Phase::Grace { until: now + self.grace };
        }
        self.first.get_or_insert((rank, ending.clone()));
        let expected = matches!(&ending, Ending::Killed(signal) if self.forwarded.contains(signal));
        out.push(Verdict::Failed { rank, ending, expected });
    }

    /// The rank's process is gone.
    pub(crate) fn ended(&mut self, rank: u32, ending: Ending, now: Duration, out: &mut Vec<Verdict>) {
        let known = &mut self.ranks[rank as usize];
        (known.ended, known.counts) = (true, false);
        if ending == Ending::Exited(0) {
            self.find_unfinished(now, out);
        } else {
            self.failed(rank, ending, now, out);
        }
    }

    /// A signal goes to all ranks because the user wants it.
    pub(crate) fn forwarded(&mut self, signal: i32) {
        self.forwarded.push(signal);
    }

    /// Time passes.
    pub(crate) fn tick(&mut self, now: Duration, out: &mut Vec<Verdict>) {
        match self.phase {
            Phase::Grace { until } if now >= until => {
                self.phase = Phase::Terminated { until: now + INSISTENCE };
                out.push(Verdict::Terminate);
            }
            Phase::Terminated { until } if now >= until => {
                self.phase = Phase::Killed;
                out.push(Verdict::Kill);
            }
            _ => {}
        }
    }

    fn find_unfinished(&mut self, now: Duration, out: &mut Vec<Verdict>) {
        if !self.ranks.iter().any(|rank| rank.counts) {
            return;
        }
        let missing = |rank: &Rank| rank.ended && !rank.finalised && !rank.failed;
        for rank in 0..self.ranks.len() {
            if missing(&self.ranks[rank]) {
                self.failed(rank as u32, Ending::Unfinished, now, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Step::*;

    const SECOND: Duration = Duration::from_secs(1);

    enum Step {
        Init(u32),
        Done(u32),
        End(u32, Ending),
        Abort(u32),
        Forward(i32),
        Tick(u32),
    }

    /// Two ranks; what the steps lead to.
    fn check(steps: impl IntoIterator<Item = Step>, expected: &[Verdict]) -> Option<(u32, Ending)> {
        let (mut judge, mut out, mut now) = (Judge::new(2, SECOND), Vec::new(), Duration::ZERO);
        for step in steps {
            match step {
                Init(rank) => judge.initialised(rank, now, &mut out),
                Done(rank) => judge.finalised(rank),
                End(rank, ending) => judge.ended(rank, ending, now, &mut out),
                Abort(rank) => judge.failed(rank, abort(), now, &mut out),
                Forward(signal) => judge.forwarded(signal),
                Tick(seconds) => {
                    now += seconds * SECOND;
                    judge.tick(now, &mut out);
                }
            }
        }
        assert_eq!(out, expected);
        judge.into_first()
    }

    fn abort() -> Ending {
        Ending::Aborted { code: 7, message: String::new() }
    }

    fn fine(rank: u32) -> Step {
        End(rank, Ending::Exited(0))
    }

    fn failed(rank: u32, ending: Ending) -> Verdict {
        Verdict::Failed { rank, ending, expected: false }
    }

    #[test]
    fn a_program_that_never_takes_part_may_end() {
        assert_eq!(check([fine(0), fine(1)], &[]), None);
    }

    #[test]
    fn who_has_finalised_may_end() {
        assert_eq!(check([Init(0), Init(1), Done(0), fine(0), Done(1), fine(1)], &[]), None);
    }

    #[test]
    fn who_is_still_needed_may_not() {
        let expected = [failed(0, Ending::Unfinished)];
        assert_eq!(check([Init(0), Init(1), fine(0)], &expected), Some((0, Ending::Unfinished)));
        // Also when that turns out later.
        check([fine(0), Init(1)], &expected);
    }

    #[test]
    fn the_last_need_not_finalise() {
        check([Init(0), Init(1), Done(0), fine(0), fine(1)], &[]);
    }

    #[test]
    fn the_others_get_a_grace_period_then_a_request_then_no_choice() {
        let steps = [End(1, Ending::Exited(3)), Tick(0), Tick(1), Tick(0), Tick(1), Tick(1)];
        check(steps, &[failed(1, Ending::Exited(3)), Verdict::Terminate, Verdict::Kill]);
    }

    #[test]
    fn the_first_failure_counts_and_an_asked_end_is_none() {
        let both = [failed(1, Ending::Killed(9)), failed(0, Ending::Exited(2))];
        let first = check([End(1, Ending::Killed(9)), End(0, Ending::Exited(2))], &both);
        assert_eq!(first, Some((1, Ending::Killed(9))));
        let steps = [End(1, Ending::Killed(9)), Tick(1), End(0, Ending::Killed(15))];
        check(steps, &[failed(1, Ending::Killed(9)), Verdict::Terminate]);
    }

    #[test]
    fn an_abort_is_one_failure() {
        let first = check([Init(0), Abort(0), End(0, Ending::Exited(7))], &[failed(0, abort())]);
        assert_eq!(first, Some((0, abort())));
    }

    #[test]
    fn a_forwarded_signal_is_expected() {
        let expected = Verdict::Failed { rank: 0, ending: Ending::Killed(2), expected: true };
        check([Forward(2), End(0, Ending::Killed(2))], &[expected]);
    }
}
