//! The mailbox between a task and its simulated rank: the commands of the task, and the answers of the rank.

use crate::data::ReduceOp;
use crate::program::WindowCall;
use crate::window_data::{Operand, SharedMemory};
use carrousel_rank::epoch::{Call, Flags};
use carrousel_rank::{
    Collective, Envelope, Handle, Kind, Pattern, Source, Status, TagSelector, UsageError, mpi,
};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::panic::Location;
use std::task::Waker;

/// The line of a task's source that makes a call.
pub(crate) type Place = &'static Location<'static>;

/// A command of a task to its rank.
pub(crate) enum Command {
    /// Compute for so many nanoseconds.
    Compute(u64),
    /// Start requests, and wait for them or not.
    Start(Start, bool),
    /// Wait for all of these.
    Wait(Vec<Handle>),
    /// Test whether a request is complete.
    Test(Handle),
    /// Wait for a message, or look whether there is one.
    Probe(Pattern, bool),
    /// Cancel a receive.
    Cancel(Handle),
    /// Make the next window, with this memory.
    Create(Flags, SharedMemory),
    /// Call a window; an operation brings bytes.
    Window(WindowCall, Option<Operand>),
}

/// Requests that begin, with their bytes.
pub(crate) enum Start {
    Send(Outgoing),
    Receive(Incoming),
    Exchange(Outgoing, Incoming),
    Collective(CollectiveCall),
}

/// A message to send.
pub struct Outgoing {
    /// The receiver.
    pub to: u32,
    /// The tag.
    pub tag: u32,
    /// Its bytes.
    pub data: Vec<u8>,
    /// Complete only when the receive has begun (`MPI_Ssend`).
    pub synchronous: bool,
}

/// A message to receive.
#[derive(Clone, Copy)]
pub struct Incoming {
    /// The senders whose messages match.
    pub from: Source,
    /// The tags that match.
    pub tag: TagSelector,
    /// The most bytes that it may have.
    pub room: usize,
}

/// A collective, and its bytes.
pub struct CollectiveCall {
    /// Which one; its memory is named by the simulator.
    pub call: Collective,
    /// The contribution of this rank.
    pub source: Vec<u8>,
    /// Memory for its result; comes back as [`Ended::bytes`].
    pub target: Vec<u8>,
    /// The operation of a reduction.
    pub op: Option<ReduceOp>,
}

/// The record of a call of a task, as reports show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallRecord {
    Compute,
    Send { to: u32, tag: u32, len: u64, synchronous: bool, blocking: bool },
    Receive { from: Source, tag: TagSelector, len: u64, blocking: bool },
    Exchange { to: u32, send_tag: u32, from: Source, receive_tag: TagSelector },
    Collective { kind: Kind, blocking: bool },
    Wait(u32),
    Test,
    Probe { from: Source, tag: TagSelector, blocking: bool },
    Cancel,
    Create,
    Window { name: &'static str, target: Option<u32>, len: Option<u64>, starts_request: bool },
}

/// The record of a call of a window, by the names of the scenario language.
fn of_window(call: &WindowCall) -> CallRecord {
    let blocks = |blocking: &'static str, otherwise| if call.blocking { blocking } else { otherwise };
    let (name, target) = match call.call() {
        Call::Post(_) => (blocks("post", "ipost"), None),
        Call::Start(_) => (blocks("start", "istart"), None),
        Call::Lock { target, .. } => (blocks("lock", "ilock"), Some(target)),
        Call::LockAll => (blocks("lock_all", "ilock_all"), None),
        Call::Wait => (blocks("wait_epoch", "iwait_epoch"), None),
        Call::Test => ("test_epoch", None),
        Call::Complete => (blocks("complete", "icomplete"), None),
        Call::Unlock(target) => (blocks("unlock", "iunlock"), Some(target)),
        Call::UnlockAll => (blocks("unlock_all", "iunlock_all"), None),
        Call::Fence => (blocks("fence", "ifence"), None),
        Call::Transfer { transfer, with_request } => {
            let name = transfer.kind.name();
            let target = Some(transfer.target.0);
            return CallRecord::Window {
                name,
                target,
                len: Some(transfer.place.bytes()),
                starts_request: with_request,
            };
        }
        Call::Flush(flush) | Call::FlushWithRequest(flush) => {
            let name = match (flush.is_local, flush.target) {
                (false, Some(_)) => blocks("flush", "iflush"),
                (false, None) => blocks("flush_all", "iflush_all"),
                (true, Some(_)) => blocks("flush_local", "iflush_local"),
                (true, None) => blocks("flush_local_all", "iflush_local_all"),
            };
            (name, flush.target)
        }
    };
    let starts_request = !call.blocking && !call.call().only_opens();
    CallRecord::Window { name, target: target.map(|target| target.0), len: None, starts_request }
}

impl CallRecord {
    /// The record of a command.
    pub(crate) fn of(command: &Command) -> Self {
        match command {
            Command::Compute(_) => Self::Compute,
            Command::Start(start, blocking) => {
                let blocking = *blocking;
                match start {
                    Start::Send(Outgoing { to, tag, data, synchronous }) => {
                        let (to, tag, len, synchronous) = (*to, *tag, data.len() as u64, *synchronous);
                        Self::Send { to, tag, len, synchronous, blocking }
                    }
                    Start::Receive(Incoming { from, tag, room }) => {
                        Self::Receive { from: *from, tag: *tag, len: *room as u64, blocking }
                    }
                    Start::Exchange(send, receive) => Self::Exchange {
                        to: send.to,
                        send_tag: send.tag,
                        from: receive.from,
                        receive_tag: receive.tag,
                    },
                    Start::Collective(CollectiveCall { call, .. }) => {
                        Self::Collective { kind: call.kind, blocking }
                    }
                }
            }
            Command::Wait(requests) => Self::Wait(requests.len() as u32),
            Command::Test(_) => Self::Test,
            Command::Probe(pattern, blocking) => {
                Self::Probe { from: pattern.source, tag: pattern.tag, blocking: *blocking }
            }
            Command::Cancel(_) => Self::Cancel,
            Command::Create(..) => Self::Create,
            Command::Window(call, _) => of_window(call),
        }
    }

    /// Its name: that of the statement in scenarios, if there is one.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Send { synchronous: false, blocking: true, .. } => "send",
            Self::Send { synchronous: false, blocking: false, .. } => "isend",
            Self::Send { synchronous: true, blocking: true, .. } => "ssend",
            Self::Send { synchronous: true, blocking: false, .. } => "issend",
            Self::Receive { blocking: true, .. } => "recv",
            Self::Receive { blocking: false, .. } => "irecv",
            Self::Exchange { .. } => "sendrecv",
            Self::Collective { kind: Kind::Barrier, blocking: false } => "ibarrier",
            Self::Collective { kind, .. } => kind.name(),
            Self::Wait(_) => "wait",
            Self::Test => "test",
            Self::Probe { blocking: true, .. } => "probe",
            Self::Probe { blocking: false, .. } => "iprobe",
            Self::Cancel => "cancel",
            Self::Create => "window",
            Self::Window { name, .. } => name,
        }
    }

    /// Whether the request that it starts goes on after it has returned.
    pub(crate) fn starts_request(&self) -> bool {
        matches!(
            self,
            Self::Send { blocking: false, .. }
                | Self::Receive { blocking: false, .. }
                | Self::Collective { blocking: false, .. }
                | Self::Window { starts_request: true, .. }
        )
    }
}

/// `recv from 1 tag any, 8 bytes`.
impl fmt::Display for CallRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let source = |from: &Source| match from {
            Source::Rank(rank) => rank.0.to_string(),
            Source::Any => "any".to_owned(),
        };
        let selector = |tag: &TagSelector| mpi::named(*tag).map_or("any".to_owned(), |tag| tag.to_string());
        match self {
            Self::Send { to, tag, len, .. } => write!(f, " to {to} tag {tag}, {len} bytes"),
            Self::Receive { from, tag, len, .. } => {
                write!(f, " from {} tag {}, {len} bytes", source(from), selector(tag))
            }
            Self::Exchange { to, send_tag, from, receive_tag } => {
                write!(f, " to {to} tag {send_tag} from {} tag {}", source(from), selector(receive_tag))
            }
            Self::Probe { from, tag, .. } => write!(f, " from {} tag {}", source(from), selector(tag)),
            Self::Wait(requests) if *requests > 1 => write!(f, " for {requests} requests"),
            Self::Window { target, len, .. } => {
                target.map_or(Ok(()), |target| write!(f, " at {target}"))?;
                len.map_or(Ok(()), |len| write!(f, ", {len} bytes"))
            }
            Self::Compute
            | Self::Collective { .. }
            | Self::Wait(_)
            | Self::Test
            | Self::Cancel
            | Self::Create => Ok(()),
        }
    }
}

/// A request that has ended: its status, and the bytes that come back from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its status.
    pub status: Status,
    /// The buffer of a receive, or the target of a collective. The message of a receive is in the first
    /// [`Status::len`] bytes.
    pub bytes: Vec<u8>,
}

/// The answer of a rank.
pub(crate) enum Answer {
    /// The command is done.
    Done,
    /// A request has begun.
    Opened(Handle),
    /// Requests have ended, in the order in which they were started.
    Ended(Vec<Ended>),
    /// Whether a request is complete.
    Tested(bool),
    /// The first message that such a receive would get.
    Found(Option<(Envelope, u64)>),
    /// The application's mistake; nothing has begun.
    Refused(UsageError),
}

/// The present call of a task: one at a time, as in MPI.
pub(crate) struct Busy {
    /// The command, until the rank takes it.
    pub(crate) command: Option<Command>,
    pub(crate) place: Place,
    pub(crate) answer: Option<Answer>,
    /// The future that waited for the answer was dropped.
    pub(crate) abandoned: bool,
}

/// The shared state of a task and its rank.
#[derive(Default)]
pub(crate) struct Mailbox {
    pub(crate) me: u32,
    pub(crate) ranks: u32,
    /// Virtual nanoseconds since the start.
    pub(crate) now: u64,
    /// How many windows were made.
    pub(crate) windows: u32,
    pub(crate) busy: Option<Busy>,
    /// Requests that were awaited since the last poll, with the lines that started them.
    pub(crate) awaited: Vec<(Handle, Place)>,
    /// Requests that were dropped before they ended: the line that started each, and whether it is a receive.
    pub(crate) dropped: VecDeque<(Handle, Place, bool)>,
    /// Requests that have ended, and whose results were not taken yet.
    pub(crate) ended: BTreeMap<Handle, Ended>,
    /// Parts of the task that wait for the rank.
    pub(crate) wakers: Vec<Waker>,
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").field("me", &self.me).field("now", &self.now).finish_non_exhaustive()
    }
}
