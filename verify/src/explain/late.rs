//! Which rank is late when another waits in an epoch: the patterns of nonblocking-rma-epochs III.
//!
//! An exploration has no clock, so the programs decide: a rank is late with a call that it has not reached when
//! another waits for it.

use super::names::Names;
use super::wording::ranks;
use crate::network::{ChannelKind, InFlight};
use crate::open_epochs::EpochForm;
use crate::program::Ordinal;
use crate::state::State;
use carrousel_rank::epoch::{AllEpochRules, Call, Inefficiency, TargetView, Window};
use carrousel_rank::{Protocol, RankId, WindowIndex};

/// Sentences about ranks that wait for late ones, at most.
const SENTENCES_MAX: usize = 3;

/// Ranks that are late, all with the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Late {
    /// With what.
    pub(super) pattern: Inefficiency,
    /// Which ranks, ascending.
    pub(super) by: Vec<u16>,
    /// These ranks have no statement left that does it, so the wait never ends.
    pub(super) is_never: bool,
}

/// Puts `more` to those that are late with the same; the last of each says whether it never does it.
pub(super) fn add(all: &mut Vec<Late>, more: impl IntoIterator<Item = (Inefficiency, u16, bool)>) {
    for (pattern, by, is_never) in more {
        match all.iter_mut().find(|late| (late.pattern, late.is_never) == (pattern, is_never)) {
            Some(late) => {
                let at = late.by.partition_point(|other| *other < by);
                if late.by.get(at) != Some(&by) {
                    late.by.insert(at, by);
                }
            }
            None => all.push(Late { pattern, by: vec![by], is_never }),
        }
    }
}

/// ` (Late Post)`: the patterns of some ranks, behind their names. What never comes is not late.
pub(super) fn in_brackets(late: &[Late]) -> String {
    let late = late.iter().filter(|late| !late.is_never);
    let names: Vec<String> = late.map(|late| late.pattern.to_string()).collect();
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

/// `Late Post of rank 1, ranks 2 and 3 never complete their access`.
pub(super) fn in_words(late: &[Late]) -> String {
    let each = late.iter().map(|late| match late.is_never {
        false => format!("{} of {}", late.pattern, ranks(&late.by)),
        true => format!("{} never {}", ranks(&late.by), deed(late.pattern, late.by.len() == 1)),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// What is late, as a verb of one rank, or of several.
fn deed(pattern: Inefficiency, is_one: bool) -> &'static str {
    match (pattern, is_one) {
        (Inefficiency::LatePost, true) => "posts for it",
        (Inefficiency::LatePost, false) => "post for it",
        (Inefficiency::LateComplete, true) => "completes an access to it",
        (Inefficiency::LateComplete, false) => "complete an access to it",
        (Inefficiency::EarlyFence | Inefficiency::WaitAtFence, true) => "calls this fence",
        (Inefficiency::EarlyFence | Inefficiency::WaitAtFence, false) => "call this fence",
        (Inefficiency::LateUnlock, true) => "unlocks",
        (Inefficiency::LateUnlock, false) => "unlock",
    }
}

/// What the ranks have called of a window so far.
pub(super) struct Called<'a, P: Protocol> {
    pub(super) names: &'a Names<'a>,
    pub(super) state: &'a State<P>,
    pub(super) window: u16,
}

impl<P: Protocol> Called<'_, P> {
    /// Whether a target has not called what grants an origin its access with this number.
    pub(super) fn post(&self, target: u16, origin: u16, access: u64) -> Option<(Inefficiency, u16, bool)> {
        let will = self.will_post(target, origin);
        let origin = RankId(u32::from(origin));
        let exposes = |call: &Call<'_>| match call {
            Call::Post(group) => group.contains(&origin),
            Call::Fence => true,
            _ => false,
        };
        let posted = self.calls(target).filter(exposes).count() as u64;
        (posted < access).then_some((Inefficiency::LatePost, target, !will))
    }

    /// Whether a rank has a statement left that makes such a call on the window.
    fn is_left(&self, rank: u16, is_it: impl Fn(Call<'_>) -> bool) -> bool {
        let pc = self.state.procs.get(usize::from(rank)).map_or(0, |proc| proc.pc);
        let calls = self.names.program(rank).into_iter().flat_map(|program| program.calls());
        calls.filter(|(at, call)| *at >= pc && call.window == self.window).any(|(_, call)| is_it(call.call()))
    }

    /// Whether a rank has a statement left that exposes its memory to an origin.
    pub(super) fn will_post(&self, rank: u16, origin: u16) -> bool {
        let origin = RankId(u32::from(origin));
        self.is_left(rank, |call| match call {
            Call::Post(group) => group.contains(&origin),
            Call::Fence => self.fences_pair(),
            _ => false,
        })
    }

    /// Whether the fences of two ranks are paired with their calls of start and post, too.
    fn fences_pair(&self) -> bool {
        !self.names.is_portable()
    }

    /// Whether a rank has an access epoch open to a target, or a statement left that opens one: it may yet complete it.
    pub(super) fn will_complete(&self, rank: u16, target: u16) -> bool {
        let to = RankId(u32::from(target));
        let opens = |call: Call<'_>| match call {
            Call::Start(group) => group.contains(&to),
            Call::Fence => self.fences_pair(),
            _ => false,
        };
        let is_open = self.has_started(rank, target);
        self.is_left(rank, |call| opens(call) || is_open && matches!(call, Call::Complete))
    }

    /// Whether a rank has a fence left.
    pub(super) fn will_fence(&self, rank: u16) -> bool {
        self.is_left(rank, |call| matches!(call, Call::Fence))
    }

    /// Those of some ranks that have no statement left that does something, as the end of a sentence: `, which no later
    /// statement of rank 4 does`.
    pub(super) fn never(&self, ranks_of: &[u16], will: impl Fn(u16) -> bool) -> (Vec<u16>, String) {
        let is_finished = |rank: &u16| {
            let pc = self.state.procs.get(usize::from(*rank)).map_or(0, |proc| usize::from(proc.pc));
            self.names.act(*rank, pc).is_none()
        };
        let never: Vec<u16> = ranks_of.iter().copied().filter(|rank| !will(*rank)).collect();
        let (gone, rest): (Vec<u16>, Vec<u16>) = never.iter().partition(|rank| is_finished(rank));
        let verb = if gone.len() == 1 { "has" } else { "have" };
        let text = match (&gone[..], &rest[..]) {
            ([], []) => String::new(),
            ([], rest) => format!(", which no later statement of {} does", ranks(rest)),
            (gone, []) => format!(", but {} {verb} finished", ranks(gone)),
            (gone, rest) => {
                format!(
                    ", but {} {verb} finished and no later statement of {} does",
                    ranks(gone),
                    ranks(rest)
                )
            }
        };
        (never, text)
    }

    /// Whether an origin has an access epoch open to a target.
    fn has_started(&self, origin: u16, target: u16) -> bool {
        let to = RankId(u32::from(target));
        let last = self.calls(origin).filter(|call| matches!(call, Call::Start(_) | Call::Complete)).last();
        matches!(last, Some(Call::Start(group)) if group.contains(&to))
    }

    /// Whether epochs of a rank are deferred.
    pub(super) fn defers(&self, rank: u16) -> bool {
        self.library(rank).is_some_and(|library| library.deferred() > 0)
    }

    fn library(&self, rank: u16) -> Option<&Window<AllEpochRules>> {
        self.state.procs.get(usize::from(rank))?.rank.window(WindowIndex(u32::from(self.window)))
    }

    /// Whether an origin has not closed the access that an exposure of this number is for.
    pub(super) fn complete(
        &self,
        origin: u16,
        target: u16,
        exposure: u64,
    ) -> Option<(Inefficiency, u16, bool)> {
        // An origin whose access took another grant may have completed it long ago.
        let is_late = !self.has_closed(origin, target, exposure) && self.mixed(origin, target).is_none();
        is_late.then_some((Inefficiency::LateComplete, origin, !self.will_complete(origin, target)))
    }

    /// Whether a rank has not called the fence that another waits for, or has, and its data is on the way.
    pub(super) fn fence(&self, rank: u16, waits: u16, exposure: u64) -> Option<(Inefficiency, u16, bool)> {
        match self.has_closed(rank, waits, exposure) {
            false => Some((Inefficiency::WaitAtFence, rank, !self.will_fence(rank))),
            true if self.has_data(rank, waits, exposure) => Some((Inefficiency::EarlyFence, rank, false)),
            true => None,
        }
    }

    /// Whether data of an access is not at its target yet, or not back.
    fn has_data(&self, origin: u16, target: u16, access: u64) -> bool {
        let epochs = self.library(origin).into_iter().flat_map(|library| library.epochs());
        let mut targets = epochs.flat_map(|epoch| epoch.targets());
        let is_it = |it: &TargetView| (it.rank.0, it.access) == (u32::from(target), access);
        let incomplete = targets.find(is_it).map_or(0, |target| target.incomplete as usize);
        // Of these the data has come, and the origin does not know it.
        let moved = self.state.network.iter().filter(|(channel, item)| {
            let way = (channel.at, channel.peer, channel.kind);
            matches!(item, InFlight::Moved(_)) && way == (origin, target, ChannelKind::Moved(self.window))
        });
        incomplete > moved.count()
    }

    /// Whether a rank holds the lock of a host and has not called what releases it.
    pub(super) fn unlock(&self, holder: u16, host: u16) -> Option<(Inefficiency, u16, bool)> {
        let epochs = &self.state.procs.get(usize::from(holder))?.epochs;
        let locks = |form| form == EpochForm::Lock(host) || form == EpochForm::LockAll;
        let is_open = epochs.iter().any(|epoch| epoch.window == self.window && locks(epoch.form));
        is_open.then_some((Inefficiency::LateUnlock, holder, !self.will_unlock(holder, host)))
    }

    /// The holders of a host's lock that have no statement left that releases it.
    pub(super) fn never_unlock(&self, holders: &[u16], host: u16) -> Vec<u16> {
        let keeps = |holder: &u16| self.unlock(*holder, host).is_some_and(|(.., is_never)| is_never);
        holders.iter().copied().filter(keeps).collect()
    }

    /// Whether a rank has a statement left that releases the lock of a host.
    fn will_unlock(&self, rank: u16, host: u16) -> bool {
        let at = RankId(u32::from(host));
        self.is_left(rank, |call| match call {
            Call::Unlock(target) => target == at,
            Call::UnlockAll => true,
            _ => false,
        })
    }

    /// Whether an origin has closed its access to a target that has this number, from 1.
    fn has_closed(&self, origin: u16, target: u16, access: u64) -> bool {
        let target = RankId(u32::from(target));
        // Is an access epoch open to this target? Is a fence epoch?
        let (mut started, mut fenced, mut closed) = (false, false, 0);
        for call in self.calls(origin) {
            match call {
                Call::Start(group) => started = group.contains(&target),
                Call::Complete => closed += u64::from(std::mem::take(&mut started)),
                Call::Fence => closed += u64::from(std::mem::replace(&mut fenced, true)),
                _ => {}
            }
        }
        closed >= access
    }

    /// An access epoch and an exposure of two ranks that the library has paired, of which one is of a fence and the other
    /// is not: the step that opens each. Accesses and exposures are paired by their number.
    pub(super) fn mixed(&self, origin: u16, target: u16) -> Option<Mixed> {
        let (from, to) = (RankId(u32::from(origin)), RankId(u32::from(target)));
        let accesses = self.calls_with_steps(origin).filter_map(|(pc, call)| match call {
            Call::Start(group) if group.contains(&to) => Some((pc, false)),
            Call::Fence => Some((pc, true)),
            _ => None,
        });
        let exposures = self.calls_with_steps(target).filter_map(|(pc, call)| match call {
            Call::Post(group) if group.contains(&from) => Some((pc, false)),
            Call::Fence => Some((pc, true)),
            _ => None,
        });
        let (access, exposure) = accesses.zip(exposures).find(|(access, exposure)| access.1 != exposure.1)?;
        Some(Mixed { origin, access: access.0, target, exposure: exposure.0, is_fence: exposure.1 })
    }

    /// The calls on the window's epochs that a rank has made, in order.
    fn calls(&self, rank: u16) -> impl Iterator<Item = Call<'_>> {
        self.calls_with_steps(rank).map(|(_, call)| call)
    }

    fn calls_with_steps(&self, rank: u16) -> impl Iterator<Item = (usize, Call<'_>)> {
        let pc = self.state.procs.get(usize::from(rank)).map_or(0, |proc| proc.pc);
        let made = self.names.calls(rank, Some(self.window)).take_while(move |(at, _)| *at < pc);
        made.map(|(at, call)| (usize::from(at), call))
    }
}

/// An access and an exposure that were not meant for each other: one of both is of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mixed {
    origin: u16,
    access: usize,
    target: u16,
    exposure: usize,
    /// The exposure is that of a fence; otherwise the access is.
    is_fence: bool,
}

impl Mixed {
    /// `rank 0's access at line 9 (`start w to [1]`) took the grant of rank 1's fence ...`
    pub(super) fn sentence(self, names: &Names<'_>) -> String {
        let access = names.place(self.origin, self.access);
        let exposure = names.place(self.target, self.exposure);
        let (start, post) = if self.is_fence { ("start", "fence") } else { ("fence", "post") };
        format!(
            "Rank {}'s {start} {access} took the grant of rank {}'s {post} {exposure}, which is not meant for it: a fence \
             belongs to fences only, and all ranks call it (MPI-4.1, 12.5.1), but this library pairs accesses and exposures \
             of two ranks in the order of their calls, those of fences too.",
            self.origin, self.target
        )
    }
}

/// A rank that waits in a window for ranks that are late.
#[derive(Debug)]
pub(super) struct Wait {
    pub(super) rank: u16,
    /// The step at which it waits.
    pub(super) pc: usize,
    /// The request of its call.
    pub(super) request: Ordinal,
    pub(super) late: Vec<Late>,
}

/// What ranks wait for that are not stuck: `Rank 0 waits at line 5 (...) meanwhile: Late Post of rank 1.`
pub(super) fn sentences(names: &Names<'_>, waits: &[Wait]) -> Option<String> {
    let mut said: Vec<(String, String, Vec<u16>)> = Vec::new();
    for wait in waits {
        let (place, late) = (names.place(wait.rank, wait.pc), in_words(&wait.late));
        match said.iter_mut().find(|(other, by, _)| (other, by) == (&place, &late)) {
            Some((_, _, waiting)) => waiting.push(wait.rank),
            None => said.push((place, late, vec![wait.rank])),
        }
    }
    let told = said.iter().take(SENTENCES_MAX).map(|(place, late, waiting)| {
        let verb = if waiting.len() == 1 { "waits" } else { "wait" };
        format!("{} {verb} {place}: {late}", ranks(waiting))
    });
    let told = told.collect::<Vec<_>>().join("; ");
    (!told.is_empty()).then(|| format!("Meanwhile {told}."))
}
