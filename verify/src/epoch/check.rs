//! The properties that every execution keeps. Each is named at the head of its text.

use super::program::{EpochProgram, EpochStep};
use super::rank::{BUFFERS, EpochRank, ObservedEpoch, StandsFor, WaitsFor, WindowOperation, id};
use super::state::{EpochState, OperationName, StoredWord, insert_sorted};
use carrousel_epoch::{
    AllEpochRules, Call, EpochKind, EpochView, Failure, Flags, GrantWord, Mode, OriginView, Packet, Relation,
    RequestId, Returned, Transfer, may_overlap,
};
use carrousel_lock::Grant;

fn unless(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// S11: what opens an epoch is complete at once, and leaves no request; what closes one has a request that is.
pub(super) fn returned(rank: &EpochRank, call: Call<'static>, returned: Returned) -> Result<(), String> {
    let (is_right, what) = match call {
        Call::Post(_) | Call::Start(_) | Call::Lock { .. } | Call::LockAll => {
            (returned == Returned::Nothing, "an opening call")
        }
        // MPI-4.1 12.5.1: a fence that ends no epoch has nothing to wait for.
        Call::Fence if rank.fences == 0 => (returned == Returned::Nothing, "the first fence"),
        Call::Wait | Call::Complete | Call::Unlock(_) | Call::UnlockAll | Call::Fence => {
            (matches!(returned, Returned::Request(_)), "a close")
        }
        Call::FlushWithRequest(_) => (matches!(returned, Returned::Request(_)), "a flush with a request"),
        Call::Flush(_) => (matches!(returned, Returned::Flush(_)), "a flush"),
        Call::Transfer { with_request, .. } => {
            (matches!(returned, Returned::Request(_)) == with_request, "an operation")
        }
        Call::Test => (true, ""),
    };
    unless(is_right, || format!("at-birth: {what} gives {returned:?}"))
}

/// S2: a transfer begins when its access is granted.
pub(super) fn issue(state: &EpochState, me: usize, epoch: u64, transfer: Transfer) -> Result<(), String> {
    let rank = &state.ranks[me];
    let is_granted = rank.access_of(epoch, transfer.target).is_some_and(|(word, access)| {
        rank.window.counts(transfer.target, word).is_some_and(|counts| access <= counts.granted)
    });
    unless(is_granted, || {
        format!("granted-first: rank {me} accesses {}, which has not granted it", transfer.target)
    })
}

/// S3: a transfer acts while the exposure of its id is active, and of its kind, or while its lock is held.
pub(super) fn act(state: &EpochState, name: OperationName) -> Result<(), String> {
    let operation = state.operation(name);
    let host = &state.ranks[operation.target].window;
    let origin = id(name.origin);
    let kind = state.ranks[name.origin].epochs.get(operation.epoch as usize).map(|epoch| epoch.kind);
    let access = operation.access.map(|(_, access)| access);
    let is_its = |of: OriginView| of.rank == origin && Some(of.exposure) == access && !of.is_done;
    let is_exposed = |exposure| {
        host.epochs()
            .any(|view| view.is_active() && view.name().kind == exposure && view.origins().any(is_its))
    };
    let is_allowed = match kind {
        Some(EpochKind::Lock | EpochKind::LockAll) => {
            host.lock().holders().any(|holder| holder.origin == origin)
        }
        Some(EpochKind::Fence) => is_exposed(EpochKind::Fence),
        Some(EpochKind::Access) => is_exposed(EpochKind::Exposure),
        Some(EpochKind::Exposure) | None => false,
    };
    unless(is_allowed, || {
        format!(
            "exposed: an operation of rank {} acts on memory of rank {} that is not exposed to it",
            name.origin, operation.target
        )
    })
}

/// S13: accumulates of one origin act at a target in the order in which they were called.
pub(super) fn order(state: &EpochState, name: OperationName) -> Result<(), String> {
    let operations = &state.ranks[name.origin].operations;
    let (earlier, this) = (&operations[..name.at], &operations[name.at]);
    let is_late = |it: &WindowOperation| it.kind.accumulates() && it.target == this.target && !it.has_acted;
    unless(!this.kind.accumulates() || !earlier.iter().any(is_late), || {
        format!("accumulate-order: an accumulate of rank {} overtakes an earlier one", name.origin)
    })
}

/// No operand is written into a buffer that has another.
pub(super) fn buffers(state: &EpochState, me: usize) -> Result<(), String> {
    unless(state.given_buffers[me] <= BUFFERS, || {
        format!("staging: rank {me} gives a buffer to two origins at once")
    })
}

/// S4: one Done or LockRelease for each target of an epoch, after its close.
pub(super) fn post(state: &mut EpochState, me: usize, to: usize, packet: Packet) -> Result<(), String> {
    let Some((word, access)) = state.ranks[me].ended_by(packet) else { return Ok(()) };
    let is_first = insert_sorted(&mut state.finished, (me as u8, to as u8, word, access));
    unless(is_first, || format!("one-done: rank {me} is done twice with access {access} to rank {to}"))?;
    let is_its = |epoch: &&ObservedEpoch| {
        state.ranks[me].window.word(epoch.kind) == word && epoch.targets.contains(&(to, access))
    };
    let is_closed = state.ranks[me].epochs.iter().find(is_its).is_none_or(|epoch| !epoch.is_open);
    unless(is_closed, || {
        format!("one-done: rank {me} is done with access {access} to rank {to}, which is open")
    })
}

/// S4: when Done or LockRelease arrives, every transfer of the epoch to this target has acted.
pub(super) fn finished(state: &EpochState, from: usize, to: usize, packet: Packet) -> Result<(), String> {
    let Some(access) = state.ranks[from].ended_by(packet) else { return Ok(()) };
    // An operation that has not begun is late, too.
    let is_late = |operation: &WindowOperation| {
        let is_its = || state.ranks[from].access_of(operation.epoch, id(to)) == Some(access);
        operation.target == to && !operation.has_acted && is_its()
    };
    let is_last = !state.ranks[from].operations.iter().any(is_late);
    unless(is_last, || {
        format!("done-is-last: rank {from} is done at rank {to} before its transfer has acted")
    })
}

/// S5, S9, S10, S11: a request is complete once, and not too early.
pub(super) fn complete(
    state: &mut EpochState,
    me: usize,
    request: RequestId,
    result: Result<(), Failure>,
) -> Result<(), String> {
    unless(result.is_ok(), || format!("success: {request} of rank {me} fails, though every rank lives"))?;
    let at = state.ranks[me].requests.iter().position(|(open, _)| *open == request);
    let Some(at) = at else { return Err(format!("once: {request} of rank {me} is not open")) };
    let (_, stands_for) = state.ranks[me].requests.remove(at);
    if let StandsFor::Close(number) = stands_for {
        state.ranks[me].epochs[number as usize].has_ended = true;
    }
    let rank = &state.ranks[me];
    let has_ended = |at: &u8, is_local: bool| {
        let operation = &rank.operations[usize::from(*at)];
        if is_local { operation.is_local } else { operation.is_complete }
    };
    match stands_for {
        StandsFor::Close(number) => closed(state, me, number),
        StandsFor::Flush(operations, is_local) => {
            let is_due = operations.iter().all(|at| has_ended(at, is_local));
            unless(is_due, || format!("flush: {request} of rank {me} is complete before what it flushes"))
        }
        StandsFor::Operation(at) => unless(has_ended(&at, true), || {
            format!("own-request: {request} of rank {me} is complete too early")
        }),
    }
}

fn closed(state: &EpochState, me: usize, number: u64) -> Result<(), String> {
    let rank = &state.ranks[me];
    let epoch = &rank.epochs[number as usize];
    if epoch.kind == EpochKind::Fence {
        let late = state.ranks.iter().position(|other| other.fences < epoch.fences);
        unless(late.is_none(), || {
            format!(
                "fence-is-barrier: a fence of rank {me} is complete before rank {} calls it",
                late.unwrap_or_default()
            )
        })?;
    }
    for (origin, exposure) in &epoch.origins {
        let done = (*origin as u8, me as u8, GrantWord::Exposures, *exposure);
        unless(state.finished.binary_search(&done).is_ok(), || {
            format!("done-by-all: an exposure of rank {me} ends before rank {origin} is done with it")
        })?;
        let is_late = |operation: &WindowOperation| {
            let is_its =
                operation.target == me && operation.access == Some((GrantWord::Exposures, *exposure));
            let kind = state.ranks[*origin].epochs[operation.epoch as usize].kind;
            is_its && !kind.locks() && !operation.has_acted
        };
        let is_there = !state.ranks[*origin].operations.iter().any(is_late);
        unless(is_there, || {
            format!("data-is-there: an exposure of rank {me} ends before data of rank {origin} is there")
        })?;
    }
    let is_done = rank
        .operations
        .iter()
        .filter(|operation| operation.epoch == number)
        .all(|operation| operation.is_complete);
    unless(is_done, || format!("close-completes: an epoch of rank {me} ends before its operations"))
}

/// What holds in every state.
pub(super) fn state(state: &EpochState, program: &EpochProgram) -> Result<(), String> {
    for (me, rank) in state.ranks.iter().enumerate() {
        counts(state, me)?;
        table(me, rank, program.flags)?;
        flushes(me, rank)?;
        blocking_flush(me, rank, &program.ranks[me])?;
        lock(me, rank)?;
        // S15: with closes that wait, nothing is deferred while the program runs. But an exposure may have to wait for the
        // release of a lock that was given back.
        let is_immediate = !program.is_blocking || !rank.is_free() || rank.window.deferred() == 0;
        unless(is_immediate || !rank.window.lock().is_free(), || {
            format!("blocking-is-immediate: an epoch of rank {me} is deferred, though every close waits")
        })?;
    }
    Ok(())
}

/// S8, and that memory is not locked and exposed at once.
fn lock(me: usize, rank: &EpochRank) -> Result<(), String> {
    let lock = rank.window.lock();
    if lock.is_free() {
        return Ok(());
    }
    exclusion(me, lock.holders())?;
    let mut active = rank.window.epochs().filter(EpochView::is_active);
    let has_left =
        |origin: OriginView| origin.is_done && lock.holders().any(|holder| holder.origin == origin.rank);
    let is_exposed = active.any(|view| match view.name().kind {
        EpochKind::Exposure => true,
        // Its holder has left the fence epoch, whose data may be on its way.
        EpochKind::Fence => view.origins().any(has_left),
        EpochKind::Access | EpochKind::Lock | EpochKind::LockAll => false,
    });
    unless(!is_exposed, || format!("locked-or-exposed: the memory of rank {me} is locked and exposed"))
}

/// S8: an exclusive holder is alone.
fn exclusion(me: usize, holders: impl Iterator<Item = Grant>) -> Result<(), String> {
    let holders: Vec<Grant> = holders.collect();
    let is_exclusive = holders.iter().any(|holder| holder.mode == Mode::Exclusive);
    unless(!is_exclusive || holders.len() == 1, || {
        format!("exclusion: the lock of rank {me} has several holders")
    })
}

/// S1: g is a late copy of the peer's e.
fn counts(state: &EpochState, me: usize) -> Result<(), String> {
    for (other, peer) in state.ranks.iter().enumerate() {
        for word in [GrantWord::Exposures, GrantWord::Locks] {
            let granted = state.ranks[me].window.counts(id(other), word).map_or(0, |counts| counts.granted);
            let given = peer.window.counts(id(me), word).map_or(0, |counts| counts.given);
            unless(granted <= given, || {
                format!("late-copy: rank {me} knows more grants of rank {other} than there are")
            })?;
        }
    }
    Ok(())
}

/// S1: what a host stores in a grant word has grown.
pub(super) fn store(known: StoredWord, me: usize, to: usize, value: u64) -> Result<(), String> {
    unless(value > known.stored, || {
        format!("counts-grow: rank {me} grants {value} to rank {to}, and has granted {}", known.stored)
    })
}

/// S6, S7: epochs are active in opening order, and beside those only that the table allows.
fn table(me: usize, rank: &EpochRank, flags: Flags) -> Result<(), String> {
    let views = || rank.window.epochs();
    let newest = views().filter(EpochView::is_active).map(|view| view.name().number).max();
    let deferred = views().filter(|view| !view.is_active()).map(|view| view.name().number).min();
    let is_ordered = newest.zip(deferred).is_none_or(|(active, deferred)| active < deferred);
    unless(is_ordered, || format!("opening-order: rank {me} activates an epoch before an earlier one"))?;
    for earlier in views().filter(EpochView::is_active) {
        for later in views().filter(EpochView::is_active) {
            let (early, late) = (earlier.name(), later.name());
            if early.number >= late.number {
                continue;
            }
            let (Some(one), Some(other)) =
                (rank.epochs.get(early.number as usize), rank.epochs.get(late.number as usize))
            else {
                continue;
            };
            let relation = Relation {
                is_nested: other.inside & 1 << early.number != 0,
                is_inert: !earlier.has_operations(),
                has_common_target: one
                    .targets
                    .iter()
                    .any(|(rank, _)| other.targets.iter().any(|(of, _)| of == rank)),
            };
            let may = may_overlap::<AllEpochRules>(early.kind, late.kind, flags, relation);
            unless(may, || format!("table: at rank {me}, the {late} is active beside the {early}"))?;
        }
    }
    Ok(())
}

/// S10: a flush is complete as soon as what it covers is.
fn flushes(me: usize, rank: &EpochRank) -> Result<(), String> {
    for (request, stands_for) in &rank.requests {
        if let StandsFor::Flush(operations, is_local) = stands_for {
            let has_ended = |at: &u8| {
                let operation = &rank.operations[usize::from(*at)];
                if *is_local { operation.is_local } else { operation.is_complete }
            };
            let is_over = operations.iter().all(has_ended);
            unless(!is_over, || {
                format!("flush: {request} of rank {me} is not complete, though what it flushes is")
            })?;
        }
    }
    Ok(())
}

/// S10, of a flush that waits: it may return when all that was called before is complete, neither earlier nor later.
fn blocking_flush(me: usize, rank: &EpochRank, steps: &[EpochStep]) -> Result<(), String> {
    let Some(WaitsFor::Flush(point)) = rank.waits_for else { return Ok(()) };
    let called = usize::from(rank.at).checked_sub(1).and_then(|at| steps.get(at));
    let Some(EpochStep::Call(Call::Flush(flush), _)) = called else { return Ok(()) };
    let is_over = rank.covered_by(*flush).next().is_none();
    unless(rank.window.is_flushed(point) == Ok(is_over), || {
        let when =
            if is_over { "does not return, though what it flushes is complete" } else { "returns too early" };
        format!("flush: a flush of rank {me} {when}")
    })
}

/// Whether a flush with a request is under way.
pub(super) fn is_flushing(rank: &EpochRank) -> bool {
    rank.requests.iter().any(|(_, stands_for)| matches!(stands_for, StandsFor::Flush(..)))
}

/// When every rank has ended: what was requested was given, and is known; no closed epoch and no request is left.
pub(super) fn quiet(state: &EpochState) -> Result<(), String> {
    for (me, rank) in state.ranks.iter().enumerate() {
        for (other, peer) in state.ranks.iter().enumerate() {
            for word in [GrantWord::Exposures, GrantWord::Locks] {
                let counts = rank.window.counts(id(other), word).unwrap_or_default();
                let given = peer.window.counts(id(me), word).map_or(0, |counts| counts.given);
                let is_quiet = counts.requested == given && counts.granted == given;
                unless(is_quiet, || {
                    format!("quiet: at the end, rank {me} and rank {other} count differently")
                })?;
            }
        }
        let is_left = rank.window.epochs().any(|view| view.is_closed());
        unless(!is_left && rank.requests.is_empty(), || {
            format!("quiet: at the end, rank {me} has a closed epoch")
        })?;
        unless(rank.window.lock().is_free(), || format!("quiet: at the end, the lock of rank {me} is held"))?;
        unless(state.given_buffers[me] == 0, || format!("quiet: at the end, rank {me} lacks a buffer"))?;
    }
    Ok(())
}

/// Which ranks wait for ever, and at which step.
pub(super) fn stuck(state: &EpochState, program: &EpochProgram) -> String {
    let waits = state
        .ranks
        .iter()
        .enumerate()
        .filter(|(me, rank)| usize::from(rank.at) < program.ranks[*me].len() || !rank.is_free());
    let waits = waits.map(|(me, rank)| {
        let at = usize::from(rank.at) - usize::from(rank.waits_for.is_some() && !rank.is_free());
        let step = program.ranks[me].get(at).map_or(String::new(), ToString::to_string);
        format!("rank {me} waits in `{step}`")
    });
    format!("never-stuck: nothing can happen, and {}", waits.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests;
