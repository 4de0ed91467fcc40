//! What may have happened under the weakest MPI, and what must have: when epochs begin, and when calls return.
//!
//! For each call there are two questions. *May* it have returned, under the MPI that waits for the least? Then what comes
//! behind it is explored. *Must* it return, under the MPI that waits for the most? A state in which all that is possible
//! need not happen is explored as an end: perhaps a deadlock.

use super::held::LockStep;
use super::names::EpochId;
use super::orders::Order;
use super::plan::{AccessPlan, EpochPlan, Flushed, RequestPlan, WindowPlan};
use crate::open_epochs::EpochForm;
use crate::program::Ordinal;
use crate::state::State;
use carrousel_rank::Protocol;
use smallvec::SmallVec;

/// Of the two questions, the one that is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    May,
    Must,
}

/// A question that is being answered. An epoch on whose own end its begin depends has not begun.
struct Inquiry<'a, P: Protocol> {
    state: &'a State<P>,
    plan: &'a WindowPlan,
    asked: Asked,
    /// The epochs of which it is asked whether they have begun.
    asking: SmallVec<[EpochId; 8]>,
    /// The epochs of which it is asked whether they have surely begun.
    proving: SmallVec<[EpochId; 8]>,
}

impl WindowPlan {
    fn inquire<'a, P: Protocol>(&'a self, state: &'a State<P>, asked: Asked) -> Inquiry<'a, P> {
        Inquiry { state, plan: self, asked, asking: SmallVec::new(), proving: SmallVec::new() }
    }

    /// Whether a request on a window may have ended.
    pub(crate) fn may_end<P: Protocol>(&self, state: &State<P>, rank: u16, request: Ordinal) -> bool {
        self.inquire(state, Asked::May).has_ended(rank, request)
    }

    /// Whether a request on a window ends, whatever the MPI.
    pub(crate) fn must_end<P: Protocol>(&self, state: &State<P>, rank: u16, request: Ordinal) -> bool {
        self.inquire(state, Asked::Must).has_ended(rank, request)
    }

    /// Whether an epoch may have begun: its accesses move, its memory is exposed, or its lock is asked for.
    pub(crate) fn may_have_begun<P: Protocol>(&self, state: &State<P>, epoch: EpochId) -> bool {
        self.inquire(state, Asked::May).has_begun(epoch)
    }

    /// Whether an epoch has begun, whatever the MPI.
    pub(crate) fn must_have_begun<P: Protocol>(&self, state: &State<P>, epoch: EpochId) -> bool {
        self.inquire(state, Asked::Must).has_begun(epoch)
    }

    /// Whether a blocking call that opens an epoch may return: only a lock of the own memory has to wait (MPI-4.1, 12.5.3).
    pub(crate) fn may_return_from<P: Protocol>(&self, state: &State<P>, rank: u16, opening: Ordinal) -> bool {
        let mut inquiry = self.inquire(state, Asked::May);
        let Some((at, epoch)) = inquiry.opened_by(rank, opening) else { return true };
        !epoch.hosts(inquiry.plan.ranks()).any(|host| host == rank)
            || !inquiry.plan.keeps(Order::OwnLockIsHeld)
            || inquiry.holds(at, rank)
    }

    /// Whether a blocking call that opens an epoch returns, whatever the MPI.
    pub(crate) fn must_return_from<P: Protocol>(
        &self,
        state: &State<P>,
        rank: u16,
        opening: Ordinal,
    ) -> bool {
        let mut inquiry = self.inquire(state, Asked::Must);
        let Some((at, epoch)) = inquiry.opened_by(rank, opening) else { return true };
        if !inquiry.has_begun(at) {
            return false;
        }
        match epoch.form {
            EpochForm::Fence => inquiry.have_all_fenced(epoch.window, epoch.number),
            _ if epoch.locks() => epoch.hosts(inquiry.plan.ranks()).all(|host| inquiry.holds(at, host)),
            _ => inquiry.are_exposed(epoch, epoch.peers.iter().map(|(peer, _)| *peer)),
        }
    }

    /// Whether the epoch of a lock wants it: it has begun, and its close has not returned.
    pub(super) fn wants_lock<P: Protocol>(&self, state: &State<P>, epoch: EpochId) -> bool {
        let mut inquiry = self.inquire(state, Asked::May);
        let its = inquiry.plan.epoch(epoch);
        inquiry.has_called(epoch.0, its.opened) && !inquiry.has_returned(epoch) && inquiry.has_begun(epoch)
    }

    /// Whether a lock may be given back before its close returns: of a blocking close, nobody can tell the two apart.
    pub(super) fn may_give_back<P: Protocol>(&self, state: &State<P>, epoch: EpochId) -> bool {
        let its = self.epoch(epoch);
        // Of several locks, one may come back while the close waits for another.
        (!its.is_waited_for || its.form == EpochForm::LockAll) && self.has_closed(state, epoch)
    }

    /// Whether an epoch is surely complete.
    pub(crate) fn is_past<P: Protocol>(&self, state: &State<P>, epoch: EpochId) -> bool {
        self.inquire(state, Asked::May).has_returned(epoch)
    }

    /// Whether an epoch has a lock of a host.
    pub(super) fn has_lock<P: Protocol>(&self, state: &State<P>, epoch: EpochId, host: u16) -> bool {
        self.inquire(state, Asked::May).holds(epoch, host)
    }

    /// Whether an epoch has had a lock of a host, and has given it back.
    pub(super) fn has_freed<P: Protocol>(&self, state: &State<P>, epoch: EpochId, host: u16) -> bool {
        self.inquire(state, Asked::May).has_had_lock(epoch, host)
    }

    /// Whether the close of an epoch has been called.
    pub(super) fn has_closed<P: Protocol>(&self, state: &State<P>, epoch: EpochId) -> bool {
        let its = self.epoch(epoch);
        its.closed.is_some_and(|closed| state.procs[usize::from(epoch.0)].pc > closed)
    }

    /// Whether a target has called the `post` that an access epoch waits for, which has not begun.
    pub(crate) fn is_deferred_post<P: Protocol>(
        &self,
        state: &State<P>,
        rank: u16,
        request: Ordinal,
        is_opening: bool,
        target: u16,
    ) -> bool {
        let inquiry = self.inquire(state, Asked::Must);
        let epoch = match is_opening {
            true => inquiry.opened_by(rank, request).map(|(_, epoch)| epoch),
            false => self.rank(rank).closed_by(request).map(|epoch| self.epoch((rank, epoch))),
        };
        let exposure = epoch.and_then(|epoch| epoch.peer(target));
        exposure.is_some_and(|exposure| inquiry.has_called(target, self.epoch((target, exposure)).opened))
    }

    /// The ranks of which a request, or a blocking call that opens an epoch, waits for a call: to post, to complete, or to
    /// fence; and the hosts whose locks it waits for.
    pub(crate) fn awaited<P: Protocol>(
        &self,
        state: &State<P>,
        rank: u16,
        request: Ordinal,
        is_opening: bool,
    ) -> Awaited {
        let mut inquiry = self.inquire(state, Asked::Must);
        let mut awaited = Awaited::default();
        if is_opening {
            if let Some((at, epoch)) = inquiry.opened_by(rank, request) {
                inquiry.find_grants(at, epoch, &mut awaited);
            }
            return awaited;
        }
        let Some(its) = inquiry.plan.rank(rank).requests.get(&request) else { return awaited };
        match its {
            RequestPlan::Fence { window, number, .. } => {
                awaited.fences = inquiry.missing_at_fence(rank, *window, *number);
            }
            RequestPlan::Close(epoch) => {
                let at = (rank, *epoch);
                let plan = inquiry.plan.epoch(at);
                if plan.form == EpochForm::Exposure {
                    for (origin, _) in &plan.peers {
                        if !inquiry.has_completed(*origin, plan) {
                            awaited.completes.push(*origin);
                        }
                    }
                } else {
                    inquiry.find_grants(at, plan, &mut awaited);
                }
            }
            RequestPlan::Flush { epochs } => {
                for (epoch, host, _) in epochs {
                    if !inquiry.holds((rank, *epoch), *host) {
                        awaited.locks.push(((rank, *epoch), *host));
                    }
                }
            }
            RequestPlan::Access(access) => {
                let access = inquiry.plan.access((rank, *access));
                if let Some(epoch) = access.epoch
                    && !inquiry.holds((rank, epoch), access.target)
                {
                    awaited.locks.push(((rank, epoch), access.target));
                }
            }
        }
        awaited
    }
}

/// What a call waits for.
#[derive(Default)]
pub(crate) struct Awaited {
    /// Ranks that have not posted.
    pub(crate) posts: Vec<u16>,
    /// Ranks whose `complete` is missing.
    pub(crate) completes: Vec<u16>,
    /// Ranks that have not called the fence.
    pub(crate) fences: Vec<u16>,
    /// Locks, by epoch and host.
    pub(crate) locks: Vec<(EpochId, u16)>,
}

impl<'a, P: Protocol> Inquiry<'a, P> {
    fn has_called(&self, rank: u16, step: u16) -> bool {
        self.state.procs[usize::from(rank)].pc > step
    }

    /// The epoch that a call has opened.
    fn opened_by(&self, rank: u16, opening: Ordinal) -> Option<(EpochId, &'a EpochPlan)> {
        let plan = self.plan.rank(rank);
        let at = plan.epochs.iter().position(|epoch| epoch.opening == opening)?;
        Some(((rank, at as u16), &plan.epochs[at]))
    }

    /// Whether an epoch is surely complete: the program has got its close back, or is in a later one that it holds back.
    fn has_returned(&mut self, (rank, epoch): EpochId) -> bool {
        let plan = self.plan;
        let its = plan.epoch((rank, epoch));
        let (Some(closed), Some(close)) = (its.closed, its.close) else { return false };
        self.has_called(rank, closed)
            && (self.is_back(rank, closed, close)
                || plan.keeps(Order::ClosedEpochsComeFirst)
                    && its.later.iter().any(|later| self.is_in((rank, *later))))
    }

    /// Whether an epoch has surely begun: it has a lock, has let somebody in, or is complete.
    fn is_in(&mut self, at: EpochId) -> bool {
        // What only follows from itself does not follow.
        if self.proving.contains(&at) {
            return false;
        }
        self.proving.push(at);
        let is_in = self.shows_begin(at);
        self.proving.pop();
        is_in
    }

    fn shows_begin(&mut self, at: EpochId) -> bool {
        let plan = self.plan;
        let its = plan.epoch(at);
        let is_held = |host: u16| {
            self.state.weakest.is_held(its.window, at, host)
                || self.state.weakest.is_freed(its.window, at, host)
        };
        its.own_lock.is_some_and(|step| self.has_called(at.0, step))
            || its.hosts(plan.ranks()).any(is_held)
            || self.waits_for_begin(at) && self.has_returned(at)
            || its.form == EpochForm::Fence && self.has_ended_somewhere(its)
            || its.form == EpochForm::Access && self.has_been_waited_for(its)
            || its.form == EpochForm::Exposure && self.has_let_in(at.0, its)
            || self.has_moved(at)
    }

    /// Whether an origin has got what it has fetched in the epoch that belongs to an exposure.
    fn has_let_in(&mut self, target: u16, its: &EpochPlan) -> bool {
        let plan = self.plan;
        its.peers.iter().any(|(origin, access)| {
            let is_of = |it: &&AccessPlan| access.is_some() && it.epoch == *access && it.target == target;
            let accesses = plan.rank(*origin).accesses.iter().filter(is_of);
            accesses.flat_map(|access| &access.answers).any(|end| {
                self.is_back(end.rank, end.step, end.request)
                    || end.epoch.is_some_and(|epoch| self.has_returned((end.rank, epoch)))
            })
        })
    }

    /// Whether the program of a rank has got the end of a call back.
    fn is_back(&self, rank: u16, step: u16, request: Ordinal) -> bool {
        self.has_called(rank, step) && !self.state.procs[usize::from(rank)].is_open(request)
    }

    /// Whether a target has got its `wait_epoch` back, which returns behind the accesses of this epoch.
    fn has_been_waited_for(&self, its: &EpochPlan) -> bool {
        its.peers.iter().any(|(target, exposure)| {
            let exposure = exposure.map(|exposure| self.plan.epoch((*target, exposure)));
            exposure.is_some_and(|exposure| {
                let close = exposure.closed.zip(exposure.close);
                close.is_some_and(|(closed, close)| self.is_back(*target, closed, close))
            })
        })
    }

    /// Whether a flush, or the request of an access, has told that an access of this epoch is over, or has its data.
    fn has_moved(&self, (rank, epoch): EpochId) -> bool {
        let accesses = self.plan.rank(rank).accesses.iter().filter(|access| access.epoch == Some(epoch));
        let ends = accesses.flat_map(|access| access.ends.iter().chain(&access.answers));
        let mut told = ends.filter(|end| end.epoch.is_none());
        told.any(|end| self.is_back(end.rank, end.step, end.request))
    }

    /// Whether the close of an epoch returns only if the epoch has begun.
    fn waits_for_begin(&self, (rank, epoch): EpochId) -> bool {
        let its = self.plan.epoch((rank, epoch));
        let close = its.close.and_then(|close| self.plan.rank(rank).requests.get(&close));
        match close {
            Some(RequestPlan::Fence { ends_none, .. }) => !ends_none,
            _ => its.close_needs_begin(),
        }
    }

    /// Whether a rank has got a fence back that waits until this epoch has begun everywhere.
    fn has_ended_somewhere(&self, fenced: &EpochPlan) -> bool {
        (0..self.plan.ranks()).any(|rank| {
            let its = self.plan.fence_epoch(rank, fenced.window, fenced.number);
            its.map(|its| (rank, its)).is_some_and(|its| {
                let plan = self.plan.epoch(its);
                let close = plan.closed.zip(plan.close);
                let is_back = close.is_some_and(|(closed, close)| self.is_back(rank, closed, close));
                is_back && self.waits_for_begin(its)
            })
        })
    }

    /// Whether an epoch has begun: it was opened, and those that it has to wait for are complete.
    fn has_begun(&mut self, (rank, epoch): EpochId) -> bool {
        let its = self.plan.epoch((rank, epoch));
        if !self.has_called(rank, its.opened) || self.asking.contains(&(rank, epoch)) {
            return false;
        }
        // A lock that it has, or what is over of it, shows that it has begun.
        if its.earlier.is_empty() || self.is_in((rank, epoch)) {
            return true;
        }
        self.asking.push((rank, epoch));
        let has_begun = its.earlier.iter().all(|(before, passes)| {
            self.asked == Asked::May && (*passes || !self.plan.keeps(Order::ClosedEpochsComeFirst))
                || self.is_complete((rank, *before))
        });
        self.asking.pop();
        has_begun
    }

    fn is_complete(&mut self, (rank, epoch): EpochId) -> bool {
        let its = self.plan.epoch((rank, epoch));
        let Some(close) = its.close else { return false };
        self.has_returned((rank, epoch))
            || its.closed.is_some_and(|closed| self.has_called(rank, closed)) && self.has_ended(rank, close)
    }

    fn has_ended(&mut self, rank: u16, request: Ordinal) -> bool {
        let plan = self.plan;
        match plan.rank(rank).requests.get(&request) {
            None => true,
            Some(RequestPlan::Close(epoch)) => self.is_closed((rank, *epoch)),
            Some(RequestPlan::Fence { epoch, number, ends_none, .. }) => {
                self.is_fenced(rank, *epoch, *number, *ends_none)
            }
            Some(RequestPlan::Flush { epochs }) => epochs.iter().all(|(epoch, host, flushed)| {
                let at = (rank, *epoch);
                self.holds(at, *host)
                    || self.has_had_lock(at, *host)
                    || self.asked == Asked::May && *flushed == Flushed::Nothing
            }),
            Some(RequestPlan::Access(access)) => {
                let access = plan.access((rank, *access));
                // What is only written may have been copied.
                let may_be_copied = self.asked == Asked::May && !access.fetches;
                may_be_copied || access.epoch.is_none_or(|epoch| self.is_let_in((rank, epoch), access.target))
            }
        }
    }

    /// Whether the close of an access, an exposure or a lock has ended.
    fn is_closed(&mut self, at: EpochId) -> bool {
        let plan = self.plan;
        let its = plan.epoch(at);
        if self.has_returned(at) {
            return true;
        }
        if (self.asked == Asked::Must || its.close_needs_begin()) && !self.has_begun(at) {
            return false;
        }
        match its.form {
            EpochForm::Fence => true,
            // It completes accesses at the origin (MPI-4.1, 12.5.2): what is only written may have been copied.
            EpochForm::Access if self.asked == Asked::May => {
                self.are_exposed(its, its.fetched.iter().copied())
            }
            EpochForm::Access => self.are_exposed(its, its.peers.iter().map(|(peer, _)| *peer)),
            EpochForm::Exposure => its.peers.iter().all(|(origin, _)| {
                !plan.keeps(Order::WaitWaitsForOrigins) || self.has_completed(*origin, its)
            }),
            EpochForm::Lock(_) | EpochForm::LockAll => its.hosts(plan.ranks()).all(|host| {
                // Nothing says that an epoch without accesses waits for its lock.
                self.asked == Asked::May && !its.is_used(host)
                    || self.holds(at, host)
                    || self.state.weakest.is_freed(its.window, at, host)
            }),
        }
    }

    /// Whether an origin has called the `complete` that belongs to an exposure.
    fn has_completed(&mut self, origin: u16, exposure: &EpochPlan) -> bool {
        let Some(access) = exposure.peer(origin) else { return false };
        let its = self.plan.epoch((origin, access));
        its.closed.is_some_and(|closed| self.has_called(origin, closed)) && self.has_begun((origin, access))
    }

    /// Whether some targets of an access epoch have posted.
    fn are_exposed(&mut self, its: &EpochPlan, mut targets: impl Iterator<Item = u16>) -> bool {
        targets.all(|target| its.peer(target).is_some_and(|exposure| self.has_begun((target, exposure))))
    }

    fn is_fenced(&mut self, rank: u16, epoch: Option<u16>, number: u32, ends_none: bool) -> bool {
        let Some(epoch) = epoch else { return true };
        let window = self.plan.epoch((rank, epoch)).window;
        if self.asked == Asked::May && (ends_none || !self.plan.keeps(Order::FenceWaitsForRanks)) {
            return true;
        }
        self.has_begun((rank, epoch)) && self.have_all_fenced(window, number)
    }

    /// Whether a rank has called a fence of a window, from 0.
    fn has_fenced(&self, rank: u16, window: u16, number: u32) -> bool {
        let step = self.plan.rank(rank).fences.get(&window).and_then(|steps| steps.get(number as usize));
        step.is_some_and(|step| self.has_called(rank, *step))
    }

    /// The other ranks that have not called a fence.
    fn missing_at_fence(&self, rank: u16, window: u16, number: u32) -> Vec<u16> {
        let others = (0..self.plan.ranks()).filter(|other| *other != rank);
        others.filter(|other| !self.has_fenced(*other, window, number)).collect()
    }

    /// Whether all ranks have called a fence, and the epochs that it ends have begun everywhere.
    fn have_all_fenced(&mut self, window: u16, number: u32) -> bool {
        (0..self.plan.ranks()).all(|rank| {
            let ended = number.checked_sub(1).and_then(|ended| self.plan.fence_epoch(rank, window, ended));
            self.has_fenced(rank, window, number) && ended.is_none_or(|ended| self.has_begun((rank, ended)))
        })
    }

    /// Whether a target has let an epoch in.
    fn is_let_in(&mut self, at: EpochId, target: u16) -> bool {
        let plan = self.plan;
        let its = plan.epoch(at);
        if its.locks() {
            return self.holds(at, target) || self.has_had_lock(at, target);
        }
        let exposure = plan.exposure(its, target);
        self.has_begun(at) && exposure.is_some_and(|exposure| self.has_begun((target, exposure)))
    }

    /// Whether an epoch has had the lock of a host, and has given it back.
    fn has_had_lock(&mut self, epoch: EpochId, host: u16) -> bool {
        self.has_returned(epoch) || self.state.weakest.is_freed(self.plan.epoch(epoch).window, epoch, host)
    }

    /// Whether an epoch has the lock of a host.
    fn holds(&mut self, epoch: EpochId, host: u16) -> bool {
        let its = self.plan.epoch(epoch);
        if self.plan.contended(its.window, host).is_empty() {
            return !self.has_returned(epoch) && self.has_begun(epoch);
        }
        self.state.weakest.is_held(its.window, epoch, host)
    }

    fn find_grants(&mut self, at: EpochId, its: &EpochPlan, awaited: &mut Awaited) {
        match its.form {
            EpochForm::Fence => {
                awaited.fences = self.missing_at_fence(at.0, its.window, its.number);
            }
            _ if its.locks() => {
                for host in its.hosts(self.plan.ranks()) {
                    if !self.holds(at, host) && !self.state.weakest.is_freed(its.window, at, host) {
                        awaited.locks.push((at, host));
                    }
                }
            }
            _ => {
                for (target, exposure) in &its.peers {
                    if !exposure.is_some_and(|exposure| self.has_begun((*target, exposure))) {
                        awaited.posts.push(*target);
                    }
                }
            }
        }
    }
}

impl WindowPlan {
    /// The steps that have opened the epochs of a rank with a lock that may be held or wanted: of one host, or of any.
    pub(crate) fn open_locks<P: Protocol>(
        &self,
        state: &State<P>,
        rank: u16,
        window: u16,
        host: Option<u16>,
    ) -> impl Iterator<Item = u16> {
        let pc = state.procs[usize::from(rank)].pc;
        let is_there = move |(at, epoch): &(u16, &EpochPlan)| {
            let is_asked = |of: &u16| host.is_none_or(|host| host == *of);
            let is_kept = |of| !self.has_freed(state, (rank, *at), of);
            epoch.window == window
                && epoch.opened < pc
                && epoch.hosts(self.ranks()).filter(is_asked).any(is_kept)
        };
        (0..).zip(&self.rank(rank).epochs).filter(is_there).map(|(_, epoch)| epoch.opened)
    }

    /// Whether some lock has to be given away or back, whatever the MPI.
    pub(crate) fn owes_lock<P: Protocol>(&self, state: &State<P>) -> bool {
        let mut is_owed = false;
        for (place, _) in self.all_contended() {
            self.lock_steps_at(state, place, |_, must| is_owed |= must);
        }
        is_owed
    }

    /// The steps of locks that are possible.
    pub(crate) fn lock_steps<P: Protocol>(&self, state: &State<P>, mut found: impl FnMut(LockStep)) {
        for (place, _) in self.all_contended() {
            self.lock_steps_at(state, place, |step, _| found(step));
        }
    }
}
