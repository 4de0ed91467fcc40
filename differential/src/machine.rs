//! The steps of an execution: what ranks do by themselves, and what a library may or must do meanwhile.
//!
//! An execution is any sequence of steps. A step that *must* happen will, sooner or later, if nothing else does; one that
//! *may* happen need not ever. So a job is stuck where nothing must happen, and some rank has not ended: that is all there
//! is to a deadlock. And two accesses race if some sequence has both under way.
//!
//! What a library is, [`Library`] says: the one of this project, or the weakest that MPI admits.

use crate::plan::{AccessId, EpochId, EpochKind, LockId, Plan, Step, Transfer};
use crate::program::{AccessKind, Statement, Synchronization};
use crate::state::{EpochPhase, Layout, LockPhase, Phase, State};

/// Whether a step happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// It cannot.
    No,
    /// It can, and need not.
    May,
    /// It will, unless something else does.
    Must,
}

impl Level {
    /// It must if this holds, and cannot otherwise.
    pub(crate) fn must_if(holds: bool) -> Self {
        if holds { Self::Must } else { Self::No }
    }

    /// At least that it may, if this holds.
    pub(crate) fn or_may_if(self, holds: bool) -> Self {
        if holds { self.max(Self::May) } else { self }
    }
}

/// The checks that the oracle decides, by their names in files.
pub const CHECKS: [&str; 6] =
    ["deadlock-freedom", "buffer-safety", "rma-race", "epoch-usage", "request-leak", "unmatched-message"];

/// A set of violated checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Violated(pub u8);

impl Violated {
    pub(crate) const DEADLOCK: Self = Self(1);
    pub(crate) const BUFFER: Self = Self(1 << 1);
    pub(crate) const RACE: Self = Self(1 << 2);
    pub(crate) const EPOCHS: Self = Self(1 << 3);
    pub(crate) const LEAK: Self = Self(1 << 4);
    pub(crate) const UNMATCHED: Self = Self(1 << 5);

    /// Whether a check is in it.
    pub fn has(self, check: &str) -> bool {
        CHECKS.iter().zip(0..).any(|(name, bit)| *name == check && self.0 >> bit & 1 == 1)
    }

    /// Whether all of it is in another set.
    pub fn within(self, other: Self) -> bool {
        other.contains(self)
    }

    /// What is not in another set.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of another set is in it.
    pub(crate) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The names of its checks.
    pub fn names(self) -> Vec<&'static str> {
        CHECKS.into_iter().filter(|check| self.has(check)).collect()
    }
}

impl std::ops::BitOrAssign for Violated {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// What happens in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Calls(u8, u8),
    Returns(u8, u8),
    Activates(EpochId),
    Begins(AccessId),
    ComesBack(AccessId),
    Ends(AccessId),
    Arrives(LockId),
    Granted(LockId),
    Released(LockId),
    Withdrawn(LockId),
}

/// A step from some state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transition {
    pub(crate) event: Event,
    /// It must happen.
    pub(crate) must: bool,
    pub(crate) state: State,
    pub(crate) violated: Violated,
    /// The execution ends with it.
    pub(crate) is_last: bool,
}

/// The rules of a library for windows and messages.
pub(crate) trait Library: Sized {
    /// Whether a call may have to wait, by its place alone.
    fn waits(machine: &Machine<'_, Self>, rank: u8, at: u8, synchronization: Synchronization) -> bool;

    /// Whether a call, or its request, is complete: one that has been made.
    fn completes(machine: &Machine<'_, Self>, state: &State, rank: u8, at: u8) -> Level;

    /// Whether a standard send returns, whatever its receiver does.
    const SENDS: Level;

    /// Whether an epoch may become active; it was opened.
    fn activates(machine: &Machine<'_, Self>, state: &State, epoch: EpochId) -> Level;

    /// Whether what an epoch has to do is done; it is active.
    fn is_complete(machine: &Machine<'_, Self>, state: &State, epoch: EpochId) -> bool;

    /// Whether a lock that was asked for is not held, and not wanted, any more.
    fn has_given_back(machine: &Machine<'_, Self>, state: &State, lock: LockId) -> bool;

    /// Two accesses conflict that have a cell in common, of which one writes.
    fn conflict(machine: &Machine<'_, Self>, one: AccessId, other: AccessId) -> bool;

    /// Whether what an access writes may be on its way when what it fetches is there.
    fn outlasts_its_answer(kind: AccessKind) -> bool;

    /// Whether an access is over at the target before a later one of the same origin to the same memory has its answer, or is
    /// over.
    fn precedes(machine: &Machine<'_, Self>, earlier: AccessId, later: AccessId) -> bool;

    /// A call has been made: which checks that violates, and whether the execution ends there.
    fn called(machine: &Machine<'_, Self>, state: &State, rank: u8, at: u8) -> (Violated, bool);

    /// Locks: the steps that they may take.
    fn lock_steps(machine: &Machine<'_, Self>, state: &State, out: &mut Vec<Transition>);

    /// Locks: steps that are taken at once. Returns whether there was one.
    fn settle_locks(machine: &Machine<'_, Self>, state: &mut State) -> bool;
}

/// A program under a library.
pub(crate) struct Machine<'a, L> {
    pub(crate) plan: &'a Plan,
    pub(crate) layout: Layout,
    /// By access: those that conflict with it.
    conflicts: Vec<Vec<AccessId>>,
    /// By access: those that are over before it is.
    preceding: Vec<Vec<AccessId>>,
    /// By access: the loads and stores of its target that conflict with it.
    is_touched: Vec<bool>,
    /// Some lock says `nocheck`.
    asserts_locks: bool,
    library: std::marker::PhantomData<L>,
}

impl<'a, L: Library> Machine<'a, L> {
    pub(crate) fn new(plan: &'a Plan) -> Option<Self> {
        let layout = Layout::new(plan)?;
        let mut machine = Self {
            plan,
            layout,
            conflicts: Vec::new(),
            preceding: Vec::new(),
            is_touched: Vec::new(),
            asserts_locks: plan.locks.iter().any(|lock| lock.is_unchecked),
            library: std::marker::PhantomData,
        };
        let all = 0..plan.accesses.len();
        machine.conflicts = all
            .clone()
            .map(|one| all.clone().filter(|other| one != *other && machine.conflict(one, *other)).collect())
            .collect();
        let place = |access: AccessId| {
            let transfer = &plan.accesses[access];
            (transfer.origin, transfer.window, transfer.access.target)
        };
        // Accesses of a rank are numbered in the order of its program.
        machine.preceding = (0..plan.accesses.len())
            .map(|later| {
                let earlier = (0..later).filter(|earlier| place(*earlier) == place(later));
                earlier.filter(|earlier| L::precedes(&machine, *earlier, later)).collect()
            })
            .collect();
        machine.is_touched = plan
            .accesses
            .iter()
            .map(|transfer| {
                let own = plan.program.ranks[usize::from(transfer.access.target)].iter();
                own.into_iter().any(|statement| touches(statement, transfer))
            })
            .collect();
        Some(machine)
    }

    fn conflict(&self, one: AccessId, other: AccessId) -> bool {
        let (first, second) = (&self.plan.accesses[one], &self.plan.accesses[other]);
        first.touches(second) && L::conflict(self, one, other)
    }

    /// Whether it matters how long an access is under way: it may race, or somebody asserts that its lock is back by then.
    fn takes_time(&self, access: AccessId) -> bool {
        self.is_touched[access] || !self.conflicts[access].is_empty() || self.asserts_locks
    }

    pub(crate) fn statement(&self, rank: u8, at: u8) -> Option<&Statement> {
        self.plan.program.ranks[usize::from(rank)].get(usize::from(at))
    }

    /// Whether a rank's program has ended.
    pub(crate) fn has_ended(&self, state: &State, rank: u8) -> bool {
        self.statement(rank, state.at(rank).0).is_none()
    }

    /// What is violated once all ranks have ended.
    pub(crate) fn violated_at_end(&self, state: &State) -> Violated {
        let mut violated = Violated::default();
        let all = (0..self.plan.ranks()).all(|rank| self.has_ended(state, rank));
        let statements = self.plan.program.ranks.iter().zip(&self.plan.steps);
        let lost = statements.flat_map(|(statements, steps)| statements.iter().zip(steps));
        let is_lost = |(statement, step): (&Statement, &Step)| {
            matches!(statement, Statement::Send { .. }) && step.partner.is_none()
        };
        if all && lost.into_iter().any(is_lost) {
            violated |= Violated::UNMATCHED;
        }
        violated
    }

    /// The first state, settled.
    pub(crate) fn first(&self) -> (State, Violated) {
        let mut violated = Violated::default();
        for rank in 0..self.plan.ranks() {
            violated |= self.violated_by_end(&State::new(), rank);
        }
        (State::new(), violated)
    }

    fn violated_by_end(&self, state: &State, rank: u8) -> Violated {
        let mut violated = Violated::default();
        if self.has_ended(state, rank) {
            let end = self.plan.ends[usize::from(rank)];
            if end.leaks {
                violated |= Violated::LEAK;
            }
            if end.leaves_open {
                violated |= Violated::EPOCHS;
            }
        }
        violated
    }

    /// All steps from a state.
    pub(crate) fn transitions(&self, state: &State, out: &mut Vec<Transition>) {
        for rank in 0..self.plan.ranks() {
            self.step_of_rank(state, rank, out);
        }
        for access in 0..self.plan.accesses.len() {
            match state.access(self.layout, access) {
                // What takes no time is over as soon as it may be (`settle`).
                Phase::Pending if self.takes_time(access) && self.may_begin(state, access) => {
                    let mut next = *state;
                    next.set_access(self.layout, access, Phase::UnderWay);
                    let races = self.races(&next, access);
                    self.push(Event::Begins(access), true, next, races, false, out);
                }
                Phase::UnderWay if !self.all_over(state, &self.preceding[access]) => {}
                Phase::UnderWay if L::outlasts_its_answer(self.plan.accesses[access].access.kind) => {
                    let mut next = *state;
                    next.set_access(self.layout, access, Phase::Back);
                    self.push(Event::ComesBack(access), true, next, Violated::default(), false, out);
                }
                Phase::UnderWay | Phase::Back => {
                    let mut next = *state;
                    next.set_access(self.layout, access, Phase::Over);
                    self.push(Event::Ends(access), true, next, Violated::default(), false, out);
                }
                _ => {}
            }
        }
        for epoch in 0..self.plan.epochs.len() {
            // What must become active has become so already.
            if self.is_deferred(state, epoch) && L::activates(self, state, epoch) == Level::May {
                let mut next = *state;
                self.activate(&mut next, epoch);
                self.push(Event::Activates(epoch), false, next, Violated::default(), false, out);
            }
        }
        L::lock_steps(self, state, out);
    }

    pub(crate) fn push(
        &self,
        event: Event,
        must: bool,
        mut state: State,
        violated: Violated,
        is_last: bool,
        out: &mut Vec<Transition>,
    ) {
        self.settle(&mut state);
        out.push(Transition { event, must, state, violated, is_last });
    }

    fn races(&self, state: &State, access: AccessId) -> Violated {
        let races = self.conflicts[access].iter().any(|other| self.is_under_way(state, *other));
        if races { Violated::RACE } else { Violated::default() }
    }

    /// Whether the target has let an access in that has been called for.
    pub(crate) fn may_begin(&self, state: &State, access: AccessId) -> bool {
        let transfer = &self.plan.accesses[access];
        state.called(transfer.origin, transfer.at)
            && self.is_let_in(state, transfer.epoch, transfer.access.target)
    }

    /// Whether an epoch is active, and one of its targets has granted it.
    pub(crate) fn is_let_in(&self, state: &State, epoch: EpochId, target: u8) -> bool {
        let this = &self.plan.epochs[epoch];
        let is_active = |epoch: EpochId| state.epoch(self.layout, epoch) != EpochPhase::Deferred;
        if !is_active(epoch) {
            return false;
        }
        match this.kind {
            EpochKind::Lock | EpochKind::LockAll => {
                let lock = this.locks.iter().find(|lock| self.plan.locks[**lock].target == target);
                lock.is_some_and(|lock| state.lock(self.layout, *lock) == LockPhase::Granted)
            }
            _ => this.partners[usize::from(target)].is_some_and(is_active),
        }
    }

    fn is_under_way(&self, state: &State, access: AccessId) -> bool {
        matches!(state.access(self.layout, access), Phase::UnderWay | Phase::Back)
    }

    /// Whether what an access fetches is there.
    pub(crate) fn is_back(&self, state: &State, access: AccessId) -> bool {
        matches!(state.access(self.layout, access), Phase::Back | Phase::Over)
    }

    pub(crate) fn is_over(&self, state: &State, access: AccessId) -> bool {
        state.access(self.layout, access) == Phase::Over
    }

    pub(crate) fn all_over<'b>(
        &self,
        state: &State,
        accesses: impl IntoIterator<Item = &'b AccessId>,
    ) -> bool {
        accesses.into_iter().all(|access| self.is_over(state, *access))
    }

    fn is_deferred(&self, state: &State, epoch: EpochId) -> bool {
        let this = &self.plan.epochs[epoch];
        state.epoch(self.layout, epoch) == EpochPhase::Deferred && state.called(this.rank, this.opened_at)
    }

    /// An epoch asks its targets for their locks, when it becomes active.
    fn activate(&self, state: &mut State, epoch: EpochId) {
        state.set_epoch(self.layout, epoch, EpochPhase::Active);
        for lock in &self.plan.epochs[epoch].locks {
            // A lock that was not needed is over.
            if state.lock(self.layout, *lock) == LockPhase::Idle {
                state.set_lock(self.layout, *lock, LockPhase::Requested);
            }
        }
    }

    /// Takes the steps that make no difference when they are taken, at once.
    fn settle(&self, state: &mut State) {
        loop {
            let before = *state;
            // A lock that is given back goes to the next rank in the same step: no exposure comes between the two.
            while L::settle_locks(self, state) {}
            for epoch in 0..self.plan.epochs.len() {
                if self.is_deferred(state, epoch) && L::activates(self, state, epoch) == Level::Must {
                    self.activate(state, epoch);
                }
                if state.epoch(self.layout, epoch) == EpochPhase::Active && L::is_complete(self, state, epoch)
                {
                    state.set_epoch(self.layout, epoch, EpochPhase::Complete);
                }
            }
            for access in 0..self.plan.accesses.len() {
                // Others can only wait for its end.
                let is_pending = state.access(self.layout, access) == Phase::Pending;
                let is_next = self.all_over(state, &self.preceding[access]);
                if is_pending && is_next && !self.takes_time(access) && self.may_begin(state, access) {
                    state.set_access(self.layout, access, Phase::Over);
                }
            }
            if *state == before {
                return;
            }
        }
    }

    fn step_of_rank(&self, state: &State, rank: u8, out: &mut Vec<Transition>) {
        let (at, is_inside) = state.at(rank);
        let Some(statement) = self.statement(rank, at) else { return };
        if is_inside {
            let level = self.returns(state, rank, at, statement);
            if level != Level::No {
                let mut next = *state;
                next.advance(rank);
                let violated = self.violated_by_end(&next, rank);
                self.push(Event::Returns(rank, at), level == Level::Must, next, violated, false, out);
            }
            return;
        }
        let mut next = *state;
        if self.waits(rank, at, statement) {
            next.enter(rank);
        } else {
            next.advance(rank);
        }
        let (mut violated, mut is_last) = self.called(state, rank, at, statement);
        if !is_last {
            let (more, last) = L::called(self, state, rank, at);
            violated |= more;
            is_last |= last;
        }
        if !is_last {
            violated |= self.violated_by_end(&next, rank);
        }
        self.push(Event::Calls(rank, at), true, next, violated, is_last, out);
    }

    fn waits(&self, rank: u8, at: u8, statement: &Statement) -> bool {
        match statement {
            Statement::Access(..) | Statement::Own { .. } | Statement::Buffer { .. } => false,
            Statement::Synchronize(_, synchronization) => {
                !synchronization.later && L::waits(self, rank, at, *synchronization)
            }
            Statement::Send { synchronous, .. } => *synchronous || L::SENDS != Level::Must,
            Statement::Receive { .. } | Statement::Barrier | Statement::Wait(_) | Statement::WaitAll => true,
        }
    }

    /// What a call violates when it is made; whether the execution ends there.
    fn called(&self, state: &State, rank: u8, at: u8, statement: &Statement) -> (Violated, bool) {
        let step = &self.plan.steps[usize::from(rank)][usize::from(at)];
        let mut violated = Violated::default();
        if step.is_wrong
            || step.lacks_lock
            || self.breaks_promise(state, step)
            || self.is_contended(state, step)
        {
            violated |= Violated::EPOCHS;
        }
        if step.misuses_buffer {
            violated |= Violated::BUFFER;
        }
        let races = self.plan.accesses.iter().enumerate().any(|(access, transfer)| {
            transfer.access.target == rank && touches(statement, transfer) && self.is_under_way(state, access)
        });
        if races {
            violated |= Violated::RACE;
        }
        (violated, step.is_wrong)
    }

    /// Whether a call shows that a promise is not so: of its own, or of a fence that another rank has called.
    pub(crate) fn breaks_promise(&self, state: &State, step: &Step) -> bool {
        let is_called = |(rank, at): &(u8, u8)| state.called(*rank, *at);
        step.breaks_promise || step.differs_from.iter().any(is_called) || !step.expects.iter().all(is_called)
    }

    /// Whether a call asks for a lock that another rank has or wants, and one of the two says that this does not happen
    /// (MPI-4.1, 12.5.5: "no other process holds, or will attempt to acquire, a conflicting lock").
    fn is_contended(&self, state: &State, step: &Step) -> bool {
        let asked = step.opens.map_or(&[][..], |epoch| &self.plan.epochs[epoch].locks);
        asked.iter().map(|lock| &self.plan.locks[*lock]).any(|this| {
            self.plan.locks.iter().enumerate().any(|(lock, other)| {
                let epoch = &self.plan.epochs[other.epoch];
                (other.window, other.target) == (this.window, this.target)
                    && other.origin != this.origin
                    && (other.exclusive || this.exclusive)
                    && (other.is_unchecked || this.is_unchecked)
                    && state.called(epoch.rank, epoch.opened_at)
                    && !L::has_given_back(self, state, lock)
            })
        })
    }

    fn returns(&self, state: &State, rank: u8, at: u8, statement: &Statement) -> Level {
        let step = &self.plan.steps[usize::from(rank)][usize::from(at)];
        let met = || step.partner.is_some_and(|(peer, with)| state.called(peer, with));
        match statement {
            Statement::Send { synchronous: true, .. } | Statement::Receive { .. } => Level::must_if(met()),
            Statement::Send { .. } => Level::must_if(met()).max(L::SENDS),
            Statement::Barrier => Level::must_if((0..self.plan.ranks()).all(|other| {
                let (statements, steps) =
                    (&self.plan.program.ranks[usize::from(other)], &self.plan.steps[usize::from(other)]);
                let mut all = (0..).zip(statements.iter().zip(steps));
                all.any(|(there, (statement, other_step))| {
                    *statement == Statement::Barrier
                        && other_step.barrier == step.barrier
                        && state.called(other, there)
                })
            })),
            Statement::Wait(_) | Statement::WaitAll => {
                let levels = step.requests.iter().map(|request| L::completes(self, state, rank, *request));
                levels.min().unwrap_or(Level::Must)
            }
            Statement::Synchronize(..) => L::completes(self, state, rank, at),
            Statement::Access(..) | Statement::Own { .. } | Statement::Buffer { .. } => Level::Must,
        }
    }
}

/// Whether a load or store of the program conflicts with an access to its rank.
fn touches(statement: &Statement, transfer: &Transfer) -> bool {
    let Statement::Own { window, cells, writes } = statement else { return false };
    *window == transfer.window
        && cells.overlap(transfer.access.cells)
        && (*writes || transfer.access.kind.writes())
}
