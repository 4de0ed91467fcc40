//! The programs of the ranks as the checker runs them: numbers only, and one act at a time.
//!
//! A request is named by its *ordinal*: how many requests its rank started before it. Ordinals do not
//! depend on the order of events, so that two states that differ in nothing else are one state.

use carrousel_program as meaning;
use carrousel_program::epoch::{AccumulateOp, Blocks, Call as EpochCall, OwnedCall, Transfer, TransferKind};
use carrousel_program::{Deferred, Group, Operation, OwnAccess, Part, Received, WindowLayout, received};
use carrousel_rank::{
    Call, Communicator, Kind, Members, Memory, Options, RankId, Source, Tag, TagSelector, mpi,
};
use carrousel_scenario::{Assertions, RequestId};
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
    /// The windows of all ranks, by number; none if no statement is about one.
    pub windows: Vec<WindowLayout>,
    /// The node of each rank, by rank; each is alone if it has none here.
    pub nodes: Vec<u32>,
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
    /// The communicators that it gets, by ascending number; that of all ranks is not among them.
    pub groups: Vec<Group>,
    /// Its accesses to the memory of windows.
    pub accesses: Vec<Access>,
    /// Its calls on the epochs of windows.
    pub synchronizations: Vec<Synchronization>,
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
    /// The library knows a communicator from now on, one of [`Program::groups`].
    Define(Communicator),
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
    /// Access the memory of a window, at some rank: an index into [`Program::accesses`].
    Access(u16),
    /// The program itself reads or writes its own memory of a window.
    TouchWindow(OwnAccess),
    /// The end of a blocking call that opens an epoch, the one that this request stands for: it may have to wait until
    /// targets have granted the access (`grants`).
    AwaitGrants(Ordinal),
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
    Known(Communicator, Source, TagSelector),
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
        /// In this communicator.
        communicator: Communicator,
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
        /// In this communicator.
        communicator: Communicator,
        /// Bytes that fit.
        len: u64,
        /// Into this buffer.
        buffer: Buffer,
    },
    /// Enter a collective.
    Collective {
        /// Which.
        kind: Kind,
        /// In this communicator.
        communicator: Communicator,
        /// The root's number among its members, where it has one.
        root: u32,
        /// Bytes of a contribution.
        len: u64,
    },
    /// Open, close or flush an epoch: an index into [`Program::synchronizations`].
    Synchronize(u16),
    /// Access the memory of a window, with a request of its own: an index into [`Program::accesses`]. Its step is
    /// [`Act::Access`].
    Access(u16),
    /// A send or a receive whose values are known only at run time: an index into [`Program::later`].
    Later(u16),
}

/// An access to the memory of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The window.
    pub window: u16,
    /// What is moved; `local` is its index in [`Program::accesses`].
    pub transfer: Transfer,
    /// How an atomic operation combines.
    pub combine: AccumulateOp,
    /// The local buffer.
    pub buffer: Buffer,
    /// Its own request, if it has one.
    pub request: Option<Ordinal>,
}

impl Access {
    /// Whether both access a common byte of the same rank's memory, and one of them changes it.
    pub fn meets(&self, other: &Self) -> bool {
        let (this, that) = (self.transfer, other.transfer);
        let is_same = self.window == other.window && this.target == that.target;
        is_same && (self.writes() || other.writes()) && this.place.overlap(that.place)
    }

    /// The same, unless both are atomic: in this library, all atomics are so towards each other.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        self.meets(other) && !(is_atomic(self.transfer.kind) && is_atomic(other.transfer.kind))
    }

    /// The same, with an access of the program to the memory of its own rank.
    pub fn conflicts_with_own(&self, rank: u16, own: &OwnAccess) -> bool {
        let this = self.transfer;
        let is_same = u32::from(self.window) == own.window.0 && this.target == RankId(u32::from(rank));
        is_same && (self.writes() || own.write) && this.place.overlap(Blocks::contiguous(own.offset, own.len))
    }

    /// Whether it changes the memory of its target: a get does not, nor does an atomic read (MPI-4.1, 12.3.4: `MPI_NO_OP`).
    pub(crate) fn writes(&self) -> bool {
        match self.transfer.kind {
            TransferKind::Get => false,
            TransferKind::Accumulate | TransferKind::GetAccumulate | TransferKind::FetchAndOp => {
                self.combine != AccumulateOp::NoOp
            }
            TransferKind::Put | TransferKind::CompareAndSwap => true,
        }
    }
}

/// Whether it is atomic for each element.
pub(crate) fn is_atomic(kind: TransferKind) -> bool {
    !matches!(kind, TransferKind::Put | TransferKind::Get)
}

/// A call that opens, closes or flushes an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Synchronization {
    /// The window.
    pub window: u16,
    call: OwnedCall,
    asserts: Assertions,
    ends_no_epoch: bool,
}

impl Synchronization {
    /// Takes a call of the program.
    pub fn new(call: &meaning::Synchronization<'_>, ends_no_epoch: bool) -> Self {
        Self { window: call.window.0 as u16, call: call.call.into(), asserts: call.assertions, ends_no_epoch }
    }

    /// The call.
    pub fn call(&self) -> EpochCall<'_> {
        self.call.call()
    }

    /// What the program promises with it.
    pub fn asserts(&self) -> Assertions {
        self.asserts
    }

    /// Whether it is a fence of which its rank knows that it ends no epoch: an MPI may let it return before other ranks have
    /// called it (MPI-4.1, 12.5.1).
    pub fn ends_no_epoch(&self) -> bool {
        self.ends_no_epoch
    }
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

    /// Of a send: its tag, if that is known before run time.
    pub(crate) fn tag(&self) -> Option<u32> {
        self.deferred.sending()?.tag
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
    /// Enter a barrier of all ranks.
    pub const BARRIER: Self =
        Self::Collective { kind: Kind::Barrier, communicator: Communicator::WORLD, root: 0, len: 0 };

    /// The start of an operation; `buffer` says which number a buffer has here. The memory of a collective has none:
    /// no program can name it, and its content is not checked.
    pub fn of(operation: Operation, buffer: impl FnOnce(meaning::Buffer) -> Buffer) -> Self {
        match operation {
            Operation::Send(meaning::Send { to, tag, communicator, len, synchronous, buffer: name }) => {
                let (to, tag, buffer) = (to.0, mpi::number(tag), buffer(name));
                Self::Send { to, tag, communicator, len, synchronous, buffer }
            }
            Operation::Receive(meaning::Receive { from, tag, communicator, len, buffer: name }) => {
                Self::Receive { from, tag, communicator, len, buffer: buffer(name) }
            }
            Operation::Collective(meaning::Collective { kind, communicator, root, len }) => {
                Self::Collective { kind, communicator, root, len }
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
            Self::Send { to, tag, communicator, len, synchronous, buffer } => {
                // Every other message carries 8 more bytes.
                let data = (buffer % 2 == 1).then_some(!u64::from(buffer));
                let (to, tag, own) = (RankId(to), mpi::tag(tag), meaning::Buffer::Own(Part::Outgoing));
                let send = meaning::Send { to, tag, communicator, len, synchronous, buffer: own };
                send.call_with(memory(buffer), data)
            }
            Self::Receive { from, tag, communicator, len, buffer } => {
                let own = meaning::Buffer::Own(Part::Incoming);
                meaning::Receive { from, tag, communicator, len, buffer: own }.call(memory(buffer))
            }
            Self::Collective { kind, communicator, root, len } => {
                meaning::Collective { kind, communicator, root, len }.call([memory(0); 3])
            }
            Self::Synchronize(_) | Self::Access(_) => unreachable!("a window has calls of its own"),
            Self::Later(_) => unreachable!("a call is made when its values are known"),
        }
    }

    /// The buffer that it uses until it is complete, and whether to write it, as far as its values are known.
    pub fn buffer(&self) -> Option<(Buffer, bool)> {
        match *self {
            Self::Send { buffer, .. } => Some((buffer, false)),
            Self::Receive { buffer, .. } => Some((buffer, true)),
            // The access itself knows its buffer.
            Self::Collective { .. } | Self::Synchronize(_) | Self::Access(_) | Self::Later(_) => None,
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

    /// The members of one of its communicators; `None` for that of all ranks.
    pub(crate) fn members(&self, communicator: Communicator) -> Option<&Members> {
        let group = self.groups.iter().find(|group| group.communicator == communicator)?;
        Some(&group.members)
    }

    /// Whether a rank is in one of its communicators.
    pub(crate) fn is_member(&self, communicator: Communicator, rank: u16) -> bool {
        self.members(communicator).is_none_or(|members| members.contains(RankId(rank.into())))
    }

    /// The rank behind a number in one of its communicators.
    pub(crate) fn rank_in(&self, communicator: Communicator, comm_rank: u32) -> u16 {
        let rank = self.members(communicator).and_then(|members| members.rank(comm_rank));
        rank.map_or(comm_rank, |rank| rank.0) as u16
    }

    /// A message of one of its communicators, as names give it.
    pub(crate) fn received(&self, communicator: Communicator, source: RankId, tag: Tag) -> Received {
        let all = Members::all(u32::MAX);
        received(source, tag, self.members(communicator).unwrap_or(&all))
    }

    /// The communicator of a request.
    pub(crate) fn communicator_of(&self, ordinal: Ordinal) -> Communicator {
        match self.starts[usize::from(ordinal)] {
            Start::Send { communicator, .. }
            | Start::Receive { communicator, .. }
            | Start::Collective { communicator, .. } => communicator,
            Start::Synchronize(_) | Start::Access(_) => Communicator::WORLD,
            Start::Later(index) => self.later[usize::from(index)].deferred.communicator(),
        }
    }

    /// Its calls on epochs, each with its step.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (u16, &Synchronization)> {
        (0..self.steps.len() as u16).filter_map(|step| Some((step, self.call_at(step)?)))
    }

    /// The call on epochs that a step makes, if it makes one.
    pub(crate) fn call_at(&self, step: u16) -> Option<&Synchronization> {
        let Act::Start(ordinal) = self.steps.get(usize::from(step))?.act else { return None };
        self.synchronization(ordinal)
    }

    /// The call on epochs that a request stands for, if it is one.
    pub(crate) fn synchronization(&self, ordinal: Ordinal) -> Option<&Synchronization> {
        match self.starts.get(usize::from(ordinal))? {
            Start::Synchronize(index) => self.synchronizations.get(usize::from(*index)),
            _ => None,
        }
    }

    /// Whether a request is one of a window.
    pub(crate) fn is_of_window(&self, ordinal: Ordinal) -> bool {
        matches!(self.starts[usize::from(ordinal)], Start::Synchronize(_) | Start::Access(_))
    }

    /// The window that a request is of, if it is one of a window.
    pub(crate) fn window_of(&self, ordinal: Ordinal) -> Option<u16> {
        match self.starts[usize::from(ordinal)] {
            Start::Synchronize(index) => Some(self.synchronizations[usize::from(index)].window),
            Start::Access(index) => Some(self.accesses[usize::from(index)].window),
            _ => None,
        }
    }

    /// The window that an act is about, unless it waits for the end of another one.
    pub(crate) fn window_of_act(&self, act: &Act) -> Option<u16> {
        match *act {
            Act::Start(ordinal) | Act::Test(ordinal) | Act::AwaitGrants(ordinal) => self.window_of(ordinal),
            Act::Access(index) => Some(self.accesses[usize::from(index)].window),
            Act::TouchWindow(own) => Some(own.window.0 as u16),
            _ => None,
        }
    }

    /// The communicators that it has together with a peer.
    pub(crate) fn shared_with(&self, peer: u16) -> impl Iterator<Item = Communicator> {
        let groups = self.groups.iter().filter(move |group| group.members.contains(RankId(peer.into())));
        std::iter::once(Communicator::WORLD).chain(groups.map(|group| group.communicator))
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
