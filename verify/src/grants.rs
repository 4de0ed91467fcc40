//! Blocking calls that open an epoch: which of them may return.
//!
//! The library returns at once from all of them but one: it gives a program the lock of its own memory before the call
//! that asks for it returns, because the program may access that memory by itself from then on (MPI-4.1, 12.5.3). Under
//! the weakest MPI, each of them may return at once, or wait until every target has granted the access (12.5.2, 12.5.3),
//! and so may the first fence of a window: fences usually are barriers, and it need not be one (12.5.1).
//! A call without waiting (`istart`, `ilock`) is none of MPI's, and returns at once everywhere.

use crate::program::Synchronization;
use crate::state::Proc;
use carrousel_rank::epoch::{AllEpochRules, Call, Window};
use carrousel_rank::{Protocol, RankId, WindowIndex};

/// The window of such a call.
fn window<'a, P: Protocol>(
    proc: &'a Proc<P>,
    opening: &Synchronization,
) -> Option<&'a Window<AllEpochRules>> {
    proc.rank.window(WindowIndex(u32::from(opening.window)))
}

/// The targets of an epoch, by the call that opens it.
fn targets(opening: &Synchronization, ranks: u16) -> impl Iterator<Item = RankId> {
    let (some, all) = match opening.call() {
        Call::Start(group) => (group, 0..0),
        Call::Lock { target, .. } => (&[][..], target.0..target.0 + 1),
        Call::LockAll | Call::Fence => (&[][..], 0..u32::from(ranks)),
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
    let window = window(proc, opening);
    let is_missing =
        move |target: &RankId| window.is_some_and(|it| !it.is_granted_by(opening.call(), *target));
    targets(opening, ranks).filter(is_missing).map(|target| target.0 as u16)
}

/// Whether a call that opens an epoch has to wait for the lock of the memory of its own rank.
pub(crate) fn lacks_own_lock<P: Protocol>(proc: &Proc<P>, opening: &Synchronization) -> bool {
    window(proc, opening).is_some_and(|it| it.lacks_own_lock(opening.call()))
}
