//! The states, actions and properties of a model, in stateright's words.

use super::Model;
use crate::action::Action;
use crate::after::after;
use crate::initial;
use crate::reduce;
use crate::state::State;
use crate::violation::Violation;
use carrousel_rank::Protocol;
use carrousel_scenario::Check;
use stateright::Property;
use std::sync::atomic::Ordering;

/// The name of the property that the library keeps its promises, whatever the program does.
pub const PROMISES: &str = "promises";

/// A property for the promises and one for each check. stateright takes plain functions, which capture no check;
/// hence the macro.
macro_rules! properties {
    ($model:ty, $state:ty, $promises:expr, $holds:expr) => {
        properties!(@all $model, $state, $promises, $holds; DeadlockFreedom, MatchingOrder, BufferSafety,
            MatchDeterminism, RmaRace, EpochUsage, LockExclusion, RequestLeak, UnmatchedMessage)
    };
    (@all $model:ty, $state:ty, $promises:expr, $holds:expr; $($check:ident),*) => {
        vec![
            Property::always(PROMISES, |model: &$model, state: &$state| $promises(model, state)),
            $(Property::always(Check::$check.name(), |model: &$model, state: &$state| {
                $holds(model, state, Check::$check)
            })),*
        ]
    };
}

impl<P: Protocol> Model<P> {
    /// Whether the library has kept its promises in a state.
    pub(crate) fn keeps_promises(&self, state: &State<P>) -> bool {
        let is_broken = state.violations.iter().any(Violation::is_fatal);
        if is_broken {
            self.found(None);
        }
        !is_broken
    }

    /// Ends the search if this is its goal.
    fn found(&self, check: Option<Check>) {
        if self.focus.is_some_and(|focus| focus.check == check) {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a check holds in a state.
    pub(crate) fn holds(&self, state: &State<P>, check: Check) -> bool {
        let is_violated = state.violations.iter().any(|violation| violation.check == check);
        if is_violated {
            self.found(Some(check));
        }
        !is_violated
    }
}

impl<P: Protocol> stateright::Model for Model<P> {
    type State = State<P>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        let initial = || (0..self.jobs.len() as u32).map(|job| initial::state(self, job)).collect();
        self.initial.get_or_init(initial).clone()
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>) {
        let expanded = self.shared.expanded.fetch_add(1, Ordering::Relaxed);
        if self.shared.stop.load(Ordering::Relaxed) || state.violations.iter().any(Violation::is_last) {
            return;
        }
        if self.focus.is_some_and(|focus| expanded >= focus.most)
            && !self.shared.is_over.load(Ordering::Relaxed)
        {
            self.shared.beyond.store(true, Ordering::Relaxed);
            return;
        }
        match self.focus.and_then(|focus| focus.at) {
            _ if !self.reduces => self.all_actions(state, actions),
            Some(place) => reduce::actions_towards(self, state, place, actions),
            None => reduce::enough_actions(self, state, actions),
        }
    }

    fn next_state(&self, state: &Self::State, action: Self::Action) -> Option<Self::State> {
        // A state of very many ranks may have more successors than fit into memory.
        (!self.shared.stop.load(Ordering::Relaxed)).then(|| after(self, state, action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties!(Self, State<P>, Self::keeps_promises, Self::holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::property_of;
    use carrousel_rank::Mirror;
    use stateright::Model as _;

    #[test]
    fn properties_have_the_numbers_of_their_checks() {
        let properties = Model::<Mirror>::new([].into(), Default::default()).properties();
        for check in Check::ALL {
            assert_eq!(properties[property_of(check)].name, check.name());
        }
        assert_eq!(properties.len(), 1 + Check::ALL.len());
    }
}
