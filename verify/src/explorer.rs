//! The model as stateright's Explorer shows it: the same states and steps, in words and with the file's lines.

use crate::action::Action;
use crate::explain::{picture, situation, step};
use crate::explore::Path;
use crate::model::{Model, PROMISES, Settings, properties};
use crate::program::Job;
use crate::state::State;
use carrousel_rank::Protocol;
use carrousel_scenario::{Check, Scenario};
use stateright::Property;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The names that states and steps are told with.
struct Source {
    job: Job,
    scenario: Scenario,
}

/// A [`Model`] of one scenario, whose states and steps print as sentences.
pub(crate) struct Explorer<P: Protocol> {
    model: Model<P>,
    source: Arc<Source>,
    /// A broken promise has been reported, and by check, a violation.
    is_broken: AtomicBool,
    is_violated: [AtomicBool; Check::ALL.len()],
}

impl<P: Protocol> Explorer<P> {
    /// The model of `job`, which was made of `scenario`.
    pub(crate) fn new(job: Job, scenario: Scenario, settings: Settings) -> Self {
        let model = Model::new([job.clone()].into(), settings);
        let source = Arc::new(Source { job, scenario });
        Self { model, source, is_broken: AtomicBool::default(), is_violated: Default::default() }
    }

    fn show(&self, state: State<P>) -> ShownState<P> {
        ShownState { state, source: Arc::clone(&self.source) }
    }

    /// Only the first breach is reported: stateright keeps the last one.
    fn keeps_promises(&self, shown: &ShownState<P>) -> bool {
        self.model.keeps_promises(&shown.state) || self.is_broken.swap(true, Ordering::Relaxed)
    }

    fn holds(&self, shown: &ShownState<P>, check: Check) -> bool {
        self.model.holds(&shown.state, check)
            || self.is_violated[check as usize].swap(true, Ordering::Relaxed)
    }
}

/// A state that prints as sentences.
#[derive(Clone)]
pub(crate) struct ShownState<P: Protocol> {
    state: State<P>,
    source: Arc<Source>,
}

impl<P: Protocol> fmt::Debug for ShownState<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&situation(&self.source.job, Some(&self.source.scenario), &self.state))
    }
}

impl<P: Protocol> PartialEq for ShownState<P> {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state
    }
}

impl<P: Protocol> Hash for ShownState<P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.state.hash(state);
    }
}

/// A step between two states, which prints as a sentence.
#[derive(Clone)]
pub(crate) struct ShownAction<P: Protocol> {
    action: Action,
    before: Arc<State<P>>,
    after: State<P>,
    source: Arc<Source>,
}

impl<P: Protocol> fmt::Debug for ShownAction<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Source { job, scenario } = &*self.source;
        let Some(narrated) = step(job, Some(scenario), &self.before, self.action, &self.after) else {
            return Ok(());
        };
        match (narrated.rank, narrated.line) {
            (Some(rank), Some(line)) => write!(f, "rank {rank}, line {line}: {}", narrated.what),
            (Some(rank), None) => write!(f, "rank {rank}: {}", narrated.what),
            (None, _) => f.write_str(&narrated.what),
        }
    }
}

impl<P: Protocol> PartialEq for ShownAction<P> {
    fn eq(&self, other: &Self) -> bool {
        self.action == other.action && self.before == other.before
    }
}

impl<P: Protocol> stateright::Model for Explorer<P> {
    type State = ShownState<P>;
    type Action = ShownAction<P>;

    fn init_states(&self) -> Vec<Self::State> {
        self.model.init_states().into_iter().map(|state| self.show(state)).collect()
    }

    fn actions(&self, shown: &Self::State, actions: &mut Vec<Self::Action>) {
        let mut possible = Vec::new();
        self.model.actions(&shown.state, &mut possible);
        let before = Arc::new(shown.state.clone());
        actions.extend(possible.into_iter().filter_map(|action| {
            let after = self.model.next_state(&shown.state, action)?;
            Some(ShownAction { action, before: Arc::clone(&before), after, source: Arc::clone(&self.source) })
        }));
    }

    fn next_state(&self, _: &Self::State, action: Self::Action) -> Option<Self::State> {
        Some(self.show(action.after))
    }

    fn format_step(&self, _: &Self::State, action: Self::Action) -> Option<String> {
        Some(format!("{action:?}\n\n{:?}", self.show(action.after.clone())))
    }

    fn as_svg(&self, path: stateright::Path<Self::State, Self::Action>) -> Option<String> {
        let steps = path.into_vec().into_iter();
        let steps = steps.map(|(shown, action)| (shown.state, action.map(|action| action.action))).collect();
        let chart = picture(&self.source.job, Some(&self.source.scenario), &Path { steps })?;
        Some(chart.svg())
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties!(Self, ShownState<P>, Self::keeps_promises, Self::holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_rank::Mirror;
    use carrousel_scenario::load;
    use stateright::Model as _;

    const TEXT: &str = "\
ranks 2
rank 0
  r = isend to 1 tag 0 size 64KiB
  wait r
rank 1
  recv from 0 tag 0 size 64KiB
  recv from 0 tag 1 size 8
";

    /// The states and steps of one execution, as the Explorer shows them.
    fn execution(text: &str) -> Vec<String> {
        let scenario =
            load("test.scn", text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let job = crate::scenario::job(&scenario, false).unwrap_or_else(|error| panic!("{error}"));
        let explorer = Explorer::<Mirror>::new(job, scenario, Settings::default());
        let mut shown = explorer.init_states().swap_remove(0);
        let mut said = vec![format!("{shown:#?}")];
        loop {
            let mut actions = Vec::new();
            explorer.actions(&shown, &mut actions);
            let Some(action) = actions.first().cloned() else { return said };
            said.push(explorer.format_action(&action));
            let outcome = explorer.format_step(&shown, action.clone());
            let Some(next) = explorer.next_state(&shown, action) else { return said };
            shown = next;
            said.push(format!("{shown:#?}"));
            assert!(outcome.is_some_and(|outcome| outcome.ends_with(&format!("{shown:?}"))));
        }
    }

    #[test]
    fn states_and_steps_are_sentences_with_lines() {
        let said = execution(TEXT).join("\n---\n");
        assert!(!said.contains("Proc {") && !said.contains("Handle") && !said.contains("Land("), "{said}");
        for expected in [
            "rank 0 is at line 3 (`r = isend to 1 tag 0 size 64KiB`)",
            "rank 0, line 3: `r = isend to 1 tag 0 size 64KiB`: sends RTS to rank 1",
            "in flight:\n  RTS of rank 0's send (line 3) to rank 1",
            "  send (line 3): not complete",
            "rank 0 has finished",
            "rank 1, line 6: `recv from 0 tag 0 size 64KiB`",
            "deadlock-freedom is violated: Deadlock: rank 1 waits at line 7",
        ] {
            assert!(said.contains(expected), "{expected:?} is not in\n{said}");
        }
    }
}
