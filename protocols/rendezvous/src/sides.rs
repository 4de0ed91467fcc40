//! The two ends of a flow, and the rule set that they follow.

use crate::{Adaptation, Fate, Hint, Memory, Rtr, RtrId, Usage};
use carrousel_matching::{Handle, Tag, TagSelector};
use core::fmt::Debug;
use core::hash::Hash;

/// A rule set: the types of the two ends of a flow, and what differs outside of them.
pub trait Protocol: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// The end that sends messages.
    type Sender: SendSide;
    /// The end that receives them.
    type Receiver: ReceiveSide;
    /// How the receiver learns of a write into an announced receive.
    fn notice() -> Notice;
    /// How the sender learns that its data was read.
    fn release() -> Release;
    /// Cancelling an announced receive asks the sender first.
    fn cancel_asks() -> bool;
    /// A write must name the first receive that matches its message; anything else is an error of the peer.
    fn write_is_first_match() -> bool;
    /// R3: an earlier receive blocks an announcement if one message could satisfy both, however their masks overlap.
    fn masks_overlap() -> bool {
        true
    }
    /// R12: a claimed message leaves the queue of those that have no receive.
    fn claim_takes() -> bool {
        true
    }
    /// R2: the sender forgets the unseen messages that an RTR's `seen` covers, before it looks for the RTR's own.
    fn rtr_tells_seen() -> bool {
        false
    }
    /// F1: eager messages that no receive has taken fit the window.
    fn eager_fits_window() -> bool {
        true
    }
    /// F2: the sender is told when half of the window is free.
    fn taken_is_told() -> bool {
        true
    }
    /// A send that may be a rendezvous comes behind all that has arrived.
    fn send_progresses_first() -> bool {
        true
    }
    /// A receive that may be a rendezvous comes behind all that has arrived.
    fn receive_progresses_first() -> bool {
        true
    }
}

/// How the receiver learns of a write into an announced receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// FIN, posted directly behind the write in the send call.
    FinBehindWrite,
    /// RTR-ACK in the send call, ATP once the write has completed.
    AckThenAtp,
    /// FIN once the write has completed: unsound, later messages overtake it.
    FinAfterWrite,
}

/// How the sender learns that its data was read, and that its buffer is its own again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Release {
    /// ATS, behind the data of the read: no call of the receiver is needed.
    AtsBehindRead,
    /// ATS once the receiver knows that the read has completed.
    AtsAfterRead,
    /// ATS beside the read: unsound, it may arrive before the data is taken.
    AtsBesideRead,
}

/// A message to be sent by rendezvous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its tag.
    pub tag: Tag,
    /// Bytes.
    pub len: u64,
    /// The sender's request.
    pub send: Handle,
}

/// An announced receive that a message is written into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The receive.
    pub rtr: RtrId,
    /// Bytes that it can take.
    pub len: u64,
    /// Where.
    pub memory: Memory,
}

/// How a rendezvous goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// As an RTS; the receiver takes the data.
    Rts(Hint),
    /// As a write into an announced receive.
    Write(Target),
}

/// A receive of a flow that might be announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The tags that it accepts.
    pub tag: TagSelector,
    /// Bytes that it can take.
    pub len: u64,
    /// How many matching messages of the flow have been processed, modulo 2^32.
    pub processed: u32,
    /// The earlier receives in its way.
    pub blockers: Blockers,
    /// Greatest number of announced receives that may be outstanding in this flow.
    pub limit: u16,
}

/// Earlier pending receives that could take the same messages and are not announced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blockers {
    /// Those of exactly the same source, tag and mask.
    pub same_selector: u16,
    /// All others.
    pub others: u16,
}

/// A receive that has its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// The message's tag.
    pub tag: Tag,
    /// What an announcement of the receive has met, or would have.
    pub fate: Fate,
    /// The receive was announced.
    pub announced: bool,
    /// The receive could not have been announced: it expects an eager message, or any source.
    pub exempt: bool,
}

impl Matched {
    /// Asserts, in debug builds, that an end with so many announced receives can be told of this, see [`ReceiveSide`].
    #[inline(always)]
    pub(crate) fn check(&self, outstanding: u16) {
        debug_assert!(!self.announced || outstanding > 0, "no receive is announced");
        debug_assert!(self.announced || self.fate != Fate::Used, "a write went into what was not announced");
    }
}

/// What a receive side does with its announced receives after a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmark {
    /// Nothing.
    Keep,
    /// Those of the RTS's envelope count as not announced from now on.
    Envelope,
}

/// The sending end of a flow.
///
/// `agree` is asked whether a write may be used that the rules permit; what it answers cannot affect safety.
///
/// Which calls are legal depends on the message of the request `send` that they name. Illegal ones are the caller's mistake:
/// they panic in debug builds. What a peer may have sent is never illegal, but an error.
///
/// | call | no message under way | offered (by RTS) | being written |
/// | --- | --- | --- | --- |
/// | [`eager`](SendSide::eager) | legal | - | - |
/// | [`rendezvous`](SendSide::rendezvous) | legal: now it is offered or being written | - | - |
/// | [`answered`](SendSide::answered) | - | legal | - |
/// | [`finished`](SendSide::finished) | - | legal: no message is under way now | legal, in the same way |
///
/// All others are legal at any time.
pub trait SendSide: Clone + Debug + Default + Eq + Hash + Send + Sync + 'static {
    /// A message goes eagerly, with its data behind it. No transfer of `send` follows.
    fn eager(&mut self, tag: Tag, send: Handle);

    /// Decides how a message goes out whose size or mode asks for a rendezvous.
    fn rendezvous(
        &mut self,
        message: &Outgoing,
        adaptation: Adaptation,
        agree: impl FnOnce() -> bool,
    ) -> Route;

    /// Whether a message with this tag and length would be written if `agree` said yes.
    fn could_write(&self, tag: Tag, len: u64) -> bool;

    /// A receive was announced.
    ///
    /// # Errors
    /// When the announcement contradicts the history of the flow.
    fn rtr(&mut self, rtr: &Rtr, adaptation: Adaptation) -> Result<(), Violation>;

    /// The receiver says that it sent no RTR for the receive which the RTS of `send` found.
    fn answered(&mut self, send: Handle);

    /// The transfer of `send` is over; if it was a read, its data is at the receiver.
    fn finished(&mut self, send: Handle);

    /// The receiver has processed so many matching messages.
    ///
    /// # Errors
    /// When it cannot have.
    fn seen(&mut self, seen: u32) -> Result<(), Violation>;

    /// The receiver wants this receive back.
    fn cancel(&mut self, rtr: RtrId);

    /// How many announced receives are stored here.
    fn announcements(&self) -> usize;

    /// How many messages are stored here that found no announcement.
    fn unseen(&self) -> usize {
        0
    }
}

/// The receiving end of a flow.
///
/// Which calls are legal depends on how many receives are announced and have no message. Illegal ones panic in debug builds,
/// as those of [`SendSide`] do.
///
/// | call | none announced | some announced |
/// | --- | --- | --- |
/// | [`announced`](ReceiveSide::announced) | legal behind an [`announce`](ReceiveSide::announce) that permits it, with `ahead` + 1 receives | legal, in the same way |
/// | [`matched`](ReceiveSide::matched) with a receive that was announced | - | legal |
/// | [`matched`](ReceiveSide::matched) with one that was not | legal, if it was not written into | legal, in the same way |
/// | [`withdrawn`](ReceiveSide::withdrawn) | - | legal |
///
/// All others are legal at any time.
pub trait ReceiveSide: Clone + Debug + Default + Eq + Hash + Send + Sync + 'static {
    /// Whether any receive may be announced at present, whatever is in its way: `limit` is not reached and
    /// the adaptation permits it.
    fn has_room(&self, limit: u16) -> bool;

    /// Whether the rules and the adaptation permit to announce this receive now: `seen` and `ahead` of its RTR.
    fn announce(&self, receive: &Candidate) -> Option<(u32, u16)>;

    /// An RTR was sent that announces this many receives.
    fn announced(&mut self, receives: u16);

    /// The `number`-th matching message (EAGER, RTS, FIN, RTR-ACK) is being processed. True asks for an ACK;
    /// one message in `credit_every` has one.
    fn arrived(&mut self, number: u32, credit_every: u16) -> bool;

    /// An RTS for `tag` carried `hint`.
    fn hint(&mut self, tag: Tag, hint: Hint) -> Unmark;

    /// A receive has its message; true asks for an RTS-ACK.
    fn matched(&mut self, receive: &Matched) -> bool;

    /// An announced receive was cancelled, or lost its mark.
    fn withdrawn(&mut self);

    /// The record of how useful announcing has been.
    fn usage(&mut self) -> &mut Usage;
}

/// A packet that contradicts the history of its flow. The peer is to blame, or the forger of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// A receiver cannot have processed messages that were not sent.
    #[error("it says that it has processed {seen} messages of {sent}")]
    SeenTooMuch {
        /// What the packet says.
        seen: u32,
        /// How many were sent.
        sent: u32,
    },
    /// A receiver cannot have taken more than it was sent.
    #[error("it says that its receives have taken {news} bytes of eager messages, of {held}")]
    TakenTooMuch {
        /// What they have taken since it was last said.
        news: u64,
        /// What they can have taken.
        held: u64,
    },
    /// More receives are announced than the limit allows.
    #[error("it announces more receives than the limit")]
    TooManyLines,
    /// The same receive is announced twice.
    #[error("it announces {receive} twice")]
    AnnouncedTwice {
        /// The receive.
        receive: Handle,
    },
}
