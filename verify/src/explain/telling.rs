//! What is told of a path, in lines: its steps, collectives as one step each, and how many statements are not told.

use super::evidence::{CollectiveId, Evidence};
use super::slice::{Slice, ToldStep};
use super::stuck::{Deadlock, Waiting};
use super::wording::{list, ranks};
use crate::report::{StepReport, ToldReport};
use crate::violation::ViolationKind;
use std::collections::BTreeMap;

/// What goes wrong where a rank waits that can never go on.
const WAITS: &str = "waits forever";
/// The same of several ranks.
const WAIT: &str = "wait forever";
/// Lines about statements that are not told, at most.
const LINES_MAX: usize = 4;

/// A step, or the entries of a collective.
pub(super) fn told(evidence: &Evidence<'_>, steps: &[StepReport], step: &ToldStep) -> ToldReport {
    match step {
        ToldStep::One(at) => ToldReport::of(&steps[*at]),
        ToldStep::Collective(id, entries) => {
            let is_marked = |at: &&usize| steps[**at].wrong.is_some();
            let mut marked: Vec<u16> =
                entries.iter().filter(is_marked).map(|at| evidence.execution.steps[*at].at).collect();
            marked.sort_unstable();
            let first = entries.iter().find(is_marked).and_then(|at| steps[*at].wrong.clone());
            let waits = if marked.len() == 1 { WAITS } else { WAIT };
            let wrong = match first.as_deref() {
                // Of a reduction, some ranks may be done, and others wait.
                Some(WAITS) if marked.len() < entries.len() => Some(format!("{} {waits}", ranks(&marked))),
                Some(WAITS) => Some(waits.to_owned()),
                _ => first,
            };
            ToldReport { wrong, ..collective(evidence, *id, entries) }
        }
    }
}

/// Says of steps what goes wrong there: of the one that violates `here`, of those after which ranks wait forever this.
pub(super) fn mark(
    evidence: &Evidence<'_>,
    steps: &mut [StepReport],
    kind: ViolationKind,
    here: &str,
    deadlock: Option<&Deadlock>,
) {
    let wrong = evidence.wrong(kind).filter(|_| !here.is_empty());
    if let Some(step) = wrong.and_then(|at| steps.get_mut(at)) {
        step.wrong = Some(here.to_owned());
    }
    let waiting = deadlock.map_or(&[][..], |deadlock| &deadlock.waiting);
    for at in waiting.iter().filter_map(|waiting| begun(evidence, waiting)) {
        steps[at].wrong = Some(WAITS.to_owned());
    }
}

/// The step that has begun the statement at which a rank waits; none if that began nothing.
fn begun(evidence: &Evidence<'_>, waiting: &Waiting) -> Option<usize> {
    let is_own = |at: &usize| {
        let line = |pc: usize| evidence.names.line(waiting.rank, pc);
        let pc = evidence.execution.steps[*at].pc.map(usize::from);
        pc.is_some_and(|pc| line(pc).is_some() && line(pc) == line(waiting.pc))
    };
    let starts = waiting.requests.iter().filter_map(|request| evidence.start(waiting.rank, *request));
    starts.filter(is_own).max()
}

/// The statements at which ranks wait that are told, where no step has begun them.
pub(super) fn waits(evidence: &Evidence<'_>, deadlock: &Deadlock) -> Vec<ToldReport> {
    let told = deadlock.told();
    let is_told = |waiting: &&Waiting| told.contains(&waiting.rank) && begun(evidence, waiting).is_none();
    let tell = |waiting: &Waiting| ToldReport {
        who: format!("rank {}", waiting.rank),
        line: waiting.line.filter(|_| evidence.names.has_lines()),
        time: evidence.names.time(waiting.rank, waiting.pc),
        what: format!("`{}`", evidence.names.statement(waiting.rank, waiting.pc)),
        wrong: Some(WAITS.to_owned()),
    };
    deadlock.waiting.iter().filter(is_told).map(tell).collect()
}

fn collective(evidence: &Evidence<'_>, id: CollectiveId, entries: &[usize]) -> ToldReport {
    let names = evidence.names;
    let place = |at: &usize| {
        let step = &evidence.execution.steps[*at];
        (step.at, usize::from(step.pc.unwrap_or_default()))
    };
    let mut entered: Vec<u16> = entries.iter().map(|at| place(at).0).collect();
    entered.sort_unstable();
    let mut lines: Vec<Option<u32>> =
        entries.iter().map(place).map(|(rank, pc)| names.line(rank, pc)).collect();
    lines.sort_unstable();
    lines.dedup();
    let line = (lines.len() == 1).then(|| lines[0]).flatten().filter(|_| names.has_lines());
    let (rank, pc) = place(&entries[0]);
    // A rank that has entered it is not missing, told or not.
    let has_entered = |rank: &u16| evidence.entries(id).any(|at| evidence.execution.steps[at].at == *rank);
    let missing: Vec<u16> = evidence.members(id).into_iter().filter(|rank| !has_entered(rank)).collect();
    let s = if entered.len() == 1 { "s" } else { "" };
    let others = match &missing[..] {
        [] => "all have entered it".to_owned(),
        [_] => format!("{} has not", ranks(&missing)),
        _ => format!("{} have not", ranks(&missing)),
    };
    let at = match line {
        Some(_) => String::new(),
        None => {
            let lines: Vec<String> = lines.into_iter().flatten().map(|line| line.to_string()).collect();
            format!(" at lines {}", list(&lines))
        }
    };
    let (statement, groups) = match names.split(rank, pc) {
        Some((statement, groups)) => (statement, format!(": {groups}")),
        None => (names.statement(rank, pc), String::new()),
    };
    let what = format!("`{statement}`: enter{s} it{at}; {others}{groups}");
    let mut times: Vec<Option<u32>> =
        entries.iter().map(place).map(|(rank, pc)| names.time(rank, pc)).collect();
    times.dedup();
    let time = if times.len() == 1 { times[0] } else { None };
    ToldReport { who: ranks(&entered), line, time, what, wrong: None }
}

/// `ranks 0 to 3: 12 statements each, not needed to show it`.
pub(super) fn folded(evidence: &Evidence<'_>, slice: &Slice, deadlock: Option<&Deadlock>) -> Vec<String> {
    let (names, mut lines) = (evidence.names, Vec::new());
    let mut alike = deadlock.map_or_else(Vec::new, Deadlock::alike);
    let mut left_out = slice.folded.clone();
    // Ranks that enter a collective in vain are told there.
    for step in &slice.told {
        if let ToldStep::Collective(id, entries) = step
            && entries.len() < evidence.members(*id).len()
        {
            let entered = entries.iter().map(|at| evidence.execution.steps[*at].at);
            let entered: Vec<u16> = entered.collect();
            alike.retain(|rank| !entered.contains(rank));
        }
    }
    // Without a line, its ranks are those of a suite's program: each of them is told.
    if !alike.is_empty() && names.has_lines() {
        lines.push(format!("{}: in the same way", ranks(&alike)));
        alike.iter().for_each(|rank| _ = left_out.remove(rank));
    }
    let mut by_count: BTreeMap<usize, Vec<u16>> = BTreeMap::new();
    left_out.into_iter().for_each(|(rank, count)| by_count.entry(count).or_default().push(rank));
    let mut groups: Vec<(usize, usize, Vec<u16>)> =
        by_count.into_iter().map(|(count, ranks)| (count, count, ranks)).collect();
    while groups.len() > LINES_MAX {
        // Those whose counts are nearest to each other are told together.
        let near = (1..groups.len()).min_by_key(|at| groups[*at].0 - groups[at - 1].1).unwrap_or(1);
        let (_, most, more) = groups.remove(near);
        let group = &mut groups[near - 1];
        group.1 = most;
        group.2.extend(more);
        group.2.sort_unstable();
    }
    groups.sort_by_key(|(.., ranks)| ranks[0]);
    lines.extend(groups.into_iter().map(|(least, most, who)| {
        let count = match (least, most) {
            (1, 1) => "1 statement".to_owned(),
            (least, most) if least == most => format!("{least} statements"),
            (least, most) => format!("{least} to {most} statements"),
        };
        let each = if who.len() == 1 { "" } else { " each" };
        format!("{}: {count}{each}, not needed to show it", ranks(&who))
    }));
    lines
}
