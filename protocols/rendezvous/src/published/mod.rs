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
//! as not announced, so that they answer too; receives that ignore bits of the tag are not announced.

mod receiver;
mod rules;
mod sender;

pub use receiver::PublishedReceiver;
pub use rules::{AllPublishedRules, PublishedRules, Resume};
pub use sender::PublishedSender;

use crate::{Notice, Protocol, Release};
use core::marker::PhantomData;

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
