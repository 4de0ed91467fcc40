//! A state in words: where each rank is, what its requests wait for, the items in flight, and the violations.

use super::diagnosis::diagnosis;
use super::execution::Execution;
use super::names::{Names, faults};
use super::narrator::Narrator;
use super::stuck::Deadlock;
use super::wording::list;
use crate::explore::Path;
use crate::program::{Job, Start};
use crate::state::{Open, Proc, State};
use crate::violation::ViolationKind;
use carrousel_rank::Protocol;
use carrousel_scenario::Scenario;
use std::fmt::Write;

/// Describes a state.
pub(crate) fn situation<P: Protocol>(job: &Job, source: Option<&Scenario>, state: &State<P>) -> String {
    let execution = Execution::of_state(state);
    let names = Names::new(job, source, &execution.begun, faults(job, Some(state)), None);
    let mut text = String::new();
    for (rank, proc) in state.ranks() {
        let pc = usize::from(proc.pc);
        let place = match names.act(rank, pc) {
            Some(_) => format!("is {}", names.place(rank, pc)),
            None => "has finished".to_owned(),
        };
        let stop = names.fault(rank).map_or(String::new(), |why| format!(" and cannot go on: {why}"));
        let _ = writeln!(text, "rank {rank} {place}{stop}");
        for message in &proc.received {
            let _ = writeln!(text, "  {}", names.message_known(rank, *message));
        }
        for open in &proc.open {
            let _ = writeln!(
                text,
                "  {}: {}",
                names.request(rank, open.ordinal),
                standing(&names, rank, proc, open)
            );
        }
        if !proc.arrived.is_empty() {
            let messages: Vec<String> = proc.arrived.iter().map(|message| names.message(*message)).collect();
            let _ = writeln!(text, "  without a receive: {}", list(&messages));
        }
    }
    let narrator = Narrator { names: &names, execution: &execution };
    for (at, sent) in execution.sent.iter().enumerate() {
        let heading = if at == 0 { "in flight:\n" } else { "" };
        let _ = writeln!(text, "{heading}  {}", narrator.in_flight(sent));
    }
    for violation in &state.violations {
        let said = match violation.kind {
            ViolationKind::Stuck => {
                let path = Path { steps: vec![(state.clone(), None)] };
                Deadlock::new(&names, &execution, &path).summary(&names)
            }
            kind => diagnosis(&names, &execution, kind).summary,
        };
        let _ = writeln!(text, "{} is violated: {said}", violation.check);
    }
    text.truncate(text.trim_end().len());
    text
}

/// How a request stands.
fn standing<P: Protocol>(names: &Names<'_>, rank: u16, proc: &Proc<P>, open: &Open) -> String {
    if proc.is_complete(open) {
        return "complete".to_owned();
    }
    let stands = match names.start(rank, open.ordinal) {
        Some(Start::Receive { .. }) => match open.message {
            Some(message) => format!("gets {}", names.message(message)),
            None => "has no message yet".to_owned(),
        },
        Some(Start::Collective { .. }) => "entered".to_owned(),
        _ => "not complete".to_owned(),
    };
    if open.busy { format!("{stands}, its buffer in use") } else { stands }
}
