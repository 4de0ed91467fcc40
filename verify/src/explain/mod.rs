//! Counterexamples for people: a path told as numbered steps, summed up, and drawn.
//!
//! Begin reading at [`explain`]. A path is a sequence of states; what happened between two of them is found by
//! comparing them (`execution`), named by the lines of the scenario (`names`), put into words (`narrator`) and into
//! fields for programs (`fields`). The violation at its end is summed up with the rule that is broken (`diagnosis`;
//! `stuck` for deadlocks), and with the ranks that others wait for in windows (`waits`, `late`). Of a long path only the
//! causal past of the violation is kept (`past`). What is kept is drawn (`draw`), the epochs of windows beside it
//! (`epochs`, `draw_epochs`).

mod diagnosis;
mod diagnosis_of_windows;
mod draw;
mod draw_epochs;
mod epochs;
mod execution;
mod fields;
mod late;
mod names;
mod narrator;
mod of_windows;
mod past;
mod situation;
mod stuck;
mod waits;
mod weakest;

use crate::action::Action;
use crate::chart::Chart;
use crate::explore::Path;
use crate::program::Job;
use crate::report::{Counterexample, StepReport};
use crate::state::State;
use crate::violation::ViolationKind;
use carrousel_rank::Protocol;
use carrousel_scenario::{Check, Scenario};
use diagnosis::Diagnosis;
use draw::Ending;
use execution::Execution;
use late::Wait;
use names::{Names, faults};
use narrator::Narrator;
use stuck::Deadlock;

pub(crate) use situation::situation;

/// A path with more steps than this is told without those that have no effect on the violation. A path to a deadlock
/// is always told without them.
const TOLD_WHOLE_MAX: usize = 40;
/// Fewer steps than this are told rather than said to be left out.
const LEFT_OUT_MIN: usize = 3;

/// Explains a path of `job` at whose end `check` is violated. `source` is the scenario of the job; without one, the
/// checker gives requests names.
pub fn explain<P: Protocol>(
    job: &Job,
    path: &Path<P>,
    check: Check,
    source: Option<&Scenario>,
) -> Counterexample {
    let execution = Execution::new(path);
    let names =
        Names::new(job, source, &execution.begun, faults(job, path.steps.last().map(|(state, _)| state)));
    let violations = path.steps.last().map_or(&[][..], |(state, _)| &state.violations);
    let kind = violations
        .iter()
        .find(|violation| violation.check == check)
        .or(violations.first())
        .map(|violation| violation.kind);
    let kind = kind.unwrap_or(ViolationKind::Stuck);
    let diagnosis = diagnosis::diagnosis(&names, &execution, kind);
    let deadlock = matches!(kind, ViolationKind::Stuck).then(|| Deadlock::new(&names, &execution, path));
    let mut summary =
        deadlock.as_ref().map_or(diagnosis.summary.clone(), |deadlock| deadlock.summary(&names));

    let last = path.steps.last().map(|(state, _)| state);
    let late = late_waits(&names, path, deadlock.is_some());
    if let (None, Some(meanwhile)) = (&deadlock, late::sentences(&names, &late)) {
        summary.push(' ');
        summary.push_str(&meanwhile);
    }
    let is_weakest = deadlock.is_some() && names.is_portable();
    if let Some(flags) = last.filter(|_| is_weakest).and_then(|state| weakest::ignored_flags(&names, state)) {
        summary.push(' ');
        summary.push_str(&flags);
    }
    let mut keep = match &deadlock {
        Some(deadlock) => {
            let mut ranks = deadlock.ranks();
            // Which peer a rank has chosen at run time is part of the reason why others wait.
            ranks.extend(execution.begun.keys().map(|(rank, _)| *rank));
            past::before_deadlock(&execution.steps, &execution.sent, &ranks, &deadlock.messages(&ranks))
        }
        None if execution.steps.len() > TOLD_WHOLE_MAX => {
            past::causal_past(&execution.steps, &execution.sent, &diagnosis.ranks)
        }
        None => vec![true; execution.steps.len()],
    };
    let left_out = keep.iter().filter(|keep| !**keep).count();
    if left_out < LEFT_OUT_MIN {
        keep.fill(true);
    } else {
        summary.push_str(&format!(" Left out: {left_out} steps that have no effect on this."));
    }
    let narrator = Narrator { names: &names, execution: &execution };
    let told = execution.steps.iter().zip(&keep).filter(|(_, keep)| **keep);
    let steps = told.map(|(step, _)| narrator.step(step)).collect();
    let ending = Ending { deadlock: deadlock.as_ref(), diagnosis: &diagnosis, late: &late };
    let chart = draw::chart(&names, &execution, &keep, &ending);
    Counterexample { summary, steps, chart }
}

/// The ranks that wait for late ones at the end of a path. A rank that has just gone a step does not wait yet.
fn late_waits<P: Protocol>(names: &Names<'_>, path: &Path<P>, is_stuck: bool) -> Vec<Wait> {
    let before = path.steps.len().checked_sub(2).and_then(|at| path.steps.get(at));
    let last = match before {
        Some((_, Some(Action::Step { rank, .. }))) if !is_stuck => Some(*rank),
        _ => None,
    };
    let mut waits = path.steps.last().map_or(Vec::new(), |(state, _)| waits::late_waits(names, state));
    waits.retain(|wait| Some(wait.rank) != last);
    waits
}

/// One step from a state to the next, as it is reported.
pub(crate) fn step<P: Protocol>(
    job: &Job,
    source: Option<&Scenario>,
    before: &State<P>,
    action: Action,
    after: &State<P>,
) -> Option<StepReport> {
    let execution = Execution::of_step(before, action, after);
    let names = Names::new(job, source, &execution.begun, faults(job, Some(after)));
    let narrator = Narrator { names: &names, execution: &execution };
    execution.steps.first().map(|step| narrator.step(step))
}

/// Draws a path, with the violation at its end if there is one; `None` for a path without steps.
pub(crate) fn picture<P: Protocol>(job: &Job, source: Option<&Scenario>, path: &Path<P>) -> Option<Chart> {
    if let Some(violation) = path.steps.last().and_then(|(state, _)| state.violations.first()) {
        return Some(explain(job, path, violation.check, source).chart);
    }
    let execution = Execution::new(path);
    let names =
        Names::new(job, source, &execution.begun, faults(job, path.steps.last().map(|(state, _)| state)));
    let nothing = Diagnosis { summary: String::new(), here: String::new(), ranks: Vec::new() };
    let keep = vec![true; execution.steps.len()];
    let late = late_waits(&names, path, false);
    let ending = Ending { deadlock: None, diagnosis: &nothing, late: &late };
    (!execution.steps.is_empty()).then(|| draw::chart(&names, &execution, &keep, &ending))
}
