//! The exploration of a model, to its end or to a bound.

pub use crate::limits::{Footprint, Limits, SearchProgress, Stopped};

use crate::action::Action;
use crate::breadth_first;
use crate::model::{Model, Settings};
use crate::program::Job;
use crate::search::CoverPoint;
use crate::state::State;
use carrousel_rank::Protocol;
use carrousel_scenario::Check;
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
    /// In some execution all ranks end their programs.
    pub ends: bool,
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
    let found = breadth_first::search(&model, limits, (&shared.stop, &shared.settled), max_depth);
    // Otherwise the search may have stopped itself at its own bound.
    let stopped = found.stopped.or(shared.is_beyond().then_some(Stopped::States));
    // Paths are found by walking the model again, which must be neither stopped nor counted.
    let reached = CoverPoint::ALL.map(|what| shared.reached(what));
    shared.end();
    let (mut broken, mut violations) = (None, Vec::new());
    for (name, trail) in &found.violated {
        match name.parse() {
            Ok(check) => violations.push((check, Path { steps: trail.walk(&model, &shared.settled) })),
            Err(_) => broken = Some(Path { steps: trail.walk(&model, &shared.settled) }),
        }
    }
    violations.sort_by_key(|(check, _)| *check);
    SearchOutcome {
        exhaustive: stopped.is_none() && max_depth.is_none(),
        stopped,
        states: found.states,
        generated: found.generated,
        depth: found.depth,
        elapsed: began.elapsed(),
        violations,
        broken,
        ends: shared.ends.load(Ordering::Relaxed),
        reached,
    }
}
