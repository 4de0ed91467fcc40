//! From the epochs of an execution to bars.

use super::epochs::Epoch;
use super::epochs_of_calls::all;
use super::execution::Execution;
use super::names::Names;
use super::wording::ranks;
use crate::chart::{BarPart, EpochBar, place};
use crate::program::{Act, Program};
use carrousel_rank::RankId;
use carrousel_rank::epoch::{Call, EpochKind, Mode};

/// The targets or origins that a short label names.
const NAMED_MAX: usize = 4;

/// Bars for the epochs of the ranks that have lanes. `first` is the first step that is drawn, and `steps` are those of
/// the rows.
pub(super) fn bars(
    names: &Names<'_>,
    execution: &Execution,
    lanes: &[u16],
    first: usize,
    steps: &[usize],
) -> Vec<EpochBar> {
    let epochs = all(names, execution);
    let drawn = epochs.iter().filter(|epoch| epoch.completed.is_none_or(|end| end >= first));
    let opening = |epoch: &Epoch| {
        let pc = usize::from(execution.steps.get(epoch.opened)?.pc?);
        match names.act(epoch.at, pc)? {
            Act::Start(ordinal) => Some((pc, names.program(epoch.at)?.synchronization(*ordinal)?.call())),
            _ => None,
        }
    };
    let mut bars: Vec<EpochBar> = drawn
        .filter_map(|epoch| {
            let lane = lanes.binary_search(&epoch.at).ok()?;
            let (pc, call) = opening(epoch)?;
            let is_trailing = epoch.closed.is_none() && is_last(names.program(epoch.at)?, pc, epoch.window);
            // What is behind the last fence is no epoch.
            if epoch.name.kind == EpochKind::Fence && is_trailing {
                return None;
            }
            let (label, name) = label(names, epoch, call);
            let (parts, completes) = parts(epoch, steps)?;
            let kind = epoch.name.kind;
            Some(EpochBar {
                lane,
                column: 0,
                kind,
                label,
                name,
                is_cut: epoch.opened < first,
                parts,
                completes,
            })
        })
        .collect();
    bars.sort_by_key(EpochBar::begins);
    place(&mut bars);
    bars
}

/// The parts of a bar, and the row in which it ends. What happens in a step without a row is drawn in the next row, or
/// behind the last one; a bar that would begin there is not drawn.
fn parts(epoch: &Epoch, steps: &[usize]) -> Option<(Vec<BarPart>, Option<usize>)> {
    let row = |step: usize| steps.partition_point(|row| *row < step);
    let mut parts: Vec<BarPart> = Vec::new();
    let mut changes = [Some(epoch.opened), epoch.activated, epoch.closed].map(|step| step.map(row));
    changes.sort();
    for from in changes.into_iter().flatten() {
        let is_past = |step: Option<usize>| step.is_some_and(|step| row(step) <= from);
        let part = BarPart { from, is_active: is_past(epoch.activated), is_closed: is_past(epoch.closed) };
        if parts.last().is_none_or(|last| last.from < from) {
            parts.push(part);
        }
    }
    let is_drawn = parts.first().is_some_and(|part| part.from < steps.len());
    is_drawn.then_some((parts, epoch.completed.map(row)))
}

/// Whether a program does nothing with a window after a step.
fn is_last(program: &Program, pc: usize, window: u16) -> bool {
    let uses = |act: &Act| match act {
        Act::Start(ordinal) => program.synchronization(*ordinal).is_some_and(|call| call.window == window),
        Act::Access(access) => program.accesses[usize::from(*access)].window == window,
        _ => false,
    };
    !program.steps.iter().skip(pc + 1).any(|step| uses(&step.act))
}

/// An epoch in a few words, and in full.
fn label(names: &Names<'_>, epoch: &Epoch, call: Call<'_>) -> (String, String) {
    let window = names.window_name(epoch.window).map_or_else(|| epoch.window.to_string(), str::to_owned);
    let peers = |group: &[RankId]| -> Vec<u16> {
        let mut peers: Vec<u16> = group.iter().map(|rank| rank.0 as u16).collect();
        peers.sort_unstable();
        peers
    };
    let few = |group: &[RankId]| match group.len() {
        0 => "nobody".to_owned(),
        len if len > NAMED_MAX => format!("{len} ranks"),
        _ => peers(group).iter().map(u16::to_string).collect::<Vec<_>>().join(", "),
    };
    let each = |group: &[RankId]| match group.len() {
        0 => "nobody".to_owned(),
        _ => ranks(&peers(group)),
    };
    let kind = epoch.name.kind;
    let of = format!("{kind} of window {window}");
    let (short, name) = match call {
        Call::Start(group) => (format!("access to {}", few(group)), format!("{of} to {}", each(group))),
        Call::Post(group) => (format!("exposure to {}", few(group)), format!("{of} to {}", each(group))),
        Call::Lock { target, mode } => {
            let mode = if mode == Mode::Exclusive { "exclusive" } else { "shared" };
            (format!("lock of {}, {mode}", target.0), format!("{mode} {of}, at {target}"))
        }
        Call::LockAll => ("lock_all".to_owned(), of),
        _ => ("fence".to_owned(), of),
    };
    match names.has_several_windows() {
        true => (format!("{window}: {short}"), name),
        false => (short, name),
    }
}
