//! The safety rules of the mirror protocol.

use crate::Release;
use core::fmt::Debug;
use core::hash::Hash;

/// The safety rules of the mirror protocol, one function each; `rules.toml` gives the purpose of each. Types that
/// switch a rule off exist only in the checker.
pub trait MirrorRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// R2: the sender forgets the unseen messages that `seen` covers.
    fn seen_prunes() -> bool {
        true
    }
    /// R3: no announcement past an unannounced receive that could take the same messages.
    fn blocked_by_unannounced() -> bool {
        true
    }
    /// R3: two receives can overlap even if neither accepts all messages of the other.
    fn masks_overlap() -> bool {
        true
    }
    /// R4: earlier unannounced receives of the same source, tag and mask enter the mirror, without a buffer.
    fn ahead_announcements() -> bool {
        true
    }
    /// R5: an announcement that matches an unseen message belongs to that message.
    fn unseen_takes_announcement() -> bool {
        true
    }
    /// R6: every message removes its announcement, eager ones too.
    fn eager_takes_announcement() -> bool {
        true
    }
    /// R6: a message longer than the announced receive is not written.
    fn length_test() -> bool {
        true
    }
    /// R7: FIN is posted in the send call, directly behind the write.
    fn fin_behind_write() -> bool {
        true
    }
    /// R10: ATS follows the data of the read. `Release` says when: by itself, directly behind the read, or once the
    /// receiver knows of the read's end.
    fn release() -> Release {
        Release::AtsBehindRead
    }
    /// R8: a FIN that does not name the first matching receive is an error.
    fn fin_is_first_match() -> bool {
        true
    }
    /// R9: a finished rendezvous leaves the list of unseen messages.
    fn ats_prunes() -> bool {
        true
    }
    /// R12: a claimed message leaves the queue of those that have no receive.
    fn claim_takes() -> bool {
        true
    }
    /// R11: cancelling an announced receive asks the sender.
    fn cancel_asks() -> bool {
        true
    }
    /// F1: the eager messages that no receive has taken fit the window.
    fn eager_fits_window() -> bool {
        true
    }
    /// F2: the receiver tells the sender when more than half of the window is free.
    fn taken_is_told() -> bool {
        true
    }
    /// P13: a send that may be a rendezvous finds the RTR of an early receiver.
    fn send_progresses_first() -> bool {
        true
    }
    /// P13: a receive that may be a rendezvous finds the RTS of an early sender.
    fn receive_progresses_first() -> bool {
        true
    }
}

/// Every rule is on: the type of production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllMirrorRules {}
impl MirrorRules for AllMirrorRules {}
