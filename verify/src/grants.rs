//! Blocking calls that open an epoch: which of them may return.
//!
//! The library returns at once from all of them but one: it gives a program the lock of its own memory before the call
//! that asks for it returns, because the program may access that memory by itself from then on (MPI-4.1, 12.5.3). Under
//! the weakest MPI, each of them may return at once, or wait until every target has granted the access (12.5.2, 12.5.3).
//! A call without waiting (`istart`, `ilock`) is none of MPI's, and returns at once everywhere.

use crate::program::Synchronization;
use crate::state::Proc;
use carrousel_rank::epoch::{Call, EpochKind};
use carrousel_rank::{Protocol, RankId, WindowIndex};

/// Whether a target has granted the epoch that a call has opened.
fn is_granted_by<P: Protocol>(proc: &Proc<P>, opening: &Synchronization, target: RankId) -> bool {
    let kind = match opening.call() {
        Call::Start(_) => EpochKind::Access,
        Call::Lock { .. } => EpochKind::Lock,
        Call::LockAll => EpochKind::LockAll,
        _ => return true,
    };
    let window = proc.rank.window(WindowIndex(u32::from(opening.window)));
    // Behind the call the epoch is open. Of those with a start or a lock_all there is one at a time, and one with a lock
    // for each target. Without any, the call was refused, and waits for nothing.
    let mut open = window.into_iter().flat_map(|window| window.epochs()).filter(|epoch| {
        let name = epoch.name();
        let is_of_target = kind != EpochKind::Lock || name.target == Some(target);
        name.kind == kind && is_of_target && !epoch.is_closed()
    });
    open.all(|epoch| epoch.targets().any(|granted| granted.rank == target && granted.is_granted))
}

/// The targets of an epoch, by the call that opens it.
fn targets(opening: &Synchronization, ranks: u16) -> impl Iterator<Item = RankId> {
    let (some, all) = match opening.call() {
        Call::Start(group) => (group, 0..0),
        Call::Lock { target, .. } => (&[][..], target.0..target.0 + 1),
        Call::LockAll => (&[][..], 0..u32::from(ranks)),
        _ => (&[][..], 0..0),
    };
    some.iter().copied().chain(all.map(RankId))
}

/// The ranks that have not granted the epoch that a call has opened.
pub(crate) fn missing<P: Protocol>(
    proc: &Proc<P>,
    opening: &Synchronization,
    ranks: u16,
) -> impl Iterator<Item = u16> {
    targets(opening, ranks)
        .filter(|target| !is_granted_by(proc, opening, *target))
        .map(|target| target.0 as u16)
}

/// Whether a call that opens an epoch has to wait for the lock of the memory of its own rank.
pub(crate) fn lacks_own_lock<P: Protocol>(proc: &Proc<P>, rank: u16, opening: &Synchronization) -> bool {
    let me = RankId(u32::from(rank));
    let locks_own = match opening.call() {
        Call::Lock { target, .. } => target == me,
        Call::LockAll => true,
        _ => false,
    };
    locks_own && !is_granted_by(proc, opening, me)
}
