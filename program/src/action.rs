//! The actions of statements.

use crate::names::Ordinal;
use crate::operation::{Collective, Operation, Receive, Send};
use crate::windows::{Access, OwnAccess, Synchronization};
use carrousel_rank::{Communicator, Pattern};
use carrousel_scenario::BufferId;

/// The action of a statement of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action<'a> {
    /// The CPU is busy outside of the library.
    Compute {
        /// Nanoseconds.
        ns: u64,
    },
    /// The program itself reads or writes all of a named buffer.
    Touch {
        /// The buffer.
        buffer: BufferId,
        /// Whether it is written.
        write: bool,
    },
    /// A request begins.
    Start {
        /// The operation of the request.
        operation: Operation,
        /// Whether the statement waits for it; otherwise the request goes on after the statement has returned.
        blocking: bool,
    },
    /// Two requests begin, this send and then this receive, and the statement waits for both. A name stands for the
    /// receive. MPI orders neither before the other; this is the order of the library.
    Exchange {
        /// The first one.
        send: Send,
        /// The second one.
        receive: Receive,
    },
    /// The process gets a communicator, or none, together with the other ranks of another one. The statement waits for
    /// that.
    Split {
        /// The collective by which ranks tell each other color and key.
        tell: Collective,
        /// The color; `None` for a rank that gets no communicator.
        color: Option<u32>,
        /// The key.
        key: i32,
        /// The communicator that the process gets, one of [`Program::groups`](crate::Program::groups).
        made: Option<Communicator>,
    },
    /// The process accesses the memory of a window at some rank. The call returns at once. A request begins if the access has
    /// one.
    Access(Access),
    /// The program itself reads or writes its own memory of a window.
    TouchWindow(OwnAccess),
    /// A call that opens, closes or flushes an epoch. A request begins, which may be complete at once.
    Synchronize(Synchronization<'a>),
    /// The process waits until a message could be received.
    Probe(Pattern),
    /// The process waits until all of these are complete, and releases them. Requests that a `test` has released
    /// count as complete. In ascending order.
    Wait(&'a [Ordinal]),
    /// A request is released if it is complete now; `None` if the name stands for no request.
    Test(Option<Ordinal>),
}

impl Action<'_> {
    /// The operations that begin, in this order, without those on windows.
    pub fn operations(&self) -> impl Iterator<Item = Operation> + use<> {
        let operations = match *self {
            Self::Start { operation, .. } => [Some(operation), None],
            Self::Exchange { send, receive } => {
                [Some(Operation::Send(send)), Some(Operation::Receive(receive))]
            }
            Self::Split { tell, .. } => [Some(Operation::Collective(tell)), None],
            Self::Compute { .. }
            | Self::Touch { .. }
            | Self::Access(_)
            | Self::TouchWindow(_)
            | Self::Synchronize(_)
            | Self::Probe(_)
            | Self::Wait(_)
            | Self::Test(_) => [None; 2],
        };
        operations.into_iter().flatten()
    }

    /// Whether a request that begins goes on after the statement has returned.
    pub fn starts_request(&self) -> bool {
        match self {
            Self::Start { blocking, .. } => !blocking,
            Self::Synchronize(call) => !call.blocking && !call.is_born_complete(),
            Self::Access(access) => access.with_request,
            _ => false,
        }
    }
}
