//! Counterexamples for people: a path told as numbered steps, summed up, and drawn.
//!
//! Begin reading at [`explain`]. A path is a sequence of states; what happened between two of them is
//! found by comparing them (`walk`), named by the lines of the scenario (`names`), put into words (`tell`)
//! and into fields for programs (`fields`). What is wrong at its end is summed up with the rule that is broken (`verdict`; `stuck` for
//! deadlocks). Of long paths only the causal past of what went wrong is kept (`past`).

mod draw;
mod fields;
mod names;
mod past;
mod situation;
mod stuck;
mod tell;
mod verdict;
mod walk;

use crate::action::Action;
use crate::chart::Chart;
use crate::explore::Path;
use crate::program::Job;
use crate::report::{Counterexample, StepReport};
use crate::state::State;
use crate::violation::Note;
use carrousel_rank::Protocol;
use carrousel_scenario::{Check, Scenario};
use names::{Names, faults};
use stuck::Deadlock;
use tell::Teller;
use verdict::Verdict;
use walk::Walk;

pub(crate) use situation::situation;

/// A path with more steps than this is told without those that have no effect on what went wrong. Of what
/// leads to a deadlock, they are always left out.
const TOLD_WHOLE_MAX: usize = 40;
/// Fewer steps than this are told rather than said to be left out.
const LEFT_OUT_MIN: usize = 3;

/// Explains a path at whose end `check` is violated. `job` is the one that the path is of, and `source`
/// the scenario that it was made of; without one, requests have names of the checker's making.
pub fn explain<P: Protocol>(
    job: &Job,
    path: &Path<P>,
    check: Check,
    source: Option<&Scenario>,
) -> Counterexample {
    let walk = Walk::new(path);
    let names = Names::new(job, source, &walk.begun, faults(job, path.steps.last().map(|(state, _)| state)));
    let wrongs = path.steps.last().map_or(&[][..], |(state, _)| &state.wrong);
    let note = wrongs.iter().find(|wrong| wrong.check == check).or(wrongs.first()).map(|wrong| wrong.note);
    let note = note.unwrap_or(Note::Stuck);
    let verdict = verdict::verdict(&names, &walk, note);
    let deadlock = matches!(note, Note::Stuck).then(|| Deadlock::new(&names, &walk, path));
    let mut summary = deadlock.as_ref().map_or(verdict.summary.clone(), |deadlock| deadlock.summary(&names));

    let mut keep = match &deadlock {
        Some(deadlock) => {
            let mut ranks = deadlock.ranks();
            // The choice of a rank that could turn to several is part of why others wait.
            ranks.extend(walk.begun.keys().map(|(rank, _)| *rank));
            past::before_deadlock(&walk.beats, &walk.flights, &ranks, &deadlock.messages(&ranks))
        }
        None if walk.beats.len() > TOLD_WHOLE_MAX => {
            past::causal_past(&walk.beats, &walk.flights, &verdict.ranks)
        }
        None => vec![true; walk.beats.len()],
    };
    let left_out = keep.iter().filter(|keep| !**keep).count();
    if left_out < LEFT_OUT_MIN {
        keep.fill(true);
    } else {
        summary.push_str(&format!(" Left out: {left_out} steps that have no effect on this."));
    }
    let teller = Teller { names: &names, walk: &walk };
    let told = walk.beats.iter().zip(&keep).filter(|(_, keep)| **keep);
    let steps = told.map(|(beat, _)| teller.step(beat)).collect();
    let chart = draw::chart(&names, &walk, &keep, &verdict, deadlock.as_ref());
    Counterexample { summary, steps, chart }
}

/// What one step does, from one state to the next.
pub(crate) fn step<P: Protocol>(
    job: &Job,
    source: Option<&Scenario>,
    before: &State<P>,
    action: Action,
    after: &State<P>,
) -> Option<StepReport> {
    let walk = Walk::of_step(before, action, after);
    let names = Names::new(job, source, &walk.begun, faults(job, Some(after)));
    let teller = Teller { names: &names, walk: &walk };
    walk.beats.first().map(|beat| teller.step(beat))
}

/// Draws a path, with what is wrong at its end if something is; none of a path without steps.
pub(crate) fn picture<P: Protocol>(job: &Job, source: Option<&Scenario>, path: &Path<P>) -> Option<Chart> {
    if let Some(wrong) = path.steps.last().and_then(|(state, _)| state.wrong.first()) {
        return Some(explain(job, path, wrong.check, source).chart);
    }
    let walk = Walk::new(path);
    let names = Names::new(job, source, &walk.begun, faults(job, path.steps.last().map(|(state, _)| state)));
    let nothing = Verdict { summary: String::new(), here: String::new(), ranks: Vec::new() };
    let keep = vec![true; walk.beats.len()];
    (!walk.beats.is_empty()).then(|| draw::chart(&names, &walk, &keep, &nothing, None))
}
