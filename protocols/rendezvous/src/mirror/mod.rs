//! The default rule set: the sender mirrors the receiver's posted receives.
//!
//! An RTR copies an entry of the receiver's queue to the sender: an announcement. Both ends compute the same MPI
//! matching over them. The receiver does so by its queue; the sender removes, with every message that it sends, the
//! first announcement that the message matches. Announcements and messages can cross. A count (`seen`, in the RTR) and
//! the list of messages that found no announcement (`unseen`) tell the sender which of them did. The receiver is free
//! to announce any receive at any time: prediction and adaptation cannot affect safety.
//!
//! Once the data moves, neither end waits for a call of the other: FIN stands behind the write, ATS behind the read.

mod receiver;
mod rules;
mod sender;

pub use receiver::MirrorReceiver;
pub use rules::{AllMirrorRules, MirrorRules};
pub use sender::MirrorSender;

use crate::{Notice, Protocol, Release};
use core::marker::PhantomData;

/// The mirror protocol under `R`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mirror<R = AllMirrorRules>(PhantomData<R>);

impl<R: MirrorRules> Protocol for Mirror<R> {
    type Sender = MirrorSender<R>;
    type Receiver = MirrorReceiver<R>;
    const NOTICE: Notice = if R::FIN_BEHIND_WRITE { Notice::FinBehindWrite } else { Notice::FinAfterWrite };
    const RELEASE: Release = R::RELEASE;
    const CANCEL_ASKS: bool = R::CANCEL_ASKS;
    const CLAIM_TAKES: bool = R::CLAIM_TAKES;
    const WRITE_IS_FIRST_MATCH: bool = R::FIN_IS_FIRST_MATCH;
    const MASKS_OVERLAP: bool = R::MASKS_OVERLAP;
    const EAGER_FITS_WINDOW: bool = R::EAGER_FITS_WINDOW;
    const TAKEN_IS_TOLD: bool = R::TAKEN_IS_TOLD;
    const SEND_PROGRESSES_FIRST: bool = R::SEND_PROGRESSES_FIRST;
    const RECEIVE_PROGRESSES_FIRST: bool = R::RECEIVE_PROGRESSES_FIRST;
}
