//! The safety rules of the published protocol, and the readings of its text.

use core::fmt::Debug;
use core::hash::Hash;

/// The safety rules of the published protocol, one constant each; `rules.toml` gives the purpose of each. Types that
/// switch a rule off exist only in the checker.
pub trait PublishedRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// P4: an RTR goes to the first announced message that has no answer yet, and is dropped.
    const RTR_ANSWERS_RTS: bool = true;
    /// P5: a message that uses an RTR acknowledges it at once.
    const ACK_RTR: bool = true;
    /// P6: a receive that takes an RTS without having sent an RTR acknowledges it.
    const ACK_RTS: bool = true;
    /// P6 and P7 together, in their sound reading: small and wildcard receives acknowledge too.
    const ACK_FROM_EVERY_RECEIVE: bool = true;
    /// P8: no RTR while an overlapping receive without one is pending.
    const BLOCKED_BY_UNANNOUNCED: bool = true;
    /// P9: an eager message sets the Eager-flag.
    const EAGER_FLAG: bool = true;
    /// P11: RTRs are dropped until the stop is known to have arrived.
    const AWAIT_STOP: bool = true;
    /// P11: how RTRs from before a stop are told apart from those after it.
    const RESUME: Resume = Resume::ReceivesUnmarked;
    /// A receive that ignores bits of the tag is not announced.
    const EXACT_TAGS_ONLY: bool = true;
    /// A message longer than the announced receive is not written.
    const LENGTH_TEST: bool = true;
    /// P12: an RTR that its message declines to use is removed.
    const DECLINED_RTR_GOES: bool = true;
    /// P12: only that one RTR is removed, not all of its envelope.
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
    /// Literal: each message deletes one RTR that does not count as its answer; a message that finds none resumes.
    DeleteOneUncounted,
}

/// Every rule is on: the type of production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllPublishedRules {}
impl PublishedRules for AllPublishedRules {}
