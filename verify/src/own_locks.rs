//! The locks that ranks hold, by the word of those who hold them.

use crate::open_epochs::EpochForm;
use crate::state::{Proc, State};
use crate::violation::{Violation, ViolationKind};
use carrousel_rank::epoch::Mode;
use carrousel_rank::{Protocol, WindowIndex};
use carrousel_scenario::Check;

/// A step of `me` may have given it a lock: no other rank may have one that excludes it.
pub(crate) fn check_exclusion<P: Protocol>(windows: u16, before: &State<P>, state: &mut State<P>, me: u16) {
    for window in 0..windows {
        // The locks of others have not changed.
        if locks_held(&before.procs[usize::from(me)], window)
            .eq(locks_held(&state.procs[usize::from(me)], window))
        {
            continue;
        }
        for (host, mode) in locks_held(&state.procs[usize::from(me)], window) {
            let others = state.ranks().filter(|(rank, _)| *rank != me);
            let holder = others
                .filter(|(_, proc)| {
                    locks_held(proc, window).any(|(of, other)| of == host && mode.excludes(other))
                })
                .map(|(rank, _)| rank)
                .next();
            if let Some(holder) = holder {
                let kind = ViolationKind::LockedTwice { at: host, origin: me, holder };
                state.violations.push(Violation { check: Check::LockExclusion, kind });
                return;
            }
        }
    }
}

/// A step of `me` has exposed its memory: no rank may be between lock and unlock there. A lock that its origin has
/// requested only is not in the way yet: it is one that comes too early, and the host reports that.
pub(crate) fn check_not_locked<P: Protocol>(window: u16, state: &mut State<P>, me: u16) {
    let Some(view) = state.procs[usize::from(me)].rank.window(WindowIndex(u32::from(window))) else { return };
    let is_open = |proc: &Proc<P>| {
        let locks = |form| matches!(form, EpochForm::Lock(host) if host == me) || form == EpochForm::LockAll;
        proc.epochs.iter().any(|epoch| epoch.window == window && locks(epoch.form))
    };
    let holders = view.lock().holders().map(|grant| grant.origin.0 as u16);
    let mut others = holders.filter(|origin| *origin != me);
    if let Some(holder) = others.find(|origin| is_open(&state.procs[usize::from(*origin)])) {
        let kind = ViolationKind::ExposedWhileLocked { at: me, holder };
        state.violations.push(Violation { check: Check::EpochUsage, kind });
    }
}

/// The locks that a rank holds: of whose memory, and how.
fn locks_held<P: Protocol>(proc: &Proc<P>, window: u16) -> impl Iterator<Item = (u16, Mode)> {
    let window = proc.rank.window(WindowIndex(u32::from(window)));
    let epochs = window.into_iter().flat_map(|window| window.epochs());
    epochs.filter(|epoch| epoch.name().kind.locks()).flat_map(|epoch| {
        let held = epoch.targets().filter(|target| target.is_granted && !target.is_finished);
        held.map(move |target| (target.rank.0 as u16, epoch.mode()))
    })
}
