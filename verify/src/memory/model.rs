//! The model that is explored, in stateright's words.

use super::bounds::MemoryBounds;
use super::environment::Environment;
use super::state::MemoryState;
use super::step::{self, MemoryAction};
use super::tell;
use crate::breadth_first::{self, Settled};
use crate::explore::Limits;
use crate::outcome::Outcome;
use crate::rules::EnvironmentRules;
use carrousel_registration::{CacheRules, ReuseRules};
use stateright::Property;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The state machine under the rules `C` and `R`, in its environment.
pub(super) struct MemoryModel<C, R> {
    environment: Environment,
    rules: PhantomData<(C, R)>,
}

impl<C: CacheRules, R: ReuseRules> MemoryModel<C, R> {
    pub(super) fn new<E: EnvironmentRules>(bounds: MemoryBounds) -> Self {
        Self { environment: Environment::new::<E>(bounds), rules: PhantomData }
    }

    fn keeps_promises(&self, state: &MemoryState<C, R>) -> bool {
        state.violation.is_none() && !step::is_stuck(&self.environment, state)
    }

    /// Explores all executions.
    pub(super) fn explore(self, limits: &Limits<'_>) -> Outcome {
        let shared = Arc::clone(&self.environment.shared);
        let began = Instant::now();
        let settled = Settled::default();
        let found = breadth_first::search(&self, limits, (&shared.situations.stop, &settled), None);
        // The path is found by walking the model again.
        shared.situations.stop.store(false, Ordering::Relaxed);
        let broken = found.violated.first().map(|(_, trail)| trail.walk(&self, &settled));
        Outcome {
            states: found.states,
            generated: found.generated,
            seconds: began.elapsed().as_secs_f64(),
            reached: shared.situations.met(),
            stopped: found.stopped,
            broken: broken.map(|path| tell::tell(&self.environment, &path)),
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
        vec![Property::always("promises", |model: &Self, state: &MemoryState<C, R>| {
            model.keeps_promises(state)
        })]
    }
}
