//! Counterexamples for people: a path told as numbered steps, summed up, and drawn.
//!
//! Begin reading at [`explain`]. A path is a sequence of states; what happened between two of them is found by
//! comparing them (`execution`), named by the lines of the scenario (`names`), put into words (`narrator`, `wording`) and into
//! fields for programs (`fields`). The violation at its end is summed up with the rule that is broken (`diagnosis`;
//! `stuck` for deadlocks), and with the ranks that others wait for in windows (`waits`, `late`). Of a path only the steps
//! are told that the violation is about (`evidence`) or that have led there (`slice`), some of them as one, and the others
//! by their number (`telling`). What is told is drawn (`draw`), the epochs of windows beside it (`epochs`,
//! `epochs_of_calls`, `draw_epochs`).

mod calls;
mod diagnosis;
mod diagnosis_of_windows;
mod draw;
mod draw_epochs;
mod epochs;
mod epochs_of_calls;
mod evidence;
mod execution;
mod fields;
mod late;
mod names;
mod narrator;
mod of_windows;
mod situation;
mod slice;
mod stuck;
mod telling;
mod wait_reason;
mod waits;
mod weakest;
pub(crate) mod wording;

use crate::action::Action;
use crate::chart::Chart;
use crate::explore::Path;
use crate::program::Job;
use crate::report::{Counterexample, StepReport, ToldReport};
use crate::state::State;
use crate::violation::{Violation, ViolationKind};
use crate::weakest::Order;
use carrousel_rank::Protocol;
use carrousel_scenario::{Check, Scenario};
use diagnosis::Diagnosis;
use draw::Ending;
use evidence::Evidence;
use execution::Execution;
use late::Wait;
use names::{Names, faults};
use narrator::Narrator;
use slice::Slice;
use stuck::Deadlock;

pub(crate) use situation::situation;

/// Explains a path of `job` at whose end `check` is violated. `source` is the scenario of the job; without one, the
/// checker gives requests names. `without` is the order of the weakest MPI that the search had switched off.
pub fn explain<P: Protocol>(
    job: &Job,
    path: &Path<P>,
    check: Check,
    source: Option<&Scenario>,
    without: Option<Order>,
) -> Counterexample {
    let execution = Execution::new(path);
    let faults = faults(job, path.steps.last().map(|(state, _)| state));
    let names = Names::new(job, source, &execution.begun, faults, without);
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
    let evidence = Evidence::new(&names, &execution);
    // Without a scenario it is a program of a suite, and the library is what is looked at.
    let slice = match source.is_some() && !is_of_library(kind) {
        true => Slice::of_program(&evidence, &evidence.of(kind, deadlock.as_ref())),
        false => Slice::of_library(&evidence, &library_ranks(&diagnosis, deadlock.as_ref())),
    };
    let narrator = Narrator { names: &names, execution: &execution };
    let mut steps: Vec<StepReport> = execution.steps.iter().map(|step| narrator.step(step)).collect();
    steps.iter_mut().zip(&slice.keep).for_each(|(step, keep)| step.matters = *keep);
    telling::mark(&evidence, &mut steps, kind, &diagnosis.here, deadlock.as_ref());
    let mut told: Vec<ToldReport> =
        slice.told.iter().map(|step| telling::told(&evidence, &steps, step)).collect();
    told.extend(deadlock.iter().flat_map(|deadlock| telling::waits(&evidence, deadlock)));
    let stuck = deadlock.as_ref().map_or_else(Vec::new, |deadlock| deadlock.reports(&names));
    let folded = telling::folded(&evidence, &slice, deadlock.as_ref());
    let wrong = evidence.wrong(kind);
    let ending = Ending { deadlock: deadlock.as_ref(), diagnosis: &diagnosis, wrong, late: &late };
    let chart = draw::chart(&names, &execution, &slice, &ending);
    let full_chart = draw::chart(&names, &execution, &Slice::whole(steps.len()), &ending);
    let sentences = summary.clone();
    Counterexample { summary, sentences, steps, stuck, told, folded, chart, full_chart }
}

/// Whether the library has broken a promise, so that its packets are what matters.
fn is_of_library(kind: ViolationKind) -> bool {
    Violation { check: Check::DeadlockFreedom, kind }.is_fatal()
}

/// The ranks whose causal past is told of a violation of the library.
fn library_ranks(diagnosis: &Diagnosis, deadlock: Option<&Deadlock>) -> Vec<u16> {
    deadlock.map_or_else(|| diagnosis.ranks.clone(), Deadlock::told)
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
    let names = Names::new(job, source, &execution.begun, faults(job, Some(after)), None);
    let narrator = Narrator { names: &names, execution: &execution };
    execution.steps.first().map(|step| narrator.step(step))
}

/// Draws a path, with the violation at its end if there is one; `None` for a path without steps.
pub(crate) fn picture<P: Protocol>(job: &Job, source: Option<&Scenario>, path: &Path<P>) -> Option<Chart> {
    if let Some(violation) = path.steps.last().and_then(|(state, _)| state.violations.first()) {
        return Some(explain(job, path, violation.check, source, None).chart);
    }
    let execution = Execution::new(path);
    let faults = faults(job, path.steps.last().map(|(state, _)| state));
    let names = Names::new(job, source, &execution.begun, faults, None);
    let nothing = Diagnosis { summary: String::new(), here: String::new(), ranks: Vec::new() };
    let all = Slice::whole(execution.steps.len());
    let late = late_waits(&names, path, false);
    let ending = Ending { deadlock: None, diagnosis: &nothing, wrong: None, late: &late };
    (!execution.steps.is_empty()).then(|| draw::chart(&names, &execution, &all, &ending))
}
