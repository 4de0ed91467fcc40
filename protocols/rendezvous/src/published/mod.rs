//! The thesis's rule set, in the reading that is sound.
//!
//! The sender keeps the RTRs that no message was waiting for. Which message an RTR belongs to is told by
//! order alone: each announced message (RTS) is answered by exactly one RTR or RTS-ACK, each RTR that is
//! used by an RTR-ACK. An eager message leaves the RTR of its receive behind, if there was one; so it
//! sets the Eager-flag of its envelope, under which the next announcement stops the receiver (stop-RTR),
//! and a later one lets it go on (resume-RTR), when no RTR from before the stop can still arrive
//! (speculative-rendezvous 4.2.3).
//!
//! The receiver says DONE in a call of the library, once it knows that it has read, as the classical rendezvous by
//! read does that the thesis builds upon and measures against (3.6).
//!
//! Three points are not in the thesis's words, and it is unsound without them: every receive that takes an
//! RTS without having sent an RTR answers RTS-ACK; at a stop all pending receives of the envelope count
//! as not announced, so that they answer too; receives with a wildcard tag are not announced.

mod receiver;
mod sender;

pub use receiver::PublishedReceiver;
pub use sender::PublishedSender;

use crate::{Notice, Protocol, Release};
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

/// One constant for each safety rule of the published protocol; `rules.toml` says what each is for.
/// The types that switch one off live in the checker.
pub trait PublishedRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// P4: an RTR goes to the first announced message that has no answer yet, and is dropped.
    const RTR_ANSWERS_RTS: bool = true;
    /// P5: a message that uses an RTR says so at once.
    const ACK_RTR: bool = true;
    /// P6: a receive that takes an RTS without having sent an RTR says so.
    const ACK_RTS: bool = true;
    /// P6 and P7 together, in their sound reading: small and wildcard receives acknowledge too.
    const ACK_FROM_EVERY_RECEIVE: bool = true;
    /// P8: no RTR while an overlapping receive without one is pending.
    const BLOCKED_BY_UNANNOUNCED: bool = true;
    /// P9: an eager message sets the Eager-flag.
    const EAGER_FLAG: bool = true;
    /// P11: RTRs are dropped until the stop is known to have arrived.
    const AWAIT_STOP: bool = true;
    /// P11: how RTRs from before a stop are told from those after it.
    const RESUME: Resume = Resume::ReceivesUnmarked;
    /// A receive with a wildcard tag is not announced.
    const EXACT_TAGS_ONLY: bool = true;
    /// A message longer than the announced receive is not written.
    const LENGTH_TEST: bool = true;
    /// P12: what becomes of an RTR that is not used.
    const DECLINED_RTR_GOES: bool = true;
    /// P12: only the RTR that is not used goes, not all of its envelope.
    const DECLINE_TAKES_ONE: bool = true;
    /// Cancelling an announced receive asks the sender.
    const CANCEL_ASKS: bool = true;
}

/// The readings of "once all RTRs are removed by subsequent sends, a resume-RTR flag will be piggybacked"
/// (speculative-rendezvous 4.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resume {
    /// Sound: at the stop all pending receives count as not announced; the next message resumes.
    ReceivesUnmarked,
    /// Literal: the first message after the stop deletes all stored RTRs and resumes.
    DeleteAllAndResume,
    /// Literal: one message deletes all stored RTRs, a later one resumes.
    DeleteAllResumeLater,
    /// Literal: each message deletes one RTR that does not count as its answer; one that finds none resumes.
    DeleteOneUncounted,
}

/// Every rule on: what runs in production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllPublishedRules {}
impl PublishedRules for AllPublishedRules {}

/// The published protocol under `R`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Published<R = AllPublishedRules>(PhantomData<R>);

impl<R: PublishedRules> Protocol for Published<R> {
    type Sender = PublishedSender<R>;
    type Receiver = PublishedReceiver<R>;
    const NOTICE: Notice = if R::ACK_RTR { Notice::AckThenFilled } else { Notice::FinAfterWrite };
    const RELEASE: Release = Release::DoneAfterRead;
    const CANCEL_ASKS: bool = R::CANCEL_ASKS;
    const WRITE_IS_FIRST_MATCH: bool = true;
}
