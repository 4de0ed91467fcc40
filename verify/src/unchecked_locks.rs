//! Locks of which a program says that nothing contends with them (`nocheck`), and whether it is so.
//!
//! Whether two ranks have a lock at the same time depends on the order of events. So a search that leaves out orders has to
//! know where it matters: at a call that asks for such a lock, if another rank asks for one that it excludes later, and as
//! long as such a lock is not given back.

use crate::open_epochs::EpochForm;
use crate::program::{Job, Program, Synchronization};
use crate::state::State;
use crate::violation::{BrokenAssertion, Location};
use crate::weakest::WindowPlan;
use carrousel_rank::epoch::{Call, Mode};
use carrousel_rank::{Protocol, RankId, WindowIndex};
use carrousel_scenario::Assertion;
use std::collections::BTreeMap;

/// The locks of a job; empty if none says `nocheck`, or none that another rank asks for excludes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct UncheckedLocks {
    /// By rank and window: the steps that open an epoch, in their order, and whether they say `nocheck`.
    opened: Vec<BTreeMap<u16, Vec<(u16, bool)>>>,
    /// By rank.
    last: Vec<LastLocks>,
}

/// Shared and exclusive locks, with `nocheck` and without.
const CLASSES: usize = 4;

/// By window and hosts: the last step of each class of locks.
type LastLocks = BTreeMap<(u16, Hosts), [Option<u16>; CLASSES]>;

/// The ranks whose memory a call locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Hosts {
    /// That of one.
    One(RankId),
    /// That of all.
    All,
    /// Either.
    Any,
}

/// A lock that is asked for.
#[derive(Clone, Copy)]
struct Lock {
    window: u16,
    /// `None` is all of them.
    target: Option<RankId>,
    mode: Mode,
    is_unchecked: bool,
}

impl Lock {
    fn of(call: &Synchronization) -> Option<Self> {
        let (target, mode) = match call.call() {
            Call::Lock { target, mode } => (Some(target), mode),
            Call::LockAll => (None, Mode::Shared),
            _ => return None,
        };
        let is_unchecked = call.asserts().has(Assertion::NoCheck);
        Some(Self { window: call.window, target, mode, is_unchecked })
    }

    fn class(self) -> usize {
        usize::from(self.mode == Mode::Exclusive) + 2 * usize::from(self.is_unchecked)
    }

    /// Whether a lock of this class must not meet it.
    fn minds(self, class: usize) -> bool {
        (self.class() | class) == CLASSES - 1
    }
}

impl UncheckedLocks {
    pub(crate) fn new(job: &Job) -> Self {
        if !may_meet(job) {
            return Self::default();
        }
        Self {
            opened: job.ranks.iter().map(|program| opened(program)).collect(),
            last: job.ranks.iter().map(|program| last(program)).collect(),
        }
    }

    /// Whether no lock says `nocheck`.
    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// A lock is requested that another rank has or wants, too, and one of both says that this does not happen.
    pub(crate) fn contended<P: Protocol>(
        &self,
        job: &Job,
        state: &State<P>,
        (me, step): (u16, u16),
        plan: &WindowPlan,
    ) -> Option<BrokenAssertion> {
        self.opened.first()?;
        let lock = Lock::of(job.ranks[usize::from(me)].call_at(step)?)?;
        state.ranks().filter(|(rank, _)| *rank != me).find_map(|(rank, proc)| {
            let opened = self.opened[usize::from(rank)].get(&lock.window)?;
            let steps: Vec<u16> = match proc.rank.window(WindowIndex(u32::from(lock.window))) {
                Some(view) => {
                    let numbers = view.epochs().map(|epoch| epoch.name().number as usize);
                    numbers.filter_map(|number| Some(opened.get(number)?.0)).collect()
                }
                None => {
                    plan.open_locks(state, rank, lock.window, lock.target.map(|host| host.0 as u16)).collect()
                }
            };
            let other = steps.into_iter().find(|step| {
                let other = job.ranks[usize::from(rank)].call_at(*step).and_then(Lock::of);
                other.is_some_and(|other| {
                    let meets =
                        lock.target.is_none() || other.target.is_none() || other.target == lock.target;
                    meets && lock.minds(other.class())
                })
            })?;
            Some(BrokenAssertion::Contended {
                other: Location { rank, step: other },
                is_mine: lock.is_unchecked,
            })
        })
    }

    /// Whether a rank asks for a lock at its next step that one to come of another rank must not meet.
    pub(crate) fn may_be_met<P: Protocol>(&self, job: &Job, state: &State<P>, me: u16) -> bool {
        if self.last.is_empty() {
            return false;
        }
        let call = job.ranks[usize::from(me)].call_at(state.procs[usize::from(me)].pc);
        call.and_then(Lock::of).is_some_and(|lock| self.meets_later(state, me, lock))
    }

    /// Whether a rank has, or wants, a lock that one to come of another rank must not meet.
    pub(crate) fn are_open<P: Protocol>(&self, job: &Job, state: &State<P>) -> bool {
        let is_open = |rank: u16| {
            self.opened[usize::from(rank)].iter().any(|(window, opened)| {
                let view = state.procs[usize::from(rank)].rank.window(WindowIndex(u32::from(*window)));
                view.into_iter().flat_map(|view| view.epochs()).any(|epoch| {
                    let step = opened.get(epoch.name().number as usize).map(|(step, _)| *step);
                    let call = step.and_then(|step| job.ranks[usize::from(rank)].call_at(step));
                    call.and_then(Lock::of).is_some_and(|lock| self.meets_later(state, rank, lock))
                })
            })
        };
        (0..self.opened.len() as u16).any(is_open)
    }

    fn meets_later<P: Protocol>(&self, state: &State<P>, me: u16, lock: Lock) -> bool {
        let hosts = match lock.target {
            Some(target) => [Hosts::One(target), Hosts::All],
            None => [Hosts::Any; 2],
        };
        state.ranks().filter(|(rank, _)| *rank != me).any(|(rank, proc)| {
            let last =
                hosts.iter().filter_map(|hosts| self.last[usize::from(rank)].get(&(lock.window, *hosts)));
            let is_to_come = |(class, last): (usize, &Option<u16>)| {
                lock.minds(class) && last.is_some_and(|last| proc.pc <= last)
            };
            last.flat_map(|last| last.iter().enumerate()).any(is_to_come)
        })
    }
}

/// Whether two ranks ask for locks that must not meet.
fn may_meet(job: &Job) -> bool {
    // By window, rank whose memory is locked, and class: a rank that asks for such a lock, and whether others do, too.
    let mut asked: BTreeMap<(u16, Option<RankId>, usize), (usize, bool)> = BTreeMap::new();
    for (rank, program) in job.ranks.iter().enumerate() {
        for lock in program.synchronizations.iter().filter_map(Lock::of) {
            let (first, others) =
                asked.entry((lock.window, lock.target, lock.class())).or_insert((rank, false));
            *others |= *first != rank;
        }
    }
    let classes = || 0..CLASSES;
    asked.iter().any(|((window, target, class), (rank, others))| {
        // Those of one rank's memory, and of all memories, meet each other; each pair is found from the side of one rank.
        [*target, None].into_iter().flat_map(|other| classes().map(move |its| (other, its))).any(
            |(other, its)| {
                let meets = asked.get(&(*window, other, its));
                (class | its) == CLASSES - 1
                    && meets.is_some_and(|(first, more)| first != rank || *others || *more)
            },
        )
    })
}

/// The steps of a program that open an epoch, by window.
fn opened(program: &Program) -> BTreeMap<u16, Vec<(u16, bool)>> {
    let mut opened: BTreeMap<u16, Vec<(u16, bool)>> = BTreeMap::new();
    for (step, call) in program.calls() {
        if EpochForm::opened_by(call.call()).is_some() {
            let is_unchecked = call.asserts().has(Assertion::NoCheck);
            opened.entry(call.window).or_default().push((step, is_unchecked));
        }
    }
    opened
}

/// The last locks of a program, by window and hosts.
fn last(program: &Program) -> LastLocks {
    let mut all = LastLocks::new();
    for (step, call) in program.calls() {
        let Some(lock) = Lock::of(call) else { continue };
        for hosts in [lock.target.map_or(Hosts::All, Hosts::One), Hosts::Any] {
            let last = all.entry((lock.window, hosts)).or_default();
            last[lock.class()] = Some(step);
        }
    }
    all
}
