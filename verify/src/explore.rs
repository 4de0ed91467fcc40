//! Running an exploration to its end, or to a bound.

use crate::model::{Model, PROMISES, Reached, Settings, Shared};
use crate::program::Job;
use crate::state::State;
use crate::step::Action;
use carrousel_rank::Protocol;
use carrousel_scenario::Check;
use stateright::{Checker, Model as _};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Bounds and means of an exploration.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// Threads that explore.
    pub threads: usize,
    /// Distinct states, at most.
    pub max_states: Option<u64>,
    /// Resident bytes of the whole process, at most.
    pub max_memory: Option<u64>,
    /// Told now and then how far the exploration is.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self { threads: 2, max_states: None, max_memory: None, progress: None }
    }
}

/// How far an exploration is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Distinct states so far.
    pub states: u64,
    /// States generated so far, the same one several times.
    pub generated: u64,
    /// Distinct states whose successors have not been generated.
    pub frontier: u64,
    /// Since the start.
    pub elapsed: Duration,
}

/// A path to a state, with that state's violation.
pub struct Path<P: Protocol> {
    /// The states on the path, each with the action that leaves it; the last one has none.
    pub steps: Vec<(State<P>, Option<Action>)>,
}

/// What an exploration found.
pub struct Outcome<P: Protocol> {
    /// No bound was hit.
    pub exhaustive: bool,
    /// Distinct states.
    pub states: u64,
    /// States generated, the same one several times.
    pub generated: u64,
    /// Length of the longest shortest path.
    pub depth: u64,
    /// Time it took.
    pub elapsed: Duration,
    /// Violated checks, each with a path.
    pub violations: Vec<(Check, Path<P>)>,
    /// A broken promise of the library, with a path.
    pub broken: Option<Path<P>>,
    /// How often each thing was met.
    pub reached: [u64; Reached::ALL.len()],
}

/// Explores all executions of `jobs`.
pub fn explore<P: Protocol>(jobs: Arc<[Job]>, settings: Settings, limits: &Limits<'_>) -> Outcome<P> {
    explore_to_depth(jobs, settings, limits, None)
}

/// Explores one job again, strictly by depth, with nothing left out, and no deeper than the longest of some
/// paths that are known: the first one found is not always a shortest one. Several threads do not search
/// strictly by depth, and a reduced search takes steps that a violation does not need.
pub(crate) fn explore_for_shorter<'p, P: Protocol + 'p>(
    job: Job,
    settings: Settings,
    paths: impl IntoIterator<Item = &'p Path<P>>,
    limits: &Limits<'_>,
) -> Outcome<P> {
    let settings = Settings { reduce: false, ..settings };
    let limits = Limits { threads: 1, progress: None, ..*limits };
    // A search to depth d looks at states whose path has less than d states.
    let depth = paths.into_iter().map(|path| path.steps.len()).max().unwrap_or_default();
    explore_to_depth::<P>([job].into(), settings, &limits, NonZeroUsize::new(depth))
}

fn explore_to_depth<P: Protocol>(
    jobs: Arc<[Job]>,
    settings: Settings,
    limits: &Limits<'_>,
    max_depth: Option<NonZeroUsize>,
) -> Outcome<P> {
    let model = Model::<P>::new(jobs, settings);
    let shared = Arc::clone(model.shared());
    let began = Instant::now();
    let mut builder = model.checker().threads(limits.threads.max(1));
    if let Some(depth) = max_depth {
        builder = builder.target_max_depth(depth.get());
    }
    let checker = builder.spawn_bfs();
    let mut pause = Duration::from_micros(50);
    let mut reported = began;
    while !checker.is_done() {
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
        watch(&checker, &shared, limits, began, &mut reported);
    }
    let checker = checker.join();
    // A search that ends between two looks at its bounds has kept them, or has not.
    let states = checker.unique_state_count() as u64;
    let stopped = shared.stop.load(Ordering::Relaxed) || is_beyond(limits, states);
    let exhaustive = !stopped && max_depth.is_none();
    // Paths are found by walking the model again, which must not be stopped for that, nor counted.
    let reached = Reached::ALL.map(|what| shared.reached(what));
    shared.stop.store(false, Ordering::Relaxed);
    let mut discoveries = checker.discoveries();
    let path = |path: stateright::Path<_, _>| Path { steps: path.into_vec() };
    let broken = discoveries.remove(PROMISES).map(path);
    let mut violations: Vec<(Check, Path<P>)> =
        discoveries.into_iter().filter_map(|(name, steps)| Some((name.parse().ok()?, path(steps)))).collect();
    violations.sort_by_key(|(check, _)| *check);
    Outcome {
        exhaustive,
        states,
        generated: checker.state_count() as u64,
        depth: checker.max_depth() as u64,
        elapsed: began.elapsed(),
        violations,
        broken,
        reached,
    }
}

fn watch<P: Protocol>(
    checker: &impl Checker<Model<P>>,
    shared: &Shared,
    limits: &Limits<'_>,
    began: Instant,
    reported: &mut Instant,
) {
    let states = checker.unique_state_count() as u64;
    if is_beyond(limits, states) {
        shared.stop.store(true, Ordering::Relaxed);
    }
    if let Some(progress) = limits.progress
        && reported.elapsed() > Duration::from_millis(100)
    {
        *reported = Instant::now();
        progress(Progress {
            states,
            generated: checker.state_count() as u64,
            frontier: states.saturating_sub(shared.expanded.load(Ordering::Relaxed)),
            elapsed: began.elapsed(),
        });
    }
}

fn is_beyond(limits: &Limits<'_>, states: u64) -> bool {
    limits.max_states.is_some_and(|most| states > most)
        || limits.max_memory.is_some_and(|most| resident_bytes().is_some_and(|now| now > most))
}

/// Memory of this process, where the system tells.
fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}
