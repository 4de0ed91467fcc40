//! The exploration of a model, to its end or to a bound.

pub use crate::limits::{Footprint, Limits, SearchProgress, Stopped};

use crate::action::Action;
use crate::model::{Model, PROMISES, Settings};
use crate::program::Job;
use crate::search::CoverPoint;
use crate::state::State;
use carrousel_rank::Protocol;
use carrousel_scenario::Check;
use stateright::{Checker, Model as _};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A path to a state, with that state's violation.
pub struct Path<P: Protocol> {
    /// The states on the path, each with the action that leaves it; the last one has none.
    pub steps: Vec<(State<P>, Option<Action>)>,
}

/// What an exploration found.
pub struct SearchOutcome<P: Protocol> {
    /// All states were explored.
    pub exhaustive: bool,
    /// The bound at which the exploration has ended, if it has not explored all.
    pub stopped: Option<Stopped>,
    /// Distinct states.
    pub states: u64,
    /// States generated; a state that is reached in several ways counts several times.
    pub generated: u64,
    /// Length of the longest shortest path.
    pub depth: u64,
    /// Time it took.
    pub elapsed: Duration,
    /// Violated checks, each with a path.
    pub violations: Vec<(Check, Path<P>)>,
    /// A broken promise of the library, with a path.
    pub broken: Option<Path<P>>,
    /// How often each situation was met.
    pub reached: [u64; CoverPoint::ALL.len()],
}

/// Explores all executions of `jobs`.
pub fn explore<P: Protocol>(jobs: Arc<[Job]>, settings: Settings, limits: &Limits<'_>) -> SearchOutcome<P> {
    search(Model::new(jobs, settings), limits, None)
}

/// Explores a model; with `max_depth`, only states whose path has fewer states than that.
pub(crate) fn search<P: Protocol>(
    model: Model<P>,
    limits: &Limits<'_>,
    max_depth: Option<NonZeroUsize>,
) -> SearchOutcome<P> {
    let shared = Arc::clone(model.shared());
    let began = Instant::now();
    let mut builder = model.checker().threads(limits.threads.max(1));
    if let Some(depth) = max_depth {
        builder = builder.target_max_depth(depth.get());
    }
    let checker = builder.spawn_bfs();
    let count = || {
        let (states, generated) = (checker.unique_state_count(), checker.state_count());
        (states as u64, generated as u64, shared.expanded.load(Ordering::Relaxed))
    };
    let stopped = limits.watch(&shared.stop, || checker.is_done(), count);
    let checker = checker.join();
    // Otherwise the search may have stopped itself at its own bound.
    let stopped = stopped.or(shared.is_beyond().then_some(Stopped::States));
    // Paths are found by walking the model again, which must be neither stopped nor counted.
    let reached = CoverPoint::ALL.map(|what| shared.reached(what));
    shared.end();
    let mut discoveries = checker.discoveries();
    let path = |path: stateright::Path<_, _>| Path { steps: path.into_vec() };
    let broken = discoveries.remove(PROMISES).map(path);
    let mut violations: Vec<(Check, Path<P>)> =
        discoveries.into_iter().filter_map(|(name, steps)| Some((name.parse().ok()?, path(steps)))).collect();
    violations.sort_by_key(|(check, _)| *check);
    SearchOutcome {
        exhaustive: stopped.is_none() && max_depth.is_none(),
        stopped,
        states: checker.unique_state_count() as u64,
        generated: checker.state_count() as u64,
        depth: checker.max_depth() as u64,
        elapsed: began.elapsed(),
        violations,
        broken,
        reached,
    }
}
