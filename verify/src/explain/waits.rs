//! Why calls on the epochs of windows wait, for whom, and by which rule.

use super::late::{self, Called, Late, Wait};
use super::names::Names;
use super::wait_reason::{WaitReason, held};
use super::weakest;
use super::wording::ranks;
use crate::grants;
use crate::program::{Act, Ordinal, Start};
use crate::state::{Proc, State};
use carrousel_rank::epoch::{Call, EpochKind, Inefficiency, Mode};
use carrousel_rank::{Protocol, RankId, WindowIndex};

/// Some of the ranks that a call waits for, and those of them that are late.
struct MissingRanks {
    ranks: Vec<u16>,
    late: Vec<Late>,
}

impl MissingRanks {
    const fn new() -> Self {
        Self { ranks: Vec::new(), late: Vec::new() }
    }

    fn add(&mut self, rank: RankId, late: Option<(Inefficiency, u16, bool)>) {
        let rank = rank.0 as u16;
        if let Err(at) = self.ranks.binary_search(&rank) {
            self.ranks.insert(at, rank);
        }
        late::add(&mut self.late, late);
    }
}

/// Why an epoch's close, a flush, an access with a request, or the end of a blocking call that opens an epoch waits; `None`
/// for another request.
pub(super) fn reason<P: Protocol>(
    names: &Names<'_>,
    state: &State<P>,
    proc: &Proc<P>,
    (rank, ordinal): (u16, Ordinal),
) -> Option<WaitReason> {
    let (window, call, only) = match names.start(rank, ordinal)? {
        Start::Access(index) => {
            let access = names.program(rank)?.accesses.get(usize::from(*index))?;
            (access.window, None, Some(access.transfer.target))
        }
        _ => names.synchronization(rank, ordinal).map(|(window, call)| (window, Some(call), None))?,
    };
    let is_opening = matches!(names.act(rank, usize::from(proc.pc)), Some(Act::AwaitGrants(_)));
    if names.is_portable() {
        return Some(weakest::reason(names, state, (rank, ordinal), window, is_opening));
    }
    if is_opening || call.is_some_and(|call| call.only_opens()) {
        return grants(names, state, proc, (rank, ordinal));
    }
    let view = proc.rank.window(WindowIndex(u32::from(window)))?;
    let (name, called) = (names.window(window), Called { names, state, window });
    // Of all epochs that are closed and not complete, what they lack.
    let [mut posts, mut deferred, mut ends, mut fences] = [const { MissingRanks::new() }; 4];
    let mut locks: Vec<u16> = Vec::new();
    let needs_no_close = matches!(call, None | Some(Call::FlushWithRequest(_) | Call::Flush(_)));
    let is_closed = |is_closed: bool| is_closed || needs_no_close;
    let is_meant = |target: RankId| only.is_none_or(|only| only == target);
    for epoch in view.epochs().filter(|epoch| epoch.is_active() && is_closed(epoch.is_closed())) {
        let kind = epoch.name().kind;
        for target in epoch.targets().filter(|it| !it.is_granted && is_meant(it.rank)) {
            let other = target.rank.0 as u16;
            match kind {
                EpochKind::Fence if other == rank => {}
                EpochKind::Fence => fences.add(target.rank, called.fence(other, rank, target.access)),
                kind if kind.locks() => locks.push(other),
                _ => match called.post(other, rank, target.access) {
                    None if called.defers(other) => deferred.add(target.rank, None),
                    late => posts.add(target.rank, late),
                },
            }
        }
        for origin in epoch.origins().filter(|origin| !origin.is_done) {
            let other = origin.rank.0 as u16;
            match kind {
                EpochKind::Fence if other == rank => {}
                EpochKind::Fence => fences.add(origin.rank, called.fence(other, rank, origin.exposure)),
                _ => ends.add(origin.rank, called.complete(other, rank, origin.exposure)),
            }
        }
    }
    locks.sort_unstable();
    locks.dedup();
    let mut reason = WaitReason::new(window);
    let waits_for = [&posts, &ends, &fences].into_iter().flat_map(|missing| missing.ranks.iter().copied());
    reason.mixed =
        waits_for.filter_map(|other| called.mixed(other, rank).or(called.mixed(rank, other))).next();
    let (no_post, without_post) = called.never(&posts.ranks, |other| called.will_post(other, rank));
    let (no_end, without_end) = called.never(&ends.ranks, |other| called.will_complete(other, rank));
    let (no_fence, without_fence) = called.never(&fences.ranks, |other| called.will_fence(other));
    reason.never = [no_post, no_end, no_fence].concat();
    let mut wait = |missing: MissingRanks, why: &str| {
        if !missing.ranks.is_empty() {
            reason.add(&format!("for {} to {why}", ranks(&missing.ranks)), missing.ranks, missing.late);
        }
    };
    wait(fences, &format!("call fence on {name}{without_fence}"));
    wait(posts, &format!("expose memory of {name} to it with post{without_post}"));
    wait(deferred, &format!("expose memory of {name} to it, which is deferred behind earlier epochs there"));
    wait(ends, &format!("complete access to it in {name}{without_end}"));
    locks.into_iter().for_each(|host| add_lock(&mut reason, &called, (rank, host)));
    if reason.text.is_empty() {
        let text = match view.deferred() {
            0 => format!("for its epoch of {name}"),
            _ => format!("for earlier epochs of {name}, behind which it is deferred"),
        };
        reason.add(&text, [], Vec::new());
    }
    Some(reason)
}

/// What the end of a blocking call waits for that opens an epoch.
fn grants<P: Protocol>(
    names: &Names<'_>,
    state: &State<P>,
    proc: &Proc<P>,
    (rank, opening): (u16, Ordinal),
) -> Option<WaitReason> {
    let opening = names.program(rank)?.synchronization(opening)?;
    let window = opening.window;
    let called = Called { names, state, window };
    let mut reason = WaitReason::new(window);
    // The lock of its own memory is the only one that it has to wait for.
    if grants::lacks_own_lock(proc, opening) {
        add_lock(&mut reason, &called, (rank, rank));
    }
    Some(reason)
}

/// A rank waits for the lock of a host, too.
fn add_lock<P: Protocol>(reason: &mut WaitReason, called: &Called<'_, P>, (rank, host): (u16, u16)) {
    let (whose, window) = (whose(rank, host), called.names.window(called.window));
    let holders = holders(called.state, called.window, host, rank);
    reason.hosts.push(host);
    reason.holders.extend(holders.iter().map(|(holder, _)| *holder));
    if let Some((mine, before)) = queued_behind(called.state, called.window, host, rank)
        && mine == Mode::Shared
        && !holders.is_empty()
        && holders.iter().all(|(_, mode)| *mode == Mode::Shared)
    {
        let held: Vec<u16> = holders.iter().map(|(holder, _)| *holder).collect();
        let verb = if held.len() == 1 { "holds" } else { "hold" };
        let text = format!(
            "for the lock of {whose} in {window}, behind rank {before}'s request for it as an exclusive one, which came \
             first ({} {verb} it as a shared one)",
            ranks(&held)
        );
        reason.is_queued = true;
        reason.add(&text, [before], Vec::new());
        return;
    }
    let holders: Vec<u16> = holders.into_iter().map(|(holder, _)| holder).collect();
    let mut late = Vec::new();
    late::add(&mut late, holders.iter().filter_map(|holder| called.unlock(*holder, host)));
    let text = format!(
        "for the lock of {whose} in {window}{}",
        held(&called.never_unlock(&holders, host), &holders)
    );
    reason.never.extend(called.never_unlock(&holders, host));
    reason.add(&text, holders, late);
}

/// `rank 1`, or `its own memory`.
fn whose(rank: u16, host: u16) -> String {
    if rank == host { "its own memory".to_owned() } else { format!("rank {host}") }
}

/// The ranks that wait in windows for others that are late.
pub(super) fn late_waits<P: Protocol>(names: &Names<'_>, state: &State<P>) -> Vec<Wait> {
    state.ranks().filter_map(|(rank, proc)| late_wait(names, state, rank, proc)).collect()
}

fn late_wait<P: Protocol>(names: &Names<'_>, state: &State<P>, rank: u16, proc: &Proc<P>) -> Option<Wait> {
    let pc = usize::from(proc.pc);
    let (is_opening, requests) = match names.act(rank, pc)? {
        Act::Wait(requests) => (false, &requests[..]),
        Act::AwaitGrants(opening) => (true, std::slice::from_ref(opening)),
        _ => return None,
    };
    let mut wait: Option<Wait> = None;
    for request in requests.iter().copied() {
        let Some(call) = names.program(rank)?.synchronization(request) else { continue };
        let is_over = match is_opening {
            // Otherwise it returns at once.
            true => !names.is_portable() && !grants::lacks_own_lock(proc, call),
            false => proc.is_over(request),
        };
        if is_over {
            continue;
        }
        for Late { pattern, by, is_never } in reason(names, state, proc, (rank, request))?.late {
            let wait = wait.get_or_insert_with(|| Wait { rank, pc, request, late: Vec::new() });
            late::add(&mut wait.late, by.into_iter().map(|by| (pattern, by, is_never)));
        }
    }
    wait
}

/// Why a shared request waits although the lock is held as shared.
pub(super) const QUEUE: &str = "Requests for a lock are served in the order in which they come, so a shared one waits behind \
                                an exclusive one, even if the lock is held as shared; MPI leaves that to the library \
                                (MPI-4.1, 12.5.3).";

/// The rule by which the call of a request waits.
pub(super) fn rule(names: &Names<'_>, rank: u16, request: Ordinal) -> &'static str {
    let own = RankId(u32::from(rank));
    match names.synchronization(rank, request).map(|(_, call)| call) {
        Some(Call::Start(_)) => {
            "MPI lets a start wait until each of its targets has posted, or return at once (MPI-4.1, 12.5.2)."
        }
        Some(Call::Lock { target, .. }) if target != own => {
            "MPI lets a lock wait until it is granted, or return at once (MPI-4.1, 12.5.3)."
        }
        Some(Call::LockAll) if names.is_portable() => {
            "MPI lets a lock_all wait until all ranks have granted it, or return at once (MPI-4.1, 12.5.3)."
        }
        Some(Call::Lock { .. } | Call::LockAll) => {
            "A lock of a rank's own memory is held when its call returns, because the program may access that memory by \
             itself from then on (MPI-4.1, 12.5.3)."
        }
        Some(Call::Fence) if names.is_portable() && ends_no_epoch(names, rank, request) => {
            "MPI lets a fence that ends no epoch wait until all ranks have called it, or return at once (MPI-4.1, 12.5.1)."
        }
        Some(Call::Complete) if names.is_portable() => {
            "MPI lets a complete wait until each of its targets has posted (MPI-4.1, 12.5.2)."
        }
        Some(Call::Wait | Call::Test) => {
            "An exposure epoch ends when each of its origins has completed its access (MPI-4.1, 12.5.2)."
        }
        Some(Call::Fence) => {
            "A fence that ends an epoch waits until all ranks have called it (MPI-4.1, 12.5.1)."
        }
        Some(Call::Complete) => {
            "MPI lets a complete wait until each target that its epoch accesses has posted, and this library's does; one \
             that keeps a copy of what is written may return before (MPI-4.1, 12.5.2)."
        }
        _ => {
            "An unlock and a flush return when their accesses are complete, so not before the lock has been granted \
             (MPI-4.1, 12.5.3)."
        }
    }
}

fn ends_no_epoch(names: &Names<'_>, rank: u16, request: Ordinal) -> bool {
    let call = names.program(rank).and_then(|program| program.synchronization(request));
    call.is_some_and(|call| call.ends_no_epoch())
}

/// The other ranks that hold the lock of a rank's memory, and how.
fn holders<P: Protocol>(state: &State<P>, window: u16, host: u16, but: u16) -> Vec<(u16, Mode)> {
    let Some(proc) = state.procs.get(usize::from(host)) else { return Vec::new() };
    let Some(view) = proc.rank.window(WindowIndex(u32::from(window))) else { return Vec::new() };
    let holders = view.lock().holders().map(|grant| (grant.origin.0 as u16, grant.mode));
    holders.filter(|(holder, _)| *holder != but).collect()
}

/// How a rank has requested the lock of a host, and the rank of the last exclusive request before it, if both wait.
fn queued_behind<P: Protocol>(state: &State<P>, window: u16, host: u16, rank: u16) -> Option<(Mode, u16)> {
    let view = state.procs.get(usize::from(host))?.rank.window(WindowIndex(u32::from(window)))?;
    let mut before = None;
    for grant in view.lock().waiting() {
        if grant.origin == RankId(u32::from(rank)) {
            return before.map(|before| (grant.mode, before));
        }
        if grant.mode == Mode::Exclusive {
            before = Some(grant.origin.0 as u16);
        }
    }
    None
}
