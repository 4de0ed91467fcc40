//! The weakest MPI: all that MPI-4.1, chapter 12, admits in the unified memory model. Each rule names its section. The
//! i-forms of synchronization are not MPI's: they are their blocking forms, with the wait apart.

use crate::machine::{Event, Level, Library, Machine, Transition, Violated};
use crate::plan::{AccessId, Epoch, EpochId, EpochKind, LockId};
use crate::program::{AccessKind, Call, Combine, Flag, Statement, Synchronization, members};
use crate::state::{EpochPhase, LockPhase, State};

/// The weakest MPI.
pub(crate) enum WeakestMpi {}

impl Library for WeakestMpi {
    /// 3.4: a standard send may wait for its receive, or be buffered.
    const SENDS: Level = Level::May;

    /// 12.5.2: "`MPI_WIN_POST` does not block".
    fn waits(_: &Machine<'_, Self>, _: u8, _: u8, synchronization: Synchronization) -> bool {
        !matches!(synchronization.call, Call::Post(_))
    }

    fn completes(machine: &Machine<'_, Self>, state: &State, rank: u8, at: u8) -> Level {
        let plan = machine.plan;
        let step = &plan.steps[usize::from(rank)][usize::from(at)];
        let Some(Statement::Synchronize(_, synchronization)) = machine.statement(rank, at) else {
            return step.access.map_or(Level::Must, |access| request(machine, state, access));
        };
        let has = |lock: &LockId, phase: LockPhase| state.lock(machine.layout, *lock) == phase;
        // A lock that was given back was granted before.
        let is_granted = |lock: &LockId| has(lock, LockPhase::Granted) || has(lock, LockPhase::Released);
        let is_own = |lock: &LockId| plan.locks[*lock].target == rank;
        match synchronization.call {
            Call::Fence { .. } => fence(machine, state, rank, at),
            Call::Start(_) | Call::Post(_) | Call::Lock { .. } | Call::LockAll if synchronization.later => {
                Level::Must
            }
            Call::Post(_) => Level::Must,
            // 12.5.2: "MPI_WIN_START is allowed to block until the corresponding MPI_WIN_POST calls have been executed, but is
            // not required to."
            Call::Start(group) => {
                let is_let_in = |epoch| members(group).all(|target| machine.is_let_in(state, epoch, target));
                Level::must_if(step.opens.is_some_and(is_let_in)).or_may_if(true)
            }
            // 12.5.3: a lock may be acquired later than its call returns; that of the rank's own memory may not, as loads and
            // stores follow.
            Call::Lock { .. } | Call::LockAll => {
                let locks = step.opens.map_or(&[][..], |epoch| &plan.epochs[epoch].locks);
                let own = locks.iter().filter(|lock| is_own(lock)).all(is_granted);
                Level::must_if(locks.iter().all(is_granted)).or_may_if(own)
            }
            // 12.5.2: it completes the accesses at the origin, and "does not guarantee their completion at the target".
            Call::Complete => {
                let Some(epoch) = step.closes else { return Level::Must };
                let this = &plan.epochs[epoch];
                let is_active = state.epoch(machine.layout, epoch) != EpochPhase::Deferred;
                let all =
                    is_active && members(this.peers).all(|target| machine.is_let_in(state, epoch, target));
                let is_back = all_back(machine, state, &this.accesses);
                Level::must_if(is_back && all).or_may_if(is_back)
            }
            // 12.5.2: "will block until all matching calls to MPI_WIN_COMPLETE have occurred"; all accesses are complete here.
            Call::WaitEpoch => {
                let Some(epoch) = step.closes else { return Level::Must };
                let this = &plan.epochs[epoch];
                let is_active = state.epoch(machine.layout, epoch) != EpochPhase::Deferred;
                let all = members(this.peers).all(|origin| has_completed(machine, state, this, origin));
                Level::must_if(is_active && all)
            }
            // 12.5.3: accesses are complete at origin and target. The lock is back, or has never been asked for.
            Call::Unlock(_) | Call::UnlockAll => {
                let locks = step.closes.map_or(&[][..], |epoch| &plan.epochs[epoch].locks);
                Level::must_if(locks.iter().all(|lock| has(lock, LockPhase::Released)))
            }
            // 12.5.4: all accesses before it are complete, at both sides or at the origin.
            Call::Flush { local, .. } => {
                let is_back = match local {
                    true => all_back(machine, state, &step.covers),
                    false => machine.all_over(state, &step.covers),
                };
                let granted = step.flushes.iter().all(is_granted);
                Level::must_if(is_back && granted).or_may_if(is_back)
            }
        }
    }

    /// An epoch that was closed without waiting is complete before later ones of its window begin at its rank; with a reorder
    /// flag, or behind a fence epoch in which the rank has accessed nothing, they may begin earlier.
    fn activates(machine: &Machine<'_, Self>, state: &State, epoch: EpochId) -> Level {
        let candidate = &machine.plan.epochs[epoch];
        let earlier = machine.plan.epochs.iter().filter_map(|other| {
            let is_it = (other.rank, other.window) == (candidate.rank, candidate.window);
            // Exposures of one target are disjoint, and a fence ends one and begins the next, however it waits.
            let is_fence = other.closed_at == Some(candidate.opened_at);
            let at = other.closed_at.filter(|at| *at <= candidate.opened_at)?;
            (is_it && (other.closed_later || is_fence)).then_some((other, at))
        });
        let levels = earlier.map(|(other, at)| {
            if is_past(machine, state, other) {
                return Level::Must;
            }
            Self::completes(machine, state, other.rank, at).or_may_if(passes(machine, other, candidate))
        });
        levels.min().unwrap_or(Level::Must)
    }

    /// Whether an epoch is over is asked where it matters.
    fn is_complete(_: &Machine<'_, Self>, _: &State, _: EpochId) -> bool {
        false
    }

    /// 12.5.3: locks are held until `unlock` returns, or until a lock that they exclude is granted, as none is while they are
    /// held; how long `unlock` has to wait after it has given a lock back is nothing that another rank can know.
    fn has_given_back(machine: &Machine<'_, Self>, state: &State, lock: LockId) -> bool {
        state.lock(machine.layout, lock) == LockPhase::Released
            || is_past(machine, state, &machine.plan.epochs[machine.plan.locks[lock].epoch])
    }

    /// 12.7.2: accumulates of one origin to one place are ordered. 12.2.1: those of several origins are atomic if they use one
    /// operation, or `no_op`. 12.3: everything else conflicts.
    fn conflict(machine: &Machine<'_, Self>, one: AccessId, other: AccessId) -> bool {
        let (one, other) = (&machine.plan.accesses[one], &machine.plan.accesses[other]);
        let settings = machine.plan.program.windows[usize::from(one.window)];
        let (Some(first), Some(second)) = (operation(one.access.kind), operation(other.access.kind)) else {
            return true;
        };
        let reads = |operation| operation == Operation::Combine(Combine::NoOp);
        let are_ordered = one.origin == other.origin && !settings.unordered;
        let are_atomic = first == second || (!settings.same_op && (reads(first) || reads(second)));
        !are_ordered && !are_atomic
    }

    /// 12.7.2: by default, accumulates of one origin to one place are complete at the target in the order in which they are
    /// called, reads and writes; so what has its answer has those before it complete. That holds element by element.
    fn precedes(machine: &Machine<'_, Self>, earlier: AccessId, later: AccessId) -> bool {
        let (earlier, later) = (&machine.plan.accesses[earlier], &machine.plan.accesses[later]);
        let is_ordered = !machine.plan.program.windows[usize::from(earlier.window)].unordered;
        is_ordered
            && earlier.is_atomic()
            && later.is_atomic()
            && earlier.access.cells.is_within(later.access.cells)
    }

    /// 12.3.5: that the data is there "does not indicate that the operation has been completed at the target window".
    fn outlasts_its_answer(kind: AccessKind) -> bool {
        kind.fetches() && kind.writes()
    }

    /// 12.5.3: "It is erroneous to have a window locked and exposed (in an exposure epoch) concurrently." 12.5.1: access epochs
    /// at a rank are disjoint, and one of a lock between two fences that begin and end one is not.
    fn called(machine: &Machine<'_, Self>, state: &State, rank: u8, at: u8) -> (Violated, bool) {
        let step = &machine.plan.steps[usize::from(rank)][usize::from(at)];
        let is_exposure = |epoch: EpochId| is_exposure(&machine.plan.epochs[epoch]);
        let Some(Statement::Synchronize(window, _)) = machine.statement(rank, at) else {
            let breaks_promise = machine.breaks_promise(state, step);
            return (if breaks_promise { Violated::EPOCHS } else { Violated::default() }, false);
        };
        let is_locked = step.opens.is_some_and(is_exposure)
            && machine.plan.locks.iter().enumerate().any(|(lock, request)| {
                // Its own lock is closed, and the exposure does not begin before that is complete.
                (request.window, request.target) == (*window, rank)
                    && request.origin != rank
                    && state.lock(machine.layout, lock) == LockPhase::Granted
            });
        let is_wrong = step.overlaps || machine.breaks_promise(state, step) || is_locked;
        // The execution goes on, as by default: what else is wrong is told, too.
        (if is_wrong { Violated::EPOCHS } else { Violated::default() }, false)
    }

    /// 12.5.3 says that locks exclude each other, and nothing of their order. A library may let a request wait behind another
    /// one that waits itself, whichever came first; so none must be granted while any is excluded by a holder.
    fn lock_steps(machine: &Machine<'_, Self>, state: &State, out: &mut Vec<Transition>) {
        for (lock, request) in machine.plan.locks.iter().enumerate() {
            let epoch = &machine.plan.epochs[request.epoch];
            let is_closed = epoch.closed_at.is_some_and(|at| state.called(epoch.rank, at));
            let mut next = *state;
            match state.lock(machine.layout, lock) {
                LockPhase::Granted if is_closed && machine.all_over(state, &request.accesses) => {
                    next.set_lock(machine.layout, lock, LockPhase::Released);
                    machine.push(Event::Released(lock), true, next, Violated::default(), false, out);
                }
                LockPhase::Requested if !is_excluded(machine, state, lock) => {
                    next.set_lock(machine.layout, lock, LockPhase::Granted);
                    let mut others = (0..machine.plan.locks.len()).filter(|other| {
                        let it = &machine.plan.locks[*other];
                        (it.window, it.target) == (request.window, request.target)
                            && state.lock(machine.layout, *other) == LockPhase::Requested
                    });
                    let must = !others.any(|other| is_excluded(machine, state, other));
                    // Behind its own `iunlock`, a rank exposes its memory when the lock is complete, or a flag lets it.
                    let waits = request.origin == request.target && is_closed;
                    let is_exposed = machine.plan.epochs.iter().any(|epoch| {
                        !waits
                            && (epoch.rank, epoch.window) == (request.target, request.window)
                            && is_exposure(epoch)
                            && state.called(epoch.rank, epoch.opened_at)
                            && !epoch.closed_at.is_some_and(|at| state.called(epoch.rank, at))
                    });
                    let violated = if is_exposed { Violated::EPOCHS } else { Violated::default() };
                    machine.push(Event::Granted(lock), must, next, violated, false, out);
                }
                _ => {}
            }
            // A lock under which nothing is accessed need not be asked for at all.
            let is_idle = matches!(state.lock(machine.layout, lock), LockPhase::Idle | LockPhase::Requested);
            if is_idle && is_closed && request.accesses.is_empty() {
                next = *state;
                next.set_lock(machine.layout, lock, LockPhase::Released);
                machine.push(Event::Withdrawn(lock), false, next, Violated::default(), false, out);
            }
        }
    }

    fn settle_locks(_: &Machine<'_, Self>, _: &mut State) -> bool {
        false
    }
}

/// What an accumulate does to an element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Combine(Combine),
    CompareSwap,
}

fn operation(kind: AccessKind) -> Option<Operation> {
    match kind {
        AccessKind::Put | AccessKind::Get => None,
        AccessKind::Accumulate(combine)
        | AccessKind::GetAccumulate(combine)
        | AccessKind::FetchOp(combine) => Some(Operation::Combine(combine)),
        AccessKind::CompareSwap => Some(Operation::CompareSwap),
    }
}

/// Whether all that these accesses fetch is there.
fn all_back(machine: &Machine<'_, WeakestMpi>, state: &State, accesses: &[AccessId]) -> bool {
    let fetches = |access: &&AccessId| machine.plan.accesses[**access].access.kind.fetches();
    accesses.iter().filter(fetches).all(|access| machine.is_back(state, *access))
}

/// 12.3.5: the request of a put or an accumulate says that its local buffer is free, perhaps before the target has heard of
/// it. The request of an access that fetches says that its data is there.
fn request(machine: &Machine<'_, WeakestMpi>, state: &State, access: AccessId) -> Level {
    let transfer = &machine.plan.accesses[access];
    if transfer.access.kind.fetches() {
        return Level::must_if(machine.is_back(state, access));
    }
    let is_over = machine.is_over(state, access);
    Level::must_if(is_over || machine.is_let_in(state, transfer.epoch, transfer.access.target))
        .or_may_if(true)
}

/// An exposure epoch that counts as one: to a group, or of a fence if somebody uses it.
fn is_exposure(epoch: &Epoch) -> bool {
    epoch.kind == EpochKind::Exposure || (epoch.kind == EpochKind::Fence && epoch.is_exposed)
}

/// Whether an origin has completed its access to a rank that exposes its memory, and the accesses are complete here.
fn has_completed(machine: &Machine<'_, WeakestMpi>, state: &State, exposure: &Epoch, origin: u8) -> bool {
    let Some(access) = exposure.partners[usize::from(origin)] else { return false };
    let epoch = &machine.plan.epochs[access];
    let here = epoch.accesses.iter().filter(|id| machine.plan.accesses[**id].access.target == exposure.rank);
    state.epoch(machine.layout, access) != EpochPhase::Deferred
        && epoch.closed_at.is_some_and(|at| state.called(origin, at))
        && machine.all_over(state, here)
}

/// 12.5.1: "a call to `MPI_WIN_FENCE` that is known not to end any epoch does not necessarily act as a barrier"; any other
/// returns when all ranks have entered it, what they access here is complete, and so is what this rank fetches. What it writes
/// elsewhere is complete there when the *target's* fence returns (12.7).
fn fence(machine: &Machine<'_, WeakestMpi>, state: &State, rank: u8, at: u8) -> Level {
    let plan = machine.plan;
    let step = &plan.steps[usize::from(rank)][usize::from(at)];
    let Some(Statement::Synchronize(window, call)) = machine.statement(rank, at) else { return Level::Must };
    // language.md, Windows: the request of the first `ifence` of a window is complete from the beginning.
    if call.later && step.closes.is_none() {
        return Level::Must;
    }
    let has_entered = |other: u8| {
        let opened = plan.fence_epoch(other, *window, step.fence);
        let is_active = |epoch: EpochId| state.epoch(machine.layout, epoch) != EpochPhase::Deferred;
        let before = step.fence.checked_sub(1).and_then(|before| plan.fence_epoch(other, *window, before));
        opened.is_some_and(|epoch| state.called(other, plan.epochs[epoch].opened_at))
            && before.is_none_or(is_active)
    };
    let all = (0..plan.ranks()).all(has_entered);
    let ended = step.closes.map(|epoch| &plan.epochs[epoch]);
    let is_over = ended.is_none_or(|ended| {
        members(ended.peers).all(|origin| {
            let there =
                ended.partners[usize::from(origin)].map_or(&[][..], |epoch| &plan.epochs[epoch].accesses);
            machine.all_over(state, there.iter().filter(|id| plan.accesses[**id].access.target == rank))
        }) && all_back(machine, state, &ended.accesses)
    });
    Level::must_if(all && is_over).or_may_if(step.ends_none)
}

/// Whether an epoch is surely complete: its close has returned, or another epoch that it holds back has begun.
fn is_past(machine: &Machine<'_, WeakestMpi>, state: &State, epoch: &Epoch) -> bool {
    let Some(at) = epoch.closed_at else { return false };
    let step = &machine.plan.steps[usize::from(epoch.rank)][usize::from(at)];
    let returned_at = if epoch.closed_later { step.waited_at } else { Some(at) };
    let is_behind = |(id, later): (EpochId, &Epoch)| {
        (later.rank, later.window) == (epoch.rank, epoch.window)
            && later.opened_at >= at
            && !passes(machine, epoch, later)
            && state.epoch(machine.layout, id) == EpochPhase::Active
    };
    returned_at.is_some_and(|at| state.returned(epoch.rank, at))
        || machine.plan.epochs.iter().enumerate().any(is_behind)
}

/// Whether an epoch may begin before an earlier one is complete.
fn passes(machine: &Machine<'_, WeakestMpi>, earlier: &Epoch, later: &Epoch) -> bool {
    use EpochKind::{Access, Exposure, Fence, Lock, LockAll};
    let flags = machine.plan.program.windows[usize::from(later.window)].flags;
    let set = |flag: Flag| flags[flag as usize];
    let apart = earlier.peers & later.peers == 0;
    match (earlier.kind, later.kind) {
        (Fence, Access | Lock | Exposure | LockAll) => earlier.accesses.is_empty(),
        (Fence | LockAll, _) | (_, Fence | LockAll) => false,
        (Access, Access) => set(Flag::AccessAfterAccess),
        (Access, Lock) | (Lock, Access | Lock) => set(Flag::AccessAfterAccess) && apart,
        (Access | Lock, Exposure) => set(Flag::ExposureAfterAccess),
        (Exposure, Access | Lock) => set(Flag::AccessAfterExposure),
        (Exposure, Exposure) => set(Flag::ExposureAfterExposure),
    }
}

/// Whether a holder excludes a request. A rank does not hold one lock twice.
fn is_excluded(machine: &Machine<'_, WeakestMpi>, state: &State, lock: LockId) -> bool {
    let request = &machine.plan.locks[lock];
    machine.plan.locks.iter().enumerate().any(|(other, holder)| {
        (holder.window, holder.target) == (request.window, request.target)
            && state.lock(machine.layout, other) == LockPhase::Granted
            && (holder.exclusive || request.exclusive || holder.origin == request.origin)
    })
}
