//! The model that stateright explores.

use super::bounds::MemoryBounds;
use super::environment::Environment;
use super::state::MemoryState;
use super::step::{self, MemoryAction};
use super::tell;
use crate::explore::Limits;
use crate::outcome::Outcome;
use crate::rules::EnvironmentRules;
use carrousel_registration::{CacheRules, ReuseRules};
use stateright::{Checker, Model as _, Property};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

const PROMISES: &str = "promises";

/// The state machine under the rules `C` and `R`, in its environment.
pub(super) struct MemoryModel<C, R> {
    environment: Environment,
    rules: PhantomData<(C, R)>,
}

impl<C: CacheRules, R: ReuseRules> MemoryModel<C, R> {
    pub(super) fn new<E: EnvironmentRules>(bounds: MemoryBounds) -> Self {
        Self { environment: Environment::new::<E>(bounds), rules: PhantomData }
    }

    /// Only the first violation is reported, so that its path is the shortest: stateright keeps the last one.
    fn keeps_promises(&self, state: &MemoryState<C, R>) -> bool {
        let is_kept = state.violation.is_none() && !step::is_stuck(&self.environment, state);
        is_kept || self.environment.shared.is_broken.swap(true, Ordering::Relaxed)
    }

    /// Explores all executions.
    pub(super) fn explore(self, limits: &Limits<'_>) -> Outcome {
        let shared = Arc::clone(&self.environment.shared);
        let began = Instant::now();
        let checker = self.checker().threads(limits.threads.max(1)).spawn_bfs();
        let count = || (checker.unique_state_count() as u64, checker.state_count() as u64, 0);
        let stopped = limits.watch(&shared.situations.stop, || checker.is_done(), count);
        let checker = checker.join();
        // The path is found by walking the model again.
        shared.situations.stop.store(false, Ordering::Relaxed);
        let path = checker.discoveries().remove(PROMISES);
        Outcome {
            states: checker.unique_state_count() as u64,
            generated: checker.state_count() as u64,
            seconds: began.elapsed().as_secs_f64(),
            reached: shared.situations.met(),
            stopped,
            broken: path.map(|path| tell::tell(&checker.model().environment, &path.into_vec())),
        }
    }
}

impl<C: CacheRules, R: ReuseRules> stateright::Model for MemoryModel<C, R> {
    type State = MemoryState<C, R>;
    type Action = MemoryAction;

    fn init_states(&self) -> Vec<Self::State> {
        vec![MemoryState::new(&self.environment.bounds)]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>) {
        if state.violation.is_none() && !self.environment.shared.situations.is_stopped() {
            step::actions(&self.environment, state, actions);
        }
    }

    fn next_state(&self, state: &Self::State, action: Self::Action) -> Option<Self::State> {
        Some(step::after(&self.environment, state, action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(PROMISES, |model: &Self, state: &MemoryState<C, R>| {
            model.keeps_promises(state)
        })]
    }
}
