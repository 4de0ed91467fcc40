//! The model that stateright explores.

use super::bounds::Bounds;
use super::environment::{Around, Environment};
use super::step::{self, Action};
use super::tell;
use super::world::World;
use crate::explore::Limits;
use crate::outcome::Outcome;
use carrousel_reuse::{CacheRules, ReuseRules};
use stateright::{Checker, Model as _, Property};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

const PROMISES: &str = "promises";

/// The machine under the rules `C` and `R`, and all that can happen around it.
pub(super) struct Model<C, R> {
    environment: Environment,
    rules: PhantomData<(C, R)>,
}

impl<C: CacheRules, R: ReuseRules> Model<C, R> {
    pub(super) fn new(bounds: Bounds, around: Around) -> Self {
        Self { environment: Environment::new(bounds, around), rules: PhantomData }
    }

    /// Only the first violation counts, so that the report is of the shortest path: stateright keeps the last
    /// one that it is told of.
    fn keeps_promises(&self, world: &World<C, R>) -> bool {
        let is_kept = world.wrong.is_none() && !step::is_stuck(&self.environment, world);
        is_kept || self.environment.shared.is_broken.swap(true, Ordering::Relaxed)
    }

    /// Explores all that can happen.
    pub(super) fn explore(self, limits: &Limits<'_>) -> Outcome {
        let shared = Arc::clone(&self.environment.shared);
        let began = Instant::now();
        let checker = self.checker().threads(limits.threads.max(1)).spawn_bfs();
        let count = || (checker.unique_state_count() as u64, checker.state_count() as u64, 0);
        let stopped = limits.watch(&shared.stop, || checker.is_done(), count);
        let checker = checker.join();
        // The path is found by walking the model again.
        shared.stop.store(false, Ordering::Relaxed);
        let path = checker.discoveries().remove(PROMISES);
        Outcome {
            states: checker.unique_state_count() as u64,
            generated: checker.state_count() as u64,
            seconds: began.elapsed().as_secs_f64(),
            reached: shared.met(),
            stopped,
            broken: path.map(|path| tell::tell(&checker.model().environment, &path.into_vec())),
        }
    }
}

impl<C: CacheRules, R: ReuseRules> stateright::Model for Model<C, R> {
    type State = World<C, R>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        vec![World::new(&self.environment.bounds)]
    }

    fn actions(&self, world: &Self::State, actions: &mut Vec<Self::Action>) {
        if world.wrong.is_none() && !self.environment.shared.stop.load(Ordering::Relaxed) {
            step::actions(&self.environment, world, actions);
        }
    }

    fn next_state(&self, world: &Self::State, action: Self::Action) -> Option<Self::State> {
        Some(step::after(&self.environment, world, action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(PROMISES, |model: &Self, world: &World<C, R>| model.keeps_promises(world))]
    }
}
