//! The states and steps of one scenario, in words and with the file's lines, for a person who walks through them.

use crate::action::Action;
use crate::explain::{picture, situation, step};
use crate::explore::Path;
use crate::model::{Model, PROMISES, Settings};
use crate::program::Job;
use crate::state::State;
use carrousel_rank::Protocol;
use carrousel_scenario::{Check, Scenario};
use serde::Serialize;
use stateright::Model as _;

/// A state, how it was reached, and what can happen next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StateView {
    /// The steps that have led here, from the first.
    pub taken: Vec<String>,
    /// The state.
    pub state: String,
    /// The checks that it violates, and the promises of the library if it breaks one.
    pub violated: Vec<&'static str>,
    /// The steps taken, drawn as an SVG document; `None` before the first.
    pub chart: Option<String>,
    /// The steps that can come next: the path to a state is extended by a number, from 0.
    pub steps: Vec<String>,
}

/// The executions of a scenario, one state at a time.
pub trait Explore: Send + Sync {
    /// The state behind these steps, each by its number among the [`StateView::steps`] of the state before it; `None` if there
    /// is no such step.
    fn view(&self, path: &[usize]) -> Option<StateView>;
}

/// A [`Model`] of one scenario, with the names that states and steps are told with.
pub(crate) struct Explorer<P: Protocol> {
    model: Model<P>,
    job: Job,
    scenario: Scenario,
}

impl<P: Protocol> Explorer<P> {
    /// The model of `job`, which was made of `scenario`.
    pub(crate) fn new(job: Job, scenario: Scenario, settings: Settings) -> Self {
        let model = Model::new([job.clone()].into(), settings);
        Self { model, job, scenario }
    }

    /// The steps from a state, and the states that they lead to.
    fn next(&self, state: &State<P>) -> Vec<(Action, State<P>)> {
        let mut possible = Vec::new();
        self.model.actions(state, &mut possible);
        let to = |action| Some((action, self.model.next_state(state, action)?));
        possible.into_iter().filter_map(to).collect()
    }

    fn step(&self, before: &State<P>, action: Action, after: &State<P>) -> String {
        let Some(narrated) = step(&self.job, Some(&self.scenario), before, action, after) else {
            return String::new();
        };
        match (narrated.rank, narrated.line) {
            (Some(rank), Some(line)) => format!("rank {rank}, line {line}: {}", narrated.what),
            (Some(rank), None) => format!("rank {rank}: {}", narrated.what),
            (None, _) => narrated.what,
        }
    }

    fn violated(&self, state: &State<P>) -> Vec<&'static str> {
        let promises = (!self.model.keeps_promises(state)).then_some(PROMISES);
        let checks = Check::ALL.into_iter().filter(|check| !self.model.holds(state, *check));
        promises.into_iter().chain(checks.map(Check::name)).collect()
    }
}

impl<P: Protocol> Explore for Explorer<P> {
    fn view(&self, path: &[usize]) -> Option<StateView> {
        let mut state = self.model.init_states().into_iter().next()?;
        let (mut taken, mut steps) = (Vec::new(), Vec::new());
        for number in path {
            let (action, after) = self.next(&state).into_iter().nth(*number)?;
            taken.push(self.step(&state, action, &after));
            steps.push((std::mem::replace(&mut state, after), Some(action)));
        }
        let next = self.next(&state);
        let next = next.iter().map(|(action, after)| self.step(&state, *action, after)).collect();
        let said = situation(&self.job, Some(&self.scenario), &state);
        let violated = self.violated(&state);
        steps.push((state, None));
        let drawn = !path.is_empty();
        let chart = drawn.then(|| picture(&self.job, Some(&self.scenario), &Path { steps })).flatten();
        Some(StateView { taken, state: said, violated, chart: chart.map(|chart| chart.svg()), steps: next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_rank::Mirror;
    use carrousel_scenario::load;

    const TEXT: &str = "\
ranks 2
rank 0
  r = isend to 1 tag 0 size 64KiB
  wait r
rank 1
  recv from 0 tag 0 size 64KiB
  recv from 0 tag 1 size 8
";

    fn explorer() -> Explorer<Mirror> {
        let scenario =
            load("test.scn", TEXT.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let job = crate::scenario::job(&scenario, false).unwrap_or_else(|error| panic!("{error}"));
        Explorer::new(job, scenario, Settings::default())
    }

    #[test]
    fn states_and_steps_are_sentences_with_lines() {
        let (explorer, mut path, mut said) = (explorer(), Vec::new(), Vec::new());
        let last = loop {
            let view = explorer.view(&path).expect("each step was offered");
            said.push(view.state.clone());
            let Some(step) = view.steps.first() else { break view };
            said.push(step.clone());
            path.push(0);
        };
        assert_eq!((last.taken.len(), last.violated), (path.len(), vec!["deadlock-freedom"]));
        assert!(last.chart.is_some_and(|chart| chart.contains("<svg")));
        let said = said.join("\n---\n");
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

    #[test]
    fn a_step_that_is_not_offered_leads_nowhere() {
        let explorer = explorer();
        let steps = explorer.view(&[]).expect("there is a first state").steps.len();
        assert_eq!((explorer.view(&[steps]), explorer.view(&[usize::MAX, 0])), (None, None));
    }
}
