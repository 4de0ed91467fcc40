//! No execution is infinite: the graph of states has no cycle, reduced or not.
//!
//! Deadlock freedom is checked as "no state without successors has an unfinished rank", and the reduction
//! needs no proviso against ignoring an action for ever; both hold because of this.

use crate::dice::Dice;
use crate::jobs::{MIXED, Shape, THREE, TWO, draw_job};
use carrousel_rank::{Mirror, Protocol, Published};
use carrousel_verify::model::{Model, Settings};
use carrousel_verify::program::Job;
use carrousel_verify::state::State;
use stateright::Model as _;
use std::collections::HashMap;

/// A state that is on the path being walked, or done with.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    OnPath,
    Done,
}

/// States of one job, at most; what is beyond is not walked.
const STATES: usize = 5_000;

fn successors<P: Protocol>(model: &Model<P>, state: &State<P>) -> Vec<State<P>> {
    let mut actions = Vec::new();
    model.actions(state, &mut actions);
    actions.into_iter().filter_map(|action| model.next_state(state, action)).collect()
}

/// Walks the graph depth first; returns the number of states, or `None` if it comes back to its own path.
fn states_without_cycle<P: Protocol>(job: Job, reduce: bool) -> Option<usize> {
    let model = Model::<P>::new([job].into(), Settings { reduce, ..Settings::default() });
    let mut marks: HashMap<State<P>, Mark> = HashMap::new();
    let mut path: Vec<(State<P>, Vec<State<P>>)> = Vec::new();
    for state in model.init_states() {
        marks.insert(state.clone(), Mark::OnPath);
        path.push((state.clone(), successors(&model, &state)));
    }
    while let Some((state, next)) = path.last_mut() {
        match next.pop() {
            None => {
                marks.insert(state.clone(), Mark::Done);
                path.pop();
            }
            Some(state) => match marks.get(&state) {
                Some(Mark::OnPath) => return None,
                Some(Mark::Done) => {}
                None if marks.len() >= STATES => {}
                None => {
                    marks.insert(state.clone(), Mark::OnPath);
                    let next = successors(&model, &state);
                    path.push((state, next));
                }
            },
        }
    }
    Some(marks.len())
}

fn walk<P: Protocol>() {
    for shape in [TWO, THREE, MIXED, Shape { group: true, ..MIXED }] {
        let mut dice = Dice::new(11);
        let mut walked = 0;
        for number in 0..150 {
            let job = draw_job(&mut dice, shape);
            for reduce in [false, true] {
                let states = states_without_cycle::<P>(job.clone(), reduce);
                walked += states.unwrap_or_else(|| panic!("job {number} can go on for ever: {job:#?}"));
            }
        }
        assert!(walked > 10_000, "only {walked} states were walked");
    }
}

#[test]
fn mirror_comes_to_an_end() {
    walk::<Mirror>();
}

#[test]
fn published_comes_to_an_end() {
    walk::<Published>();
}
