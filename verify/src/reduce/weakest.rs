//! Conflicts of calls on windows under the weakest MPI.
//!
//! There, calls wait for calls of other ranks, and for locks; nothing is in flight. What a call enables it enables for good,
//! so most calls commute. Conflicts are:
//! - the return of a call that ends accesses, and what the program does to its own memory, with the beginning of accesses
//!   that could race with them. To begin early and to end late shows more races than the reverse, so beginnings are in
//!   conflict with nothing;
//! - locks of one host with each other, and the calls that ask for them or give them back, unless nobody keeps them while
//!   waiting for anything else;
//! - the opening and closing of exposures with locks of the same memory, as both at once are an error;
//! - a test, with whatever lets it succeed.

use super::View;
use super::node::Node;
use crate::action::Action;
use crate::open_epochs::EpochForm;
use crate::program::{Act, Ordinal};
use crate::weakest::LockStep;
use crate::weakest::names::{AccessName, LockName};
use crate::weakest::plan::WindowPlan;
use crate::weakest::races::Stage;
use carrousel_rank::Protocol;

impl<P: Protocol> View<'_, P> {
    fn plan(&self) -> &WindowPlan {
        &self.facts.plan
    }

    /// Whether the next step of a rank, which is possible, is in conflict with anything for the sake of windows.
    pub(super) fn is_in_conflict(&self, rank: u16) -> bool {
        let mut is_in_conflict = false;
        self.conflicts_weakly(rank, &mut |_| is_in_conflict = true);
        is_in_conflict
    }

    /// The nodes with which the next step of a rank, which is possible, is in conflict for the sake of windows.
    pub(super) fn conflicts_weakly(&self, rank: u16, need: &mut dyn FnMut(Node)) {
        if self.plan().is_empty() {
            return;
        }
        let program = self.model.program(self.state.job, rank);
        let Some(act) = self.model.next_act(self.state, rank) else { return };
        match act {
            Act::Wait(requests) => requests.iter().for_each(|request| self.ends_of(rank, *request, need)),
            Act::Test(request) if program.is_of_window(*request) => {
                self.ends_of(rank, *request, need);
                if !self.model.is_over(self.state, rank, *request) {
                    self.needs_in_window(|| self.missing_for(rank, *request), need);
                }
            }
            Act::TouchWindow(_) => {
                let touches = &self.plan().rank(rank).touches;
                let touched = touches.get(&self.pc(rank)).filter(|_| self.model.seeks_races());
                touched.into_iter().flatten().for_each(|access| self.begins_of(*access, need));
            }
            Act::Start(ordinal) => {
                let Some(call) = program.synchronization(*ordinal) else { return };
                let window = call.window;
                let forms = [EpochForm::opened_by(call.call()), EpochForm::closed_by(call.call())];
                let exposes = |form: &EpochForm| matches!(form, EpochForm::Exposure | EpochForm::Fence);
                if forms.iter().flatten().any(exposes) && self.plan().is_mixed(window, rank) {
                    self.locks_of((window, rank), need);
                }
                if forms.iter().flatten().any(|form| form.locks()) {
                    let hosts = self.plan().all_mixed().filter(|((of, _), _)| *of == window);
                    for ((_, host), locks) in hosts {
                        if locks.iter().any(|lock| lock.epoch.0 == rank) {
                            need(Node::Step(host));
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// What must not come behind the end of a request: accesses that could race with those that it ends.
    fn ends_of(&self, rank: u16, request: Ordinal, need: &mut dyn FnMut(Node)) {
        let plan = self.plan();
        let racing = if self.model.seeks_races() { plan.racing.as_slice() } else { &[] };
        for name in racing {
            let access = plan.access(*name);
            if !access.ends.iter().any(|end| (end.rank, end.request) == (rank, request)) {
                continue;
            }
            if self.plan().stage(self.state, *name) != Stage::UnderWay {
                continue;
            }
            access.conflicts.iter().for_each(|other| self.begins_of(*other, need));
            if access.touched.is_some_and(|last| self.pc(access.target) <= last) {
                need(Node::Step(access.target));
            }
        }
        let closed = plan.rank(rank).closed_by(request).map(|epoch| plan.epoch((rank, epoch)));
        if let Some(epoch) = closed.filter(|epoch| epoch.locks()) {
            for host in epoch.hosts(plan.ranks()).filter(|host| plan.is_mixed(epoch.window, *host)) {
                need(Node::Step(host));
            }
        }
    }

    /// A node that has to come before an access begins, if it has not begun.
    fn begins_of(&self, name: AccessName, need: &mut dyn FnMut(Node)) {
        if self.plan().stage(self.state, name) != Stage::ToCome {
            return;
        }
        let (plan, rank) = (self.plan(), name.0);
        let access = plan.access(name);
        let Some(epoch) = access.epoch else { return };
        if self.pc(rank) <= access.step {
            need(Node::Step(rank));
        } else if plan.epoch((rank, epoch)).locks() {
            need(Node::Locks(plan.epoch((rank, epoch)).window, access.target));
        } else {
            need(Node::Step(access.target));
        }
    }

    /// What a rank waits for in a window: `missing`, or, where epochs may hold back others, a step of any rank.
    pub(super) fn needs_in_window(&self, missing: impl Fn() -> Node, need: &mut dyn FnMut(Node)) {
        match self.plan().defers {
            true => (0..self.ranks()).for_each(|rank| need(Node::Step(rank))),
            false => need(missing()),
        }
    }

    /// A node without which a request on a window, which has not ended, never will.
    pub(super) fn missing_for(&self, rank: u16, request: Ordinal) -> Node {
        let awaited = self.plan().awaited(self.state, rank, request, false);
        let plan = self.plan();
        let closed = plan.rank(rank).closed_by(request).map(|epoch| plan.epoch((rank, epoch)));
        // A `complete` need not wait for a target from which nothing is fetched, nor an `unlock` without accesses.
        let fetched = |target: &&u16| closed.is_none_or(|epoch| epoch.fetched.contains(target));
        let used = |(_, host): &&((u16, u16), u16)| closed.is_none_or(|epoch| epoch.is_used(*host));
        let others = awaited.fences.iter().chain(&awaited.completes);
        let step = others.chain(awaited.posts.iter().filter(fetched)).next().map(|peer| Node::Step(*peer));
        let lock = || {
            let ((_, epoch), host) = awaited.locks.iter().find(used)?;
            Some(Node::Locks(plan.epoch((rank, *epoch)).window, *host))
        };
        step.or_else(lock).unwrap_or(Node::Step(rank))
    }

    /// A node without which a blocking lock of the own memory never returns.
    pub(super) fn missing_lock(&self, rank: u16, opening: Ordinal) -> Node {
        let window =
            self.model.program(self.state.job, rank).synchronization(opening).map(|call| call.window);
        window.map_or(Node::Step(rank), |window| Node::Locks(window, rank))
    }

    /// What may come of the locks of a host: those who ask for them, hold them or give them back.
    pub(super) fn needs_of_locks(&self, place: (u16, u16), need: &mut dyn FnMut(Node)) {
        let (window, host) = place;
        self.ranks_of(self.plan().contended(window, host), need);
        if self.plan().is_mixed(window, host) {
            need(Node::Step(host));
        }
    }

    fn locks_of(&self, place: (u16, u16), need: &mut dyn FnMut(Node)) {
        for (_, locks) in self.plan().all_mixed().filter(|(mixed, _)| *mixed == place) {
            self.ranks_of(locks, need);
        }
        need(Node::Locks(place.0, place.1));
    }

    fn ranks_of(&self, locks: &[LockName], need: &mut dyn FnMut(Node)) {
        for lock in locks {
            if !self.plan().is_past(self.state, lock.epoch) {
                need(Node::Step(lock.epoch.0));
            }
        }
    }

    /// A step of a brief lock that has to happen. Nothing is in conflict with it: who gets the lock gives it back without any
    /// step of another rank's program, and for all others it is the same who was first (`brief_locks`).
    pub(super) fn brief_lock_step(&self) -> Option<LockStep> {
        let mut found = None;
        for place in self.plan().brief() {
            self.plan().lock_steps_at(self.state, place, |step, must| {
                found = found.or(must.then_some(step));
            });
            if found.is_some() {
                break;
            }
        }
        found
    }

    /// Appends the steps of the lock of a host that are possible.
    pub(super) fn lock_steps(&self, place: (u16, u16), actions: &mut Vec<Action>) {
        self.plan().lock_steps_at(self.state, place, |step, _| actions.push(Action::Lock(step)));
    }

    /// The hosts with steps of locks that have to happen, and those with others only.
    pub(super) fn lock_seeds(&self) -> [Vec<Node>; 2] {
        let mut seeds = [Vec::new(), Vec::new()];
        for ((window, host), _) in self.plan().all_contended() {
            let (mut any, mut must_any) = (false, false);
            self.plan().lock_steps_at(self.state, (window, host), |_, must| {
                any = true;
                must_any |= must;
            });
            if any {
                seeds[usize::from(!must_any)].push(Node::Locks(window, host));
            }
        }
        seeds
    }
}
