//! What the text of one program says of windows: its epochs, its accesses and its requests.

use super::plan::{AccessEnd, AccessPlan, EpochPlan, Flushed, RankPlan, RequestPlan};
use crate::admission::Refused;
use crate::open_epochs::EpochForm;
use crate::program::{Act, Job, Ordinal, Program, Synchronization};
use carrousel_rank::epoch::{AllEpochRules, Call, Mode, Relation, may_overlap};
use std::collections::{BTreeMap, BTreeSet};

/// What a walk over the program of a rank has open.
struct Walk<'a> {
    job: &'a Job,
    program: &'a Program,
    rank: u16,
    /// The calls that the epochs of their windows do not admit.
    refused: &'a Refused,
    plan: RankPlan,
    open: BTreeMap<(u16, EpochForm), u16>,
    /// Requests that it has waited for.
    waited: BTreeSet<Ordinal>,
}

/// What the program of a rank does with windows.
pub(super) fn walk(job: &Job, rank: u16, program: &Program, refused: &Refused) -> RankPlan {
    let plan = RankPlan::default();
    let mut walk = Walk { job, program, rank, refused, plan, open: BTreeMap::new(), waited: BTreeSet::new() };
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

impl Walk<'_> {
    fn ending(&self, step: u16, request: Ordinal) -> AccessEnd {
        AccessEnd { rank: self.rank, step, request, epoch: None }
    }

    fn access(&mut self, step: u16, index: u16) {
        let access = self.program.accesses[usize::from(index)];
        let transfer = access.transfer;
        let target = transfer.target.0 as u16;
        let is_admitted = !self.refused.contains_key(&step);
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
        if self.refused.contains_key(&step) {
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

/// Inserts into a sorted list, once.
fn insert(list: &mut Vec<u16>, item: u16) {
    if let Err(at) = list.binary_search(&item) {
        list.insert(at, item);
    }
}
