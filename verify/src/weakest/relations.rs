//! What relates the epochs and accesses of ranks to each other: which belong together, what ends an access, and which
//! accesses may be under way together and conflict.

use super::accumulates;
use super::before::StepsBefore;
use super::names::{AccessName, LockName};
use super::orders::Order;
use super::plan::{AccessEnd, EpochPlan, RequestPlan, WindowPlan};
use super::walk::walk;
use crate::admission::Refused;
use crate::brief_locks::brief_locks;
use crate::happens_before::HappensBefore;
use crate::open_epochs::EpochForm;
use crate::program::{Access, Act, Job, is_atomic};
use carrousel_rank::epoch::{Blocks, Mode};
use std::collections::{BTreeMap, BTreeSet};

/// Locks of one host that are compared one by one; of more, some may have to be waited for.
const COMPARED_MAX: usize = 1024;

impl WindowPlan {
    /// What the text of a job says, if it uses windows.
    pub(crate) fn new(
        job: &Job,
        refused: &[Refused],
        steps: &HappensBefore<'_>,
        without: Option<Order>,
    ) -> Self {
        if job.windows.is_empty() {
            return Self::default();
        }
        let programs = (0..).zip(job.ranks.iter().zip(refused));
        let ranks = programs.map(|(rank, (program, refused))| walk(job, rank, program, refused)).collect();
        let mut plan = Self { ranks, without, ..Self::default() };
        plan.find_peers();
        plan.find_ends(job);
        let steps = StepsBefore::new(job, steps);
        plan.find_locks(&steps);
        plan.find_conflicts(job, &steps);
        plan.find_brief_locks(job);
        plan
    }

    /// The n-th access epoch of an origin to a target belongs to the n-th exposure of the target to the origin
    /// (MPI-4.1, 12.5.2).
    fn find_peers(&mut self) {
        // By window, form, rank and peer: epochs in the order in which they are opened.
        let mut all: BTreeMap<(u16, EpochForm, u16, u16), Vec<u16>> = BTreeMap::new();
        for (rank, plan) in (0..).zip(&self.ranks) {
            for (at, epoch) in (0..).zip(&plan.epochs) {
                for (peer, _) in &epoch.peers {
                    all.entry((epoch.window, epoch.form, rank, *peer)).or_default().push(at);
                }
            }
        }
        let mut numbers: BTreeMap<(u16, EpochForm, u16, u16), usize> = BTreeMap::new();
        for (rank, plan) in (0..).zip(&mut self.ranks) {
            for epoch in &mut plan.epochs {
                let other = match epoch.form {
                    EpochForm::Access => EpochForm::Exposure,
                    EpochForm::Exposure => EpochForm::Access,
                    _ => continue,
                };
                for (peer, its) in &mut epoch.peers {
                    let number = numbers.entry((epoch.window, epoch.form, rank, *peer)).or_default();
                    *its = all
                        .get(&(epoch.window, other, *peer, rank))
                        .and_then(|its| its.get(*number).copied());
                    *number += 1;
                }
            }
        }
    }

    /// What ends each access at its target.
    fn find_ends(&mut self, job: &Job) {
        let mut all = Vec::new();
        for (rank, plan) in (0..).zip(&self.ranks) {
            for (at, access) in (0_u16..).zip(&plan.accesses) {
                let Some(epoch) = access.epoch.map(|epoch| &plan.epochs[usize::from(epoch)]) else {
                    continue;
                };
                let target = access.target;
                if epoch.form == EpochForm::Fence {
                    self.exposing.insert((epoch.window, target, epoch.number));
                }
                let exposure = self.exposure(epoch, target).map(|its| self.epoch((target, its)));
                let close_of = |rank: u16, epoch: &EpochPlan| {
                    let (step, request) = (epoch.closed?, epoch.close?);
                    let its = self.ranks[usize::from(rank)].requests.get(&request);
                    // A fence that ends no epoch completes nothing.
                    let completes = !matches!(its, Some(RequestPlan::Fence { ends_none: true, .. }));
                    let epoch = self.ranks[usize::from(rank)].closed_by(request);
                    completes.then_some(AccessEnd { rank, step, request, epoch })
                };
                let mut ends: Vec<AccessEnd> = Vec::new();
                let returns = match epoch.form {
                    EpochForm::Fence => Order::FenceCompletesAtTarget,
                    _ => Order::WaitCompletesAtTarget,
                };
                if self.without != Some(returns) {
                    ends.extend(exposure.and_then(|exposure| close_of(target, exposure)));
                }
                if epoch.locks() && self.without != Some(Order::UnlockCompletesAtTarget) {
                    ends.extend(close_of(rank, epoch));
                }
                let answers: Vec<AccessEnd> =
                    close_of(rank, epoch).filter(|_| access.fetches).into_iter().collect();
                all.push(((rank, at), ends, answers));
            }
        }
        for ((rank, at), ends, answers) in all {
            let access = &mut self.ranks[usize::from(rank)].accesses[usize::from(at)];
            // Flushes, and the access's own request, are there already.
            access.ends.extend(ends);
            access.answers.extend(answers);
        }
        if self.keeps(Order::FetchedIsOver) {
            self.end_by_answers();
        }
        if !self.keeps(Order::FlushCompletesAtTarget) {
            self.forget_flushes();
        }
        if self.keeps(Order::AccumulatesOfOneOrigin) {
            self.end_in_order(job);
        }
    }

    /// When what was fetched is here, an access that changes nothing is over. One that does need not be (MPI-4.1, 12.3.5).
    fn end_by_answers(&mut self) {
        for access in self.ranks.iter_mut().flat_map(|plan| &mut plan.accesses).filter(|it| it.only_reads) {
            access.ends.extend(&access.answers);
        }
    }

    /// Accumulates of one origin to one place take effect in the order of their calls (MPI-4.1, 12.7.2): when one of them is
    /// over, or its answer is here, those before it are over.
    fn end_in_order(&mut self, job: &Job) {
        let mut all: Vec<(AccessName, BTreeSet<AccessEnd>)> = Vec::new();
        for (rank, program) in (0..).zip(&job.ranks) {
            let accesses = &self.rank(rank).accesses;
            for (at, before) in (0_u16..).zip(&program.accesses) {
                let (place, name) = (before.transfer, (rank, at));
                if !is_atomic(place.kind) || job.windows[usize::from(before.window)].accumulates.unordered {
                    continue;
                }
                let mut ends = BTreeSet::new();
                for (then, access) in (0..).zip(&program.accesses).skip(usize::from(at) + 1) {
                    let there = access.transfer;
                    let is_there = (access.window, there.target) == (before.window, place.target);
                    if !is_there || !is_atomic(there.kind) || !covers(there.place, place.place) {
                        continue;
                    }
                    let this = &accesses[usize::from(then)];
                    ends.extend(&this.answers);
                    // Of one epoch, both have the same ends; and one that is over earlier has its own.
                    if this.epoch != accesses[usize::from(at)].epoch
                        && !self.is_over_before(job, name, (rank, then))
                    {
                        ends.extend(&this.ends);
                    }
                }
                all.push((name, ends));
            }
        }
        for ((rank, at), ends) in all {
            self.ranks[usize::from(rank)].accesses[usize::from(at)].ends.extend(ends);
        }
    }

    /// Without the order that a flush ends accesses: only closes do, and requests of their own.
    fn forget_flushes(&mut self) {
        for (rank, plan) in (0..).zip(&mut self.ranks) {
            let requests = &plan.requests;
            let is_flush = |end: &AccessEnd| {
                end.rank == rank && matches!(requests.get(&end.request), Some(RequestPlan::Flush { .. }))
            };
            plan.accesses.iter_mut().for_each(|access| access.ends.retain(|end| !is_flush(end)));
        }
    }

    /// Locks for which some rank may have to wait: two ranks ask for the lock of a host, one of them alone, and neither has surely
    /// given it back when the other asks.
    fn find_locks(&mut self, steps: &StepsBefore<'_>) {
        let ranks = self.ranks();
        let mut all: BTreeMap<(u16, u16), Vec<LockName>> = BTreeMap::new();
        let mut exposed: BTreeSet<(u16, u16)> =
            self.exposing.iter().map(|(w, host, _)| (*w, *host)).collect();
        for (rank, plan) in (0..).zip(&self.ranks) {
            for (at, epoch) in (0..).zip(&plan.epochs) {
                self.defers |= !epoch.earlier.is_empty();
                if epoch.form == EpochForm::Exposure {
                    exposed.insert((epoch.window, rank));
                }
                for host in epoch.hosts(ranks) {
                    let lock = LockName { epoch: (rank, at), mode: epoch.mode };
                    all.entry((epoch.window, host)).or_default().push(lock);
                }
            }
        }
        let is_exposed = |(place, _): &(&(u16, u16), &Vec<LockName>)| exposed.contains(*place);
        self.mixed = all.iter().filter(is_exposed).map(|(place, locks)| (*place, locks.clone())).collect();
        all.retain(|_, locks| {
            let contend = |(one, other): (&LockName, &LockName)| {
                let differ = one.epoch.0 != other.epoch.0;
                differ && one.mode.excludes(other.mode) && !self.are_ordered(steps, one.epoch, other.epoch)
            };
            let is_alone = |lock: &LockName| lock.mode == Mode::Exclusive;
            let of_others = || locks.iter().any(|lock| lock.epoch.0 != locks[0].epoch.0);
            let is_long = locks.len() > COMPARED_MAX;
            let pairs = || {
                locks.iter().enumerate().flat_map(|(at, one)| locks[at + 1..].iter().map(move |it| (one, it)))
            };
            locks.iter().any(is_alone) && of_others() && (is_long || pairs().any(contend))
        });
        self.contended = all;
    }

    /// Locks that nobody keeps while waiting for anything else: whoever gets such a lock first, all come to the same end.
    fn find_brief_locks(&mut self, job: &Job) {
        // Without any of the orders, what a rank does between its lock and its unlock may meet what others do.
        if self.without.is_some() {
            return;
        }
        let races = |rank: u16, step: u16| match job.ranks[usize::from(rank)].steps[usize::from(step)].act {
            Act::Access(index) => self.access((rank, index)).may_race(),
            Act::TouchWindow(_) => {
                self.rank(rank).touches.get(&step).is_some_and(|racing| !racing.is_empty())
            }
            _ => false,
        };
        let brief = brief_locks(job, races).into_iter();
        self.brief = brief.filter(|(window, host)| !self.is_mixed(*window, *host)).collect();
    }

    fn find_conflicts(&mut self, job: &Job, steps: &StepsBefore<'_>) {
        // By window and target.
        let mut accesses: BTreeMap<(u16, u16), Vec<(AccessName, Access)>> = BTreeMap::new();
        for (rank, program) in (0..).zip(&job.ranks) {
            for (at, access) in (0..).zip(&program.accesses) {
                let place = (access.window, access.transfer.target.0 as u16);
                accesses.entry(place).or_default().push(((rank, at), *access));
            }
        }
        let mut found: Vec<(AccessName, Vec<AccessName>)> = Vec::new();
        for ((window, _), all) in &accesses {
            let keys = job.windows[usize::from(*window)].accumulates;
            for (name, access) in all {
                let conflicts = all.iter().filter(|(other, its)| {
                    other != name
                        && accumulates::conflict((name.0, access), (other.0, its), keys, self.without)
                        && !self.are_apart(job, (*name, *other))
                        && !self.comes_first(*name, *other)
                        && !self.comes_first(*other, *name)
                        && !self.are_locked_apart(*name, *other)
                        && !self.is_over_when_it_begins(steps, *name, *other)
                        && !self.is_over_when_it_begins(steps, *other, *name)
                });
                found.push((*name, conflicts.map(|(other, _)| *other).collect()));
            }
        }
        let mut touches: Vec<(u16, u16, Vec<AccessName>)> = Vec::new();
        for (rank, program) in (0..).zip(&job.ranks) {
            for (step, act) in (0..).zip(&program.steps) {
                let Act::TouchWindow(own) = &act.act else { continue };
                let of_window = accesses.get(&(own.window.0 as u16, rank));
                let others = of_window.into_iter().flatten();
                let racing: Vec<AccessName> = others
                    .filter(|(name, access)| {
                        access.conflicts_with_own(rank, own)
                            && !self.is_locked_out(access.window, (rank, step), *name)
                            && !self.is_over_at(steps, *name, (rank, step))
                            && !self.begins_behind(steps, (rank, step), *name)
                    })
                    .map(|(name, _)| *name)
                    .collect();
                touches.push((rank, step, racing));
            }
        }
        for ((rank, at), conflicts) in found {
            self.ranks[usize::from(rank)].accesses[usize::from(at)].conflicts = conflicts;
        }
        for (rank, step, racing) in touches {
            for (by, at) in &racing {
                let access = &mut self.ranks[usize::from(*by)].accesses[usize::from(*at)];
                access.touched = access.touched.max(Some(step));
            }
            self.ranks[usize::from(rank)].touches.insert(step, racing);
        }
        for (rank, plan) in (0..).zip(&self.ranks) {
            let racing = (0..).zip(&plan.accesses).filter(|(_, access): &(u16, _)| access.may_race());
            self.racing.extend(racing.map(|(at, _)| (rank, at)));
        }
    }
}

/// Whether a place surely has all bytes of another.
fn covers(place: Blocks, other: Blocks) -> bool {
    let is_within = || {
        let (end, last) = (place.end(), other.end());
        place.count == 1
            && place.offset <= other.offset
            && end.zip(last).is_some_and(|(end, last)| last <= end)
    };
    place == other || is_within()
}
