//! The library of this project, as the page of the language describes it (docs/language.md, Windows; where that page is
//! silent, the sentence of the notes on its protocol that is relied on stands beside the rule).

use crate::machine::{Event, Level, Library, Machine, Transition, Violated};
use crate::plan::{AccessId, Epoch, EpochId, EpochKind, LockId};
use crate::program::{AccessKind, Call, Flag, Statement, Synchronization, members};
use crate::state::{EpochPhase, LockPhase, State};

/// The library of this project.
pub(crate) enum DefaultLibrary {}

impl Library for DefaultLibrary {
    /// "A message of at most `eager_threshold` bytes is eager: a standard send of it completes without its receive."
    const SENDS: Level = Level::Must;

    /// "`start`, `post`, `lock` and `lock_all` return at once, except that a blocking lock of the rank's own memory returns
    /// when it is granted." `lock_all` locks that, too.
    fn waits(machine: &Machine<'_, Self>, rank: u8, at: u8, synchronization: Synchronization) -> bool {
        match synchronization.call {
            Call::Start(_) | Call::Post(_) => false,
            Call::Lock { target, .. } => target == rank,
            Call::Fence { .. } => machine.plan.steps[usize::from(rank)][usize::from(at)].closes.is_some(),
            _ => true,
        }
    }

    fn completes(machine: &Machine<'_, Self>, state: &State, rank: u8, at: u8) -> Level {
        let step = &machine.plan.steps[usize::from(rank)][usize::from(at)];
        // "`flush_local`: its buffers may be used again": the buffer of a write is free once that is on its way.
        let is_local = |access: &AccessId| {
            let transfer = &machine.plan.accesses[*access];
            match transfer.access.kind.fetches() {
                true => machine.is_over(state, *access),
                false => {
                    machine.is_let_in(state, transfer.epoch, transfer.access.target)
                        || machine.is_over(state, *access)
                }
            }
        };
        let Some(Statement::Synchronize(_, synchronization)) = machine.statement(rank, at) else {
            return Level::must_if(step.access.iter().all(is_local));
        };
        let is_complete = |epoch: EpochId| state.epoch(machine.layout, epoch) == EpochPhase::Complete;
        match synchronization.call {
            Call::Start(_) | Call::Post(_) => Level::Must,
            Call::Lock { .. } | Call::LockAll if synchronization.later => Level::Must,
            Call::Lock { .. } | Call::LockAll => {
                let own = step.opens.into_iter().flat_map(|epoch| &machine.plan.epochs[epoch].locks);
                let mut own = own.filter(|lock| machine.plan.locks[**lock].target == rank);
                Level::must_if(own.all(|lock| state.lock(machine.layout, *lock) == LockPhase::Granted))
            }
            Call::Flush { local: true, .. } => Level::must_if(step.covers.iter().all(is_local)),
            Call::Flush { local: false, .. } => Level::must_if(machine.all_over(state, &step.covers)),
            Call::Fence { .. } | Call::Complete | Call::WaitEpoch | Call::Unlock(_) | Call::UnlockAll => {
                Level::must_if(step.closes.is_none_or(is_complete))
            }
        }
    }

    /// "An epoch that was closed without blocking is completed before later epochs of its window begin, unless a reorder flag
    /// lets these pass." Epochs become active in the order in which they were opened (notes, 4).
    fn activates(machine: &Machine<'_, Self>, state: &State, epoch: EpochId) -> Level {
        let candidate = &machine.plan.epochs[epoch];
        let mut earlier = machine.plan.epochs.iter().enumerate().filter(|(_, other)| {
            (other.rank, other.window) == (candidate.rank, candidate.window)
                && other.opened_at < candidate.opened_at
        });
        // "Lock and exposure take turns": the memory of the rank is not exposed while somebody holds its lock (notes, R13).
        let is_locked = candidate.kind == EpochKind::Exposure
            && holders(machine, state, candidate.window, candidate.rank).next().is_some();
        let passes = |(other, earlier): (EpochId, &Epoch)| match state.epoch(machine.layout, other) {
            EpochPhase::Deferred => false,
            EpochPhase::Active => may_overlap(machine, earlier, candidate),
            EpochPhase::Complete => true,
        };
        Level::must_if(!is_locked && earlier.all(passes))
    }

    fn is_complete(machine: &Machine<'_, Self>, state: &State, epoch: EpochId) -> bool {
        let this = &machine.plan.epochs[epoch];
        if !is_closed(state, this) {
            return false;
        }
        let mut peers = members(this.peers);
        match this.kind {
            // "`complete`, `unlock` and `unlock_all` return when their operations are complete, so not before the matching
            // exposure, or the lock, was granted."
            EpochKind::Access | EpochKind::Lock | EpochKind::LockAll => {
                let is_granted = |peer| {
                    let lock = this.locks.iter().find(|lock| machine.plan.locks[**lock].target == peer);
                    // The lock may be given back before its origin knows that all is complete.
                    let is_back = |lock: &LockId| state.lock(machine.layout, *lock) == LockPhase::Released;
                    machine.is_let_in(state, epoch, peer) || lock.is_some_and(is_back)
                };
                peers.all(is_granted) && machine.all_over(state, &this.accesses)
            }
            // "`wait_epoch`: all origins have completed theirs."
            EpochKind::Exposure => peers.all(|origin| is_done(machine, state, this, origin)),
            // "A fence that ends an epoch waits for all ranks", for their accesses to this one, and for its own.
            EpochKind::Fence => {
                machine.all_over(state, &this.accesses)
                    && peers.all(|peer| {
                        is_done(machine, state, this, peer) && machine.is_let_in(state, epoch, peer)
                    })
            }
        }
    }

    fn has_given_back(machine: &Machine<'_, Self>, state: &State, lock: LockId) -> bool {
        state.epoch(machine.layout, machine.plan.locks[lock].epoch) == EpochPhase::Complete
    }

    /// "These four operations are atomic with respect to each other."
    fn conflict(machine: &Machine<'_, Self>, one: AccessId, other: AccessId) -> bool {
        let accesses = &machine.plan.accesses;
        !(accesses[one].is_atomic() && accesses[other].is_atomic())
    }

    /// The page says nothing of the order of accesses. The contract of transports orders what a rank reads from another one,
    /// and its atomics, each among themselves (transport/src/lib.rs, Order).
    fn precedes(machine: &Machine<'_, Self>, earlier: AccessId, later: AccessId) -> bool {
        let (earlier, later) = (&machine.plan.accesses[earlier], &machine.plan.accesses[later]);
        earlier.access.kind.fetches()
            && later.access.kind.fetches()
            && earlier.is_atomic() == later.is_atomic()
    }

    /// The origin hears of it when it is over at the target.
    fn outlasts_its_answer(_: AccessKind) -> bool {
        false
    }

    /// "The memory of a rank must not be locked while it is exposed." The one who exposes it finds the lock held, by a rank
    /// that has not called its unlock.
    fn called(machine: &Machine<'_, Self>, state: &State, rank: u8, at: u8) -> (Violated, bool) {
        let Some(Statement::Synchronize(window, Synchronization { call: Call::Post(_), .. })) =
            machine.statement(rank, at)
        else {
            return (Violated::default(), false);
        };
        let mut held = holders(machine, state, *window, rank);
        let is_locked = held.any(|lock| {
            let lock = &machine.plan.locks[lock];
            lock.origin != rank && !is_closed(state, &machine.plan.epochs[lock.epoch])
        });
        (if is_locked { Violated::EPOCHS } else { Violated::default() }, false)
    }

    fn lock_steps(machine: &Machine<'_, Self>, state: &State, out: &mut Vec<Transition>) {
        for (lock, request) in machine.plan.locks.iter().enumerate() {
            match state.lock(machine.layout, lock) {
                LockPhase::Requested => arrive(machine, state, lock, out),
                LockPhase::Granted
                    if is_closed(state, &machine.plan.epochs[request.epoch])
                        && machine.all_over(state, &request.accesses) =>
                {
                    let mut next = *state;
                    next.set_lock(machine.layout, lock, LockPhase::Released);
                    machine.push(Event::Released(lock), true, next, Violated::default(), false, out);
                }
                _ => {}
            }
        }
    }

    /// Locks are granted in order of arrival, shared ones together; a shared request does not pass an exclusive one that
    /// waits (notes, R6).
    fn settle_locks(machine: &Machine<'_, Self>, state: &mut State) -> bool {
        let plan = machine.plan;
        let first = (0..plan.locks.len()).find(|lock| {
            let request = &plan.locks[*lock];
            let mut held = holders(machine, state, request.window, request.target);
            let excludes = |holder: LockId| request.exclusive || plan.locks[holder].exclusive;
            state.lock(machine.layout, *lock) == LockPhase::Queued(0) && !held.any(excludes)
        });
        let Some(granted) = first else { return false };
        let host = (plan.locks[granted].window, plan.locks[granted].target);
        state.set_lock(machine.layout, granted, LockPhase::Granted);
        for (other, _) in plan.locks.iter().enumerate().filter(|(_, it)| (it.window, it.target) == host) {
            if let LockPhase::Queued(behind @ 1..) = state.lock(machine.layout, other) {
                state.set_lock(machine.layout, other, LockPhase::Queued(behind - 1));
            }
        }
        true
    }
}

fn is_closed(state: &State, epoch: &Epoch) -> bool {
    epoch.closed_at.is_some_and(|at| state.called(epoch.rank, at))
}

/// The locks of a rank's memory that are held.
fn holders<'b>(
    machine: &'b Machine<'_, DefaultLibrary>,
    state: &'b State,
    window: u8,
    target: u8,
) -> impl Iterator<Item = LockId> + 'b {
    let locks = machine.plan.locks.iter().enumerate();
    let held = locks.filter(move |(lock, request)| {
        (request.window, request.target) == (window, target)
            && state.lock(machine.layout, *lock) == LockPhase::Granted
    });
    held.map(|(lock, _)| lock)
}

/// Whether the origin has told an exposing rank that its accesses are over: it has closed its epoch, which this rank has let
/// in, and they are. A fence is told once the epochs inside its own are complete.
fn is_done(machine: &Machine<'_, DefaultLibrary>, state: &State, exposure: &Epoch, origin: u8) -> bool {
    let Some(access) = exposure.partners[usize::from(origin)] else { return false };
    let epoch = &machine.plan.epochs[access];
    let mut inside = machine.plan.epochs.iter().enumerate().filter(|(_, other)| other.inside == Some(access));
    let here = epoch.accesses.iter().filter(|id| machine.plan.accesses[**id].access.target == exposure.rank);
    is_closed(state, epoch)
        && machine.is_let_in(state, access, exposure.rank)
        && inside.all(|(other, _)| state.epoch(machine.layout, other) == EpochPhase::Complete)
        && machine.all_over(state, here)
}

/// Whether an epoch may be active beside an earlier one (notes, 4, the table).
fn may_overlap(machine: &Machine<'_, DefaultLibrary>, earlier: &Epoch, later: &Epoch) -> bool {
    use EpochKind::{Access, Exposure, Fence, Lock, LockAll};
    let flags = machine.plan.program.windows[usize::from(later.window)].flags;
    let set = |flag: Flag| flags[flag as usize];
    let is_nested = earlier.closed_at.is_none_or(|at| at > later.opened_at);
    let apart = earlier.peers & later.peers == 0;
    match (earlier.kind, later.kind) {
        (Fence, Fence) | (LockAll, _) | (Access | Lock | Exposure, Fence | LockAll) => false,
        (Fence, _) => earlier.accesses.is_empty(),
        (Access, Access) => set(Flag::AccessAfterAccess),
        (Access, Lock) | (Lock, Access) => set(Flag::AccessAfterAccess) && apart,
        (Lock, Lock) => (set(Flag::AccessAfterAccess) || is_nested) && apart,
        (Access | Lock, Exposure) => set(Flag::ExposureAfterAccess) || is_nested,
        (Exposure, Access | Lock) => set(Flag::AccessAfterExposure) || is_nested,
        (Exposure, Exposure) => set(Flag::ExposureAfterExposure),
    }
}

/// A request arrives at its host. It is held back there while the host exposes its memory to a group, and until a fence is
/// over at the host that is over at the origin (notes, R13).
fn arrive(machine: &Machine<'_, DefaultLibrary>, state: &State, lock: LockId, out: &mut Vec<Transition>) {
    let plan = machine.plan;
    let request = &plan.locks[lock];
    let epoch = &plan.epochs[request.epoch];
    let is_active = |id: EpochId| state.epoch(machine.layout, id) == EpochPhase::Active;
    // What one rank sends to another arrives in order: the lock before is back.
    let mut before = plan.locks[..lock].iter().enumerate().filter(|(_, other)| {
        (other.origin, other.target, other.window) == (request.origin, request.target, request.window)
    });
    if !before.all(|(other, _)| state.lock(machine.layout, other) == LockPhase::Released) {
        return;
    }
    let exposures = plan.epochs.iter().enumerate().filter(|(id, other)| {
        other.kind == EpochKind::Exposure
            && (other.rank, other.window) == (request.target, request.window)
            && is_active(*id)
    });
    let mut is_held_back = false;
    for (_, exposure) in exposures {
        is_held_back = true;
        if !is_closed(state, exposure) {
            out.push(Transition {
                event: Event::Arrives(lock),
                must: false,
                state: *state,
                violated: Violated::EPOCHS,
                is_last: false,
            });
        }
    }
    let left = plan.epochs.iter().filter(|other| {
        other.kind == EpochKind::Fence
            && (other.rank, other.window) == (request.origin, request.window)
            && other.closed_at.is_some_and(|at| at < epoch.opened_at)
    });
    is_held_back |=
        left.into_iter().any(|fence| fence.partners[usize::from(request.target)].is_some_and(is_active));
    if is_held_back {
        return;
    }
    let waiting = plan.locks.iter().enumerate().filter(|(id, other)| {
        (other.window, other.target) == (request.window, request.target)
            && matches!(state.lock(machine.layout, *id), LockPhase::Queued(_))
    });
    let mut next = *state;
    next.set_lock(machine.layout, lock, LockPhase::Queued(waiting.count() as u8));
    machine.push(Event::Arrives(lock), true, next, Violated::default(), false, out);
}
