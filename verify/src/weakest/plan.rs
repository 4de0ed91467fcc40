//! The epochs and accesses of a job, as far as its text tells: which belong together, which may race, and what is wrong in
//! every execution.

use super::accumulates;
use super::names::{AccessName, EpochId, LockName};
use super::orders::Order;
use crate::admission::{Refused, refused};
use crate::open_epochs::EpochForm;
use crate::program::{Access, Act, Job, Ordinal, Program, Synchronization, is_atomic};
use carrousel_rank::epoch::{AllEpochRules, Blocks, Call, EpochKind, Mode, Relation, may_overlap};
use std::collections::{BTreeMap, BTreeSet};

/// What the text of a job says of its windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowPlan {
    pub(super) ranks: Vec<RankPlan>,
    /// Windows, targets and numbers of fence epochs in which some rank accesses the target.
    exposing: BTreeSet<(u16, u16, u32)>,
    /// By window and host: its locks that some rank may have to wait for.
    contended: BTreeMap<(u16, u16), Vec<LockName>>,
    /// By window and host, if it is exposed, too, by `post` or between fences: all its locks.
    mixed: BTreeMap<(u16, u16), Vec<LockName>>,
    /// The accesses that conflict with another one, and those that do so with what a program does to its own memory, too.
    pub(crate) racing: Vec<AccessName>,
    pub(crate) racing_or_touched: Vec<AccessName>,
    /// Some epoch may have to wait for one before it that its rank has closed and not waited for.
    pub(crate) defers: bool,
    /// The order that is switched off.
    pub(crate) without: Option<Order>,
}

/// What one rank does with windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankPlan {
    /// In the order in which they are opened.
    pub(crate) epochs: Vec<EpochPlan>,
    /// By index.
    pub(crate) accesses: Vec<AccessPlan>,
    /// By request: the epoch that it closes, or the accesses that it flushes.
    pub(crate) requests: BTreeMap<Ordinal, RequestPlan>,
    /// By window: the steps of its fences.
    pub(crate) fences: BTreeMap<u16, Vec<u16>>,
    /// By step: a load or store, and the accesses of other ranks, or its own, that could race with it.
    pub(crate) touches: BTreeMap<u16, Vec<AccessName>>,
    /// The calls that the epochs of their windows do not admit.
    pub(crate) refused: Refused,
    /// By the step of a fence: an access in another epoch between this fence and the one before it.
    pub(crate) between_fences: BTreeMap<u16, u16>,
}

/// A call that ends accesses when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessEnd {
    pub(crate) rank: u16,
    pub(crate) step: u16,
    pub(crate) request: Ordinal,
    /// The epoch that it closes, if it is no flush.
    pub(crate) epoch: Option<u16>,
}

/// An epoch of a rank.
#[derive(Clone, Debug)]
pub(crate) struct EpochPlan {
    pub(crate) window: u16,
    pub(crate) form: EpochForm,
    pub(crate) mode: Mode,
    /// The step that opens it and its request, and the step that closes it.
    pub(crate) opened: u16,
    pub(crate) opening: Ordinal,
    pub(crate) closed: Option<u16>,
    /// The request of its close, and whether the rank waits for it at once.
    pub(crate) close: Option<Ordinal>,
    pub(crate) is_waited_for: bool,
    /// The fences of the window before the one that opens it.
    pub(crate) number: u32,
    /// Of an access epoch its targets, of an exposure its origins; each with its epoch that belongs to this one.
    pub(crate) peers: Vec<(u16, Option<u16>)>,
    /// The targets that it accesses, and those that it fetches from; ascending.
    pub(crate) used: Vec<u16>,
    pub(crate) fetched: Vec<u16>,
    /// Epochs of the same window that were closed before without waiting; `true` if a library may let this one pass.
    pub(crate) earlier: Vec<(u16, bool)>,
    /// The later epochs that this one holds back.
    pub(crate) later: Vec<u16>,
    /// The step that returns from the blocking lock of the own memory, if it is one.
    pub(crate) own_lock: Option<u16>,
}

/// An access of a rank.
#[derive(Clone, Debug)]
pub(crate) struct AccessPlan {
    pub(crate) step: u16,
    pub(crate) target: u16,
    pub(crate) epoch: Option<u16>,
    pub(crate) fetches: bool,
    /// It fetches, and changes nothing at its target.
    pub(crate) only_reads: bool,
    /// The calls of which each ends it when it returns.
    pub(crate) ends: Vec<AccessEnd>,
    /// If it fetches: the calls of which each tells that the data is here.
    answers: Vec<AccessEnd>,
    /// The accesses with which it could be under way together, and conflicts.
    pub(crate) conflicts: Vec<AccessName>,
    /// The last steps at which ranks touch the same memory by themselves.
    pub(crate) touched: Option<u16>,
}

/// What a request is for.
#[derive(Clone, Debug)]
pub(crate) enum RequestPlan {
    /// The close of this epoch.
    Close(u16),
    /// A fence that ends this epoch, the `number`-th of the window from 0.
    Fence {
        window: u16,
        epoch: Option<u16>,
        number: u32,
        /// It is known to end no epoch.
        ends_none: bool,
    },
    /// A flush: the epochs that it looks at, each with a target, and whether it has accesses there.
    Flush { epochs: Vec<(u16, u16, Flushed)> },
    /// An access with a request of its own.
    Access(u16),
}

/// What a flush has to complete at one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flushed {
    /// Nothing, or only local buffers that a library may have copied.
    Nothing,
    /// Accesses.
    Accesses,
}

impl EpochPlan {
    pub(crate) fn locks(&self) -> bool {
        self.form.locks()
    }

    pub(crate) fn is_used(&self, target: u16) -> bool {
        self.used.binary_search(&target).is_ok()
    }

    fn kind(&self) -> EpochKind {
        match self.form {
            EpochForm::Fence => EpochKind::Fence,
            EpochForm::Access => EpochKind::Access,
            EpochForm::Exposure => EpochKind::Exposure,
            EpochForm::Lock(_) => EpochKind::Lock,
            EpochForm::LockAll => EpochKind::LockAll,
        }
    }

    /// The ranks whose memory it locks.
    pub(crate) fn hosts(&self, ranks: u16) -> std::ops::Range<u16> {
        match self.form {
            EpochForm::Lock(host) => host..host + 1,
            EpochForm::LockAll => 0..ranks,
            _ => 0..0,
        }
    }

    /// The epoch of a peer that belongs to this one.
    pub(crate) fn peer(&self, peer: u16) -> Option<u16> {
        self.peers.iter().find(|(rank, _)| *rank == peer)?.1
    }
}

impl WindowPlan {
    /// What the text of a job says, if it uses windows.
    pub(crate) fn new(job: &Job, without: Option<Order>) -> Self {
        if job.windows.is_empty() {
            return Self::default();
        }
        let ranks = (0..).zip(&job.ranks).map(|(rank, program)| RankPlan::new(job, rank, program)).collect();
        let mut plan = Self { ranks, without, ..Self::default() };
        plan.find_peers();
        plan.find_ends(job);
        plan.find_locks();
        plan.find_conflicts(job);
        plan
    }

    pub(crate) fn rank(&self, rank: u16) -> &RankPlan {
        &self.ranks[usize::from(rank)]
    }

    pub(crate) fn ranks(&self) -> u16 {
        self.ranks.len() as u16
    }

    /// Whether some rank uses a window.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    pub(crate) fn epoch(&self, (rank, epoch): EpochId) -> &EpochPlan {
        &self.rank(rank).epochs[usize::from(epoch)]
    }

    pub(crate) fn access(&self, (rank, access): AccessName) -> &AccessPlan {
        &self.rank(rank).accesses[usize::from(access)]
    }

    /// Whether an order is not switched off.
    pub(crate) fn keeps(&self, order: Order) -> bool {
        self.without != Some(order)
    }

    /// Whether some rank accesses a target in the fence epoch with this number.
    pub(crate) fn exposes(&self, window: u16, target: u16, number: u32) -> bool {
        self.exposing.contains(&(window, target, number))
    }

    /// The locks of a host, if some rank may have to wait for one of them.
    pub(crate) fn contended(&self, window: u16, host: u16) -> &[LockName] {
        self.contended.get(&(window, host)).map_or(&[], Vec::as_slice)
    }

    /// The hosts for whose locks ranks contend, with those locks.
    pub(crate) fn all_contended(&self) -> impl Iterator<Item = ((u16, u16), &[LockName])> {
        self.contended.iter().map(|(place, locks)| (*place, locks.as_slice()))
    }

    /// Whether a host's memory is locked, and exposed.
    pub(crate) fn is_mixed(&self, window: u16, host: u16) -> bool {
        self.mixed.contains_key(&(window, host))
    }

    /// The hosts whose memory is locked, and exposed, with all their locks.
    pub(crate) fn all_mixed(&self) -> impl Iterator<Item = ((u16, u16), &[LockName])> {
        self.mixed.iter().map(|(place, locks)| (*place, locks.as_slice()))
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
                let exposure = match epoch.form {
                    EpochForm::Fence => {
                        let fences = &self.ranks[usize::from(target)].epochs;
                        let is_it = |it: &&EpochPlan| {
                            (it.window, it.form, it.number) == (epoch.window, epoch.form, epoch.number)
                        };
                        self.exposing.insert((epoch.window, target, epoch.number));
                        fences.iter().find(is_it)
                    }
                    EpochForm::Access => {
                        let its = epoch.peer(target);
                        its.map(|its| &self.ranks[usize::from(target)].epochs[usize::from(its)])
                    }
                    _ => None,
                };
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
            self.end_by_answers(job);
        }
        if !self.keeps(Order::FlushCompletesAtTarget) {
            self.forget_flushes();
        }
    }

    /// When what was fetched is here, an access that changes nothing is over. One that does need not be (MPI-4.1, 12.3.5); but
    /// accumulates of one origin that came before it at the same place are (12.7.2).
    fn end_by_answers(&mut self, job: &Job) {
        for (plan, program) in self.ranks.iter_mut().zip(&job.ranks) {
            for at in 0..plan.accesses.len() {
                let answers = plan.accesses[at].answers.clone();
                let its = program.accesses[at];
                if plan.accesses[at].only_reads {
                    plan.accesses[at].ends.extend(&answers);
                }
                let is_ordered = is_atomic(its.transfer.kind)
                    && !job.windows[usize::from(its.window)].accumulates.unordered
                    && self.without != Some(Order::AccumulatesOfOneOrigin);
                if answers.is_empty() || !is_ordered {
                    continue;
                }
                for (before, access) in plan.accesses[..at].iter_mut().zip(&program.accesses) {
                    let there = access.transfer;
                    let is_there = (access.window, there.target) == (its.window, its.transfer.target);
                    if is_there && is_atomic(there.kind) && covers(its.transfer.place, there.place) {
                        before.ends.extend(&answers);
                    }
                }
            }
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
        let exposure = match its.form {
            EpochForm::Access => its.peer(access.target),
            EpochForm::Fence => {
                let mut epochs = (0..).zip(&self.rank(access.target).epochs);
                let is_it = |other: &EpochPlan| {
                    (other.window, other.form, other.number) == (its.window, its.form, its.number)
                };
                epochs.find(|(_, other)| is_it(other)).map(|(at, _)| at)
            }
            _ => None,
        };
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
                });
                found.push((*name, conflicts.map(|(other, _)| *other).collect()));
            }
        }
        for ((rank, at), conflicts) in found {
            if !conflicts.is_empty() {
                self.racing.push((rank, at));
            }
            self.ranks[usize::from(rank)].accesses[usize::from(at)].conflicts = conflicts;
        }
        self.racing.sort_unstable();
        for (rank, program) in (0..).zip(&job.ranks) {
            for (step, act) in (0..).zip(&program.steps) {
                let Act::TouchWindow(own) = &act.act else { continue };
                let of_window = accesses.get(&(own.window.0 as u16, rank));
                let others = of_window.into_iter().flatten();
                let racing: Vec<AccessName> = others
                    .filter(|(_, access)| access.conflicts_with_own(rank, own))
                    .map(|(name, _)| *name)
                    .collect();
                for (by, at) in &racing {
                    let access = &mut self.ranks[usize::from(*by)].accesses[usize::from(*at)];
                    access.touched = access.touched.max(Some(step));
                }
                self.ranks[usize::from(rank)].touches.insert(step, racing);
            }
        }
        for (rank, plan) in (0..).zip(&self.ranks) {
            let races =
                |(_, access): &(u16, &AccessPlan)| !access.conflicts.is_empty() || access.touched.is_some();
            let racing = (0..).zip(&plan.accesses).filter(races);
            self.racing_or_touched.extend(racing.map(|(at, _)| (rank, at)));
        }
    }
}

/// What a walk over the program of a rank has open.
struct Walk<'a> {
    job: &'a Job,
    program: &'a Program,
    rank: u16,
    plan: RankPlan,
    open: BTreeMap<(u16, EpochForm), u16>,
    /// Requests that it has waited for.
    waited: BTreeSet<Ordinal>,
}

impl RankPlan {
    /// The epoch that a request closes.
    pub(crate) fn closed_by(&self, request: Ordinal) -> Option<u16> {
        match self.requests.get(&request)? {
            RequestPlan::Close(epoch) => Some(*epoch),
            RequestPlan::Fence { epoch, .. } => *epoch,
            RequestPlan::Flush { .. } | RequestPlan::Access(_) => None,
        }
    }

    /// Whether a call has a request that may be incomplete: it closes an epoch, or flushes.
    pub(crate) fn closes(&self, request: Ordinal) -> bool {
        match self.requests.get(&request) {
            Some(RequestPlan::Fence { epoch, .. }) => epoch.is_some(),
            its => its.is_some(),
        }
    }

    fn new(job: &Job, rank: u16, program: &Program) -> Self {
        let plan = Self { refused: refused(job, rank, program), ..Self::default() };
        let mut walk = Walk { job, program, rank, plan, open: BTreeMap::new(), waited: BTreeSet::new() };
        for (step, act) in (0..).zip(&program.steps) {
            match &act.act {
                Act::Access(index) => walk.access(step, *index),
                Act::Start(ordinal) => {
                    if let Some(call) = program.synchronization(*ordinal) {
                        walk.call(step, *ordinal, call);
                    }
                }
                Act::Wait(requests) => walk.waited.extend(requests.iter()),
                _ => {}
            }
        }
        walk.plan
    }
}

impl Walk<'_> {
    fn ending(&self, step: u16, request: Ordinal) -> AccessEnd {
        AccessEnd { rank: self.rank, step, request, epoch: None }
    }

    fn access(&mut self, step: u16, index: u16) {
        let access = self.program.accesses[usize::from(index)];
        let transfer = access.transfer;
        let target = transfer.target.0 as u16;
        let is_admitted = !self.plan.refused.contains_key(&step);
        let forms = EpochForm::of_access(transfer.target);
        let epoch = forms.into_iter().find_map(|form| self.open.get(&(access.window, form)).copied());
        let epoch = epoch.filter(|_| is_admitted);
        let fetches = transfer.kind.reads();
        let only_reads = fetches && !access.writes();
        if let Some(epoch) = epoch {
            let epoch = &mut self.plan.epochs[usize::from(epoch)];
            insert(&mut epoch.used, target);
            if fetches {
                insert(&mut epoch.fetched, target);
            }
        }
        if let Some(request) = access.request {
            self.plan.requests.insert(request, RequestPlan::Access(index));
        }
        self.plan.accesses.push(AccessPlan {
            step,
            target,
            epoch,
            fetches,
            only_reads,
            ends: Vec::new(),
            answers: access
                .request
                .filter(|_| fetches)
                .map(|request| self.ending(step, request))
                .into_iter()
                .collect(),
            conflicts: Vec::new(),
            touched: None,
        });
    }

    fn call(&mut self, step: u16, ordinal: Ordinal, call: &Synchronization) {
        let window = call.window;
        if self.plan.refused.contains_key(&step) {
            return;
        }
        match call.call() {
            Call::Fence => return self.fence(step, ordinal, call),
            Call::Flush(flush) | Call::FlushWithRequest(flush) => {
                let mut epochs = Vec::new();
                for ((of, form), epoch) in self.open.clone() {
                    if of != window || !form.locks() {
                        continue;
                    }
                    let hosts = self.plan.epochs[usize::from(epoch)].hosts(self.job.ranks.len() as u16);
                    for host in hosts.filter(|host| flush.target.is_none_or(|it| it.0 == u32::from(*host))) {
                        let covered = self.flush(self.ending(step, ordinal), epoch, host, flush.is_local);
                        epochs.push((epoch, host, covered));
                    }
                }
                self.plan.requests.insert(ordinal, RequestPlan::Flush { epochs });
                return;
            }
            _ => {}
        }
        if let Some(form) = EpochForm::closed_by(call.call()) {
            self.close(step, ordinal, window, form);
        }
        if let Some(form) = EpochForm::opened_by(call.call()) {
            let (mode, group) = match call.call() {
                Call::Start(group) | Call::Post(group) => (Mode::Shared, group),
                Call::Lock { mode, .. } => (mode, &[][..]),
                _ => (Mode::Shared, &[][..]),
            };
            let mut peers: Vec<(u16, Option<u16>)> = group.iter().map(|peer| (peer.0 as u16, None)).collect();
            peers.sort_unstable();
            self.open(step, ordinal, window, form, mode, peers);
        }
    }

    /// The accesses to a host that a flush completes.
    fn flush(&mut self, ending: AccessEnd, epoch: u16, host: u16, is_local: bool) -> Flushed {
        let mut flushed = Flushed::Nothing;
        for access in self.plan.accesses.iter_mut().filter(|it| it.epoch == Some(epoch) && it.target == host)
        {
            if !is_local {
                access.ends.push(ending);
            }
            if access.fetches {
                access.answers.push(ending);
            }
            if !is_local || access.fetches {
                flushed = Flushed::Accesses;
            }
        }
        flushed
    }

    fn fence(&mut self, step: u16, ordinal: Ordinal, call: &Synchronization) {
        let window = call.window;
        let fences = self.plan.fences.entry(window).or_default();
        let number = fences.len() as u32;
        fences.push(step);
        let epoch = self.close(step, ordinal, window, EpochForm::Fence);
        let ends_none = call.ends_no_epoch();
        self.plan.requests.insert(ordinal, RequestPlan::Fence { window, epoch, number, ends_none });
        if let Some(ended) = epoch.filter(|_| !ends_none) {
            let opened = self.plan.epochs[usize::from(ended)].opened;
            let is_between = |access: &AccessPlan| {
                let its = access.epoch.map(|epoch| &self.plan.epochs[usize::from(epoch)]);
                access.step > opened
                    && its.is_some_and(|its| its.window == window && its.form != EpochForm::Fence)
            };
            let between = self.plan.accesses.iter().position(is_between);
            self.plan.between_fences.extend(between.map(|access| (step, access as u16)));
        }
        self.open(step, ordinal, window, EpochForm::Fence, Mode::Shared, Vec::new());
        if let Some(opened) = self.plan.epochs.last_mut() {
            opened.number = number;
        }
    }

    /// Closes an epoch, if it is open.
    fn close(&mut self, step: u16, ordinal: Ordinal, window: u16, form: EpochForm) -> Option<u16> {
        let at = self.open.remove(&(window, form))?;
        let epoch = &mut self.plan.epochs[usize::from(at)];
        (epoch.closed, epoch.close) = (Some(step), Some(ordinal));
        let next = self.program.steps.get(usize::from(step) + 1).map(|step| &step.act);
        epoch.is_waited_for = matches!(next, Some(Act::Wait(requests)) if requests.contains(&ordinal));
        self.plan.requests.entry(ordinal).or_insert(RequestPlan::Close(at));
        Some(at)
    }

    fn open(
        &mut self,
        step: u16,
        opening: Ordinal,
        window: u16,
        form: EpochForm,
        mode: Mode,
        peers: Vec<(u16, Option<u16>)>,
    ) {
        let at = self.plan.epochs.len() as u16;
        let mut epoch = EpochPlan {
            window,
            form,
            mode,
            opened: step,
            opening,
            closed: None,
            close: None,
            is_waited_for: false,
            number: 0,
            peers,
            used: Vec::new(),
            fetched: Vec::new(),
            earlier: Vec::new(),
            later: Vec::new(),
            own_lock: None,
        };
        let flags = self.job.windows[usize::from(window)].flags;
        let ranks = self.job.ranks.len() as u16;
        let before = (0..).zip(&self.plan.epochs).filter(|(_, before)| {
            let is_waited_for = before.close.is_some_and(|close| self.waited.contains(&close));
            before.window == window && before.closed.is_some() && !before.is_waited_for && !is_waited_for
        });
        let earlier = before.map(|(number, before)| {
            let targets = |epoch: &EpochPlan| -> BTreeSet<u16> {
                epoch.hosts(ranks).chain(epoch.peers.iter().map(|(peer, _)| *peer)).collect()
            };
            let relation = Relation {
                is_nested: false,
                is_inert: before.used.is_empty(),
                has_common_target: !targets(before).is_disjoint(&targets(&epoch)),
            };
            (number, may_overlap::<AllEpochRules>(before.kind(), epoch.kind(), flags, relation))
        });
        epoch.earlier = earlier.collect();
        let next = self.program.steps.get(usize::from(step) + 1).map(|step| &step.act);
        let is_blocking = matches!(next, Some(Act::AwaitGrants(it)) if *it == opening);
        let is_own = epoch.hosts(ranks).any(|host| host == self.rank);
        epoch.own_lock = (is_blocking && is_own).then_some(step + 1);
        for (before, passes) in &epoch.earlier {
            if !passes {
                self.plan.epochs[usize::from(*before)].later.push(at);
            }
        }
        self.plan.epochs.push(epoch);
        self.open.insert((window, form), at);
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

/// Inserts into a sorted list, once.
fn insert(list: &mut Vec<u16>, item: u16) {
    if let Err(at) = list.binary_search(&item) {
        list.insert(at, item);
    }
}
