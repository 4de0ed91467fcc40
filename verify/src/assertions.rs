//! What programs assert of their use of windows (MPI-4.1, 12.5.5), and whether it is so.
//!
//! The library does not use assertions: it is right with them or without. Another MPI may leave synchronization out where a
//! program says that it is not needed, so each one that is false is a violation of `epoch-usage`.
//!
//! Programs have no branches, so the text of a job says of most assertions whether they hold: which store, fence and access
//! is between which calls, and which exposure an access belongs to, as both are counted. Only `nocheck` depends on the order
//! of events: a reduced search has to tell apart the orders of the steps that it speaks of, which make no other difference.

use crate::admission::Refused;
use crate::happens_before::HappensBefore;
use crate::open_epochs::EpochForm;
use crate::program::{Access, Act, Job, Program, Synchronization};
use crate::state::State;
use crate::unchecked_locks::UncheckedLocks;
use crate::violation::{BrokenAssertion, Location};
use crate::weakest::WindowPlan;
use carrousel_rank::Protocol;
use carrousel_rank::epoch::Call;
use carrousel_scenario::Assertion;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The assertions of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct AssertionFacts {
    /// By rank and step: what is not so there, however the ranks take turns.
    broken: Vec<BTreeMap<u16, BrokenAssertion>>,
    /// By rank and step of a fence: fences of other ranks that do not say the same. It shows at the second of both.
    differ: Vec<BTreeMap<u16, Vec<SaidByOthers>>>,
    /// By rank and step of a `start` that says `nocheck`: the posts that have to be over.
    awaited: Vec<BTreeMap<u16, Vec<Location>>>,
    /// By rank and step of one of these posts: the starts that it has to be over for.
    awaiting: Vec<BTreeMap<u16, Vec<Location>>>,
    /// The locks that say `nocheck`.
    locks: UncheckedLocks,
}

/// What a fence says, and the fences of the same epoch that do not say so; or the other way round.
#[derive(Clone, Debug)]
struct SaidByOthers {
    assertion: Assertion,
    is_mine: bool,
    others: Arc<[Location]>,
}

/// The steps that open epochs of one side, accesses or exposures, ascending. A fence is towards all peers, and kept once: a
/// list for each of them would be longer than the job.
#[derive(Default)]
pub(crate) struct Side {
    /// By window and rank.
    fences: BTreeMap<(u16, u16), Vec<u16>>,
    /// By window, rank and peer: of `start` or `post`.
    groups: BTreeMap<(u16, u16, u16), Vec<u16>>,
}

impl Side {
    fn towards(&self, window: u16, rank: u16, peer: u16) -> [&[u16]; 2] {
        [self.fences_of(window, rank), self.groups.get(&(window, rank, peer)).map_or(&[][..], Vec::as_slice)]
    }

    /// The fences of a rank.
    pub(crate) fn fences_of(&self, window: u16, rank: u16) -> &[u16] {
        self.fences.get(&(window, rank)).map_or(&[][..], Vec::as_slice)
    }

    /// How many epochs towards a peer a rank opens before a step.
    pub(crate) fn number(&self, window: u16, (rank, step): (u16, u16), peer: u16) -> usize {
        let before = |steps: &[u16]| steps.partition_point(|at| *at < step);
        self.towards(window, rank, peer).map(before).into_iter().sum()
    }

    /// The epoch of the other side that belongs to the one that a rank opens at a step: the n-th fence of a rank to the n-th of
    /// all others, and the n-th `start` of a pair to its n-th `post` (MPI-4.1, 12.5.2). (The library counts both together, which
    /// is the same where all ranks call the same fences.)
    fn partner(&self, other: &Self, window: u16, (rank, step): (u16, u16), peer: u16) -> Option<u16> {
        let lists = self.towards(window, rank, peer).into_iter().zip(other.towards(window, peer, rank));
        let found = lists.map(|(own, its)| its.get(own.binary_search(&step).ok()?).copied());
        found.flatten().next()
    }

    /// The step of the epoch towards a peer before which a rank opens so many.
    pub(crate) fn step(&self, window: u16, rank: u16, peer: u16, number: usize) -> Option<u16> {
        let lists = self.towards(window, rank, peer);
        let is_before = |step: &u16| self.number(window, (rank, *step), peer) < number;
        let found = lists.map(|steps| steps.get(steps.partition_point(is_before)).copied());
        found.into_iter().flatten().min()
    }
}

impl AssertionFacts {
    /// Of a job; empty if it asserts nothing.
    pub(crate) fn new(job: &Job, refused: &[Refused], steps: &HappensBefore<'_>) -> Self {
        let asserts =
            |program: &Program| program.synchronizations.iter().any(|call| !call.asserts().is_empty());
        if !job.ranks.iter().any(|program| asserts(program)) {
            return Self::default();
        }
        let ranks = job.ranks.len();
        let mut facts = Self {
            broken: vec![BTreeMap::new(); ranks],
            differ: vec![BTreeMap::new(); ranks],
            awaited: vec![BTreeMap::new(); ranks],
            awaiting: vec![BTreeMap::new(); ranks],
            locks: UncheckedLocks::default(),
        };
        for (rank, program) in job.ranks.iter().enumerate() {
            facts.broken[rank] = broken_alone(program);
        }
        let (accesses, exposures) = sides(job, refused);
        facts.compare_groups(job, &accesses, &exposures);
        facts.forget_what_is_ordered(steps);
        facts.find_puts(job, &accesses, &exposures);
        facts.compare_fences(job, refused);
        facts.locks = UncheckedLocks::new(job);
        facts
    }

    /// What is not so when a rank takes a step in a state.
    pub(crate) fn broken_at<P: Protocol>(
        &self,
        job: &Job,
        state: &State<P>,
        me: u16,
        plan: &WindowPlan,
    ) -> Option<BrokenAssertion> {
        let step = state.procs[usize::from(me)].pc;
        let broken = self.broken.get(usize::from(me)).and_then(|broken| broken.get(&step).copied());
        broken
            .or_else(|| self.differs(state, me, step))
            .or_else(|| self.not_posted(state, me, step))
            .or_else(|| self.locks.contended(job, state, (me, step), plan))
    }

    /// A fence does not say what one that was called before it says.
    fn differs<P: Protocol>(&self, state: &State<P>, me: u16, step: u16) -> Option<BrokenAssertion> {
        let said = self.differ.get(usize::from(me))?.get(&step)?;
        let is_made = |at: &&Location| state.procs[usize::from(at.rank)].pc > at.step;
        said.iter().find_map(|SaidByOthers { assertion, is_mine, others }| {
            let other = *others.iter().find(is_made)?;
            Some(BrokenAssertion::SaidByOne { assertion: *assertion, other, is_mine: *is_mine })
        })
    }

    /// An access epoch begins before one of its exposures, and says that it does not.
    fn not_posted<P: Protocol>(&self, state: &State<P>, me: u16, step: u16) -> Option<BrokenAssertion> {
        let awaited = self.awaited.get(usize::from(me))?.get(&step)?;
        let missing = awaited.iter().find(|post| state.procs[usize::from(post.rank)].pc <= post.step)?;
        Some(BrokenAssertion::NotPosted { post: *missing })
    }

    /// Whether the order matters in which a rank takes its next step, and others some of theirs.
    pub(crate) fn depend_on_order<P: Protocol>(&self, job: &Job, state: &State<P>, me: u16) -> bool {
        let step = state.procs[usize::from(me)].pc;
        let is_ahead = |all: &Vec<BTreeMap<u16, Vec<Location>>>| {
            let others = all.get(usize::from(me)).and_then(|steps| steps.get(&step));
            others
                .is_some_and(|others| others.iter().any(|at| state.procs[usize::from(at.rank)].pc <= at.step))
        };
        is_ahead(&self.awaited) || is_ahead(&self.awaiting) || self.locks.may_be_met(job, state, me)
    }

    /// Whether something that is asserted depends on the order of events.
    pub(crate) fn depend_on_events(&self) -> bool {
        self.awaited.iter().any(|steps| !steps.is_empty()) || !self.locks.is_empty()
    }

    /// Whether it matters for how long a lock is not given back.
    pub(crate) fn depend_on_locks<P: Protocol>(&self, job: &Job, state: &State<P>) -> bool {
        self.locks.are_open(job, state)
    }

    /// Of an access epoch and the exposure that it belongs to, both say `nocheck`, or none does.
    fn compare_groups(&mut self, job: &Job, accesses: &Side, exposures: &Side) {
        for (origin, program) in (0..).zip(&job.ranks) {
            for (step, start) in program.calls() {
                let Call::Start(group) = start.call() else { continue };
                for target in group.iter().map(|target| target.0 as u16) {
                    let exposure = accesses.partner(exposures, start.window, (origin, step), target);
                    let its = exposure.and_then(|at| Some((at, job.ranks[usize::from(target)].call_at(at)?)));
                    let Some((at, post)) = its.filter(|(_, it)| matches!(it.call(), Call::Post(_))) else {
                        continue;
                    };
                    self.compare((origin, step, start), (target, at, post));
                }
            }
        }
    }

    fn compare(
        &mut self,
        (origin, step, start): (u16, u16, &Synchronization),
        (target, at, post): (u16, u16, &Synchronization),
    ) {
        let other = Location { rank: target, step: at };
        let (here, there) = (says(start, Assertion::NoCheck), says(post, Assertion::NoCheck));
        if here != there {
            let broken = BrokenAssertion::SaidByOne { assertion: Assertion::NoCheck, other, is_mine: here };
            self.broken[usize::from(origin)].entry(step).or_insert(broken);
        }
        if here {
            self.awaited[usize::from(origin)].entry(step).or_default().push(other);
            let start = Location { rank: origin, step };
            self.awaiting[usize::from(target)].entry(at).or_default().push(start);
        }
    }

    /// Posts that are over before their starts in every execution keep what is promised of them.
    fn forget_what_is_ordered(&mut self, steps: &HappensBefore<'_>) {
        for (rank, posts) in (0..).zip(&mut self.awaiting) {
            for (step, starts) in posts.iter_mut() {
                let (behind, post) = (steps.behind((rank, *step)), Location { rank, step: *step });
                starts.retain(|start| {
                    let is_ordered = behind.has((start.rank, start.step));
                    let awaited = self.awaited[usize::from(start.rank)].get_mut(&start.step);
                    awaited.filter(|_| is_ordered).into_iter().for_each(|all| all.retain(|it| *it != post));
                    !is_ordered
                });
            }
        }
        let all = self.awaited.iter_mut().chain(&mut self.awaiting);
        all.for_each(|steps| steps.retain(|_, others| !others.is_empty()));
    }

    /// Accesses that write where an exposure says `noput`.
    fn find_puts(&mut self, job: &Job, accesses: &Side, exposures: &Side) {
        for (origin, program) in (0..).zip(&job.ranks) {
            for Belonging { step, access, opening } in belongings(program) {
                let (window, target) = (access.window, access.transfer.target.0 as u16);
                if !access.writes() || locks(program.call_at(opening)) {
                    continue;
                }
                let exposure = accesses.partner(exposures, window, (origin, opening), target);
                let Some(at) = exposure else { continue };
                let exposure = job.ranks[usize::from(target)].call_at(at);
                if exposure.is_some_and(|exposure| says(exposure, Assertion::NoPut)) {
                    let exposure = Location { rank: target, step: at };
                    self.broken[usize::from(origin)].entry(step).or_insert(BrokenAssertion::Put { exposure });
                }
            }
        }
    }

    /// What one rank says of a fence, all say.
    fn compare_fences(&mut self, job: &Job, refused: &[Refused]) {
        // By window and number of the fence.
        let mut all: BTreeMap<(u16, usize), Vec<(Location, &Synchronization)>> = BTreeMap::new();
        for (rank, program) in (0..).zip(&job.ranks) {
            let mut number: BTreeMap<u16, usize> = BTreeMap::new();
            let fences = calls_made(program, refused.get(usize::from(rank)));
            for (step, call) in fences.filter(|(_, call)| matches!(call.call(), Call::Fence)) {
                let at = number.entry(call.window).or_default();
                all.entry((call.window, *at)).or_default().push((Location { rank, step }, call));
                *at += 1;
            }
        }
        for (fences, assertion) in
            all.values().flat_map(|fences| [(fences, Assertion::NoPrecede), (fences, Assertion::NoSucceed)])
        {
            let group = |answer: bool| -> Arc<[Location]> {
                let its = fences.iter().filter(|(_, call)| says(call, assertion) == answer);
                its.map(|(at, _)| *at).collect()
            };
            let (with, without) = (group(true), group(false));
            if with.is_empty() || without.is_empty() {
                continue;
            }
            for (is_mine, mine, others) in [(true, &with, &without), (false, &without, &with)] {
                for at in mine.iter() {
                    let said = SaidByOthers { assertion, is_mine, others: Arc::clone(others) };
                    self.differ[usize::from(at.rank)].entry(at.step).or_default().push(said);
                }
            }
        }
    }
}

fn says(call: &Synchronization, assertion: Assertion) -> bool {
    call.asserts().has(assertion)
}

/// Whether a call opens an epoch of a lock.
fn locks(call: Option<&Synchronization>) -> bool {
    call.and_then(|call| EpochForm::opened_by(call.call())).is_some_and(EpochForm::locks)
}

/// An access, and the step that has opened its epoch.
struct Belonging {
    step: u16,
    access: Access,
    opening: u16,
}

/// The accesses of a program that have an epoch.
fn belongings(program: &Program) -> Vec<Belonging> {
    let mut open: BTreeMap<(u16, EpochForm), u16> = BTreeMap::new();
    let mut all = Vec::new();
    for (step, act) in (0..).zip(&program.steps) {
        if let Act::Access(index) = act.act {
            let access = program.accesses[usize::from(index)];
            let forms = EpochForm::of_access(access.transfer.target);
            let opening = forms.into_iter().find_map(|form| open.get(&(access.window, form)).copied());
            all.extend(opening.map(|opening| Belonging { step, access, opening }));
        } else if let Some(call) = program.call_at(step) {
            if let Some(form) = EpochForm::closed_by(call.call()) {
                open.remove(&(call.window, form));
            }
            if let Some(form) = EpochForm::opened_by(call.call()) {
                open.insert((call.window, form), step);
            }
        }
    }
    all
}

/// The calls of a rank on epochs: behind one that its epochs do not admit, it makes none.
fn calls_made<'a>(
    program: &'a Program,
    refused: Option<&Refused>,
) -> impl Iterator<Item = (u16, &'a Synchronization)> {
    let end = refused.and_then(|refused| refused.keys().next()).copied();
    program.calls().take_while(move |(step, _)| end.is_none_or(|end| *step < end))
}

/// The access and the exposure epochs of all ranks. Both sides of a fence are in both.
pub(crate) fn sides(job: &Job, refused: &[Refused]) -> (Side, Side) {
    let (mut accesses, mut exposures) = (Side::default(), Side::default());
    for (rank, program) in (0..).zip(&job.ranks) {
        for (step, call) in calls_made(program, refused.get(usize::from(rank))) {
            let (side, group) = match call.call() {
                Call::Start(group) => (&mut accesses, group),
                Call::Post(group) => (&mut exposures, group),
                Call::Fence => {
                    for side in [&mut accesses, &mut exposures] {
                        side.fences.entry((call.window, rank)).or_default().push(step);
                    }
                    continue;
                }
                _ => continue,
            };
            for peer in group {
                side.groups.entry((call.window, rank, peer.0 as u16)).or_default().push(step);
            }
        }
    }
    (accesses, exposures)
}

/// By step: the assertions of a program that its own stores and accesses break.
fn broken_alone(program: &Program) -> BTreeMap<u16, BrokenAssertion> {
    let mut broken = BTreeMap::new();
    // By the step of a fence: the last access of the epoch that it has opened.
    let mut accessed: BTreeMap<u16, u16> = BTreeMap::new();
    for Belonging { step, opening, .. } in belongings(program) {
        let fence = program.call_at(opening).filter(|call| matches!(call.call(), Call::Fence));
        if let Some(fence) = fence {
            accessed.insert(opening, step);
            if says(fence, Assertion::NoSucceed) {
                broken.insert(step, BrokenAssertion::Succeeded { fence: opening });
            }
        }
    }
    // By window: the last store since the rank synchronized, and the last fence.
    let mut stored: BTreeMap<u16, u16> = BTreeMap::new();
    let mut fenced: BTreeMap<u16, u16> = BTreeMap::new();
    for (step, act) in (0..).zip(&program.steps) {
        if let Act::TouchWindow(own) = &act.act
            && own.write
        {
            stored.insert(own.window.0 as u16, step);
        }
        let Some(call) = program.call_at(step) else { continue };
        if matches!(call.call(), Call::Fence | Call::Post(_) | Call::Wait) {
            let store = stored.remove(&call.window).filter(|_| says(call, Assertion::NoStore));
            broken.extend(store.map(|store| (step, BrokenAssertion::Stored { store })));
        }
        if matches!(call.call(), Call::Fence) {
            let before = fenced.insert(call.window, step).filter(|_| says(call, Assertion::NoPrecede));
            let access = before.and_then(|fence| accessed.get(&fence));
            let preceded = access.map(|access| BrokenAssertion::Preceded { access: *access });
            broken.extend(preceded.map(|preceded| (step, preceded)));
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_towards_a_peer_are_counted_with_the_fences_between_them() {
        let side = Side {
            fences: BTreeMap::from([((0, 1), vec![2, 5, 9])]),
            groups: BTreeMap::from([((0, 1, 3), vec![0, 3, 7])]),
        };
        let all = [0, 2, 3, 5, 7, 9];
        for (number, step) in all.into_iter().enumerate() {
            assert_eq!(side.number(0, (1, step), 3), number, "before {step}");
            assert_eq!(side.step(0, 1, 3, number), Some(step));
        }
        assert_eq!((side.number(0, (1, 100), 3), side.step(0, 1, 3, 6)), (6, None));
        // Fences belong to fences, and groups to groups.
        let other = Side {
            fences: BTreeMap::from([((0, 3), vec![1, 4])]),
            groups: BTreeMap::from([((0, 3, 1), vec![0, 8])]),
        };
        let partners = all.map(|step| side.partner(&other, 0, (1, step), 3));
        assert_eq!(partners, [Some(0), Some(1), Some(8), Some(4), None, None]);
        assert_eq!(
            (side.step(0, 1, 2, 1), side.step(1, 1, 3, 0)),
            (Some(5), None),
            "fences only, and nothing"
        );
    }
}
