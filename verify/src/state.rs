//! A state of the whole system: the ranks, and what the network has in flight.

use crate::network::{Flight, Message, Network};
use crate::program::{Ordinal, Start};
use crate::violation::Wrong;
use carrousel_rank::{Handle, Kept, Packet, Protocol, Rank};
use carrousel_scenario::{Received, RequestId};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A state of the job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State<P: Protocol> {
    /// Which of the model's jobs this is a state of.
    pub job: u32,
    /// The ranks.
    pub procs: Vec<Shared<Proc<P>>>,
    /// What is in flight.
    pub network: Network,
    /// What ranks have started with values that only an execution has, by rank and ordinal.
    pub begun: Vec<(u16, Ordinal, Start)>,
    /// What the last step did wrong.
    pub wrong: SmallVec<[Wrong; 1]>,
}

/// A value that successor states share until it changes, with its hash.
#[derive(Clone, Debug)]
pub struct Shared<T> {
    hash: u64,
    value: Arc<T>,
}

impl<T: Hash + Clone> Shared<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self { hash: hash_of(&value), value: Arc::new(value) }
    }

    /// Changes the value, a copy of it if it is shared.
    pub fn change<R>(&mut self, change: impl FnOnce(&mut T) -> R) -> R {
        let value = Arc::make_mut(&mut self.value);
        let result = change(value);
        self.hash = hash_of(value);
        result
    }
}

/// A hash that is the same in every run, so that state counts can be compared.
fn hash_of<T: Hash>(value: &T) -> u64 {
    ahash::RandomState::with_seeds(1, 2, 3, 4).hash_one(value)
}

impl<T> std::ops::Deref for Shared<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.value == other.value
    }
}

impl<T: Eq> Eq for Shared<T> {}

impl<T> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// One rank, and what a person standing beside it knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Proc<P: Protocol> {
    /// The next step of its program.
    pub pc: u16,
    /// The library.
    pub rank: Rank<P>,
    /// Requests that the program has not released, by ordinal.
    pub open: SmallVec<[Open; 4]>,
    /// Receives without a message, in posting order, by MPI's rule and not by the library's word.
    pub waiting: SmallVec<[Ordinal; 4]>,
    /// Messages without a receive, in order of arrival, by MPI's rule.
    pub arrived: SmallVec<[Message; 4]>,
    /// Which message each piece of library memory holds.
    pub kept: SmallVec<[(Kept, Message); 2]>,
    /// The messages that names stand for, by name, as long as a statement may ask for them.
    pub received: SmallVec<[(RequestId, Received); 1]>,
}

/// A request that the program has not released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Open {
    /// Its name here.
    pub ordinal: Ordinal,
    /// Its name in the library. A collective has none under the weakest MPI: of that MPI's rule is asked, not our
    /// schedule.
    pub handle: Option<Handle>,
    /// Of a receive: the message that MPI's rule gives it, until it is complete.
    pub message: Option<Message>,
    /// Of a send: its peer may read its buffer. Of a receive: its peer may have been told of its buffer.
    pub exposed: bool,
    /// The network is reading or writing its buffer on behalf of this rank.
    pub busy: bool,
}

impl<P: Protocol> Proc<P> {
    /// Whether the program has started this request and not released it.
    pub fn is_open(&self, ordinal: Ordinal) -> bool {
        self.open.iter().any(|open| open.ordinal == ordinal)
    }

    /// The open request with this ordinal.
    pub fn by_ordinal(&mut self, ordinal: Ordinal) -> Option<&mut Open> {
        self.open.iter_mut().find(|open| open.ordinal == ordinal)
    }

    /// The open request with this name in the library.
    pub fn by_handle(&mut self, handle: Handle) -> Option<&mut Open> {
        self.open.iter_mut().find(|open| open.handle == Some(handle))
    }

    /// Whether `ordinal` is released, or complete by the library's word.
    pub fn is_over(&self, ordinal: Ordinal) -> bool {
        self.open.iter().find(|open| open.ordinal == ordinal).is_none_or(|open| self.is_complete(open))
    }

    /// Whether an open request is complete by the library's word.
    pub fn is_complete(&self, open: &Open) -> bool {
        open.handle.is_some_and(|handle| self.rank.is_complete(handle))
    }
}

impl<P: Protocol> State<P> {
    /// Whether a message is under way to where it will be matched, or has come and has no receive. One that
    /// is written into its receive is matched.
    pub fn is_unmatched(&self, message: Message, to: u16) -> bool {
        let brings = |flight: &Flight| matches!(flight, Flight::Packet(Packet::Eager { .. } | Packet::Rts { .. }, Some(it)) if *it == message);
        self.procs[usize::from(to)].arrived.contains(&message)
            || self.network.iter().any(|(route, flight)| route.at == to && brings(flight))
    }

    /// The ranks by their numbers, of which there may be as many as fit.
    pub fn ranks(&self) -> impl Iterator<Item = (u16, &Shared<Proc<P>>)> {
        (0..=u16::MAX).zip(&self.procs)
    }
}
