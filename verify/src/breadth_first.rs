//! A search through all states of a model, those that take fewer steps first.
//!
//! **Promises.** States are looked at level by level, and within a level in the order in which one thread would meet
//! them, however many threads there are: so the first violation of a property is one that takes the fewest steps, and the
//! same one in every run, as far as the model says the same in every run. A model may ask which properties are known not to
//! hold ([`Settled`]): what is only for their sake need not be told apart any more. That changes from level to level, so
//! it is the same in every run, too, and when a path is walked again.
//!
//! Of a state that has been expanded only its fingerprint is kept, the state before it and the number of the action that
//! leads from there. A path is found at the end, by walking the model again. (stateright's own search keeps each state
//! of its frontier with its path, which of a long execution is more than the state.)
//!
//! **Leaves to others.** `explorer`, which makes the states that a person clicks at.
//! **Entry point.** [`search`].

mod known;
mod pieces;
mod settled;

pub(crate) use self::settled::Settled;

use self::known::{Known, Level, NONE, Origin, lock};
use crate::limits::{Limits, Stopped};
use stateright::{Model, Property};
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, OnceLock};
use std::{mem, thread};

/// A level with fewer states is explored by one thread: that takes less time than to call the others.
const WIDE: usize = 256;
/// States that a thread takes at once out of a level.
const BATCH: usize = 32;
/// A model that several threads can search through.
pub(crate) trait Searchable: Model<State: Hash + Send, Action: Clone> + Sync {}

impl<M: Model<State: Hash + Send, Action: Clone> + Sync> Searchable for M {}

/// What a search has found.
pub(crate) struct Explored {
    /// The limit at which it has ended early.
    pub(crate) stopped: Option<Stopped>,
    /// Distinct states.
    pub(crate) states: u64,
    /// States generated; a state that is reached in several ways counts several times.
    pub(crate) generated: u64,
    /// The states of a longest shortest path.
    pub(crate) depth: u64,
    /// The properties that do not hold, each with the path to the first state in which it does not.
    pub(crate) violated: Vec<(&'static str, Trail)>,
}

/// A path: the number of its initial state, then of each action among those of its state.
pub(crate) struct Trail(Vec<u32>);

impl Trail {
    /// The states on the path, each with the action that leaves it; the last one has none. `settled` is that of the search.
    pub(crate) fn walk<M: Searchable>(
        &self,
        model: &M,
        settled: &Settled,
    ) -> Vec<(M::State, Option<M::Action>)> {
        let (mut path, mut actions) = (Vec::with_capacity(self.0.len()), Vec::new());
        let mut numbers = self.0.iter().map(|number| *number as usize);
        let initial = numbers.next().and_then(|number| model.init_states().into_iter().nth(number));
        let Some(mut state) = initial else { return path };
        for number in numbers {
            actions.clear();
            settled.enter(path.len() as u32 + 1);
            model.actions(&state, &mut actions);
            let action = actions.get(number).cloned();
            let Some(next) = action.clone().and_then(|action| model.next_state(&state, action)) else {
                unreachable!("a model is the same when it is walked again");
            };
            path.push((mem::replace(&mut state, next), action));
        }
        path.push((state, None));
        path
    }
}

/// Searches through a model, all of whose properties are to hold always. `stop` is the model's: it is set at a limit, and
/// the search ends when it is set. With `max_depth`, only states are looked at whose path has fewer states than that.
/// `settled` is told which properties do not hold.
pub(crate) fn search<M: Searchable>(
    model: &M,
    limits: &Limits<'_>,
    (stop, settled): (&AtomicBool, &Settled),
    max_depth: Option<NonZeroUsize>,
) -> Explored {
    let threads = limits.threads.max(1);
    let search = LevelSearch::new(model, (stop, settled), threads);
    let (is_done, watcher) = (AtomicBool::new(false), thread::current());
    thread::scope(|scope| {
        let lead = || {
            let ended = catch_unwind(AssertUnwindSafe(|| search.lead(max_depth)));
            search.dismiss();
            is_done.store(true, Ordering::Release);
            watcher.unpark();
            ended.unwrap_or_else(|panic| resume_unwind(panic))
        };
        let named = |number: usize| thread::Builder::new().name(format!("search-{number}"));
        let leader = match named(0).spawn_scoped(scope, lead) {
            Ok(leader) => leader,
            Err(error) => panic!("a search needs a thread: {error}"),
        };
        // Where no more threads are to be had, those that are there do all of it.
        let helpers =
            (1..threads).map_while(|number| named(number).spawn_scoped(scope, || search.help()).ok());
        search.meet_at(1 + helpers.count());
        let stopped = limits.watch(stop, || is_done.load(Ordering::Acquire), || search.counts());
        let ended = leader.join().unwrap_or_else(|panic| resume_unwind(panic));
        let (states, generated, _) = search.counts();
        let stopped = stopped.or(ended.is_full.then_some(Stopped::States));
        Explored { stopped, states, generated, depth: ended.depth, violated: ended.violated }
    })
}

/// What the leading thread knows at the end.
struct LevelEnded {
    depth: u64,
    violated: Vec<(&'static str, Trail)>,
    /// There are no more numbers for states.
    is_full: bool,
}

/// The status of a search.
struct LevelSearch<'a, M: Model> {
    model: &'a M,
    properties: Vec<Property<M>>,
    stop: &'a AtomicBool,
    settled: &'a Settled,
    known: Known<M::State>,
    level: Mutex<Level<M::State>>,
    /// By property: the first state in which it does not hold, or [`NONE`].
    violated: Vec<AtomicU32>,
    /// Where the threads meet before and after a wide level.
    barrier: OnceLock<Barrier>,
    is_over: AtomicBool,
    states: AtomicU64,
    generated: AtomicU64,
    expanded: AtomicU64,
}

impl<'a, M: Searchable> LevelSearch<'a, M> {
    fn new(model: &'a M, (stop, settled): (&'a AtomicBool, &'a Settled), threads: usize) -> Self {
        let properties = model.properties();
        Self {
            violated: properties.iter().map(|_| AtomicU32::new(NONE)).collect(),
            model,
            properties,
            stop,
            settled,
            known: Known::new(threads),
            level: Mutex::new(Level::none()),
            barrier: OnceLock::new(),
            is_over: AtomicBool::new(false),
            states: AtomicU64::new(0),
            generated: AtomicU64::new(0),
            expanded: AtomicU64::new(0),
        }
    }

    /// The distinct states, those generated, and those expanded.
    fn counts(&self) -> (u64, u64, u64) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (load(&self.states), load(&self.generated), load(&self.expanded))
    }

    /// So many threads take part.
    fn meet_at(&self, threads: usize) {
        self.barrier.get_or_init(|| Barrier::new(threads));
    }

    /// The helpers are not needed any more.
    fn dismiss(&self) {
        self.is_over.store(true, Ordering::Release);
        self.barrier.wait().wait();
    }

    /// Takes part in each wide level. A model that panics does so when all others have been told of the end: they meet
    /// this thread until then.
    fn help(&self) {
        let mut panicked = None;
        loop {
            self.barrier.wait().wait();
            if self.is_over.load(Ordering::Acquire) {
                break;
            }
            panicked = panicked.or(self.expand_together().err());
        }
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
    }

    /// Goes through the levels, with the help of the other threads where one is wide.
    fn lead(&self, max_depth: Option<NonZeroUsize>) -> LevelEnded {
        let mut origins = Vec::new();
        for (number, state) in (0..).zip(self.model.init_states()) {
            let is_new = self.known.meet(Origin { before: NONE, action: number }, state);
            self.count(u64::from(is_new), 1);
        }
        let (mut depth, mut is_full) = (0, false);
        while let Some(level) = self.known.next_level(&mut origins) {
            depth += 1;
            is_full = origins.len() >= NONE as usize;
            let is_too_deep = max_depth.is_some_and(|most| depth >= most.get() as u64);
            if is_full || is_too_deep || self.is_stopped() || self.is_refuted() {
                break;
            }
            self.settle(depth);
            let is_wide = level.len() >= WIDE;
            *lock(&self.level) = level;
            if is_wide {
                self.barrier.wait().wait();
                self.expand_together().unwrap_or_else(|panic| resume_unwind(panic));
            } else {
                self.expand_level();
            }
        }
        let violated = self.properties.iter().zip(&self.violated).filter_map(|(property, first)| {
            let first = first.load(Ordering::Relaxed);
            (first != NONE).then(|| (property.name, Trail(Origin::trail(&origins, first))))
        });
        LevelEnded { depth, violated: violated.collect(), is_full }
    }

    /// A level begins, the n-th from 1: what the one before it has shown is known from now on.
    fn settle(&self, level: u64) {
        let level = u32::try_from(level).unwrap_or(u32::MAX);
        let violated = self.violated.iter().map(|first| first.load(Ordering::Relaxed) != NONE);
        self.settled.learn(level, violated);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether no property holds: there is nothing left to look for.
    fn is_refuted(&self) -> bool {
        self.violated.iter().all(|first| first.load(Ordering::Relaxed) != NONE)
    }

    /// Takes part in a wide level until all threads have ended it.
    fn expand_together(&self) -> thread::Result<()> {
        let ended = catch_unwind(AssertUnwindSafe(|| self.expand_level()));
        if ended.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        self.barrier.wait().wait();
        ended
    }

    fn expand_level(&self) {
        let mut actions = Vec::new();
        loop {
            let (first, batch) = lock(&self.level).take(BATCH);
            if batch.is_empty() {
                return;
            }
            for (number, state) in (first..).zip(batch) {
                self.check(number, &state);
                if self.is_stopped() {
                    return;
                }
                self.expand(number, &state, &mut actions);
            }
        }
    }

    fn check(&self, number: u32, state: &M::State) {
        for (property, first) in self.properties.iter().zip(&self.violated) {
            if first.load(Ordering::Relaxed) > number && !(property.condition)(self.model, state) {
                first.fetch_min(number, Ordering::Relaxed);
            }
        }
    }

    fn expand(&self, number: u32, state: &M::State, actions: &mut Vec<M::Action>) {
        self.expanded.fetch_add(1, Ordering::Relaxed);
        self.model.actions(state, actions);
        let (mut distinct, mut generated) = (0, 0);
        for (action, origin) in actions.drain(..).zip((0..).map(|action| Origin { before: number, action })) {
            if let Some(next) = self.model.next_state(state, action) {
                generated += 1;
                distinct += u64::from(self.known.meet(origin, next));
            }
        }
        self.count(distinct, generated);
    }

    fn count(&self, distinct: u64, generated: u64) {
        self.states.fetch_add(distinct, Ordering::Relaxed);
        self.generated.fetch_add(generated, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters up to a bound, any of which can be counted up. Of each two, one has to stay below its most.
    struct Counters {
        most: [u8; 3],
        /// Some states take longer than others, so that threads take them in another order than that of the level.
        pauses: bool,
    }

    const BOUND: u8 = 30;

    impl Counters {
        fn are_few(&self, state: &[u8; 3], one: usize, other: usize) -> bool {
            state[one] < self.most[one] || state[other] < self.most[other]
        }
    }

    impl Model for Counters {
        type State = [u8; 3];
        type Action = usize;

        fn init_states(&self) -> Vec<[u8; 3]> {
            vec![[0; 3], [1, 0, 0]]
        }

        fn actions(&self, state: &[u8; 3], actions: &mut Vec<usize>) {
            actions.extend((0..3).filter(|at| state[*at] < BOUND));
        }

        fn next_state(&self, state: &[u8; 3], action: usize) -> Option<[u8; 3]> {
            if self.pauses && state[0] % 7 == 3 {
                (0..500).for_each(|turn| _ = std::hint::black_box(turn));
            }
            let mut next = *state;
            next[action] += 1;
            Some(next)
        }

        fn properties(&self) -> Vec<Property<Self>> {
            vec![
                Property::always("not both 0 and 1", |model: &Self, state| model.are_few(state, 0, 1)),
                Property::always("not both 1 and 2", |model: &Self, state| model.are_few(state, 1, 2)),
                Property::always("not both 2 and 0", |model: &Self, state| model.are_few(state, 2, 0)),
            ]
        }
    }

    fn explore(model: &Counters, threads: usize, max_depth: usize) -> (Explored, Vec<Vec<[u8; 3]>>) {
        let (limits, stop) = (Limits { threads, ..Limits::default() }, AtomicBool::new(false));
        let settled = Settled::default();
        let found = search(model, &limits, (&stop, &settled), NonZeroUsize::new(max_depth));
        let paths = found.violated.iter().map(|(_, trail)| trail.walk(model, &settled));
        let paths = paths.map(|path| path.into_iter().map(|(state, _)| state).collect()).collect();
        (found, paths)
    }

    #[test]
    fn all_states_are_met_once_and_levels_are_as_deep_as_the_longest_shortest_path() {
        let most = [BOUND + 1; 3];
        for threads in [1, 4] {
            let (found, _) = explore(&Counters { most, pauses: true }, threads, 0);
            let one_way = (u64::from(BOUND) + 1).pow(2) * u64::from(BOUND);
            assert_eq!((found.states, found.generated), ((u64::from(BOUND) + 1).pow(3), 2 + 3 * one_way));
            // One initial state is the other's successor: the second one saves a step.
            assert_eq!(found.depth, 3 * u64::from(BOUND));
            assert!(found.stopped.is_none() && found.violated.is_empty());
        }
    }

    #[test]
    fn paths_are_shortest_and_the_same_however_many_threads_search() {
        let model = Counters { most: [13, 15, 17], pauses: true };
        let (_, paths) = explore(&model, 1, 0);
        // One initial state has the first counter at 1 already.
        assert_eq!(paths.iter().map(Vec::len).collect::<Vec<_>>(), [28, 33, 30]);
        for _ in 0..10 {
            assert_eq!(explore(&model, 4, 0).1, paths);
        }
    }

    #[test]
    fn states_beyond_the_depth_are_not_looked_at() {
        let model = Counters { most: [5, 5, BOUND + 1], pauses: false };
        assert_eq!(explore(&model, 1, 10).1, Vec::<Vec<[u8; 3]>>::new());
        assert_eq!(explore(&model, 1, 11).1.len(), 1);
    }

    #[test]
    fn a_search_ends_when_no_property_holds() {
        let (found, paths) = explore(&Counters { most: [2, 2, 2], pauses: false }, 2, 0);
        assert_eq!((paths.len(), found.depth), (3, 6));
    }
}
