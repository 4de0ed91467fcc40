//! The epochs of an execution; under the weakest MPI, as the calls of the programs tell them.

use super::epochs::Epoch;
use super::execution::Execution;
use super::names::Names;
use crate::open_epochs::EpochForm;
use crate::program::Act;
use carrousel_rank::RankId;
use carrousel_rank::epoch::{EpochKind, EpochName};
use std::borrow::Cow;
use std::collections::HashMap;

/// The epochs of an execution, in the order in which they were opened.
pub(super) fn all<'a>(names: &Names<'_>, execution: &'a Execution) -> Cow<'a, [Epoch]> {
    match names.is_portable() {
        false => Cow::Borrowed(&execution.epochs),
        true => Cow::Owned(of_calls(names, execution)),
    }
}

/// Under the weakest MPI nothing but the calls of the programs tells how epochs stand: each is there from the call that
/// opens it until its close returns.
fn of_calls(names: &Names<'_>, execution: &Execution) -> Vec<Epoch> {
    let made = (0..).zip(&execution.steps).filter_map(|(at, step)| Some(((step.at, step.pc?), at)));
    let made: HashMap<(u16, u16), usize> = made.collect();
    let plan = names.plan();
    let mut epochs = Vec::new();
    for at in 0..plan.ranks() {
        let steps = names.program(at).map_or(&[][..], |program| &program.steps);
        for (number, its) in (0..).zip(&plan.rank(at).epochs) {
            let step = |pc: u16| made.get(&(at, pc)).copied();
            let Some(opened) = step(its.opened) else { continue };
            let returns = |close| {
                let waits = |act: &Act| matches!(act, Act::Wait(requests) if requests.contains(&close));
                (0..).zip(steps).filter(|(_, step)| waits(&step.act)).find_map(|(pc, _)| step(pc))
            };
            let is_stuck = |opening| {
                let is_it = |act: &Act| *act == Act::AwaitGrants(opening);
                (0..).zip(steps).any(|(pc, next)| is_it(&next.act) && step(pc).is_none())
            };
            let (kind, target) = match its.form {
                EpochForm::Fence => (EpochKind::Fence, None),
                EpochForm::Access => (EpochKind::Access, None),
                EpochForm::Exposure => (EpochKind::Exposure, None),
                EpochForm::Lock(host) => (EpochKind::Lock, Some(RankId(u32::from(host)))),
                EpochForm::LockAll => (EpochKind::LockAll, None),
            };
            epochs.push(Epoch {
                at,
                window: its.window,
                name: EpochName { kind, number, target },
                opened,
                // An opening that never returns may wait for a lock, or for a post.
                activated: Some(opened).filter(|_| !is_stuck(its.opening)),
                closed: its.closed.and_then(step),
                completed: its.close.and_then(returns),
            });
        }
    }
    epochs.sort_by_key(|epoch| epoch.opened);
    epochs
}
