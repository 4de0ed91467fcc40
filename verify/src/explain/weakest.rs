//! Why calls on windows wait under the weakest MPI, and what happens to locks there.

use super::late::{self, Called};
use super::names::Names;
use super::wait_reason::{WaitReason, held};
use super::wording::{list, ranks};
use crate::open_epochs::EpochForm;
use crate::program::Ordinal;
use crate::state::State;
use crate::weakest::LockStep;
use carrousel_rank::Protocol;
use carrousel_rank::epoch::{Flags, Inefficiency};

/// Why a request of a window, or the end of a blocking call that opens an epoch, waits.
pub(super) fn reason<P: Protocol>(
    names: &Names<'_>,
    state: &State<P>,
    (rank, ordinal): (u16, Ordinal),
    window: u16,
    is_opening: bool,
) -> WaitReason {
    let plan = names.plan();
    let awaited = plan.awaited(state, rank, ordinal, is_opening);
    let (name, called) = (names.window(window), Called { names, state, window });
    let mut reason = WaitReason::new(window);
    let mut wait =
        |others: Vec<u16>, why: String, pattern: Option<Inefficiency>, will: &dyn Fn(u16) -> bool| {
            if !others.is_empty() {
                let (never, text) = called.never(&others, will);
                let mut late = Vec::new();
                let each = others.iter().map(|other| (*other, never.contains(other)));
                late::add(&mut late, each.filter_map(|(other, is_never)| Some((pattern?, other, is_never))));
                reason.never.extend(never);
                reason.add(&format!("for {} to {why}{text}", ranks(&others)), others, late);
            }
        };
    let fence = format!("call fence on {name}");
    wait(awaited.fences, fence, Some(Inefficiency::WaitAtFence), &|other| called.will_fence(other));
    let posts_left = |other: &u16| plan.is_deferred_post(state, rank, ordinal, is_opening, *other);
    let (deferred, posts): (Vec<u16>, Vec<u16>) = awaited.posts.into_iter().partition(posts_left);
    let post = format!("expose memory of {name} to it with post");
    wait(posts, post, Some(Inefficiency::LatePost), &|other| called.will_post(other, rank));
    let behind = format!("expose memory of {name} to it, which is deferred behind earlier epochs there");
    wait(deferred, behind, None, &|_| true);
    let complete = format!("complete access to it in {name}");
    let will_complete = |other: u16| called.will_complete(other, rank);
    wait(awaited.completes, complete, Some(Inefficiency::LateComplete), &will_complete);
    for (epoch, host) in awaited.locks {
        let [holders, waiting] = plan.rivals(state, epoch, host);
        reason.hosts.push(host);
        reason.holders.extend(&holders);
        let whose = if rank == host { "its own memory".to_owned() } else { format!("rank {host}") };
        let lock = format!("for the lock of {whose} in {name}");
        let text = match (&holders[..], &waiting[..]) {
            ([], []) => lock,
            ([], some) => {
                reason.is_queued = true;
                format!("{lock}, behind the request of {}, which an MPI may serve first", ranks(some))
            }
            _ => format!("{lock}{}", held(&called.never_unlock(&holders, host), &holders)),
        };
        reason.never.extend(called.never_unlock(&holders, host));
        let mut late = Vec::new();
        late::add(&mut late, holders.iter().filter_map(|holder| called.unlock(*holder, host)));
        reason.add(&text, if holders.is_empty() { waiting } else { holders }, late);
    }
    if reason.text.is_empty() {
        reason.add(&format!("for earlier epochs of {name}, behind which it is deferred"), [], Vec::new());
    }
    reason
}

/// `rank 0 gets the lock of rank 2 in window `w``.
pub(super) fn lock_step(names: &Names<'_>, step: LockStep) -> String {
    let LockStep { window, host, origin, is_grant, .. } = step;
    let verb = if is_grant { "gets" } else { "gives back" };
    format!("rank {origin} {verb} {}", lock_of(names, (window, host), origin))
}

/// `the lock of rank 2 in window `w``.
pub(super) fn lock_of(names: &Names<'_>, (window, host): (u16, u16), origin: u16) -> String {
    let whose = if host == origin { "its own memory".to_owned() } else { format!("rank {host}") };
    format!("the lock of {whose} in {}", names.window(window))
}

/// A sentence about the flags of windows that an execution counts as ignored: an epoch waits for one that it could pass.
pub(super) fn ignored_flags<P: Protocol>(names: &Names<'_>, state: &State<P>) -> Option<String> {
    let plan = names.plan();
    let mut all: Vec<String> = Vec::new();
    for (rank, _) in state.ranks().take(usize::from(plan.ranks())) {
        for (at, epoch) in (0..).zip(&plan.rank(rank).epochs) {
            let is_held_back =
                plan.may_have_begun(state, (rank, at)) && !plan.must_have_begun(state, (rank, at));
            if !is_held_back {
                continue;
            }
            for (before, passes) in &epoch.earlier {
                let (first, then) = (plan.epoch((rank, *before)).form, epoch.form);
                let flag = flag_of(names.flags(epoch.window), first, then).filter(|_| *passes);
                let named = flag.map(|flag| format!("`{flag}` of {}", names.window(epoch.window)));
                all.extend(named.filter(|named| !all.contains(named)));
            }
        }
    }
    let (s, verb) = if all.len() == 1 { ("", "is") } else { ("s", "are") };
    (!all.is_empty()).then(|| {
        format!("Here the flag{s} {} {verb} ignored, as an MPI may do: flags are hints.", list(&all))
    })
}

/// The flag that lets an epoch pass another, if it is set.
fn flag_of(flags: Flags, first: EpochForm, then: EpochForm) -> Option<&'static str> {
    let exposes = |form| form == EpochForm::Exposure;
    let (name, is_set) = match (exposes(first), exposes(then)) {
        (false, false) => ("access_after_access", flags.access_after_access),
        (true, false) => ("access_after_exposure", flags.access_after_exposure),
        (true, true) => ("exposure_after_exposure", flags.exposure_after_exposure),
        (false, true) => ("exposure_after_access", flags.exposure_after_access),
    };
    is_set.then_some(name)
}
