//! The safety rules of the mirror protocol.

use crate::Release;
use core::fmt::Debug;
use core::hash::Hash;

/// The safety rules of the mirror protocol, one constant each; `rules.toml` gives the purpose of each. Types that
/// switch a rule off exist only in the checker.
pub trait MirrorRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// R2: the sender forgets the unseen messages that `seen` covers.
    const SEEN_PRUNES: bool = true;
    /// R3: no announcement past an unannounced receive that could take the same messages.
    const BLOCKED_BY_UNANNOUNCED: bool = true;
    /// R3: two receives can overlap even if neither accepts all messages of the other.
    const MASKS_OVERLAP: bool = true;
    /// R4: earlier unannounced receives of the same source, tag and mask enter the mirror, without a buffer.
    const AHEAD_ANNOUNCEMENTS: bool = true;
    /// R5: an announcement that matches an unseen message belongs to that message.
    const UNSEEN_TAKES_ANNOUNCEMENT: bool = true;
    /// R6: every message removes its announcement, eager ones too.
    const EAGER_TAKES_ANNOUNCEMENT: bool = true;
    /// R6: a message longer than the announced receive is not written.
    const LENGTH_TEST: bool = true;
    /// R7: FIN is posted in the send call, directly behind the write.
    const FIN_BEHIND_WRITE: bool = true;
    /// R10: ATS follows the data of the read. `Release` says when: by itself, directly behind the read, or once the
    /// receiver knows of the read's end.
    const RELEASE: Release = Release::AtsBehindRead;
    /// R8: a FIN that does not name the first matching receive is an error.
    const FIN_IS_FIRST_MATCH: bool = true;
    /// R9: a finished rendezvous leaves the list of unseen messages.
    const ATS_PRUNES: bool = true;
    /// R12: a claimed message leaves the queue of those that have no receive.
    const CLAIM_TAKES: bool = true;
    /// R11: cancelling an announced receive asks the sender.
    const CANCEL_ASKS: bool = true;
    /// F1: the eager messages that no receive has taken fit the window.
    const EAGER_FITS_WINDOW: bool = true;
    /// F2: the receiver tells the sender when more than half of the window is free.
    const TAKEN_IS_TOLD: bool = true;
    /// P13: a send that may be a rendezvous finds the RTR of an early receiver.
    const SEND_PROGRESSES_FIRST: bool = true;
    /// P13: a receive that may be a rendezvous finds the RTS of an early sender.
    const RECEIVE_PROGRESSES_FIRST: bool = true;
}

/// Every rule is on: the type of production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllMirrorRules {}
impl MirrorRules for AllMirrorRules {}
