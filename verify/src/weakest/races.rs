//! Which accesses are under way, and which of them race.
//!
//! An access is under way from the first moment that MPI allows until the last one. So no step begins or ends it by itself:
//! it begins with a call, of its rank or of its target, or with a lock; it ends when a call returns.

use super::names::AccessName;
use super::orders::Order;
use super::plan::{AccessEnd, EpochPlan, WindowPlan};
use crate::open_epochs::EpochForm;
use crate::state::State;
use crate::violation::{Violation, ViolationKind};
use carrousel_rank::Protocol;
use carrousel_scenario::Check;

/// How far an access is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It has not been called, or its target does not admit it yet.
    ToCome,
    /// It may touch the target's memory.
    UnderWay,
    /// It has touched it.
    Over,
}

impl WindowPlan {
    /// How far an access is in a state.
    pub(crate) fn stage<P: Protocol>(&self, state: &State<P>, name: AccessName) -> Stage {
        let plan = self;
        let (rank, access) = (name.0, plan.access(name));
        let has_called = |rank: u16, step: u16| state.procs[usize::from(rank)].pc > step;
        let Some(at) = access.epoch.map(|epoch| (rank, epoch)) else { return Stage::ToCome };
        if !has_called(rank, access.step) {
            return Stage::ToCome;
        }
        let has_returned = |end: &AccessEnd| {
            has_called(end.rank, end.step)
                && (!state.procs[usize::from(end.rank)].is_open(end.request)
                    || end.epoch.is_some_and(|epoch| self.is_past(state, (end.rank, epoch))))
        };
        if access.ends.iter().any(has_returned) {
            return Stage::Over;
        }
        let epoch = plan.epoch(at);
        let is_admitted = match epoch.form {
            EpochForm::Fence => {
                let fences = plan.rank(access.target).fences.get(&epoch.window);
                let step = fences.and_then(|steps| steps.get(epoch.number as usize));
                !plan.keeps(Order::FenceExposes) || step.is_some_and(|step| has_called(access.target, *step))
            }
            EpochForm::Access => match epoch.peer(access.target) {
                _ if !plan.keeps(Order::PostExposes) => true,
                Some(exposure) => self.may_have_begun(state, (access.target, exposure)),
                None => false,
            },
            _ if !plan.keeps(Order::LockComesFirst) => true,
            _ if self.has_freed(state, at, access.target) => match plan.keeps(Order::UnlockCompletesAtTarget)
            {
                true => return Stage::Over,
                false => true,
            },
            _ => self.has_lock(state, at, access.target),
        };
        if is_admitted && self.may_have_begun(state, at) { Stage::UnderWay } else { Stage::ToCome }
    }
}

/// A step of some rank between two states: accesses that have begun by it may race with others under way.
pub(crate) fn check<P: Protocol>(plan: &WindowPlan, before: &State<P>, after: &mut State<P>) {
    if plan.racing.is_empty() || after.violations.iter().any(|it| it.check == Check::RmaRace) {
        return;
    }
    let begins = |name: AccessName| {
        plan.stage(after, name) == Stage::UnderWay && plan.stage(before, name) != Stage::UnderWay
    };
    let found = plan.racing.iter().find_map(|second| {
        let conflicts = &plan.access(*second).conflicts;
        let is_first = |other: &&AccessName| plan.stage(after, **other) == Stage::UnderWay;
        // The cheap question first: most accesses are over, or have not been called.
        if conflicts.is_empty() || !may_be_under_way(plan, after, *second) || !begins(*second) {
            return None;
        }
        conflicts.iter().find(is_first).map(|first| (*first, *second))
    });
    if let Some((first, second)) = found {
        let at = plan.access(second).target;
        let kind = ViolationKind::Race { at, first, second: (second.0, Some(second.1)) };
        after.violations.push(Violation { check: Check::RmaRace, kind });
    }
}

fn may_be_under_way<P: Protocol>(plan: &WindowPlan, state: &State<P>, name: AccessName) -> bool {
    state.procs[usize::from(name.0)].pc > plan.access(name).step
}

/// An access that is under way and races with what a program does to its own memory at a step.
pub(crate) fn racing_with<P: Protocol>(
    plan: &WindowPlan,
    state: &State<P>,
    (rank, step): (u16, u16),
) -> Option<AccessName> {
    let racing = plan.ranks.get(usize::from(rank))?.touches.get(&step)?;
    racing.iter().copied().find(|name| plan.stage(state, *name) == Stage::UnderWay)
}

/// Whether the memory of a rank is exposed: posted and not waited for, or between fences with accesses.
pub(crate) fn is_exposed<P: Protocol>(plan: &WindowPlan, state: &State<P>, window: u16, rank: u16) -> bool {
    let posted = |epoch: &EpochPlan| epoch.form == EpochForm::Exposure;
    has_open(plan, state, (window, rank), posted) || is_exposed_by_fence(plan, state, window, rank)
}

/// Whether it is between fences with accesses to it.
pub(crate) fn is_exposed_by_fence<P: Protocol>(
    plan: &WindowPlan,
    state: &State<P>,
    window: u16,
    rank: u16,
) -> bool {
    has_open(plan, state, (window, rank), |epoch| {
        epoch.form == EpochForm::Fence && plan.exposes(window, rank, epoch.number)
    })
}

fn has_open<P: Protocol>(
    plan: &WindowPlan,
    state: &State<P>,
    (window, rank): (u16, u16),
    is_it: impl Fn(&EpochPlan) -> bool,
) -> bool {
    let pc = state.procs[usize::from(rank)].pc;
    plan.rank(rank).epochs.iter().any(|epoch| {
        let is_open = epoch.opened < pc && epoch.closed.is_none_or(|closed| closed >= pc);
        epoch.window == window && is_open && is_it(epoch)
    })
}
