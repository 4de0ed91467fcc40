//! Which accesses are never under way together, as the text of a job tells: exposures, locks, closed epochs, messages and
//! collectives keep them apart.

use super::before::StepsBefore;
use super::names::{AccessName, EpochId};
use super::orders::Order;
use super::plan::{EpochPlan, RequestPlan, WindowPlan};
use crate::happens_before::Point;
use crate::open_epochs::EpochForm;
use crate::program::Job;

impl WindowPlan {
    /// Whether an access is over before a later one of its rank begins, because its lock is given back or its exposure over.
    pub(super) fn is_over_before(&self, job: &Job, first: AccessName, then: AccessName) -> bool {
        let epoch = self.access(first).epoch.map(|epoch| self.epoch((first.0, epoch)));
        epoch.is_some_and(|epoch| epoch.locks() && epoch.is_waited_for)
            || self.are_apart(job, (first, then))
            || self.comes_first(first, then)
    }

    /// Whether two accesses to one target are in two exposures of it, one behind the other.
    pub(super) fn are_apart(&self, job: &Job, (one, other): (AccessName, AccessName)) -> bool {
        let exposure = |name: AccessName| {
            let access = self.access(name);
            let epoch = self.epoch((name.0, access.epoch?));
            match epoch.form {
                EpochForm::Fence => Some((0, epoch.number)),
                EpochForm::Access => Some((1, u32::from(epoch.peer(access.target)?))),
                _ => None,
            }
        };
        let target = self.access(one).target;
        let window = job.ranks[usize::from(one.0)].accesses[usize::from(one.1)].window;
        let may_overlap = job.windows[usize::from(window)].flags.exposure_after_exposure;
        // A fence that ends no epoch keeps nothing apart.
        let is_ended = |number: u32| {
            self.rank(target).requests.values().any(|request| match request {
                RequestPlan::Fence { window: of, number: its, ends_none, .. } => {
                    (*of, *its) == (window, number + 1) && !ends_none
                }
                _ => false,
            })
        };
        match (exposure(one), exposure(other)) {
            _ if !self.keeps(Order::ExposuresAreApart) => false,
            (Some((0, one)), Some((0, other))) => one != other && is_ended(one.min(other)),
            (Some((1, one)), Some((1, other))) => one != other && !may_overlap,
            _ => false,
        }
    }

    /// Whether an access is over before another one begins, because an epoch that ends it holds back an epoch of the other.
    pub(super) fn comes_first(&self, first: AccessName, then: AccessName) -> bool {
        let access = self.access(then);
        let Some(epoch) = access.epoch else { return false };
        let its = self.epoch((then.0, epoch));
        let exposure = self.exposure(its, access.target);
        let held_back = [Some((then.0, epoch)), exposure.map(|exposure| (access.target, exposure))];
        let ends = self.access(first).ends.iter().filter_map(|end| Some((end.rank, end.epoch?)));
        self.keeps(Order::ClosedEpochsComeFirst)
            && ends.into_iter().any(|(rank, before)| {
                let mut all = held_back.iter().flatten().filter(|(of, _)| *of == rank);
                all.any(|later| self.epoch(*later).earlier.contains(&(before, false)))
            })
    }

    /// Whether two ranks access a target in epochs of locks that exclude each other.
    pub(super) fn are_locked_apart(&self, one: AccessName, other: AccessName) -> bool {
        let lock = |name: AccessName| {
            let epoch = self.epoch((name.0, self.access(name).epoch?));
            epoch.locks().then_some(epoch.mode)
        };
        let modes = lock(one).zip(lock(other));
        self.locks_keep_apart() && one.0 != other.0 && modes.is_some_and(|(one, other)| one.excludes(other))
    }

    /// Whether a rank, at a step that touches its own memory, holds a lock of it that excludes the one of an access.
    pub(super) fn is_locked_out(&self, window: u16, (rank, step): Point, name: AccessName) -> bool {
        let Some(access) = self.access(name).epoch.map(|epoch| self.epoch((name.0, epoch))) else {
            return false;
        };
        let holds = |epoch: &EpochPlan| {
            let is_held = epoch.own_lock.is_some_and(|got| got < step)
                && epoch.closed.is_none_or(|closed| step < closed);
            epoch.window == window && is_held && epoch.mode.excludes(access.mode)
        };
        let keeps = self.locks_keep_apart() && self.keeps(Order::OwnLockIsHeld);
        keeps && name.0 != rank && access.locks() && self.rank(rank).epochs.iter().any(holds)
    }

    fn locks_keep_apart(&self) -> bool {
        self.keeps(Order::LocksExclude)
            && self.keeps(Order::LockComesFirst)
            && self.keeps(Order::UnlockCompletesAtTarget)
    }

    /// Whether of two epochs of locks one is over, in every execution, when the other is asked for.
    pub(super) fn are_ordered(&self, steps: &StepsBefore<'_>, one: EpochId, other: EpochId) -> bool {
        let is_before = |first: EpochId, then: EpochId| {
            let wait = self.epoch(first).close.and_then(|close| steps.wait_of(first.0, close));
            wait.is_some_and(|wait| steps.is_behind((first.0, wait), (then.0, self.epoch(then).opened)))
        };
        is_before(one, other) || is_before(other, one)
    }

    /// Whether an access is over, in every execution, when a step begins.
    pub(super) fn is_over_at(&self, steps: &StepsBefore<'_>, name: AccessName, then: Point) -> bool {
        self.is_over(steps, name, |end| steps.is_behind(end, then))
    }

    /// Whether an access is over, in every execution, when another one begins.
    pub(super) fn is_over_when_it_begins(
        &self,
        steps: &StepsBefore<'_>,
        first: AccessName,
        then: AccessName,
    ) -> bool {
        self.is_over(steps, first, |end| self.begins_behind(steps, end, then))
    }

    /// Whether there is a wait that ends an access, and that is as asked.
    fn is_over(&self, steps: &StepsBefore<'_>, name: AccessName, is_it: impl Fn(Point) -> bool) -> bool {
        self.access(name).ends.iter().any(|end| {
            let wait = steps.wait_of(end.rank, end.request);
            wait.is_some_and(|wait| is_it((end.rank, wait)))
        })
    }

    /// Whether an access begins behind a step, in every execution: it is called there, or its target exposes its memory there.
    pub(super) fn begins_behind(&self, steps: &StepsBefore<'_>, step: Point, name: AccessName) -> bool {
        let access = self.access(name);
        steps.is_behind(step, (name.0, access.step))
            || self.exposed_at(name).is_some_and(|exposed| steps.is_behind(step, exposed))
    }

    /// The step of its target before which an access does not begin.
    fn exposed_at(&self, name: AccessName) -> Option<Point> {
        let access = self.access(name);
        let epoch = self.epoch((name.0, access.epoch?));
        let step = match epoch.form {
            EpochForm::Fence if self.keeps(Order::FenceExposes) => {
                let fences = self.rank(access.target).fences.get(&epoch.window)?;
                *fences.get(epoch.number as usize)?
            }
            EpochForm::Access if self.keeps(Order::PostExposes) => {
                self.epoch((access.target, epoch.peer(access.target)?)).opened
            }
            _ => return None,
        };
        Some((access.target, step))
    }
}
