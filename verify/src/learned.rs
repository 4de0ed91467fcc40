//! Steps that a search has carried out before.
//!
//! A step depends on the state of its rank and on its input, and on little else. So the same step comes up in very many
//! states, which differ in other ranks only. Each thread keeps some steps, each with its end: the rank behind it and what
//! leaves. Equal ranks and items are one in memory.
//!
//! **Promises.** A step that is taken from here is the one that would be carried out: its rank, its program and its input
//! are equal, not only their hashes; and it violated nothing. Who takes it has to see that what it looked at elsewhere is not
//! different: transfers that race, and reads of buffers.

use crate::action::{Action, Choice};
use crate::hashed::Hashed;
use crate::network::{Item, Leaving, Network};
use crate::program::Ordinal;
use crate::search::CoverPoint;
use crate::state::Proc;
use carrousel_rank::{Context, Handle, Protocol};
use smallvec::SmallVec;
use std::hash::Hash;
use std::sync::{Mutex, TryLockError};
use std::{array, mem};

/// Steps that are kept by a thread: a power of two.
const STEPS: usize = 1 << 13;
/// Ranks and items that are kept by a thread: a power of two.
const VALUES: usize = 1 << 12;
/// Values whose hashes are alike: a power of two. With one alone, two steps that are taken in turn would drive each other out
/// for ever.
const ALIKE: usize = 4;
/// Threads that keep steps. Further ones carry all of theirs out.
const THREADS: usize = 16;

/// The input of a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StepInput {
    Step(Choice),
    Announce(Ordinal),
    Land(Item),
    /// The same of a message's item, behind which nothing passes between the two ranks any more but what this step sends: if
    /// that is nothing, and nothing waits at this rank, what it knows of their flows is forgotten.
    LandLast(Item),
    /// What the receiver of a flow, in the communicator of a context, has processed is forgotten.
    Forget(u16, Context, u32),
    /// The flows from and to a peer are forgotten.
    ForgetFlows(u16),
}

impl StepInput {
    /// That of an action. What lands is taken out of the network. `None` for the lock of a window, which is no step of a rank,
    /// and if nothing can land.
    pub(crate) fn take(action: Action, network: &mut Network) -> Option<Self> {
        match action {
            Action::Step { choice, .. } => Some(Self::Step(choice)),
            Action::Announce { receive, .. } => Some(Self::Announce(receive)),
            Action::Land(channel) => network.take(channel, 0).map(Self::Land),
            Action::Overtake { channel, place } => network.take(channel, place).map(Self::Land),
            Action::Lock(_) => None,
        }
    }
}

/// A rank before a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StepBegin<P: Protocol> {
    pub(crate) job: u32,
    pub(crate) me: u16,
    pub(crate) proc: Hashed<Proc<P>>,
    pub(crate) input: StepInput,
}

/// What has come of a step.
#[derive(Clone, Debug)]
pub(crate) struct StepEnd<P: Protocol> {
    pub(crate) proc: Hashed<Proc<P>>,
    /// What has left, in order.
    pub(crate) leaving: Leaving,
    /// Sends that have ended, of which it was asked whether a peer still reads their buffers.
    pub(crate) ended: SmallVec<[Handle; 1]>,
    /// Situations that it has met.
    pub(crate) met: SmallVec<[CoverPoint; 1]>,
}

/// Values by hash. Of those whose hashes are alike, the [`ALIKE`] that came last are kept.
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

    /// The first of the slots for values with such a hash.
    fn first(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - ALIKE)
    }

    fn get(&self, hash: u64) -> Option<&T> {
        if self.slots.is_empty() {
            return None;
        }
        let alike = self.slots[self.first(hash)..].iter().take(ALIKE).flatten();
        alike.into_iter().find_map(|(known, value)| (*known == hash).then_some(value))
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
        let first = self.first(hash);
        let alike = &mut self.slots[first..first + ALIKE];
        let is_of = |slot: &Option<(u64, T)>| slot.as_ref().is_some_and(|(known, _)| *known == hash);
        let at = alike.iter().position(is_of).or_else(|| alike.iter().position(Option::is_none));
        let at = at.unwrap_or_else(|| {
            // The oldest one goes.
            alike.rotate_left(1);
            ALIKE - 1
        });
        self.used += usize::from(alike[at].is_none());
        alike[at] = Some((hash, value));
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
    /// What came of a step with this hash when it was carried out before.
    pub(crate) fn get(&self, hash: u64, begin: &StepBegin<P>) -> Option<&StepEnd<P>> {
        let (known, end) = self.steps.get(hash)?;
        (known == begin).then_some(end)
    }

    /// Keeps a step with this hash.
    pub(crate) fn insert(&mut self, hash: u64, begin: StepBegin<P>, end: StepEnd<P>) {
        self.steps.insert(hash, (begin, end), STEPS);
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

/// The steps that the threads of a search keep.
pub(crate) struct Learned<P: Protocol> {
    of_threads: [Mutex<LearnedSteps<P>>; THREADS],
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
            Some(mut steps) => ask(Some(&mut steps)),
            None => ask(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{Model, Settings};
    use crate::scenario::job;
    use carrousel_rank::Mirror;
    use carrousel_scenario::load;
    use stateright::Model as _;
    use std::collections::HashSet;

    /// Programs whose steps look at other ranks: buffers that are read, transfers that race, locks.
    const PROGRAMS: [&str; 5] = [
        "ranks 3\nrank 0\n  repeat size-1\n    recv from any tag any size 64KiB\n  end\nrank 1..2\n  \
         send to 0 tag me size 64KiB\n",
        "ranks 3\nrank *\n  irecv from (me+size-1)%size tag 0 size 64KiB\n  isend to (me+1)%size tag 0 size 64KiB\n  \
         wait all\n",
        "ranks 3\nwindow w 8\nrank 1..2\n  lock w at 0 shared\n  put w to 0 size 8\n  unlock w at 0\n",
        "ranks 3\nwindow w 8\nrank *\n  fence w\n  put w to 0 size 8 at 0\n  fence w\n  load w at 0 size 8\n",
        "ranks 2\nwindow w 8\nrank *\n  lock w at 0 exclusive\n  fetch_op w at 0\n  unlock w at 0\n",
    ];

    /// The states of a program that are reached in every way, each next state computed twice.
    fn walk(program: &str, without: impl Fn(Settings) -> Settings) -> usize {
        let scenario = load("test.scn", program.as_bytes()).expect("it is a scenario");
        let job = || [job(&scenario, false).expect("it is a job")].into();
        let settings = without(Settings::default());
        let (learns, mut forgets) =
            (Model::<Mirror>::new(job(), settings), Model::<Mirror>::new(job(), settings));
        forgets.learned = None;
        let (mut open, mut seen) = (learns.init_states(), HashSet::new());
        let mut actions = Vec::new();
        while let Some(state) = open.pop() {
            learns.actions(&state, &mut actions);
            for action in actions.drain(..) {
                let next = learns.next_state(&state, action);
                assert_eq!(next, forgets.next_state(&state, action), "{program}{action:?}");
                open.extend(next.filter(|next| seen.insert(next.clone())));
            }
        }
        seen.len()
    }

    #[test]
    fn a_step_that_was_learned_is_the_one_that_is_carried_out() {
        for program in PROGRAMS {
            assert!(walk(program, |settings| settings) > 10, "{program}");
        }
        // Without the reduction, three ranks have too many orders.
        for program in PROGRAMS.map(|program| program.replace("ranks 3", "ranks 2").replace("1..2", "1")) {
            assert!(walk(&program, |settings| Settings { reduce: false, ..settings }) > 10, "{program}");
        }
    }
}
