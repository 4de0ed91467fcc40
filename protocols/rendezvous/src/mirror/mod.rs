//! The default rule set: the sender mirrors the receiver's posted receives.
//!
//! An RTR is a line of the receiver's queue, copied to the sender. Both ends compute the same MPI
//! matching over it: the receiver by its queue, the sender by removing, with every message it sends,
//! the first line that the message matches. Announcements and messages cross; a count (`seen`, in the
//! RTR) and the list of messages that found no line (`unseen`) tell the sender which of them did. What
//! is announced, and when, is free: prediction and adaptation cannot affect safety.
//!
//! Nobody waits for a call of the other end once the data moves: FIN stands behind the write, DONE behind the read.

mod receiver;
mod sender;

pub use receiver::MirrorReceiver;
pub use sender::MirrorSender;

use crate::{Notice, Protocol, Release};
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

/// One constant for each safety rule of the mirror protocol; `rules.toml` says what each is for.
/// The types that switch one off live in the checker.
pub trait MirrorRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// R2: the sender forgets the unseen messages that `seen` covers.
    const SEEN_PRUNES: bool = true;
    /// R3: no announcement past an unannounced receive that could take the same messages.
    const BLOCKED_BY_UNANNOUNCED: bool = true;
    /// R4: earlier unannounced receives of the same envelope enter the mirror as lines without a buffer.
    const AHEAD_LINES: bool = true;
    /// R5: a line that an unseen message matches is that message's.
    const UNSEEN_TAKES_LINE: bool = true;
    /// R6: every message removes its line, eager ones too.
    const EAGER_TAKES_LINE: bool = true;
    /// R6: a message longer than the announced receive is not written.
    const LENGTH_TEST: bool = true;
    /// R7: FIN is posted in the send call, directly behind the write.
    const FIN_BEHIND_WRITE: bool = true;
    /// R10: DONE follows the data of the read: by itself, directly behind it, or once the receiver knows of it.
    const RELEASE: Release = Release::DoneBehindRead;
    /// R8: a FIN that does not name the first matching receive is an error.
    const FIN_IS_FIRST_MATCH: bool = true;
    /// R9: a finished rendezvous leaves the list of unseen messages.
    const DONE_PRUNES: bool = true;
    /// R11: cancelling an announced receive asks the sender.
    const CANCEL_ASKS: bool = true;
    /// F1: eager messages that no receive has taken fit the window.
    const EAGER_FITS_WINDOW: bool = true;
    /// F2: the sender is told when half of the window is free.
    const TAKEN_IS_TOLD: bool = true;
    /// P13: a send that may be a rendezvous finds the RTR of an early receiver.
    const SEND_PROGRESSES_FIRST: bool = true;
    /// P13: a receive that may be a rendezvous finds the RTS of an early sender.
    const RECEIVE_PROGRESSES_FIRST: bool = true;
}

/// Every rule on: what runs in production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllMirrorRules {}
impl MirrorRules for AllMirrorRules {}

/// The mirror protocol under `R`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mirror<R = AllMirrorRules>(PhantomData<R>);

impl<R: MirrorRules> Protocol for Mirror<R> {
    type Sender = MirrorSender<R>;
    type Receiver = MirrorReceiver<R>;
    const NOTICE: Notice = if R::FIN_BEHIND_WRITE { Notice::FinBehindWrite } else { Notice::FinAfterWrite };
    const RELEASE: Release = R::RELEASE;
    const CANCEL_ASKS: bool = R::CANCEL_ASKS;
    const WRITE_IS_FIRST_MATCH: bool = R::FIN_IS_FIRST_MATCH;
    const EAGER_FITS_WINDOW: bool = R::EAGER_FITS_WINDOW;
    const TAKEN_IS_TOLD: bool = R::TAKEN_IS_TOLD;
    const SEND_PROGRESSES_FIRST: bool = R::SEND_PROGRESSES_FIRST;
    const RECEIVE_PROGRESSES_FIRST: bool = R::RECEIVE_PROGRESSES_FIRST;
}
