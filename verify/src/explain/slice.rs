//! The steps of a path that are told: those that the violation depends on.
//!
//! What a violation is about is told (`evidence`), and of a short path all that has led there: the earlier steps of the
//! ranks that take part, and what their arrivals were sent by. Steps that tell nothing of the program (a call that
//! returns, a transfer that is reported, the packets of a collective) are not told, and a collective is one step. If the
//! library is to blame, each of its packets may be the reason.

use super::evidence::{CollectiveId, Evidence};
use super::execution::ExecutedStep;
use crate::action::Action;
use crate::network::InFlight;
use crate::program::Act;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// If so many steps tell all that has led to a violation, they are told.
const WHOLE_MAX: usize = 14;
/// The most steps that are told of a violation of the program.
const TOLD_MAX: usize = 25;
/// A path of the library with more steps than this is told without those that have no effect on the violation.
const LIBRARY_MAX: usize = 40;
/// Fewer steps of the library than this are told rather than left out.
const LEFT_OUT_MIN: usize = 3;

/// What is told of a path, in order.
pub(super) struct Slice {
    /// Whether each step is told.
    pub(super) keep: Vec<bool>,
    /// The steps that are told, some of them as one.
    pub(super) told: Vec<ToldStep>,
    /// By rank: how many of its statements are not told.
    pub(super) folded: BTreeMap<u16, usize>,
}

/// What is told as one step.
pub(super) enum ToldStep {
    /// A step.
    One(usize),
    /// Ranks that enter a collective, by their steps, in order.
    Collective(CollectiveId, Vec<usize>),
}

impl Slice {
    /// All steps, each by itself.
    pub(super) fn whole(steps: usize) -> Self {
        let told = (0..steps).map(ToldStep::One).collect();
        Self { keep: vec![true; steps], told, folded: BTreeMap::new() }
    }

    /// The steps that matter for a violation of the program that is about `roots`.
    pub(super) fn of_program(evidence: &Evidence<'_>, roots: &BTreeSet<usize>) -> Self {
        let execution = evidence.execution;
        let is_telling = |at: &usize| roots.contains(at) || is_telling(evidence, *at);
        let whole = past(evidence, |at, _| roots.contains(&at));
        let whole: BTreeSet<usize> =
            (0..execution.steps.len()).filter(|at| whole[*at]).filter(is_telling).collect();
        let mut told = gather(evidence, &whole);
        if told.len() > WHOLE_MAX {
            told = gather(evidence, roots);
            told.drain(..told.len().saturating_sub(TOLD_MAX));
        }
        let mut keep = vec![false; execution.steps.len()];
        for step in &told {
            match step {
                ToldStep::One(at) => keep[*at] = true,
                ToldStep::Collective(_, all) => all.iter().for_each(|at| keep[*at] = true),
            }
        }
        let folded = folded(evidence, &keep);
        Self { keep, told, folded }
    }

    /// The causal past of the last steps of some ranks, if the path is long.
    pub(super) fn of_library(evidence: &Evidence<'_>, ranks: &[u16]) -> Self {
        let execution = evidence.execution;
        let count = execution.steps.len();
        if count <= LIBRARY_MAX {
            return Self::whole(count);
        }
        let keep = past(evidence, |_, step| ranks.contains(&step.at));
        if keep.iter().filter(|keep| !**keep).count() < LEFT_OUT_MIN {
            return Self::whole(count);
        }
        let told = (0..count).filter(|at| keep[*at]).map(ToldStep::One).collect();
        let folded = folded(evidence, &keep);
        Self { keep, told, folded }
    }
}

/// The causal past of the steps that matter: a step depends on the earlier ones of its rank, the arrival of something on
/// the step that sent it, and the return from a collective on those that enter it.
fn past(evidence: &Evidence<'_>, matters: impl Fn(usize, &ExecutedStep) -> bool) -> Vec<bool> {
    let steps = &evidence.execution.steps;
    // Ranks of which a later step is kept: their earlier steps led there.
    let mut active: HashSet<u16> = HashSet::new();
    let mut keep = vec![false; steps.len()];
    for (at, step) in steps.iter().enumerate().rev() {
        if !keep[at] && !active.contains(&step.at) && !matters(at, step) {
            continue;
        }
        keep[at] = true;
        active.insert(step.at);
        evidence.led_to(at).for_each(|before| keep[before] = true);
    }
    keep
}

/// Whether a step says something of the program.
fn is_telling(evidence: &Evidence<'_>, at: usize) -> bool {
    let step = &evidence.execution.steps[at];
    match step.action {
        Action::Announce { .. } => false,
        Action::Lock(_) => true,
        Action::Step { .. } => is_statement(evidence, step) || !step.learnt.is_empty(),
        Action::Land(_) | Action::Overtake { .. } => {
            let item = step.landed.map(|landed| evidence.execution.sent[landed].item);
            let brings = matches!(item, Some(InFlight::Data(..) | InFlight::Read(..)));
            step.matched.is_some()
                || step.kept.is_some()
                || brings && !step.completed.is_empty()
                || matches!(item, Some(InFlight::Transfer(_)))
        }
    }
}

/// Whether a step begins a statement, rather than being the return of one.
fn is_statement(evidence: &Evidence<'_>, step: &ExecutedStep) -> bool {
    let Some(pc) = step.pc.map(usize::from) else { return false };
    let line = |pc: usize| evidence.names.line(step.at, pc);
    match evidence.names.act(step.at, pc) {
        Some(Act::AwaitGrants(_) | Act::Define(_)) | None => false,
        Some(Act::Wait(ordinals)) => {
            // The return of a blocking statement has the line of what it waits for.
            let starts = ordinals.iter().filter_map(|ordinal| evidence.names.step_of(step.at, *ordinal));
            let mut lines = starts.map(line);
            !lines.any(|start| start == line(pc))
        }
        // A `sendrecv` starts twice.
        Some(_) => pc == 0 || !is_second(evidence, step.at, pc),
    }
}

/// Whether a step is the second start of its statement.
fn is_second(evidence: &Evidence<'_>, rank: u16, pc: usize) -> bool {
    let names = evidence.names;
    let start = |pc: usize| match names.act(rank, pc) {
        Some(Act::Start(ordinal)) => names.start(rank, *ordinal).map(std::mem::discriminant),
        _ => None,
    };
    let of_one_line = names.line(rank, pc).is_some() && names.line(rank, pc) == names.line(rank, pc - 1);
    // Copies of a statement in a row start the same.
    of_one_line && start(pc).zip(start(pc - 1)).is_some_and(|(this, that)| this != that)
}

/// The steps that are told, those that enter one collective as one, where the last of them is.
fn gather(evidence: &Evidence<'_>, steps: &BTreeSet<usize>) -> Vec<ToldStep> {
    let mut entries: HashMap<CollectiveId, Vec<usize>> = HashMap::new();
    for at in steps {
        if let Some(id) = evidence.collective_of(*at) {
            entries.entry(id).or_default().push(*at);
        }
    }
    let mut told = Vec::new();
    for at in steps {
        match evidence.collective_of(*at) {
            None => told.push(ToldStep::One(*at)),
            Some(id) if entries[&id].last() == Some(at) => {
                told.push(ToldStep::Collective(id, entries[&id].clone()));
            }
            Some(_) => {}
        }
    }
    told
}

/// How many statements of each rank are not told.
fn folded(evidence: &Evidence<'_>, keep: &[bool]) -> BTreeMap<u16, usize> {
    let mut folded = BTreeMap::new();
    for (at, step) in evidence.execution.steps.iter().enumerate() {
        if !keep[at] && is_statement(evidence, step) {
            *folded.entry(step.at).or_default() += 1;
        }
    }
    folded
}
