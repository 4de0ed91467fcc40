//! The exploration of a state machine in its environment, and the text of a counterexample.

use crate::breadth_first::{self, Settled};
use crate::explore::{Limits, Stopped};
use crate::outcome::Outcome;
use stateright::{Model, Property};
use std::collections::HashMap;
use std::fmt::{Debug, Write};
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A model whose counterexamples can be told.
pub(crate) trait Machine:
    Model<State: Clone + Debug + Eq + Hash + Send + Sync, Action: Copy + Debug + PartialEq + Send + Sync>
    + Send
    + Sync
    + Sized
    + 'static
{
    /// The promise that is broken in a state, and how.
    fn broken(&self, state: &Self::State) -> Option<String>;
    /// Whether no rank waits for anything.
    fn is_done(&self, state: &Self::State) -> bool;
    /// Whether a step is sure to happen if no other does. A fault, or a call of the application, is not.
    fn is_owed(&self, action: Self::Action) -> bool;
    /// One step as a sentence.
    fn line(&self, before: &Self::State, action: Self::Action, after: &Self::State) -> String;
    /// How often each situation was met so far.
    fn met(&self) -> Vec<(&'static str, u64)>;
    /// Set when the search has to end: the model names no more actions then.
    fn stop(&self) -> &AtomicBool;
    /// The ranks that wait for ever in a state, as a sentence.
    fn stuck(&self, state: &Self::State) -> String;
}

/// The only property: no promise is broken.
pub(crate) fn promises<M: Machine>() -> Vec<Property<M>> {
    vec![Property::always("promises", |model: &M, state: &M::State| model.broken(state).is_none())]
}

/// Explores all executions: no state breaks a promise, and from each state, steps that are owed lead to one in which
/// no rank waits. This is deadlock freedom for models whose steps repeat, too: however many losses there were, once
/// there are no more, the end can be reached.
pub(crate) fn explore<M: Machine>(model: M, limits: &Limits<'_>) -> Outcome {
    let began = Instant::now();
    let found = breadth_first::search(&model, limits, (model.stop(), &Settled::default()), None);
    let (mut stopped, states, generated) = (found.stopped, found.states, found.generated);
    let reached = model.met();
    // The path of a counterexample is found by walking the model again.
    model.stop().store(false, Ordering::Relaxed);
    let is_kept = found.violated.is_empty();
    let mut broken = None;
    if stopped.is_none() || !is_kept {
        match Graph::of(&model, !is_kept, limits) {
            Ok(graph) => broken = graph.broken(&model, is_kept),
            Err(reason) => stopped = stopped.or(Some(reason)),
        }
    }
    Outcome { states, generated, seconds: began.elapsed().as_secs_f64(), reached, stopped, broken }
}

/// The limits are checked after so many states of a graph.
const STATES_BETWEEN_LOOKS: usize = 4096;

/// All states, those that take fewer steps first.
struct Graph<M: Model> {
    states: Vec<M::State>,
    /// The state before each, and the step from there.
    from: Vec<Option<(usize, M::Action)>>,
    /// The states from which a step that is owed leads to each.
    before: Vec<Vec<usize>>,
}

impl<M: Machine> Graph<M> {
    /// With `until_broken`, the last state is the first that breaks a promise.
    fn of(model: &M, until_broken: bool, limits: &Limits<'_>) -> Result<Self, Stopped> {
        let mut graph = Self { states: Vec::new(), from: Vec::new(), before: Vec::new() };
        let mut index: HashMap<M::State, usize, ahash::RandomState> = HashMap::default();
        for state in model.init_states() {
            graph.index(&mut index, state, None);
        }
        let (mut at, mut actions) = (0, Vec::new());
        while let Some(state) = graph.states.get(at).cloned() {
            if at % STATES_BETWEEN_LOOKS == 0
                && let Some(stopped) = limits.exceeded(graph.states.len() as u64)
            {
                return Err(stopped);
            }
            model.actions(&state, &mut actions);
            for action in actions.drain(..) {
                let Some(next) = model.next_state(&state, action) else { continue };
                let is_broken = until_broken && model.broken(&next).is_some();
                let next = graph.index(&mut index, next, Some((at, action)));
                if is_broken {
                    return Ok(graph);
                }
                if model.is_owed(action) {
                    graph.before[next].push(at);
                }
            }
            at += 1;
        }
        Ok(graph)
    }

    /// The promise that is broken, and how, if one is.
    fn broken(&self, model: &M, is_kept: bool) -> Option<String> {
        let (what, at) = if is_kept {
            let at = self.hopeless(model)?;
            (model.stuck(&self.states[at]), at)
        } else {
            let last = self.states.last()?;
            (model.broken(last)?, self.states.len() - 1)
        };
        Some(self.tell(model, &what, at))
    }

    fn index(
        &mut self,
        index: &mut HashMap<M::State, usize, ahash::RandomState>,
        state: M::State,
        from: Option<(usize, M::Action)>,
    ) -> usize {
        *index.entry(state).or_insert_with_key(|state| {
            self.states.push(state.clone());
            self.from.push(from);
            self.before.push(Vec::new());
            self.states.len() - 1
        })
    }

    /// A state from which no steps that are owed lead to an end: the first in which nothing can happen, or else the
    /// first.
    fn hopeless(&self, model: &M) -> Option<usize> {
        let mut ends: Vec<bool> = self.states.iter().map(|state| model.is_done(state)).collect();
        let mut todo: Vec<usize> = (0..ends.len()).filter(|at| ends[*at]).collect();
        while let Some(at) = todo.pop() {
            for before in &self.before[at] {
                if !std::mem::replace(&mut ends[*before], true) {
                    todo.push(*before);
                }
            }
        }
        let hopeless = || (0..ends.len()).filter(|at| !ends[*at]);
        let is_final = |at: &usize| {
            let mut actions = Vec::new();
            model.actions(&self.states[*at], &mut actions);
            actions.is_empty()
        };
        hopeless().find(is_final).or_else(|| hopeless().next())
    }

    fn tell(&self, model: &M, what: &str, at: usize) -> String {
        let mut way = vec![];
        let mut after = at;
        while let Some((before, action)) = self.from[after] {
            way.push(model.line(&self.states[before], action, &self.states[after]));
            after = before;
        }
        let mut text = format!("{what}\n");
        for (number, line) in (1..).zip(way.iter().rev()) {
            let _ = writeln!(text, "{number:>3}. {line}");
        }
        text
    }
}
