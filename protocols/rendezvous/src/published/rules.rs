//! The safety rules of the published protocol, and the readings of its text.

use core::fmt::Debug;
use core::hash::Hash;

/// The safety rules of the published protocol, one function each; `rules.toml` gives the purpose of each. Types that
/// switch a rule off exist only in the checker.
pub trait PublishedRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// P4: an RTR goes to the first announced message that has no answer yet, and is dropped.
    fn rtr_answers_rts() -> bool {
        true
    }
    /// P5: a message that uses an RTR acknowledges it at once.
    fn ack_rtr() -> bool {
        true
    }
    /// P6: a receive that takes an RTS without having sent an RTR acknowledges it.
    fn ack_rts() -> bool {
        true
    }
    /// P6 and P7 together, in their sound reading: small and wildcard receives acknowledge too.
    fn ack_from_every_receive() -> bool {
        true
    }
    /// P8: no RTR while an overlapping receive without one is pending.
    fn blocked_by_unannounced() -> bool {
        true
    }
    /// P9: an eager message sets the Eager-flag.
    fn eager_flag() -> bool {
        true
    }
    /// P11: RTRs are dropped until the stop is known to have arrived.
    fn await_stop() -> bool {
        true
    }
    /// P11: how RTRs from before a stop are told apart from those after it.
    fn resume() -> Resume {
        Resume::ReceivesUnmarked
    }
    /// A receive that ignores bits of the tag is not announced.
    fn exact_tags_only() -> bool {
        true
    }
    /// A message longer than the announced receive is not written.
    fn length_test() -> bool {
        true
    }
    /// P12: an RTR that its message declines to use is removed.
    fn declined_rtr_goes() -> bool {
        true
    }
    /// P12: only that one RTR is removed, not all of its envelope.
    fn decline_takes_one() -> bool {
        true
    }
    /// Cancelling an announced receive asks the sender.
    fn cancel_asks() -> bool {
        true
    }
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
