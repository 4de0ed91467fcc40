//! Locks that nobody keeps while waiting for anything else.
//!
//! Requests of two ranks for one lock usually conflict: whoever is second waits for the first one, and for all that the
//! first one waits for while it has the lock. If every rank between its lock and its unlock only accesses that memory, in
//! ways that race with nothing, and waits for these accesses alone, then whoever gets the lock gives it back without any
//! step of another rank's program. So everything between request and release can be moved to where the request arrives,
//! whichever came first, and what other ranks see is the same: one order stands for all (R. Lipton, Reduction: a Method of
//! Proving Properties of Parallel Programs, 1975).

use crate::program::{Act, Job, Ordinal, Program};
use carrousel_rank::RankId;
use carrousel_rank::epoch::Call;
use carrousel_scenario::Assertion;
use std::collections::BTreeSet;

/// A window, and the rank whose memory is locked.
type Lock = (u16, u16);

/// The locks that are not brief, and the windows of which none is.
#[derive(Default)]
struct Long {
    locks: BTreeSet<Lock>,
    windows: BTreeSet<u16>,
}

/// What a rank has locked, and the requests that it may wait for meanwhile.
struct Section {
    lock: Lock,
    own: BTreeSet<Ordinal>,
    /// The rank has another lock of the window as well: a flush of all waits for accesses to other ranks.
    is_nested: bool,
}

/// The locks that are brief. `races` says whether the access or the touch of a rank at a step may race with anything.
pub(crate) fn brief_locks(job: &Job, races: impl Fn(u16, u16) -> bool) -> BTreeSet<Lock> {
    let (mut all, mut long) = (BTreeSet::new(), Long::default());
    for (rank, program) in (0..).zip(&job.ranks) {
        let races = |step| races(rank, step);
        read(program, races, &mut all, &mut long);
    }
    all.retain(|lock| !long.locks.contains(lock) && !long.windows.contains(&lock.0));
    all
}

fn read(program: &Program, races: impl Fn(u16) -> bool, all: &mut BTreeSet<Lock>, long: &mut Long) {
    // There is one at most: where another lock is asked for, the one that is held is not brief.
    let mut section: Option<Section> = None;
    let mut open: BTreeSet<Lock> = BTreeSet::new();
    for (step, it) in (0..).zip(&program.steps) {
        let call = program.call_at(step);
        if let Some(call) = call {
            // The lock of one rank is held while that of another is waited for.
            let is_of_all = matches!(call.call(), Call::LockAll);
            // Whether another rank has the lock meanwhile makes a difference.
            let is_unchecked =
                matches!(call.call(), Call::Lock { .. }) && call.asserts().has(Assertion::NoCheck);
            if is_of_all || is_unchecked {
                long.windows.insert(call.window);
            }
            if let Call::Unlock(target) = call.call() {
                let lock = (call.window, target.0 as u16);
                open.remove(&lock);
                section = section.filter(|section| section.lock != lock);
            }
        }
        let is_brief = |section: &mut Section| section.admits(program, step, &it.act) && !races(step);
        let ended = section.take_if(|section| !is_brief(section));
        long.locks.extend(ended.map(|section| section.lock));
        if let (Some(call), Act::Start(request)) = (call, &it.act)
            && let Call::Lock { target, .. } = call.call()
        {
            let lock = (call.window, target.0 as u16);
            all.insert(lock);
            let is_nested = open.iter().any(|(window, _)| *window == call.window);
            open.insert(lock);
            section = Some(Section { lock, own: BTreeSet::from([*request]), is_nested });
        }
    }
    // A lock that is never given back.
    long.locks.extend(section.map(|section| section.lock));
}

impl Section {
    /// Whether a rank that does this depends on nobody but the host of the lock.
    fn admits(&mut self, program: &Program, step: u16, act: &Act) -> bool {
        match act {
            Act::Access(index) => {
                let access = program.accesses[usize::from(*index)];
                self.own.extend(access.request);
                (access.window, access.transfer.target.0 as u16) == self.lock
            }
            Act::Start(request) => {
                let is_flush = program.call_at(step).is_some_and(|call| match call.call() {
                    Call::Flush(flush) | Call::FlushWithRequest(flush) => {
                        let is_of_host = |target: RankId| target.0 == u32::from(self.lock.1);
                        call.window == self.lock.0 && flush.target.map_or(!self.is_nested, is_of_host)
                    }
                    _ => false,
                });
                is_flush && self.own.insert(*request)
            }
            Act::Wait(requests) => requests.iter().all(|request| self.own.contains(request)),
            Act::AwaitGrants(opening) => self.own.contains(opening),
            Act::TouchWindow(_) | Act::Touch { .. } => true,
            _ => false,
        }
    }
}
