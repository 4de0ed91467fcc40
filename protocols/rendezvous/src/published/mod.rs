//! The thesis's rule set, in its sound reading.
//!
//! The sender keeps the RTRs that arrive before their message. Order alone tells which message an RTR belongs to:
//! each announced message (RTS) is answered by exactly one RTR or RTS-ACK, and each used RTR by an RTR-ACK. An eager
//! message leaves the RTR of its receive behind, if there is one. So it sets the Eager-flag of its envelope. Under
//! that flag, the next announcement stops the receiver (stop-RTR). A later announcement lets it resume (resume-RTR),
//! once no RTR from before the stop can still arrive (speculative-rendezvous 4.2.3).
//!
//! The receiver sends ATS in a call of the library, once it knows that its read is over. So does the classical
//! rendezvous by read, on which the thesis builds and with which it compares (3.6).
//!
//! Three points are not in the thesis's words, and the rule set is unsound without them. Every receive that takes an
//! RTS without having sent an RTR answers RTS-ACK. At a stop all pending receives of the envelope count as not
//! announced, so that they answer, too. Receives that ignore bits of the tag are not announced.

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
    fn notice() -> Notice {
        if R::ack_rtr() { Notice::AckThenAtp } else { Notice::FinAfterWrite }
    }
    fn release() -> Release {
        Release::AtsAfterRead
    }
    fn cancel_asks() -> bool {
        R::cancel_asks()
    }
    fn write_is_first_match() -> bool {
        true
    }
}
