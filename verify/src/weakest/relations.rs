//! What relates the epochs and accesses of ranks to each other: which belong together, what ends an access, and which
//! accesses may be under way together and conflict.

use super::accumulates;
use super::before::AccessesBefore;
use super::names::{AccessName, LockName};
use super::orders::Order;
use super::plan::{AccessEnd, AccessPlan, EpochPlan, RequestPlan, WindowPlan};
use super::walk::walk;
use crate::admission::Refused;
use crate::open_epochs::EpochForm;
use crate::program::{Access, Act, Job, is_atomic};
use carrousel_rank::epoch::{Blocks, Mode};
use std::collections::{BTreeMap, BTreeSet};

impl WindowPlan {
    /// What the text of a job says, if it uses windows.
    pub(crate) fn new(job: &Job, refused: &[Refused], without: Option<Order>) -> Self {
        if job.windows.is_empty() {
            return Self::default();
        }
        let programs = (0..).zip(job.ranks.iter().zip(refused));
        let ranks = programs.map(|(rank, (program, refused))| walk(job, rank, program, refused)).collect();
        let mut plan = Self { ranks, without, ..Self::default() };
        plan.find_peers();
        plan.find_ends(job);
        plan.find_locks();
        plan.find_conflicts(job);
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

    /// Whether an access is over before a later one of its rank begins, because its lock is given back or its exposure over.
    fn is_over_before(&self, job: &Job, first: AccessName, then: AccessName) -> bool {
        let epoch = self.access(first).epoch.map(|epoch| self.epoch((first.0, epoch)));
        epoch.is_some_and(|epoch| epoch.locks() && epoch.is_waited_for)
            || self.are_apart(job, (first, then))
            || self.comes_first(first, then)
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

    /// Locks for which some rank may have to wait: two ranks ask for the lock of a host, and one of them alone.
    fn find_locks(&mut self) {
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
            let is_alone = |lock: &LockName| lock.mode == Mode::Exclusive;
            let of_others = || locks.iter().any(|lock| lock.epoch.0 != locks[0].epoch.0);
            locks.iter().any(is_alone) && of_others()
        });
        self.contended = all;
    }

    /// Whether two accesses to one target are in two exposures of it, one behind the other.
    fn are_apart(&self, job: &Job, (one, other): (AccessName, AccessName)) -> bool {
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
    fn comes_first(&self, first: AccessName, then: AccessName) -> bool {
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

    fn find_conflicts(&mut self, job: &Job) {
        // By window and target.
        let mut accesses: BTreeMap<(u16, u16), Vec<(AccessName, Access)>> = BTreeMap::new();
        for (rank, program) in (0..).zip(&job.ranks) {
            for (at, access) in (0..).zip(&program.accesses) {
                let place = (access.window, access.transfer.target.0 as u16);
                accesses.entry(place).or_default().push(((rank, at), *access));
            }
        }
        let before = AccessesBefore::new(&self.ranks, job, self.keeps(Order::CollectivesWait));
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
                        && !before.is_over(*name, (other.0, self.access(*other).step))
                        && !before.is_over(*other, (name.0, self.access(*name).step))
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
                            && !before.is_over(*name, (rank, step))
                            && !before.is_behind((rank, step), (name.0, self.access(*name).step))
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
            let races =
                |(_, access): &(u16, &AccessPlan)| !access.conflicts.is_empty() || access.touched.is_some();
            let racing = (0..).zip(&plan.accesses).filter(races);
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
