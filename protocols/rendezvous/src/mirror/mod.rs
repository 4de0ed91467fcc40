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
    fn notice() -> Notice {
        if R::fin_behind_write() { Notice::FinBehindWrite } else { Notice::FinAfterWrite }
    }
    fn release() -> Release {
        R::release()
    }
    fn cancel_asks() -> bool {
        R::cancel_asks()
    }
    fn claim_takes() -> bool {
        R::claim_takes()
    }
    fn rtr_tells_seen() -> bool {
        R::seen_prunes()
    }
    fn write_is_first_match() -> bool {
        R::fin_is_first_match()
    }
    fn masks_overlap() -> bool {
        R::masks_overlap()
    }
    fn eager_fits_window() -> bool {
        R::eager_fits_window()
    }
    fn taken_is_told() -> bool {
        R::taken_is_told()
    }
    fn send_progresses_first() -> bool {
        R::send_progresses_first()
    }
    fn receive_progresses_first() -> bool {
        R::receive_progresses_first()
    }
}
