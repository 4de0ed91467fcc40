//! Decides when a rank's end is a failure, and what follows from it. Pure: time is an input.

use crate::ending::{Ending, StopReason};
use crate::job::ESCALATION_DELAY;
use std::time::Duration;

/// A second signal of the user counts only if it comes this long after the first: `timeout`, for one, sends each
/// signal to its child and to its child's group.
const REPEAT_MIN_DELAY: Duration = Duration::from_millis(500);

/// How long a failure waits for the end of a rank that has left before and may be its reason. A program that unwinds ends
/// long before.
const REASON_MAX_DELAY: Duration = Duration::from_secs(1);

/// A decision of the policy, for the launcher to carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The rank has failed: tell the user and the other ranks.
    Failed { rank: u32, ending: Ending, expected: bool },
    /// The launcher ends the job, although no rank has failed: tell the user.
    Stopped { stop: StopReason },
    /// Send SIGTERM to all ranks that still run.
    Terminate,
    /// Send SIGKILL to all ranks that still run.
    Kill,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rank {
    /// It has called `init` before.
    initialised_before: bool,
    /// It has called `init`, and not `finalize`: it counts on the other ranks.
    participates: bool,
    finalised: bool,
    /// It has left without `finalize`, and may go on; the number of ranks that had left before.
    left_as: Option<u32>,
    ended: bool,
    failed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// The user has sent a signal that asks for the end; ranks may go on until then.
    EndRequested {
        until: Option<Duration>,
    },
    /// A rank has failed; the others may go on until then.
    Grace {
        until: Duration,
    },
    /// The ranks have been sent SIGTERM.
    Terminated {
        until: Duration,
    },
    Killed,
}

/// The time limits of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// How long ranks may go on after one has failed.
    pub(crate) grace: Duration,
    /// How long ranks may go on after a signal of the user; `None`: until the next one.
    pub(crate) kill_after: Option<Duration>,
    /// How long the whole job may take, if that is bounded.
    pub(crate) timeout: Option<Duration>,
}

/// The history of a job, as far as it decides whether a rank's end is a failure.
///
/// A rank fails by a status other than 0, a signal, an abort, or a violation of the protocol; and by ending with
/// status 0 while another rank still counts on it: one that has called `init`, and not `finalize`. A program that
/// never calls `init` is free to end at any time.
///
/// A rank that unwinds lets go of its memory, and ends some time later. Peers that miss it may end sooner, by a status of
/// their own: as long as nobody is known to have failed, theirs are not told before its own.
#[derive(Debug)]
pub(crate) struct FailurePolicy {
    ranks: Vec<Rank>,
    /// How many ranks have not ended, and how many count on the others.
    running: usize,
    participants: usize,
    /// Ranks that have ended with status 0 and without `finalize`: failures, as soon as another rank counts on them.
    exited_unfinalised: Vec<u32>,
    /// How many ranks have left without `finalize`.
    left: u32,
    /// Failures by a status while a rank that had left before had not ended, and when they are told in any case.
    held: Vec<(u32, Ending)>,
    held_until: Duration,
    times: Times,
    phase: Phase,
    first_failure: Option<(u32, Ending)>,
    stopped: Option<StopReason>,
    /// The first signal of the user that asks for the end, the time at which it came, and whether a rank had failed
    /// before.
    end_request: Option<(i32, Duration, bool)>,
    /// Signals that were forwarded to the ranks on behalf of the user.
    forwarded: Vec<i32>,
}

impl FailurePolicy {
    pub(crate) fn new(ranks: u32, times: Times) -> Self {
        Self {
            ranks: vec![Rank::default(); ranks as usize],
            running: ranks as usize,
            participants: 0,
            exited_unfinalised: Vec::new(),
            left: 0,
            held: Vec::new(),
            held_until: Duration::ZERO,
            times,
            phase: Phase::Running,
            first_failure: None,
            stopped: None,
            end_request: None,
            forwarded: Vec::new(),
        }
    }

    /// The first failure, and why the launcher has ended the job, if it has; the latter decides the exit status.
    pub(crate) fn into_outcome(self) -> (Option<(u32, Ending)>, Option<StopReason>) {
        (self.first_failure, self.stopped)
    }

    /// Whether no rank is left.
    pub(crate) fn all_ended(&self) -> bool {
        self.running == 0
    }

    /// The ranks whose processes are still there.
    pub(crate) fn running(&self) -> Vec<u32> {
        (0..).zip(&self.ranks).filter(|(_, state)| !state.ended).map(|(rank, _)| rank).collect()
    }

    /// The other ranks that have called `init`, and not `finalize`.
    pub(crate) fn others(&self, rank: u32) -> Vec<u32> {
        if self.participants == 0 {
            return Vec::new();
        }
        (0..)
            .zip(&self.ranks)
            .filter(|(other, state)| *other != rank && state.participates)
            .map(|(r, _)| r)
            .collect()
    }

    /// The time at which [`Self::tick`] has something to do.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let of_phase = match self.phase {
            Phase::Grace { until } | Phase::Terminated { until } => Some(until),
            Phase::Running => self.times.timeout,
            Phase::EndRequested { until } => until.into_iter().chain(self.times.timeout).min(),
            Phase::Killed => None,
        };
        let of_held = (!self.held.is_empty()).then_some(self.held_until);
        of_phase.into_iter().chain(of_held).min()
    }

    /// The rank has called `init`. Returns whether it did for the first time.
    pub(crate) fn initialised(&mut self, rank: u32, now: Duration, out: &mut Vec<Decision>) -> bool {
        let state = &mut self.ranks[rank as usize];
        (state.finalised, state.left_as) = (false, None);
        let (ended, is_new) = (state.ended, !std::mem::replace(&mut state.initialised_before, true));
        self.set_participates(rank, !ended);
        self.find_unfinished(now, out);
        is_new
    }

    /// The rank has called `finalize`.
    pub(crate) fn finalised(&mut self, rank: u32) {
        self.set_participates(rank, false);
        self.ranks[rank as usize].finalised = true;
    }

    /// The rank lets go of what its peers use, without `finalize`: they may fail because of it before it has ended.
    pub(crate) fn left(&mut self, rank: u32) {
        let left_as = &mut self.ranks[rank as usize].left_as;
        self.left += u32::from(left_as.is_none());
        left_as.get_or_insert(self.left - 1);
    }

    /// The rank has failed, although its process may go on.
    pub(crate) fn failed(&mut self, rank: u32, ending: Ending, now: Duration, out: &mut Vec<Decision>) {
        self.set_participates(rank, false);
        let state = &mut self.ranks[rank as usize];
        // The end of a rank after SIGTERM is no failure of its own.
        let asked = matches!(self.phase, Phase::Terminated { .. } | Phase::Killed);
        if std::mem::replace(&mut state.failed, true) || asked {
            return;
        }
        if matches!(self.phase, Phase::Running | Phase::EndRequested { until: None }) {
            self.phase = Phase::Grace { until: now + self.times.grace };
        }
        self.first_failure.get_or_insert((rank, ending.clone()));
        let expected = matches!(&ending, Ending::Killed(signal) if self.forwarded.contains(signal));
        out.push(Decision::Failed { rank, ending, expected });
        self.tell_held(now, out);
    }

    /// Tells the failures that were held back.
    fn tell_held(&mut self, now: Duration, out: &mut Vec<Decision>) {
        for (rank, ending) in std::mem::take(&mut self.held) {
            self.failed(rank, ending, now, out);
        }
    }

    /// Whether a rank that has left before this one may be why this one has failed by its status.
    fn may_have_reason(&self, rank: u32) -> bool {
        let before = self.ranks[rank as usize].left_as.unwrap_or(self.left);
        let goes_on = |state: &Rank| !state.ended && state.left_as.is_some_and(|number| number < before);
        self.left > 0 && self.first_failure.is_none() && self.ranks.iter().any(goes_on)
    }

    /// The rank's process goes on as this program, and cannot be heard any more: it has failed, if others count on it.
    pub(crate) fn disconnected(
        &mut self,
        rank: u32,
        program: String,
        now: Duration,
        out: &mut Vec<Decision>,
    ) {
        if self.ranks[rank as usize].participates {
            self.failed(rank, Ending::Disconnected { program }, now, out);
        }
    }

    /// The rank's process is gone.
    pub(crate) fn ended(&mut self, rank: u32, ending: Ending, now: Duration, out: &mut Vec<Decision>) {
        self.set_participates(rank, false);
        let state = &mut self.ranks[rank as usize];
        self.running -= usize::from(!std::mem::replace(&mut state.ended, true));
        match ending {
            // Its peers have failed without it.
            Ending::Exited(0) if state.left_as.is_some() && !self.held.is_empty() => {
                self.failed(rank, Ending::Unfinished, now, out);
            }
            Ending::Exited(0) => {
                if !state.finalised {
                    self.exited_unfinalised.push(rank);
                }
                self.find_unfinished(now, out);
            }
            Ending::Exited(_) if self.may_have_reason(rank) => {
                if self.held.is_empty() {
                    self.held_until = now + REASON_MAX_DELAY;
                }
                self.held.push((rank, ending));
            }
            _ => self.failed(rank, ending, now, out),
        }
    }

    /// A signal of this number is forwarded to all ranks; a rank that dies of it is not to blame.
    pub(crate) fn forwarded(&mut self, signal: i32) {
        self.forwarded.push(signal);
    }

    /// The user has sent the launcher a signal that asks for the job's end, and that the ranks get as well.
    pub(crate) fn end_requested(&mut self, signal: i32, now: Duration, out: &mut Vec<Decision>) {
        match self.end_request {
            _ if self.all_ended() || self.phase == Phase::Killed => {}
            None => {
                self.end_request = Some((signal, now, self.first_failure.is_some()));
                if self.phase == Phase::Running {
                    self.phase = Phase::EndRequested { until: self.times.kill_after.map(|time| now + time) };
                }
            }
            Some((_, since, _)) if now < since + REPEAT_MIN_DELAY => {}
            Some(_) => self.escalate(out),
        }
    }

    /// The reader of the output has closed it. In a pipeline, that ends the writer.
    pub(crate) fn reader_left(&mut self, now: Duration, out: &mut Vec<Decision>) {
        self.stop(StopReason::ReaderLeft, now + ESCALATION_DELAY, out);
    }

    /// The ranks wait for each other.
    pub(crate) fn deadlocked(&mut self, now: Duration, out: &mut Vec<Decision>) {
        self.stop(StopReason::Deadlock, now + ESCALATION_DELAY, out);
    }

    /// The launcher cannot go on: the output cannot be written.
    pub(crate) fn give_up(&mut self, now: Duration, out: &mut Vec<Decision>) {
        if !matches!(self.phase, Phase::Terminated { .. } | Phase::Killed) {
            self.phase = Phase::Terminated { until: now + ESCALATION_DELAY };
            out.push(Decision::Terminate);
        }
    }

    /// The reason to stop, once the job has taken longer than it may.
    pub(crate) fn timed_out(&self, now: Duration) -> Option<StopReason> {
        self.times.timeout.filter(|timeout| now >= *timeout).map(StopReason::TimedOut)
    }

    /// Takes the decisions whose time has come.
    pub(crate) fn tick(&mut self, now: Duration, out: &mut Vec<Decision>) {
        if now >= self.held_until {
            self.tell_held(now, out);
        }
        match (self.phase, self.timed_out(now)) {
            (Phase::Running | Phase::EndRequested { .. }, Some(stop)) if !self.all_ended() => {
                self.stop(stop, now + self.times.kill_after.unwrap_or(ESCALATION_DELAY), out);
            }
            (Phase::EndRequested { until: Some(until) }, _) if now >= until => self.escalate(out),
            (Phase::Grace { until }, _) if now >= until => {
                self.phase = Phase::Terminated { until: now + ESCALATION_DELAY };
                out.push(Decision::Terminate);
            }
            (Phase::Terminated { until }, _) if now >= until => {
                self.phase = Phase::Killed;
                out.push(Decision::Kill);
            }
            _ => {}
        }
    }

    /// Kills the ranks that have not ended by the user's signal.
    fn escalate(&mut self, out: &mut Vec<Decision>) {
        self.phase = Phase::Killed;
        if let Some((signal, _, had_failed)) = self.end_request
            && !self.all_ended()
        {
            let stop = StopReason::Signal(signal);
            if !had_failed {
                self.stopped.get_or_insert(stop);
            }
            out.extend([Decision::Stopped { stop }, Decision::Kill]);
        }
    }

    /// Ends the job, unless it is about to be ended already.
    fn stop(&mut self, stop: StopReason, until: Duration, out: &mut Vec<Decision>) {
        if matches!(self.phase, Phase::Terminated { .. } | Phase::Killed) {
            return;
        }
        self.phase = Phase::Terminated { until };
        if self.first_failure.is_none() {
            self.stopped.get_or_insert(stop);
        }
        out.extend([Decision::Stopped { stop }, Decision::Terminate]);
    }

    /// Sets whether the rank counts on the others.
    fn set_participates(&mut self, rank: u32, participates: bool) {
        let before = std::mem::replace(&mut self.ranks[rank as usize].participates, participates);
        self.participants = self.participants + usize::from(participates) - usize::from(before);
    }

    fn find_unfinished(&mut self, now: Duration, out: &mut Vec<Decision>) {
        if self.participants == 0 {
            return;
        }
        for rank in std::mem::take(&mut self.exited_unfinalised) {
            self.failed(rank, Ending::Unfinished, now, out);
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
        Go(u32),
        End(u32, Ending),
        Abort(u32),
        Forward(i32),
        Ask(i32),
        Leave,
        Tick(u32),
    }

    const TIMES: Times = Times { grace: SECOND, kill_after: Some(Duration::from_secs(5)), timeout: None };

    /// Compares the decisions that the steps of two ranks lead to. Returns the first failure.
    fn check(steps: impl IntoIterator<Item = Step>, expected: &[Decision]) -> Option<(u32, Ending)> {
        outcome(TIMES, steps, expected).0
    }

    fn outcome(
        times: Times,
        steps: impl IntoIterator<Item = Step>,
        expected: &[Decision],
    ) -> (Option<(u32, Ending)>, Option<StopReason>) {
        let (mut policy, mut out, mut now) = (FailurePolicy::new(2, times), Vec::new(), Duration::ZERO);
        for step in steps {
            match step {
                Init(rank) => {
                    policy.initialised(rank, now, &mut out);
                }
                Done(rank) => policy.finalised(rank),
                Go(rank) => policy.left(rank),
                End(rank, ending) => policy.ended(rank, ending, now, &mut out),
                Abort(rank) => policy.failed(rank, abort(), now, &mut out),
                Forward(signal) => policy.forwarded(signal),
                Ask(signal) => policy.end_requested(signal, now, &mut out),
                Leave => policy.reader_left(now, &mut out),
                Tick(seconds) => {
                    now += seconds * SECOND;
                    policy.tick(now, &mut out);
                }
            }
        }
        assert_eq!(out, expected);
        policy.into_outcome()
    }

    fn abort() -> Ending {
        Ending::Aborted { code: 7, message: String::new() }
    }

    fn fine(rank: u32) -> Step {
        End(rank, Ending::Exited(0))
    }

    fn failed(rank: u32, ending: Ending) -> Decision {
        Decision::Failed { rank, ending, expected: false }
    }

    #[test]
    fn a_program_that_never_initialises_may_end() {
        assert_eq!(check([fine(0), fine(1)], &[]), None);
    }

    #[test]
    fn a_finalised_rank_may_end() {
        assert_eq!(check([Init(0), Init(1), Done(0), fine(0), Done(1), fine(1)], &[]), None);
    }

    #[test]
    fn a_rank_that_is_still_needed_may_not_end() {
        let expected = [failed(0, Ending::Unfinished)];
        assert_eq!(check([Init(0), Init(1), fine(0)], &expected), Some((0, Ending::Unfinished)));
        // Also when the other rank calls `init` later.
        check([fine(0), Init(1)], &expected);
    }

    #[test]
    fn the_last_rank_need_not_finalise() {
        check([Init(0), Init(1), Done(0), fine(0), fine(1)], &[]);
    }

    #[test]
    fn the_other_ranks_get_a_grace_period_then_sigterm_then_sigkill() {
        let steps = [End(1, Ending::Exited(3)), Tick(0), Tick(1), Tick(0), Tick(1), Tick(1)];
        check(steps, &[failed(1, Ending::Exited(3)), Decision::Terminate, Decision::Kill]);
    }

    #[test]
    fn the_first_failure_counts_and_an_end_after_sigterm_is_no_failure() {
        let both = [failed(1, Ending::Killed(9)), failed(0, Ending::Exited(2))];
        let first = check([End(1, Ending::Killed(9)), End(0, Ending::Exited(2))], &both);
        assert_eq!(first, Some((1, Ending::Killed(9))));
        let steps = [End(1, Ending::Killed(9)), Tick(1), End(0, Ending::Killed(15))];
        check(steps, &[failed(1, Ending::Killed(9)), Decision::Terminate]);
    }

    #[test]
    fn a_rank_that_has_left_is_blamed_although_its_peers_end_first() {
        let first = Ending::Exited(101);
        let told = [failed(1, first.clone()), failed(0, Ending::Exited(3))];
        let begin = || [Init(0), Init(1), Go(1), End(0, Ending::Exited(3))];
        let blamed = check(begin().into_iter().chain([End(1, first.clone())]), &told);
        assert_eq!(blamed, Some((1, first.clone())));
        // The peer lets go as well, later.
        check([Init(0), Init(1), Go(1), Go(0), End(0, Ending::Exited(3)), End(1, first.clone())], &told);
        check([Init(0), Init(1), Go(0), Go(1), End(0, Ending::Exited(3))], &told[1..]);
        // A status of 0 is a failure, too: the peer has needed it.
        let told = [failed(1, Ending::Unfinished), failed(0, Ending::Exited(3))];
        check(begin().into_iter().chain([fine(1)]), &told);
    }

    #[test]
    fn a_failure_waits_for_its_reason_in_bounded_time_and_for_no_signal() {
        let begin = || [Init(0), Init(1), Go(1), End(0, Ending::Exited(3))];
        check(begin(), &[]);
        check(begin().into_iter().chain([Tick(0)]), &[]);
        check(begin().into_iter().chain([Tick(1)]), &[failed(0, Ending::Exited(3))]);
        check([Init(0), Init(1), Go(1), End(0, Ending::Killed(9))], &[failed(0, Ending::Killed(9))]);
        let mut policy = FailurePolicy::new(2, TIMES);
        policy.left(1);
        policy.ended(0, Ending::Exited(3), SECOND, &mut Vec::new());
        assert_eq!(policy.deadline(), Some(2 * SECOND));
    }

    #[test]
    fn an_abort_is_one_failure() {
        let first = check([Init(0), Abort(0), End(0, Ending::Exited(7))], &[failed(0, abort())]);
        assert_eq!(first, Some((0, abort())));
    }

    #[test]
    fn a_forwarded_signal_is_expected() {
        let expected = Decision::Failed { rank: 0, ending: Ending::Killed(2), expected: true };
        check([Forward(2), End(0, Ending::Killed(2))], &[expected]);
    }

    fn stopped(stop: StopReason) -> Decision {
        Decision::Stopped { stop }
    }

    #[test]
    fn ranks_that_survive_the_signal_are_killed_when_their_time_is_over() {
        let stop = StopReason::Signal(15);
        let (first, by) =
            outcome(TIMES, [Ask(15), Tick(4), Tick(1), Tick(9)], &[stopped(stop), Decision::Kill]);
        assert_eq!((first, by), (None, Some(stop)));
        // If all ranks have ended, their own statuses count.
        let (first, by) = outcome(TIMES, [Ask(15), fine(0), fine(1), Tick(9)], &[]);
        assert_eq!((first, by), (None, None));
    }

    #[test]
    fn a_second_signal_kills_at_once_but_not_if_it_is_the_first_one_twice() {
        let stop = StopReason::Signal(2);
        outcome(TIMES, [Ask(2), Ask(2), Ask(15)], &[]);
        outcome(TIMES, [Ask(2), Tick(1), Ask(15)], &[stopped(stop), Decision::Kill]);
        let patient = Times { kill_after: None, ..TIMES };
        outcome(patient, [Ask(2), Tick(1000)], &[]);
        outcome(patient, [Ask(2), Tick(1000), Ask(2)], &[stopped(stop), Decision::Kill]);
    }

    #[test]
    fn a_rank_that_ends_by_the_signal_does_not_shorten_the_time_of_the_others() {
        let died = Decision::Failed { rank: 0, ending: Ending::Killed(15), expected: true };
        let steps = [Forward(15), Ask(15), End(0, Ending::Killed(15)), Tick(4), fine(1)];
        let (first, by) = outcome(TIMES, steps, std::slice::from_ref(&died));
        assert_eq!((first, by), (Some((0, Ending::Killed(15))), None));
        let steps = [Forward(15), Ask(15), End(0, Ending::Killed(15)), Tick(5)];
        let (_, by) = outcome(TIMES, steps, &[died, stopped(StopReason::Signal(15)), Decision::Kill]);
        assert_eq!(by, Some(StopReason::Signal(15)));
    }

    #[test]
    fn a_signal_after_a_failure_does_not_hide_it() {
        let steps = [End(1, Ending::Exited(3)), Ask(2), Tick(1)];
        let (first, by) = outcome(TIMES, steps, &[failed(1, Ending::Exited(3)), Decision::Terminate]);
        assert_eq!((first, by), (Some((1, Ending::Exited(3))), None));
        let steps = [End(1, Ending::Exited(3)), Ask(2), Tick(1), Ask(2)];
        let stop = stopped(StopReason::Signal(2));
        // The grace period is over in the same second.
        let expected = [failed(1, Ending::Exited(3)), Decision::Terminate, stop, Decision::Kill];
        assert_eq!(outcome(TIMES, steps, &expected).1, None);
    }

    #[test]
    fn a_job_whose_time_is_over_is_terminated_then_killed() {
        let times = Times { timeout: Some(3 * SECOND), ..TIMES };
        let stop = StopReason::TimedOut(3 * SECOND);
        let expected = [stopped(stop), Decision::Terminate, Decision::Kill];
        let (first, by) = outcome(times, [Tick(2), Tick(1), End(0, Ending::Killed(15)), Tick(5)], &expected);
        assert_eq!((first, by), (None, Some(stop)));
        outcome(times, [fine(0), fine(1), Tick(9)], &[]);
    }

    #[test]
    fn without_a_reader_the_job_ends_and_no_rank_is_to_blame() {
        let expected = [stopped(StopReason::ReaderLeft), Decision::Terminate, Decision::Kill];
        let steps = [Leave, Leave, End(0, Ending::Exited(101)), Tick(1)];
        assert_eq!(outcome(TIMES, steps, &expected), (None, Some(StopReason::ReaderLeft)));
    }
}
