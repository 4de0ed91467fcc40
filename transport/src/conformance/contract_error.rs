//! The ways in which a record breaks the contract.

use super::plan::PlannedStep;
use crate::{Direction, Operation};
use core::fmt;
use thiserror::Error;

/// A row and a column of the contract's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableCell(pub Operation, pub Operation);

impl fmt::Display for TableCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |operation| match operation {
            Operation::Send(Direction::ToReceiver) => "send, forward",
            Operation::Send(Direction::ToSender) => "send, back",
            Operation::Write => "write",
            Operation::Read => "read",
            Operation::Atomic => "atomic",
        };
        write!(f, "row `{}`, column `{}` of the table of order", name(self.0), name(self.1))
    }
}

/// A record breaks the contract. `at` is the rank whose record shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ContractError {
    /// Two effects came in the wrong order.
    #[error("rank {at} saw {later} before {earlier}: {row} forbids it")]
    Order {
        /// At this rank.
        at: u32,
        /// The step that should have come first.
        earlier: PlannedStep,
        /// The step that came first.
        later: PlannedStep,
        /// The entry of the table that forbids it.
        row: TableCell,
    },
    /// The data of a write is not there, though a packet behind it is.
    #[error("rank {at} saw {packet}, and other bytes than those of {write} in its memory: {row} forbids it")]
    DataMissing {
        /// At this rank.
        at: u32,
        /// The write.
        write: PlannedStep,
        /// The packet.
        packet: PlannedStep,
        /// The entry of the table that forbids it.
        row: TableCell,
    },
    /// Data arrived that was not sent.
    #[error("rank {at} got other bytes than those of {what}: data arrives whole and unchanged")]
    Changed {
        /// At this rank.
        at: u32,
        /// Of this operation.
        what: PlannedStep,
    },
    /// A packet or a completion was reported twice.
    #[error("rank {at} was told twice of {what}: every packet and every completion is reported once")]
    ReportedTwice {
        /// At this rank.
        at: u32,
        /// This one.
        what: PlannedStep,
    },
    /// A packet or a completion was never reported.
    #[error("rank {at} was never told of {what}: nothing gets lost between ranks that live")]
    NotReported {
        /// At this rank.
        at: u32,
        /// This one.
        what: PlannedStep,
    },
    /// A completion of an operation that has not been posted.
    #[error("rank {at} was told that {what} is complete, which it had not posted")]
    TooEarly {
        /// At this rank.
        at: u32,
        /// This one.
        what: PlannedStep,
    },
    /// Completions of one kind, to one peer, that came in the wrong order.
    #[error(
        "rank {at} was told that {later} is complete before {earlier}: those of one kind keep their order"
    )]
    Completions {
        /// At this rank.
        at: u32,
        /// The step that should have come first.
        earlier: PlannedStep,
        /// The step that came first.
        later: PlannedStep,
    },
    /// A packet or a completion that no rank has posted.
    #[error("rank {at} got a packet or a completion, as from rank {from}, that nobody has posted")]
    Foreign {
        /// At this rank.
        at: u32,
        /// The rank from which it seems to come.
        from: u32,
    },
    /// A rank that lives was reported as lost.
    #[error("rank {at} was told that rank {peer} is lost, which lives: other pairs notice nothing")]
    FalseLoss {
        /// At this rank.
        at: u32,
        /// This one.
        peer: u32,
    },
    /// A loss was reported twice.
    #[error("rank {at} was told twice that rank {peer} is lost: a loss is reported once")]
    LossReportedTwice {
        /// At this rank.
        at: u32,
        /// This one.
        peer: u32,
    },
    /// A loss was not reported.
    #[error("rank {at} was never told that rank {peer} is lost")]
    LossNotReported {
        /// At this rank.
        at: u32,
        /// This one.
        peer: u32,
    },
    /// A packet of a rank that is lost.
    #[error("rank {at} got {what} after its sender was lost: no packet follows a loss")]
    AfterLoss {
        /// At this rank.
        at: u32,
        /// This one.
        what: PlannedStep,
    },
    /// Memory changed outside the slots of all writes.
    #[error("bytes of rank {at} have changed that no operation writes")]
    Stray {
        /// At this rank.
        at: u32,
    },
    /// Two atomics have replaced the same value of one word.
    #[error(
        "rank {at} was told that {second} has replaced the value {value:#x}, which {first} has replaced: \
         atomics on one word take turns"
    )]
    NotAtomic {
        /// At this rank.
        at: u32,
        /// One of them.
        first: PlannedStep,
        /// The other.
        second: PlannedStep,
        /// The value.
        value: u64,
    },
    /// An atomic has found a value that no atomic has left.
    #[error("rank {at} was told that {what} has found the value {value:#x}, which no atomic has left")]
    UnknownValue {
        /// At this rank.
        at: u32,
        /// The atomic.
        what: PlannedStep,
        /// The value.
        value: u64,
    },
    /// A shared word has another value at the end than the last atomic has left.
    #[error("word {word} of rank {at} is {found:#x?} at the end, and the last atomic has left {expected:#x}")]
    FinalWord {
        /// At this rank.
        at: u32,
        /// The number of the word.
        word: u32,
        /// Its value, if the record has one.
        found: Option<u64>,
        /// What the last atomic has left.
        expected: u64,
    },
    /// The record is not one of this plan.
    #[error("the record of rank {at} is not one of this plan at {what}: was the plan changed since?")]
    PlanMismatch {
        /// At this rank.
        at: u32,
        /// The step near which the record and the plan differ.
        what: PlannedStep,
    },
    /// The record has another number of ranks than the plan.
    #[error("the record has {found} ranks, and the plan {expected}: was the plan changed since?")]
    Ranks {
        /// In the record.
        found: usize,
        /// In the plan.
        expected: usize,
    },
}
