//! Violations: the check that is violated, and what has happened.

use crate::network::Message;
use crate::open_epochs::OpenEpoch;
use crate::program::Ordinal;
use carrousel_rank::Communicator;
use carrousel_rank::epoch::EpochUsageError;
use carrousel_scenario::{Assertion, Check};

/// A violated check, with what has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Violation {
    /// The check.
    pub check: Check,
    /// What happened.
    pub kind: ViolationKind,
}

impl Violation {
    /// Whether the library broke a promise. What follows means nothing then, and is not explored.
    pub fn is_fatal(&self) -> bool {
        matches!(
            self.kind,
            ViolationKind::WrongReceive { .. }
                | ViolationKind::WrittenTooLate { .. }
                | ViolationKind::WrittenPastEnd { .. }
                | ViolationKind::CompleteTooEarly { .. }
                | ViolationKind::Impossible { .. }
                | ViolationKind::Abandoned { .. }
                | ViolationKind::LockedTwice { .. }
        )
    }

    /// Whether what follows is not explored: the library broke a promise, or a rank makes a call that has no meaning.
    pub fn is_last(&self) -> bool {
        self.is_fatal() || matches!(self.kind, ViolationKind::EpochUsage { .. })
    }
}

/// A step of the program of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The rank.
    pub rank: u16,
    /// The position of the step in its program.
    pub step: u16,
}

/// A promise of a program about a window that is not so, seen when some rank takes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BrokenAssertion {
    /// `nostore` of this step, and a store of the same rank before it.
    Stored {
        /// The step that stores.
        store: u16,
    },
    /// `noprecede` of this step, and an access in the epoch that it ends.
    Preceded {
        /// The step that accesses.
        access: u16,
    },
    /// An access behind a fence with `nosucceed`.
    Succeeded {
        /// The step of the fence.
        fence: u16,
    },
    /// An access that writes in an exposure with `noput`.
    Put {
        /// The call that exposes.
        exposure: Location,
    },
    /// One side of a synchronization says it, and the other does not.
    SaidByOne {
        /// What.
        assertion: Assertion,
        /// The other side.
        other: Location,
        /// This side says it.
        is_mine: bool,
    },
    /// `nocheck` of a start, before one of its posts.
    NotPosted {
        /// The post.
        post: Location,
    },
    /// A lock that another rank has or wants, and one of both says `nocheck`.
    Contended {
        /// The call of the other rank.
        other: Location,
        /// The later call of both says it.
        is_mine: bool,
    },
}

/// What has happened, for the explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViolationKind {
    /// A rank is stuck.
    Stuck,
    /// A rank cannot go on: a value in its next statement leaves its range.
    OutOfRange {
        /// This rank.
        at: u16,
    },
    /// A rank waits for ever for a request that has its partner: the library has forgotten it.
    Abandoned {
        /// At this rank.
        at: u16,
        /// The request.
        request: Ordinal,
    },
    /// A message went to another receive than MPI's rule says.
    WrongReceive {
        /// At this rank.
        at: u16,
        /// The message.
        message: Message,
        /// The receive that should have got it.
        should: Option<Ordinal>,
        /// The receive that got it.
        got: Option<Ordinal>,
    },
    /// Data was written into a receive that is over.
    WrittenTooLate {
        /// At this rank.
        at: u16,
        /// The message.
        message: Message,
        /// The receive, if the program has not released it.
        receive: Option<Ordinal>,
    },
    /// Data was written past the end of a receive.
    WrittenPastEnd {
        /// At this rank.
        at: u16,
        /// The message.
        message: Message,
        /// The receive.
        receive: Ordinal,
    },
    /// A request was complete while its buffer was still in use.
    CompleteTooEarly {
        /// At this rank.
        at: u16,
        /// The request.
        request: Ordinal,
    },
    /// The library called a packet impossible.
    Impossible {
        /// At this rank.
        at: u16,
        /// From this one.
        from: u16,
    },
    /// A message was longer than its receive.
    TooLong {
        /// At this rank.
        at: u16,
        /// The message.
        message: Message,
        /// The receive.
        receive: Ordinal,
    },
    /// A message of a collective was longer than what this rank expected: the ranks do not agree on its size.
    TooLongInCollective {
        /// At this rank.
        at: u16,
        /// Its collective.
        request: Ordinal,
    },
    /// The program used a buffer that a request was using.
    BufferInUse {
        /// At this rank.
        at: u16,
        /// The request that uses it.
        request: Ordinal,
        /// The request writes the buffer; otherwise it reads it.
        written: bool,
    },
    /// A wildcard receive got another message than in another execution.
    OtherMatch {
        /// At this rank.
        at: u16,
        /// The receive.
        receive: Ordinal,
        /// Its message here.
        message: Message,
        /// Its message there.
        other: Message,
    },
    /// The program ended with an open request.
    Leak {
        /// At this rank.
        at: u16,
        /// The request.
        request: Ordinal,
    },
    /// A call on a window that its epochs do not admit. The program is not followed any further.
    EpochUsage {
        /// At this rank.
        at: u16,
        /// What the library says.
        error: EpochUsageError,
    },
    /// Memory was to be locked while its rank exposes it.
    LockedWhileExposed {
        /// At this rank.
        at: u16,
        /// By this one.
        origin: u16,
    },
    /// A rank exposes its memory while another one has it locked.
    ExposedWhileLocked {
        /// At this rank.
        at: u16,
        /// By this one.
        holder: u16,
    },
    /// Between two fences, which are an access epoch if there is an access between them, a rank accesses memory in another
    /// epoch (weakest MPI).
    AccessBetweenFences {
        /// At this rank.
        at: u16,
        /// The access, by its index in the program.
        access: u16,
    },
    /// The program ended with an open epoch.
    EpochLeftOpen {
        /// At this rank.
        at: u16,
        /// The epoch.
        epoch: OpenEpoch,
    },
    /// One rank starts access epochs to another, which has not as many exposure epochs for it.
    GroupsDiffer {
        /// The origin.
        origin: u16,
        /// The target.
        target: u16,
        /// The window.
        window: u16,
    },
    /// One rank calls more fences of a window than another.
    FencesDiffer {
        /// The rank that calls more.
        at: u16,
        /// The other one.
        other: u16,
        /// The window.
        window: u16,
    },
    /// A program promised something of its use of a window that is not so.
    Asserted {
        /// This rank was promised otherwise, or has promised it.
        at: u16,
        /// What is not so.
        broken: BrokenAssertion,
    },
    /// An access with a request of its own in an epoch without a lock.
    RequestWithoutLock {
        /// At this rank.
        at: u16,
        /// The access, by its index in the program.
        access: u16,
    },
    /// Two accesses to window memory of a rank that nothing orders.
    Race {
        /// At this rank.
        at: u16,
        /// The access that was under way: its rank, and its index there.
        first: (u16, u16),
        /// The other one; without an index, the statement of the program itself.
        second: (u16, Option<u16>),
    },
    /// The program used a buffer that an access to a window was using.
    BufferInAccess {
        /// At this rank.
        at: u16,
        /// The access, by its index in the program.
        access: u16,
        /// The access writes the buffer; otherwise it reads it.
        written: bool,
    },
    /// A lock was given while another rank held it.
    LockedTwice {
        /// At this rank.
        at: u16,
        /// To this one.
        origin: u16,
        /// While this one held it.
        holder: u16,
    },
    /// The program ended with a message that nobody received.
    Unmatched {
        /// At this rank.
        at: u16,
        /// The message.
        message: Message,
    },
    /// The program ended with a message of a collective that this rank did not take part in as others did.
    UnmatchedOfCollective {
        /// At this rank.
        at: u16,
        /// Of this rank.
        from: u16,
        /// In this communicator.
        communicator: Communicator,
    },
}
