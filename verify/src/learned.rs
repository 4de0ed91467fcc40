//! Steps that a search has carried out before.
//!
//! What a rank does depends on its own state and on its input, and on little else: the same step of the same rank comes
//! up in very many states, which differ in other ranks. So each thread keeps some steps with what came of them, and the
//! ranks and items that were made, so that equal ones are one in memory.
//!
//! **Promises.** A step that is taken from here is the one that would be carried out: its rank, its program and its input
//! are equal, not only their hashes; nothing that it looked at elsewhere is different ([`StepEnd::holds`]); and it
//! violated nothing.

use crate::action::{Action, Choice};
use crate::hashed::Hashed;
use crate::model::Model;
use crate::network::{Item, Leaving, Network};
use crate::program::Ordinal;
use crate::state::{Proc, State};
use crate::windows::racing_with;
use carrousel_rank::{Handle, Protocol};
use smallvec::SmallVec;
use std::hash::Hash;
use std::sync::{Mutex, TryLockError};
use std::{array, mem};

/// Steps that are kept by a thread: a power of two.
const STEPS: usize = 1 << 14;
/// Ranks and items that are kept by a thread: a power of two.
const VALUES: usize = 1 << 13;
/// Threads that keep steps. Further ones carry all of theirs out.
const THREADS: usize = 16;

/// The input of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StepInput {
    Step(Choice),
    Announce(Ordinal),
    Land(Item),
}

impl StepInput {
    /// That of an action; `None` for the lock of a window, which is no step of a rank, and if nothing can land.
    pub(crate) fn of(action: Action, network: &Network) -> Option<Self> {
        let item = |channel, place| network.item(channel, place).cloned().map(Self::Land);
        match action {
            Action::Step { choice, .. } => Some(Self::Step(choice)),
            Action::Announce { receive, .. } => Some(Self::Announce(receive)),
            Action::Land(channel) => item(channel, 0),
            Action::Overtake { channel, place } => item(channel, place),
            Action::Lock(_) => None,
        }
    }

    fn hash(&self) -> u64 {
        match self {
            Self::Step(Choice::Plain) => 1,
            Self::Step(Choice::Fail) => 2,
            Self::Step(Choice::Decline) => 3,
            Self::Step(Choice::From(source)) => 1 << 16 | u64::from(*source),
            Self::Announce(receive) => 2 << 16 | u64::from(*receive),
            Self::Land(item) => item.hash_of_value(),
        }
    }
}

/// A rank before a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepBegin<P: Protocol> {
    pub(crate) job: u32,
    pub(crate) me: u16,
    pub(crate) proc: Hashed<Proc<P>>,
    pub(crate) input: StepInput,
}

impl<P: Protocol> StepBegin<P> {
    fn hash(&self) -> u64 {
        let Self { job, me, proc, input } = self;
        let names = u64::from(*job) << 16 | u64::from(*me);
        (proc.hash_of_value() ^ names).rotate_left(29).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ input.hash()
    }
}

/// What has come of a step.
#[derive(Clone, Debug)]
pub(crate) struct StepEnd<P: Protocol> {
    pub(crate) proc: Hashed<Proc<P>>,
    /// What has left, in order.
    pub(crate) leaving: Leaving,
    /// Sends that have ended, of which it was asked whether a peer still reads their buffers.
    pub(crate) ended: SmallVec<[Handle; 1]>,
}

impl<P: Protocol> StepEnd<P> {
    /// Whether the step comes to this end in a state, too: no transfer that begins races, and no peer reads the buffer of a
    /// send that ends.
    pub(crate) fn holds(&self, model: &Model<P>, state: &State<P>, begin: &StepBegin<P>) -> bool {
        let is_read = |send: &Handle| state.network.is_being_read(begin.me, *send);
        !self.ended.iter().any(is_read)
            && (0..self.leaving.len()).all(|at| {
                let (before, item) = (&self.leaving[..at], &self.leaving[at]);
                racing_with(model, state, before, item).is_none()
            })
    }
}

/// Values by hash. Of several whose hashes are alike the newest is kept.
struct Kept<T> {
    /// As many as a power of two.
    slots: Vec<Option<(u64, T)>>,
    used: usize,
}

impl<T> Kept<T> {
    const FEWEST: usize = 1 << 6;

    fn new() -> Self {
        Self { slots: Vec::new(), used: 0 }
    }

    fn slot(&self, hash: u64) -> usize {
        // The highest bits of a product depend on all bits.
        (hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize & (self.slots.len() - 1)
    }

    fn get(&self, hash: u64) -> Option<&T> {
        if self.slots.is_empty() {
            return None;
        }
        let (known, value) = self.slots[self.slot(hash)].as_ref()?;
        (*known == hash).then_some(value)
    }

    /// Keeps a value in one of at most `most` slots.
    fn insert(&mut self, hash: u64, value: T, most: usize) {
        if self.used * 2 >= self.slots.len() && self.slots.len() < most {
            let len = (self.slots.len() * 4).clamp(Self::FEWEST, most);
            let before = mem::replace(&mut self.slots, (0..len).map(|_| None).collect());
            self.used = 0;
            before.into_iter().flatten().for_each(|(hash, value)| self.put(hash, value));
        }
        self.put(hash, value);
    }

    fn put(&mut self, hash: u64, value: T) {
        let slot = self.slot(hash);
        self.used += usize::from(self.slots[slot].is_none());
        self.slots[slot] = Some((hash, value));
    }
}

/// The steps that one thread keeps, and ranks and items.
pub(crate) struct LearnedSteps<P: Protocol> {
    steps: Kept<(StepBegin<P>, StepEnd<P>)>,
    procs: Kept<Hashed<Proc<P>>>,
    items: Kept<Item>,
}

impl<P: Protocol> Default for LearnedSteps<P> {
    fn default() -> Self {
        Self { steps: Kept::new(), procs: Kept::new(), items: Kept::new() }
    }
}

impl<P: Protocol> LearnedSteps<P> {
    /// What came of a step when it was carried out before.
    pub(crate) fn get(&self, begin: &StepBegin<P>) -> Option<&StepEnd<P>> {
        let (known, end) = self.steps.get(begin.hash())?;
        (known == begin).then_some(end)
    }

    /// Keeps a step.
    pub(crate) fn insert(&mut self, begin: StepBegin<P>, end: StepEnd<P>) {
        self.steps.insert(begin.hash(), (begin, end), STEPS);
    }

    /// The same values, in memory that other states share where they are known.
    pub(crate) fn share(&mut self, end: &mut StepEnd<P>) {
        share(&mut self.procs, &mut end.proc);
        end.leaving.iter_mut().for_each(|item| share(&mut self.items, item));
    }
}

/// Takes the memory of a value that is kept, or keeps the value.
fn share<T: Eq + Hash>(kept: &mut Kept<Hashed<T>>, value: &mut Hashed<T>) {
    let hash = value.hash_of_value();
    match kept.get(hash) {
        Some(known) if *known == *value => *value = known.clone(),
        _ => kept.insert(hash, value.clone(), VALUES),
    }
}

/// The steps that the threads of a search keep. They are made when they are first asked for.
pub(crate) struct Learned<P: Protocol> {
    of_threads: [Mutex<Option<LearnedSteps<P>>>; THREADS],
}

impl<P: Protocol> Default for Learned<P> {
    fn default() -> Self {
        Self { of_threads: array::from_fn(|_| Mutex::default()) }
    }
}

impl<P: Protocol> Learned<P> {
    /// Lends the steps of a thread that does not use them now, if there is one.
    pub(crate) fn with<R>(&self, ask: impl FnOnce(Option<&mut LearnedSteps<P>>) -> R) -> R {
        let free = self.of_threads.iter().find_map(|steps| match steps.try_lock() {
            Ok(steps) => Some(steps),
            // A step that has panicked has changed nothing that is kept.
            Err(TryLockError::Poisoned(steps)) => Some(steps.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        });
        match free {
            Some(mut steps) => ask(Some(steps.get_or_insert_default())),
            None => ask(None),
        }
    }
}
