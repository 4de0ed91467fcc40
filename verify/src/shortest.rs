//! Shortest counterexamples, at the cost of a search or less.
//!
//! The first path that a search finds need not be a shortest one, as the reduction takes steps that a violation does not
//! need. A search finds a shortest of the paths that its reduction leaves, and which reduction leaves a shortest one
//! depends on the violation. Where several threads search, the first match of a receive is whichever comes first in
//! time, so one thread searches again, for the same counterexample in every run.
//!
//! - *At the end of an execution* (a deadlock, a message without a receive): to every end the reduced search takes an
//!   execution of the same length, perhaps in another order. The first end that it finds is a nearest one. A rank
//!   that cannot go on because a value leaves its range counts as a deadlock, too, and is *on the way*: of programs
//!   with such values, both are searched for.
//! - *On the way* (a request that is left behind, a buffer in use, a match): a shortest execution ends with it, and
//!   all its steps are needed for what happens at one rank. So for each rank in turn the persistent set is that of
//!   this rank (`reduce::actions_towards`): each such execution takes something of it, and may take
//!   that first.
//! - *A broken promise* of the library, or a search without reduction: all orders are searched. That the reduction
//!   is right rests on the promises.
//!
//! Before these searches, each step of the known path is left out that the rest can do without: how long a path may be
//! decides how many states a search has to look at. Of a path with which a search has ended at its bound, it is known
//! at least that none of its steps can be left out.
//!
//! All searches together expand no more states than the first one did, or [`EXPANDED_MIN`] (fewer for jobs of very
//! many ranks, whose states are large), or as many as the caller says. A counterexample that is not known to be a
//! shortest one by then says so.

use crate::action::Action;
use crate::after::after;
use crate::explore::{Limits, Path, SearchOutcome, search};
use crate::model::{Model, Settings};
use crate::program::Job;
use crate::search::{SearchGoal, ViolationSite};
use crate::state::State;
use crate::violation::Violation;
use carrousel_rank::Protocol;
use carrousel_scenario::Check;
use std::iter;
use std::num::NonZeroUsize;

/// Of a longer path no steps are left out: that takes time with the square of its states, for each rank.
const LEAVES_OUT_MAX: usize = 10_000_000;
/// States that may be expanded, even if the first search was smaller.
pub const EXPANDED_MIN: u64 = 5_000;
/// Jobs with n times as many ranks may expand an n-th of [`EXPANDED_MIN`].
const RANKS: u64 = 256;

/// A counterexample.
pub struct Shortest<P: Protocol> {
    /// What it violates.
    pub check: Check,
    /// How.
    pub path: Path<P>,
    /// There is no shorter one.
    pub is_known: bool,
    /// Each of its steps is needed by those behind it.
    pub is_minimal: bool,
}

/// Shortest counterexamples, and what they have cost beyond the search that found the first ones.
pub struct Shortened<P: Protocol> {
    /// One for each violated check.
    pub counterexamples: Vec<Shortest<P>>,
    /// States of all searches. A state counts once for each search that has met it.
    pub states: u64,
    /// States generated.
    pub generated: u64,
    /// The states that all searches together could expand.
    pub bound: u64,
}

/// Shortest counterexamples to the checks that a search with these limits has found violated. All searches expand `most`
/// states, if it is given.
pub fn shorten<P: Protocol>(
    job: &Job,
    settings: Settings,
    outcome: &mut SearchOutcome<P>,
    limits: &Limits<'_>,
    most: Option<u64>,
) -> Shortened<P> {
    let mut shortening = Shortening::new(job, settings, limits);
    let is_whole = !shortening.reduces;
    shortening.reduces &= outcome.broken.is_none();
    let ranks = job.ranks.len() as u64;
    let bound = most.unwrap_or_else(|| outcome.states.max(EXPANDED_MIN * RANKS / ranks.max(RANKS)));
    (shortening.left, shortening.done.bound) = (bound, bound);
    // A counterexample that one thread has found in all orders, or at the end of an execution, is a shortest one already;
    // so is a violation in an initial state.
    let alone = limits.threads <= 1;
    for (check, path) in std::mem::take(&mut outcome.violations) {
        let is_known = path.steps.len() <= 1
            || alone && (is_whole || (shortening.reduces && shortening.is_at_the_end(check)));
        let mut best = Shortest { check, path, is_known, is_minimal: is_known };
        if !is_known {
            shortening.shorten(&mut best);
        }
        shortening.done.counterexamples.push(best);
    }
    shortening.done
}

/// A shortest path to a broken promise, to which `path` leads: all orders are searched, however long that takes.
pub(crate) fn shorten_broken<P: Protocol>(
    job: &Job,
    settings: Settings,
    path: Path<P>,
    limits: &Limits<'_>,
) -> Path<P> {
    let mut shortening = Shortening::new(job, settings, limits);
    shortening.reduces = false;
    let shorter = shortening.search(None, None, path.steps.len());
    shorter.and_then(|found| found.broken).unwrap_or(path)
}

/// How a search has ended.
enum Ended {
    /// It has found a shortest path to its goal.
    Found,
    /// There is none.
    Nothing,
    /// At a bound.
    Early,
}

struct Shortening<'a, P: Protocol> {
    model: Model<P>,
    /// The reduction may be used.
    reduces: bool,
    limits: Limits<'a>,
    /// States that may still be expanded.
    left: u64,
    done: Shortened<P>,
}

impl<'a, P: Protocol> Shortening<'a, P> {
    fn new(job: &Job, settings: Settings, limits: &Limits<'a>) -> Self {
        let model = Model::new([job.clone()].into(), settings);
        Self {
            reduces: model.reduces(),
            model,
            limits: Limits { threads: 1, max_states: None, progress: None, ..*limits },
            left: u64::MAX,
            done: Shortened { counterexamples: Vec::new(), states: 0, generated: 0, bound: u64::MAX },
        }
    }

    /// Whether a check is violated only at the end of an execution.
    fn is_at_the_end(&self, check: Check) -> bool {
        let mut programs = self.model.jobs().iter().flat_map(|job| &job.ranks);
        match check {
            Check::DeadlockFreedom => programs.all(|program| program.later.is_empty()),
            check => check == Check::UnmatchedMessage,
        }
    }

    fn shorten(&mut self, best: &mut Shortest<P>) {
        self.leave_out(best);
        let ranks = || 0..self.model.jobs()[0].ranks.len() as u16;
        let places: Vec<Option<ViolationSite>> = if !self.reduces || self.is_at_the_end(best.check) {
            vec![None]
        } else if best.check == Check::DeadlockFreedom {
            iter::once(None).chain(ranks().map(|rank| Some(ViolationSite::Step(rank)))).collect()
        } else {
            let steps = ranks().map(|rank| Some(ViolationSite::Step(rank)));
            // Whether a program ends with an open request depends on its own steps alone.
            let others = ranks().filter(|_| best.check != Check::RequestLeak);
            steps.chain(others.map(|rank| Some(ViolationSite::Rank(rank)))).collect()
        };
        // The rank of the known violation comes first: with a short path from there, the other searches end soon.
        let here = best.path.steps.iter().rev().find_map(|(_, action)| *action).map_or(0, Action::rank);
        if places.len() > 1 {
            self.improve(best, Some(ViolationSite::Step(here)), 0);
        }
        // Which path the first search has found differs from run to run. Of equally short ones, report the same in
        // every run.
        let mut is_chosen = false;
        best.is_known = true;
        for place in places {
            match self.improve(best, place, usize::from(!is_chosen)) {
                Ended::Found => is_chosen = true,
                Ended::Nothing => {}
                Ended::Early => best.is_known = false,
            }
        }
        match best.is_known {
            true => best.is_minimal = true,
            // What was found meanwhile may have steps that it can do without, too.
            false => self.leave_out(best),
        }
    }

    /// Leaves out each step of a path without which it leads to the violation, too; the last ones first, as what is
    /// between may be there for them only.
    fn leave_out(&self, best: &mut Shortest<P>) {
        // Which match is another one depends on what a search has met before.
        if best.check == Check::MatchDeterminism
            || self.is_at_the_end(best.check)
            || best.path.steps.len().pow(2) * self.model.jobs()[0].ranks.len() > LEAVES_OUT_MAX
        {
            return;
        }
        best.is_minimal = true;
        let goal = SearchGoal { check: Some(best.check), at: None, most: u64::MAX };
        let model = self.model.focused(self.reduces, goal);
        let mut at = best.path.steps.len().saturating_sub(2);
        while at > 0 {
            if self.limits.is_interrupted() {
                best.is_minimal = false;
                return;
            }
            at -= 1;
            let steps = &best.path.steps;
            let rest = steps.iter().skip(at + 1).filter_map(|(_, action)| *action);
            let start = &steps[at].0;
            if let Some(mut rest) = replay(&model, start, rest, best.check) {
                best.path.steps.truncate(at);
                best.path.steps.append(&mut rest);
            }
        }
    }

    /// Searches for a path that is shorter than the best one plus `more` steps.
    fn improve(&mut self, best: &mut Shortest<P>, place: Option<ViolationSite>, more: usize) -> Ended {
        let Some(mut found) = self.search(Some(best.check), place, best.path.steps.len() + more) else {
            return Ended::Early;
        };
        match found.violations.iter().position(|(check, _)| *check == best.check) {
            Some(at) => {
                best.path = found.violations.swap_remove(at).1;
                Ended::Found
            }
            None if found.stopped.is_none() => Ended::Nothing,
            None => Ended::Early,
        }
    }

    /// Searches for a path with fewer states than this; `None` if no expansions are left.
    fn search(
        &mut self,
        check: Option<Check>,
        at: Option<ViolationSite>,
        states: usize,
    ) -> Option<SearchOutcome<P>> {
        if self.left == 0 || self.limits.is_interrupted() {
            return None;
        }
        let focus = SearchGoal { check, at, most: self.left };
        let model = self.model.focused(self.reduces, focus);
        // A search to depth d looks at states whose path has less than d states, and no path has none.
        let found = search(model, &self.limits, NonZeroUsize::new(states.max(1)));
        self.left = self.left.saturating_sub(found.states);
        self.done.states += found.states;
        self.done.generated += found.generated;
        Some(found)
    }
}

/// The path of these actions from a state, as far as a violation of the check; `None` if one of them is not possible, or
/// no state violates it.
fn replay<P: Protocol>(
    model: &Model<P>,
    start: &State<P>,
    actions: impl Iterator<Item = Action>,
    check: Check,
) -> Option<Vec<(State<P>, Option<Action>)>> {
    let (mut path, mut state, mut possible) = (Vec::new(), start.clone(), Vec::new());
    for action in actions {
        possible.clear();
        model.all_actions(&state, &mut possible);
        if !possible.contains(&action) {
            return None;
        }
        let next = after(model, &state, action);
        path.push((state, Some(action)));
        state = next;
        if state.violations.iter().any(|violation| violation.check == check) {
            path.push((state, None));
            return Some(path);
        }
        if state.violations.iter().any(Violation::is_last) {
            return None;
        }
    }
    None
}
