//! Facts about the windows of a job that hold in every execution: which accesses may race, and where the order of locks
//! matters.

use crate::access_order::{AccessOrder, Made, Touch};
use crate::admission::Refused;
use crate::assertions::AssertionFacts;
use crate::brief_locks::brief_locks;
use crate::happens_before::{Behind, HappensBefore};
use crate::network::{Channel, ChannelKind, InFlight};
use crate::program::{Access, Act, Job, Program};
use crate::state::State;
use crate::violation::ViolationKind;
use carrousel_rank::epoch::{Call, EpochUsageError, Mode, Packet};
use carrousel_rank::{Protocol, WindowIndex};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// Accesses to the memory of one rank that are compared one by one; of more, each counts as if it might race.
const COMPARED_MAX: usize = 1024;

/// Rivals of one access that are told apart; of more, only their ranks are.
const RIVALS_MAX: usize = 64;

/// What could race with an access, at some rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rival {
    rank: u16,
    /// The last step that makes it: until then it is to come.
    last: u16,
    kind: RivalKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RivalKind {
    /// The program itself touches its memory: it is over at once.
    Touch,
    /// This access.
    Access(u16),
    /// Any access of the rank.
    Any,
}

type Rivals = Vec<Rival>;

/// Facts about the windows of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowFacts {
    /// Whether some rank uses a window.
    pub(crate) are_used: bool,
    /// By rank: the calls that no execution survives.
    refused: Vec<Refused>,
    /// What its programs promise.
    pub(crate) assertions: AssertionFacts,
    /// Ranks whose access and exposure epochs do not match.
    pub(crate) groups_differ: Option<ViolationKind>,
    /// Ranks that do not call the same fences.
    pub(crate) fences_differ: Option<ViolationKind>,
    /// By rank and access: those to the same bytes that could race with it, and are not always apart.
    conflicts: Vec<Vec<Rivals>>,
    /// By rank and step, where a program touches its own memory: the same.
    touches: Vec<BTreeMap<u16, Rivals>>,
    /// By window: it is locked, and exposed. What its host does depends on which comes first.
    is_mixed: Vec<bool>,
    /// By window: the same, with an exposure to a group. Whether that is legal depends on which comes first, the exposure
    /// or the unlock.
    is_posted: Vec<bool>,
    /// Windows and hosts to which more ranks send operands that are staged than the host has buffers. Otherwise no rank
    /// waits for the buffer of another, and the order of their requests makes no difference.
    lack_buffers: BTreeSet<(u16, u16)>,
    /// By rank: the last step that locks the memory of a rank in a window.
    last_lock: Vec<BTreeMap<(u16, u16), u16>>,
    /// The same for exclusive locks.
    last_exclusive: Vec<BTreeMap<(u16, u16), u16>>,
    /// Windows and hosts whose locks are brief: in which order ranks get them makes no difference.
    brief_locks: BTreeSet<(u16, u16)>,
}

impl WindowFacts {
    /// The facts about a job, whose steps are in this order.
    pub(crate) fn new(job: &Job, portable: bool, refused: Vec<Refused>, steps: &HappensBefore<'_>) -> Self {
        if job.windows.is_empty() {
            return Self::default();
        }
        let ranks = job.ranks.len();
        let mut facts = Self {
            are_used: true,
            assertions: AssertionFacts::new(job, &refused, steps),
            refused,
            groups_differ: groups_differ(job),
            fences_differ: fences_differ(job),
            conflicts: job.ranks.iter().map(|program| vec![Rivals::new(); program.accesses.len()]).collect(),
            touches: vec![BTreeMap::new(); ranks],
            is_mixed: vec![false; job.windows.len()],
            is_posted: vec![false; job.windows.len()],
            lack_buffers: lack_buffers(job),
            last_lock: vec![BTreeMap::new(); ranks],
            last_exclusive: vec![BTreeMap::new(); ranks],
            brief_locks: BTreeSet::new(),
        };
        // Under the weakest MPI nothing of the library runs.
        if !portable {
            let epochs = AccessOrder::new(job, &facts.refused);
            for (target, made) in accesses(job) {
                facts.compare(target, &made, &epochs, steps);
            }
            facts.brief_locks = brief_locks(job, |rank, step| facts.may_race_ever(job, rank, step));
        }
        let mut is_exposed = vec![false; job.windows.len()];
        let mut is_locked = vec![false; job.windows.len()];
        for (rank, program) in job.ranks.iter().enumerate() {
            for (pc, call) in program.calls() {
                let window = call.window;
                let at = usize::from(window);
                let hosts = match call.call() {
                    Call::Lock { target, mode } => {
                        if mode == Mode::Exclusive {
                            facts.last_exclusive[rank].insert((window, target.0 as u16), pc);
                        }
                        target.0..target.0 + 1
                    }
                    Call::LockAll => 0..ranks as u32,
                    Call::Post(_) | Call::Fence => {
                        is_exposed[at] = true;
                        facts.is_posted[at] |= matches!(call.call(), Call::Post(_));
                        continue;
                    }
                    _ => continue,
                };
                is_locked[at] = true;
                facts.last_lock[rank].extend(hosts.map(|host| ((window, host as u16), pc)));
            }
        }
        for (mixed, both) in facts.is_mixed.iter_mut().zip(is_exposed.iter().zip(&is_locked)) {
            *mixed = *both.0 && *both.1;
        }
        facts
    }

    /// Compares all accesses to the memory of one rank.
    fn compare(&mut self, target: u16, made: &[Made], epochs: &AccessOrder<'_>, steps: &HappensBefore<'_>) {
        let any = (made.len() > COMPARED_MAX).then(|| by_rank(made.iter().map(rival)));
        let extents: Vec<_> = made.iter().map(|made| epochs.extent(made)).collect();
        let behind: Vec<OnceCell<Option<Behind>>> = made.iter().map(|_| OnceCell::new()).collect();
        let is_before = |one: usize, other: usize| {
            let over = || extents[one].and_then(|extent| extent.over);
            let behind = behind[one].get_or_init(|| over().map(|over| steps.behind((made[one].rank, over))));
            let exposed = || extents[other].and_then(|extent| extent.exposed());
            behind.as_ref().is_some_and(|behind| {
                behind.has((made[other].rank, made[other].step))
                    || exposed().is_some_and(|exposed| behind.has((target, exposed)))
            })
        };
        for (at, one) in made.iter().enumerate() {
            let are_apart = |window: u16, other: usize| {
                let (Some(this), Some(that)) = (extents[at], extents[other]) else { return false };
                epochs.are_apart(target, window, (one, this), (&made[other], that))
                    || is_before(at, other)
                    || is_before(other, at)
            };
            let is_rival = |(other, it): &(usize, &Made)| {
                let window = common_window(target, &one.touch, &it.touch);
                *other != at && window.is_some_and(|window| !are_apart(window, *other))
            };
            let rivals = any.clone().unwrap_or_else(|| {
                let rivals: Rivals =
                    made.iter().enumerate().filter(is_rival).map(|(_, it)| rival(it)).collect();
                if rivals.len() > RIVALS_MAX { by_rank(rivals.into_iter()) } else { rivals }
            });
            match one.touch {
                Touch::Access(index, _) => {
                    self.conflicts[usize::from(one.rank)][usize::from(index)] = rivals;
                }
                Touch::Own(_) if !rivals.is_empty() => {
                    self.touches[usize::from(one.rank)].insert(one.step, rivals);
                }
                Touch::Own(_) => {}
            }
        }
    }

    /// Whether a step of a rank ends the execution, because its epochs do not admit it.
    pub(crate) fn is_refused(&self, rank: u16, step: u16) -> bool {
        self.refusal(rank, step).is_some()
    }

    /// What the library says of a step of a rank, if its epochs do not admit it.
    pub(crate) fn refusal(&self, rank: u16, step: u16) -> Option<EpochUsageError> {
        self.refused.get(usize::from(rank))?.get(&step).copied()
    }

    /// Whether a window is locked, and exposed.
    pub(crate) fn is_mixed(&self, window: u16) -> bool {
        self.is_mixed.get(usize::from(window)).copied().unwrap_or_default()
    }

    /// Whether a host may have to let a rank wait for a staging buffer.
    pub(crate) fn may_lack_buffer(&self, window: u16, host: u16) -> bool {
        self.lack_buffers.contains(&(window, host))
    }

    /// Whether a window is locked, and exposed to a group.
    pub(crate) fn is_locked_and_posted(&self, window: u16) -> bool {
        self.is_mixed(window) && self.is_posted[usize::from(window)]
    }

    /// Whether a rank makes an access at a step that could race with any.
    fn may_race_ever(&self, job: &Job, rank: u16, step: u16) -> bool {
        let at = usize::from(rank);
        match job.ranks[at].steps[usize::from(step)].act {
            Act::Access(index) => !self.conflicts[at][usize::from(index)].is_empty(),
            Act::TouchWindow(_) => self.touches[at].contains_key(&step),
            _ => false,
        }
    }

    /// Whether the program of a rank touches its own memory at a step, and an access that is under way or to come could
    /// race with it.
    pub(crate) fn may_race_at<P: Protocol>(&self, state: &State<P>, rank: u16, pc: u16) -> bool {
        let rivals = self.touches.get(usize::from(rank)).and_then(|touches| touches.get(&pc));
        rivals.is_some_and(|rivals| rivals.iter().any(|rival| rival.may_be(state)))
    }

    /// Whether something that could race with a transfer under way is to come: then it matters how long it is under way.
    pub(crate) fn may_race<P: Protocol>(&self, state: &State<P>, origin: u16, access: u16) -> bool {
        let rivals = self.conflicts.get(usize::from(origin)).and_then(|all| all.get(usize::from(access)));
        rivals.is_some_and(|rivals| rivals.iter().any(|rival| rival.may_be(state)))
    }

    /// Whether the order matters in which a host gets this rank's request for its lock, and those of others. Two shared
    /// ones come to the same end in either order, as do any two if all are brief.
    pub(crate) fn locks_race<P: Protocol>(
        &self,
        state: &State<P>,
        window: u16,
        host: u16,
        (origin, mode): (u16, Mode),
    ) -> bool {
        if self.brief_locks.contains(&(window, host)) {
            return false;
        }
        let last = if mode == Mode::Exclusive { &self.last_lock } else { &self.last_exclusive };
        let requests = |(channel, item): &(Channel, InFlight)| {
            channel.peer != origin
                && channel.kind == ChannelKind::Lane(window)
                && matches!(item, InFlight::OfEpoch { packet: Packet::LockRequest { mode: other, .. }, .. } if mode.excludes(*other))
        };
        state.network.iter_to(host).any(requests)
            || state.ranks().any(|(rank, proc)| {
                let to_come = || {
                    let last = last[usize::from(rank)].get(&(window, host));
                    last.is_some_and(|last| is_before(state, rank, *last))
                };
                let is_deferred = || {
                    let view = proc.rank.window(WindowIndex(u32::from(window)));
                    let mut epochs = view.into_iter().flat_map(|view| view.epochs());
                    epochs.any(|epoch| {
                        epoch.name().kind.locks() && !epoch.is_active() && mode.excludes(epoch.mode())
                    })
                };
                rank != origin && (to_come() || is_deferred())
            })
    }
}

/// Whether the program of a rank has not gone past a step.
fn is_before<P: Protocol>(state: &State<P>, rank: u16, last: u16) -> bool {
    state.procs[usize::from(rank)].pc <= last
}

impl Rival {
    /// Whether it is to come, or has been called and is not known to be over: it may be waiting for a grant.
    fn may_be<P: Protocol>(&self, state: &State<P>) -> bool {
        let proc = &state.procs[usize::from(self.rank)];
        proc.pc <= self.last
            || match self.kind {
                RivalKind::Touch => false,
                RivalKind::Access(index) => proc.accesses.iter().any(|open| open.access == index),
                RivalKind::Any => !proc.accesses.is_empty(),
            }
    }
}

/// Any access of each rank, up to its last.
fn by_rank(rivals: impl Iterator<Item = Rival>) -> Rivals {
    let mut last: BTreeMap<u16, u16> = BTreeMap::new();
    for rival in rivals {
        let known = last.entry(rival.rank).or_default();
        *known = (*known).max(rival.last);
    }
    last.into_iter().map(|(rank, last)| Rival { rank, last, kind: RivalKind::Any }).collect()
}

fn rival(made: &Made) -> Rival {
    let kind = match made.touch {
        Touch::Access(index, _) => RivalKind::Access(index),
        Touch::Own(_) => RivalKind::Touch,
    };
    Rival { rank: made.rank, last: made.step, kind }
}

/// By target: all accesses.
fn accesses(job: &Job) -> BTreeMap<u16, Vec<Made>> {
    let mut by_target: BTreeMap<u16, Vec<Made>> = BTreeMap::new();
    for (rank, program) in (0..).zip(&job.ranks) {
        for (step, it) in (0..).zip(&program.steps) {
            let (target, touch) = match it.act {
                Act::Access(index) => {
                    let access = program.accesses[usize::from(index)];
                    (access.transfer.target.0 as u16, Touch::Access(index, access))
                }
                Act::TouchWindow(own) => (rank, Touch::Own(own)),
                _ => continue,
            };
            by_target.entry(target).or_default().push(Made { rank, step, touch });
        }
    }
    by_target
}

/// The window in which both access common bytes of a rank's memory, in a way that could race.
fn common_window(target: u16, one: &Touch, other: &Touch) -> Option<u16> {
    match (one, other) {
        (Touch::Access(_, one), Touch::Access(_, other)) => one.conflicts_with(other).then_some(one.window),
        (Touch::Access(_, access), Touch::Own(own)) | (Touch::Own(own), Touch::Access(_, access)) => {
            access.conflicts_with_own(target, own).then_some(access.window)
        }
        // A program's own accesses follow each other.
        (Touch::Own(_), Touch::Own(_)) => None,
    }
}

/// Windows and hosts to which more ranks send operands that are staged than the host has buffers.
fn lack_buffers(job: &Job) -> BTreeSet<(u16, u16)> {
    let mut origins: BTreeMap<(u16, u16), BTreeSet<u16>> = BTreeMap::new();
    for (rank, program) in (0..).zip(&job.ranks) {
        for Access { window, transfer, .. } in &program.accesses {
            let staging = job.windows[usize::from(*window)].staging;
            if transfer.kind.accumulates() && transfer.place.bytes() > staging.threshold {
                origins.entry((*window, transfer.target.0 as u16)).or_default().insert(rank);
            }
        }
    }
    let lacks = |((window, _), origins): &(&(u16, u16), &BTreeSet<u16>)| {
        origins.len() > usize::from(job.windows[usize::from(*window)].staging.buffers)
    };
    origins.iter().filter(lacks).map(|(place, _)| *place).collect()
}

/// The rank that calls the most fences of a window, and the one that calls the fewest: a fence is a collective (MPI-4.1, 12.5.1).
fn fences_differ(job: &Job) -> Option<ViolationKind> {
    (0..job.windows.len() as u16).find_map(|window| {
        let fences = |program: &Program| {
            program.calls().filter(|(_, it)| it.window == window && matches!(it.call(), Call::Fence)).count()
        };
        let counts: Vec<usize> = job.ranks.iter().map(|program| fences(program)).collect();
        let first_with = |count: Option<&usize>| counts.iter().position(|it| Some(it) == count);
        let (at, other) = first_with(counts.iter().max()).zip(first_with(counts.iter().min()))?;
        (at != other).then_some(ViolationKind::FencesDiffer { at: at as u16, other: other as u16, window })
    })
}

/// The first pair of ranks of which one starts access epochs to the other, and that has not as many exposures for it.
fn groups_differ(job: &Job) -> Option<ViolationKind> {
    // By window, origin and target: accesses without exposures.
    let mut missing: BTreeMap<(u16, u16, u16), i64> = BTreeMap::new();
    for (rank, program) in (0..).zip(&job.ranks) {
        for call in &program.synchronizations {
            match call.call() {
                Call::Start(group) => group.iter().for_each(|target| {
                    *missing.entry((call.window, rank, target.0 as u16)).or_default() += 1
                }),
                Call::Post(group) => group.iter().for_each(|origin| {
                    *missing.entry((call.window, origin.0 as u16, rank)).or_default() -= 1
                }),
                _ => {}
            }
        }
    }
    let differ = missing.into_iter().find(|(_, missing)| *missing != 0);
    differ.map(|((window, origin, target), _)| ViolationKind::GroupsDiffer { origin, target, window })
}
