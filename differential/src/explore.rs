//! Every sequence of steps, one state at a time.

use crate::default_library::DefaultLibrary;
use crate::machine::{Event, Library, Machine, Transition, Violated};
use crate::plan::Plan;
use crate::program::Program;
use crate::state::State;
use crate::tell;
use crate::weakest_mpi::WeakestMpi;
use ahash::AHashMap;

/// The library that programs are judged under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The library of this project.
    Default,
    /// The weakest MPI.
    Portable,
}

impl Mode {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Default, Self::Portable];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Portable => "portable",
        }
    }
}

/// The verdict of the oracle.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The checks that some execution violates.
    pub violated: Violated,
    /// By violated check: an execution that violates it, a line for each step.
    pub executions: Vec<(&'static str, Vec<String>)>,
    /// Distinct states.
    pub states: usize,
}

/// Judges a program; `None` if it has more states than this, or does not fit into one.
pub fn judge(program: &Program, mode: Mode, states_max: usize) -> Option<Judgement> {
    let plan = Plan::new(program);
    match mode {
        Mode::Default => explore(&Machine::<DefaultLibrary>::new(&plan)?, states_max),
        Mode::Portable => explore(&Machine::<WeakestMpi>::new(&plan)?, states_max),
    }
}

/// The state before, and the step from there; none for the first state.
type Origin = Option<(u32, Event)>;

fn explore<L: Library>(machine: &Machine<'_, L>, states_max: usize) -> Option<Judgement> {
    let (first, mut violated) = machine.first();
    if machine.plan.calls_differ {
        violated |= Violated::EPOCHS;
    }
    let mut known: AHashMap<State, u32> = AHashMap::new();
    let mut states: Vec<(State, Origin)> = vec![(first, None)];
    known.insert(first, 0);
    let mut found: Vec<(Violated, u32, Option<Event>)> = vec![(violated, 0, None)];
    let mut transitions: Vec<Transition> = Vec::new();
    let mut at = 0;
    while at < states.len() {
        let state = states[at].0;
        transitions.clear();
        machine.transitions(&state, &mut transitions);
        let mut at_end = Violated::default();
        if !transitions.iter().any(|transition| transition.must) {
            let ended = (0..machine.plan.ranks()).all(|rank| machine.has_ended(&state, rank));
            at_end = if ended { machine.violated_at_end(&state) } else { Violated::DEADLOCK };
        }
        if !violated.contains(at_end) {
            violated |= at_end;
            found.push((at_end, at as u32, None));
        }
        for transition in &transitions {
            if !violated.contains(transition.violated) {
                violated |= transition.violated;
                found.push((transition.violated, at as u32, Some(transition.event)));
            }
            if transition.is_last || known.contains_key(&transition.state) {
                continue;
            }
            if states.len() >= states_max {
                return None;
            }
            known.insert(transition.state, states.len() as u32);
            states.push((transition.state, Some((at as u32, transition.event))));
        }
        at += 1;
    }
    let executions = violated.names().into_iter().map(|check| {
        let first = found.iter().find(|(violated, ..)| violated.has(check));
        let mut events: Vec<Event> = Vec::new();
        if let Some((_, at, last)) = first {
            events.extend(last);
            let mut at = *at;
            while let Some((before, event)) = states[at as usize].1 {
                events.push(event);
                at = before;
            }
        }
        events.reverse();
        (check, events.into_iter().map(|event| tell::event(machine.plan, event)).collect())
    });
    Some(Judgement { violated, executions: executions.collect(), states: states.len() })
}
