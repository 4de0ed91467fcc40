//! Which accesses of a job can never be under way together, in whatever order events come.
//!
//! Programs have no branches, so their text says which epoch an access belongs to, and when its rank knows that it is over.
//! Two accesses to one rank's memory follow each other if one of these holds:
//! - the rank of one has waited for its end before it calls the other;
//! - they belong to different exposures of the target. The n-th epoch of an origin towards a target is granted by the n-th
//!   exposure for it, and an exposure begins when those before it have ended, unless the flag `exposure_after_exposure`
//!   lets it begin earlier, or it is opened within a fence epoch;
//! - they belong to different lock epochs of one origin, whose second request is behind the end of the first, or of two
//!   origins of which one locks exclusively;
//! - the program itself touches its memory before it exposes it to the other, after it has waited for the end of that
//!   exposure, or while it has a lock of its own that excludes the other's;
//! - one is over before the other begins because messages or collectives say so (`happens_before`).
//!
//! All of this is what the library does. Under the weakest MPI, an access may be under way for longer: nothing of it is
//! taken for granted there.

use crate::admission::Refused;
use crate::assertions::{Side, sides};
use crate::open_epochs::EpochForm;
use crate::program::{Access, Act, Job, Ordinal, Program};
use carrousel_program::OwnAccess;
use carrousel_rank::epoch::{Call, Mode};
use std::collections::BTreeMap;

/// Accesses of a rank that are followed at a time. Of others, it is not known when they are over.
const PENDING_MAX: usize = 4096;

/// One access of some rank to the memory of some rank.
#[derive(Clone, Copy)]
pub(crate) enum Touch {
    /// Through a window: its index in the program.
    Access(u16, Access),
    /// By the program itself, to its own memory.
    Own(OwnAccess),
}

/// An access, with the rank and the step that makes it.
#[derive(Clone, Copy)]
pub(crate) struct Made {
    pub(crate) rank: u16,
    pub(crate) step: u16,
    pub(crate) touch: Touch,
}

/// The step that opened an epoch, and what it is to its target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AccessEpoch {
    /// The exposure, by the step of the target that opens it; `None` if there is none.
    Exposed(Option<u16>),
    /// A lock.
    Locked { opened: u16, mode: Mode },
    /// The program's own access, with the lock that it holds of its own memory.
    Own(Option<Mode>),
    /// None.
    Outside,
}

/// What the text says of an access.
pub(crate) struct Extent {
    epoch: AccessEpoch,
    /// The wait behind which it is over, if there is one.
    pub(crate) over: Option<u16>,
}

impl Extent {
    /// The step of the target before which it does not begin, if there is one.
    pub(crate) fn exposed(&self) -> Option<u16> {
        match self.epoch {
            AccessEpoch::Exposed(opened) => opened,
            _ => None,
        }
    }
}

/// What the text of a program says.
#[derive(Default)]
struct Text {
    /// By step that makes an access.
    extents: BTreeMap<u16, Extent>,
    /// By window and step that opens an exposure: the wait behind which it has ended.
    ended: BTreeMap<(u16, u16), u16>,
}

/// The order of the accesses of a job.
pub(crate) struct AccessOrder<'a> {
    job: &'a Job,
    texts: Vec<Text>,
    exposures: Side,
}

impl<'a> AccessOrder<'a> {
    pub(crate) fn new(job: &'a Job, refused: &[Refused]) -> Self {
        let (accesses, exposures) = sides(job, refused);
        let texts =
            (0..).zip(&job.ranks).map(|(rank, program)| read(program, rank, &accesses, &exposures)).collect();
        Self { job, texts, exposures }
    }

    /// What the text says of an access.
    pub(crate) fn extent(&self, made: &Made) -> Option<&Extent> {
        self.texts.get(usize::from(made.rank))?.extents.get(&made.step)
    }

    /// Whether two accesses to the memory of a rank, in one window, are never under way together.
    pub(crate) fn are_apart(
        &self,
        target: u16,
        window: u16,
        (one, this): (&Made, &Extent),
        (other, that): (&Made, &Extent),
    ) -> bool {
        let follows = |first: &Extent, second: &Made| first.over.is_some_and(|over| over < second.step);
        if one.rank == other.rank && (follows(this, other) || follows(that, one)) {
            return true;
        }
        match (this.epoch, that.epoch) {
            (AccessEpoch::Exposed(Some(first)), AccessEpoch::Exposed(Some(second))) => {
                self.are_disjoint(target, window, first.min(second), first.max(second))
            }
            (
                AccessEpoch::Locked { opened: first, mode },
                AccessEpoch::Locked { opened: second, mode: other_mode },
            ) => {
                if one.rank == other.rank {
                    first != second
                } else {
                    mode.excludes(other_mode)
                }
            }
            (AccessEpoch::Own(Some(own)), AccessEpoch::Locked { mode, .. })
            | (AccessEpoch::Locked { mode, .. }, AccessEpoch::Own(Some(own))) => {
                one.rank != other.rank && own.excludes(mode)
            }
            (AccessEpoch::Own(_), AccessEpoch::Exposed(Some(opened))) => {
                self.is_outside(target, window, opened, one.step)
            }
            (AccessEpoch::Exposed(Some(opened)), AccessEpoch::Own(_)) => {
                self.is_outside(target, window, opened, other.step)
            }
            _ => false,
        }
    }

    /// Whether two exposures, by the steps that open them, are never active together.
    fn are_disjoint(&self, target: u16, window: u16, first: u16, second: u16) -> bool {
        let fences = self.exposures.fences_of(window, target);
        let [is_first, is_second] = [first, second].map(|step| fences.binary_search(&step).is_ok());
        if is_first && is_second {
            return first != second;
        }
        // A post within a fence epoch begins beside it.
        let is_within = || is_first && !fences.iter().any(|fence| (first + 1..second).contains(fence));
        let flags = self.job.windows[usize::from(window)].flags;
        first != second && !flags.exposure_after_exposure && !is_within()
    }

    /// Whether a rank, at a step, has not opened an exposure yet, or has waited for its end.
    fn is_outside(&self, rank: u16, window: u16, opened: u16, step: u16) -> bool {
        let ended = self.texts[usize::from(rank)].ended.get(&(window, opened));
        step < opened || ended.is_some_and(|ended| *ended < step)
    }
}

/// An access that is not known to be over.
struct Pending {
    step: u16,
    window: u16,
    target: u16,
    form: EpochForm,
    fetches: bool,
    is_closed: bool,
    covered_by: Vec<Ordinal>,
}

/// Reads the program of a rank.
fn read(program: &Program, me: u16, accesses: &Side, exposures: &Side) -> Text {
    let mut text = Text::default();
    let mut open: BTreeMap<(u16, EpochForm), (u16, Mode)> = BTreeMap::new();
    // Locks of its own memory that it has got.
    let mut own: BTreeMap<(u16, EpochForm), Mode> = BTreeMap::new();
    let mut pending: Vec<Pending> = Vec::new();
    let mut ending: BTreeMap<Ordinal, (u16, u16)> = BTreeMap::new();
    for (step, it) in (0..).zip(&program.steps) {
        match &it.act {
            Act::Access(index) => {
                let Access { window, transfer, request, .. } = program.accesses[usize::from(*index)];
                let target = transfer.target.0 as u16;
                let opening = EpochForm::of_access(transfer.target)
                    .into_iter()
                    .find_map(|form| Some((form, *open.get(&(window, form))?)));
                let epoch = match opening {
                    None => AccessEpoch::Outside,
                    Some((form, (opened, mode))) if form.locks() => AccessEpoch::Locked { opened, mode },
                    Some((_, (opened, _))) => {
                        let number = accesses.number(window, (me, opened), target);
                        AccessEpoch::Exposed(exposures.step(window, target, me, number))
                    }
                };
                text.extents.insert(step, Extent { epoch, over: None });
                if let Some((form, _)) = opening.filter(|_| pending.len() < PENDING_MAX) {
                    let fetches = transfer.kind.reads();
                    let covered_by = request.filter(|_| fetches).into_iter().collect();
                    let is_closed = false;
                    pending.push(Pending { step, window, target, form, fetches, is_closed, covered_by });
                }
            }
            Act::TouchWindow(access) => {
                let window = access.window.0 as u16;
                let held = own.iter().filter(|((of, _), _)| *of == window).map(|(_, mode)| *mode);
                let mode = held.max_by_key(|mode| *mode == Mode::Exclusive);
                text.extents.insert(step, Extent { epoch: AccessEpoch::Own(mode), over: Some(step) });
            }
            Act::AwaitGrants(opening) => {
                let Some(call) = program.synchronization(*opening) else { continue };
                match call.call() {
                    Call::Lock { target, mode } if target.0 == u32::from(me) => {
                        own.insert((call.window, EpochForm::Lock(me)), mode);
                    }
                    Call::LockAll => _ = own.insert((call.window, EpochForm::LockAll), Mode::Shared),
                    _ => {}
                }
            }
            Act::Wait(requests) => {
                pending.retain(|access| {
                    let is_over = access.covered_by.iter().any(|request| requests.contains(request));
                    if let Some(extent) = text.extents.get_mut(&access.step).filter(|_| is_over) {
                        extent.over = Some(step);
                    }
                    !is_over
                });
                for request in requests.iter() {
                    if let Some(opened) = ending.remove(request) {
                        text.ended.insert(opened, step);
                    }
                }
            }
            Act::Start(request) => {
                if let Some(call) = program.synchronization(*request) {
                    let (window, call) = (call.window, call.call());
                    if let Call::Flush(flush) | Call::FlushWithRequest(flush) = call {
                        let is_covered = |access: &&mut Pending| {
                            access.window == window
                                && access.form.locks()
                                && !access.is_closed
                                && (access.fetches || !flush.is_local)
                                && flush.target.is_none_or(|target| target.0 == u32::from(access.target))
                        };
                        let covered = pending.iter_mut().filter(is_covered);
                        covered.for_each(|access| access.covered_by.push(*request));
                    }
                    if let Some(form) = EpochForm::closed_by(call) {
                        let opened = open.remove(&(window, form));
                        own.remove(&(window, form));
                        if let Some((opened, _)) = opened.filter(|_| !matches!(call, Call::Test)) {
                            ending.insert(*request, (window, opened));
                        }
                        let of_it =
                            |it: &&mut Pending| it.window == window && it.form == form && !it.is_closed;
                        for access in pending.iter_mut().filter(of_it) {
                            access.is_closed = true;
                            access.covered_by.push(*request);
                        }
                    }
                    if let Some(form) = EpochForm::opened_by(call) {
                        let mode = if let Call::Lock { mode, .. } = call { mode } else { Mode::Shared };
                        open.insert((window, form), (step, mode));
                    }
                }
            }
            _ => {}
        }
    }
    text
}
