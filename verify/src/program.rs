//! The programs of the ranks as the checker runs them: numbers only, and one act at a time.
//!
//! A request is named by its *ordinal*: how many requests its rank started before it. Ordinals do not
//! depend on the order of events, so that two states that differ in nothing else are one state.

use carrousel_program as meaning;
use carrousel_program::{Deferred, Operation, Part};
use carrousel_rank::{Call, Kind, Memory, Options, RankId, Source, TagSelector, mpi};
use carrousel_scenario::RequestId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many requests a rank started before this one.
pub type Ordinal = u16;

/// A job: a program for each rank, and the options of the protocols.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// One program a rank.
    pub ranks: Vec<Arc<Program>>,
    /// Options of the protocols.
    pub options: Options,
}

/// What one rank does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Program {
    /// In this order.
    pub steps: Vec<Step>,
    /// The start of each request, by ordinal.
    pub starts: Vec<Start>,
    /// Statements whose values are known only at run time: see [`Start::Later`].
    pub later: Vec<Later>,
    /// The name that stands for the message of a receive, by ordinal, if a statement asks for it.
    pub keeps: BTreeMap<Ordinal, RequestId>,
    /// Names that no statement asks for any more after the step with this position; ascending.
    pub forgets: Vec<(u16, RequestId)>,
}

/// One act of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Line of the statement that it belongs to, from 1; 0 if there is none.
    pub line: u32,
    /// What happens.
    pub act: Act,
}

/// One act: a call into the library that does not block, or the wait for something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// Start the request with this ordinal.
    Start(Ordinal),
    /// Wait until all of these are complete, and release them.
    Wait(Arc<[Ordinal]>),
    /// Test a request. Even if it is complete, the test may fail.
    Test(Ordinal),
    /// Wait until a message could be received.
    Probe {
        /// Which messages.
        sought: Sought,
        /// The name that stands for it, if a statement asks for it.
        into: Option<RequestId>,
    },
    /// Compute for a time that is known only at run time, and has to be in its range. An index into
    /// [`Program::later`].
    Compute(u16),
    /// Start a receive by claiming its message, once there is one.
    Claim(Ordinal),
    /// Receive the message that a receive has claimed.
    ReceiveClaimed(Ordinal),
    /// Discard the message that a receive has claimed.
    Discard(Ordinal),
    /// Cancel a receive.
    Cancel(Ordinal),
    /// The program itself uses a local buffer.
    Touch {
        /// Which.
        buffer: Buffer,
        /// To write it.
        write: bool,
    },
}

/// The messages that a probe looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sought {
    /// A message of this source with this tag.
    Known(Source, TagSelector),
    /// Values that are known only at run time: an index into [`Program::later`].
    Later(u16),
}

/// A local buffer of a rank.
pub type Buffer = u16;

/// A request that a rank starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// Send a message.
    Send {
        /// To this rank.
        to: u32,
        /// With this tag.
        tag: u32,
        /// Bytes.
        len: u64,
        /// Complete only when received.
        synchronous: bool,
        /// From this buffer.
        buffer: Buffer,
    },
    /// Post a receive.
    Receive {
        /// From whom.
        from: Source,
        /// With which tag.
        tag: TagSelector,
        /// Bytes that fit.
        len: u64,
        /// Into this buffer.
        buffer: Buffer,
    },
    /// Enter a collective of all ranks.
    Collective {
        /// Which.
        kind: Kind,
        /// The root, where it has one.
        root: u32,
        /// Bytes of a contribution.
        len: u64,
    },
    /// A send or a receive whose values are known only at run time: an index into [`Program::later`].
    Later(u16),
}

/// A statement, or one of the two requests that a `sendrecv` starts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Later {
    /// The statement.
    pub deferred: Deferred,
    /// Whether this is the sending part.
    pub sends: bool,
    /// A buffer of its own, for a message without bytes or without a named buffer.
    pub own: Buffer,
}

impl Later {
    /// Of a send: its receiver, if that is known before run time.
    pub(crate) fn to(&self) -> Option<u32> {
        self.deferred.sending()?.to.map(|to| to.0)
    }

    /// Of a receive or probe: its source, if that is known before run time.
    pub(crate) fn from(&self) -> Option<Source> {
        self.deferred.receiving()?.from
    }

    /// Its bytes, if they are known before run time.
    pub(crate) fn len(&self) -> Option<u64> {
        match self.sends {
            true => self.deferred.sending()?.len,
            false => self.deferred.receiving()?.len,
        }
    }

    /// Whether it is a synchronous send.
    pub(crate) fn is_synchronous(&self) -> bool {
        self.deferred.sending().is_some_and(|send| send.synchronous)
    }
}

impl Start {
    /// Enter a barrier.
    pub const BARRIER: Self = Self::Collective { kind: Kind::Barrier, root: 0, len: 0 };

    /// The start of an operation; `buffer` says which number a buffer has here. The memory of a collective has none:
    /// no program can name it, and its content is not checked.
    pub fn of(operation: Operation, buffer: impl FnOnce(meaning::Buffer) -> Buffer) -> Self {
        match operation {
            Operation::Send(meaning::Send { to, tag, len, synchronous, buffer: name }) => {
                Self::Send { to: to.0, tag: mpi::number(tag), len, synchronous, buffer: buffer(name) }
            }
            Operation::Receive(meaning::Receive { from, tag, len, buffer: name }) => {
                Self::Receive { from, tag, len, buffer: buffer(name) }
            }
            Operation::Collective(meaning::Collective { kind, root, len }) => {
                Self::Collective { kind, root, len }
            }
        }
    }

    /// The call that starts it.
    ///
    /// # Panics
    /// When its values are not known yet.
    pub fn call(&self) -> Call {
        let memory = |buffer: Buffer| Memory { address: u64::from(buffer), key: 0 };
        match *self {
            Self::Send { to, tag, len, synchronous, buffer } => {
                // Every other message carries 8 more bytes.
                let data = (buffer % 2 == 1).then_some(!u64::from(buffer));
                let (to, tag, own) = (RankId(to), mpi::tag(tag), meaning::Buffer::Own(Part::Outgoing));
                meaning::Send { to, tag, len, synchronous, buffer: own }.call_with(memory(buffer), data)
            }
            Self::Receive { from, tag, len, buffer } => {
                let own = meaning::Buffer::Own(Part::Incoming);
                meaning::Receive { from, tag, len, buffer: own }.call(memory(buffer))
            }
            Self::Collective { kind, root, len } => {
                meaning::Collective { kind, root, len }.call([memory(0); 3])
            }
            Self::Later(_) => unreachable!("a call is made when its values are known"),
        }
    }

    /// The buffer that it uses until it is complete, and whether to write it, as far as its values are known.
    pub fn buffer(&self) -> Option<(Buffer, bool)> {
        match *self {
            Self::Send { buffer, .. } => Some((buffer, false)),
            Self::Receive { buffer, .. } => Some((buffer, true)),
            Self::Collective { .. } | Self::Later(_) => None,
        }
    }
}

/// The number of a buffer: named ones come first. `own` gives the number of a buffer without a name.
pub(crate) fn number_of(buffer: meaning::Buffer, own: impl FnOnce() -> Buffer) -> Buffer {
    match buffer {
        meaning::Buffer::Named(name) => name.0 as Buffer,
        meaning::Buffer::Own(_) => own(),
    }
}

impl Program {
    /// Appends the start of a request and returns its ordinal.
    pub fn start(&mut self, line: u32, start: Start) -> Ordinal {
        let ordinal = self.starts.len() as Ordinal;
        self.starts.push(start);
        self.act(line, Act::Start(ordinal));
        ordinal
    }

    /// Appends a receive that first claims its message, and returns its ordinal.
    pub fn claim(&mut self, line: u32, start: Start) -> Ordinal {
        let ordinal = self.starts.len() as Ordinal;
        self.starts.push(start);
        self.act(line, Act::Claim(ordinal));
        ordinal
    }

    /// Whether a request is a receive from any source.
    pub fn is_from_any(&self, ordinal: Ordinal) -> bool {
        match self.starts[usize::from(ordinal)] {
            Start::Receive { from, .. } => from == Source::Any,
            Start::Later(index) => self.later[usize::from(index)].from() == Some(Source::Any),
            _ => false,
        }
    }

    /// Appends a statement whose values are known later, and returns its index.
    pub fn add_later(&mut self, later: Later) -> u16 {
        self.later.push(later);
        (self.later.len() - 1) as u16
    }

    /// Appends an act.
    pub fn act(&mut self, line: u32, act: Act) {
        self.steps.push(Step { line, act });
    }
}
