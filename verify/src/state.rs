//! A state of the whole system: the ranks, and the network between them.

use crate::hashed::Hashed;
use crate::network::{InFlight, Message, Network};
use crate::open_epochs::{OpenAccess, OpenEpoch};
use crate::parts::Parts;
use crate::program::{Ordinal, Start};
use crate::violation::Violation;
use crate::weakest::Weakest;
use carrousel_rank::{Handle, Kept, Packet, Protocol, Rank};
use carrousel_scenario::{Received, RequestId};
use smallvec::SmallVec;

/// A state of the job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State<P: Protocol> {
    /// Which of the model's jobs this is a state of.
    pub job: u32,
    /// The ranks.
    pub procs: Parts<Hashed<Proc<P>>>,
    /// What is in flight.
    pub network: Network,
    /// Requests whose values are known only at run time, as they were started: by rank and ordinal.
    pub begun: Vec<(u16, Ordinal, Start)>,
    /// The locks of windows, under the weakest MPI.
    pub weakest: Weakest,
    /// The checks that the last step has violated.
    pub violations: SmallVec<[Violation; 1]>,
}

/// One rank: the library, its place in the program, and what the oracle knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Proc<P: Protocol> {
    /// The next step of its program.
    pub pc: u16,
    /// The library.
    pub rank: Rank<P>,
    /// Requests that the program has not released, by ordinal.
    pub open: SmallVec<[Open; 4]>,
    /// The oracle's receives without a message, in posting order.
    pub waiting: SmallVec<[Ordinal; 4]>,
    /// The oracle's messages without a receive, in order of arrival.
    pub arrived: SmallVec<[Message; 4]>,
    /// The message that each unexpected buffer of the library holds.
    pub kept: SmallVec<[(Kept, Message); 2]>,
    /// The epochs that the program has open.
    pub epochs: SmallVec<[OpenEpoch; 1]>,
    /// The accesses whose local buffers are the library's.
    pub accesses: SmallVec<[OpenAccess; 1]>,
    /// The message of each name, as long as a statement may ask for it.
    pub received: SmallVec<[(RequestId, Received); 1]>,
    /// What follows for its next step.
    pub(crate) outlook: Outlook,
}

/// What follows from the state of a rank alone for its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Outlook {
    /// Nothing: under the weakest MPI other ranks decide whether it can take it.
    Unknown,
    /// It cannot take it, or has none.
    Waits,
    /// It can take it, and nothing is in conflict with that.
    Free,
    /// It can take it; something may be in conflict with that.
    Bound,
}

/// A request that the program has not released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Open {
    /// Its name in the program.
    pub ordinal: Ordinal,
    /// Its name in the library. A collective, and a request of a window, have none under the weakest MPI: when they may
    /// end, MPI's rules decide, and nothing of the library runs.
    pub handle: Option<Handle>,
    /// Of a receive that is not complete: the message that the oracle gives it.
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

    /// Whether `ordinal` is released, or the library says that it is complete.
    pub fn is_over(&self, ordinal: Ordinal) -> bool {
        self.open.iter().find(|open| open.ordinal == ordinal).is_none_or(|open| self.is_complete(open))
    }

    /// Whether the library says that an open request is complete.
    pub fn is_complete(&self, open: &Open) -> bool {
        open.handle.is_some_and(|handle| self.rank.is_complete(handle))
    }
}

impl<P: Protocol> State<P> {
    /// Whether a message has no receive yet: it is on its way to be matched, or has arrived before its receive. A
    /// message that is written into an announced receive is matched.
    pub fn is_unmatched(&self, message: Message, to: u16) -> bool {
        let brings = |item: &InFlight| matches!(item, InFlight::Packet(Packet::Eager { .. } | Packet::Rts { .. }, Some(it)) if *it == message);
        self.procs[usize::from(to)].arrived.contains(&message)
            || self.network.iter_to(to).any(|(_, item)| brings(item))
    }

    /// The ranks with their numbers; at most as many as there are numbers.
    pub fn ranks(&self) -> impl Iterator<Item = (u16, &Hashed<Proc<P>>)> {
        (0..=u16::MAX).zip(self.procs.iter())
    }
}
