//! Rendezvous alone: the two ends of a flow, which is all messages from one rank to another in one context.
//!
//! The ends count on their rank for the state of requests, and assert it in debug builds. Here the host may
//! be wrong, so these objects keep what is needed to refuse a call that is not due.

use crate::border::carrousel_allocator;
use crate::error::{Fault, carrousel_error};
use crate::names::{carrousel_handle, carrousel_memory, flag, numbered};
use crate::object::{self, Kind};
use crate::outputs::tell;
use crate::packet::{carrousel_hint, carrousel_packet, hint_of, of_hint};
use ::carrousel_matching::{Handle, Tag, TagSelector};
use carrousel_rendezvous::{
    Adaptation, Blockers, Candidate, EagerSent, EagerTaken, Fate, Matched, Mirror, Outgoing, Packet,
    Protocol, ReceiveSide, Route, RtrId, SendSide, Target, Unmark, Violation,
};
use core::mem::MaybeUninit;
use std::collections::BTreeSet;

/// The sending end of a flow.
pub struct carrousel_sender {
    end: <Mirror as Protocol>::Sender,
    eager: EagerSent,
    window: u64,
    limit: u16,
    adaptation: Adaptation,
    /// Messages whose transfer is not over.
    under_way: BTreeSet<Handle>,
}

impl Kind for carrousel_sender {
    const MARK: u32 = 0x4341_5204;
}

/// The receiving end of a flow.
pub struct carrousel_receiver {
    end: <Mirror as Protocol>::Receiver,
    eager: EagerTaken,
    window: u64,
    limit: u16,
    adaptation: Adaptation,
    /// Receives that are announced and have no message.
    announced: u32,
    /// Receives that the RTR announces which is permitted now.
    permitted: u16,
}

impl Kind for carrousel_receiver {
    const MARK: u32 = 0x4341_5205;
}

fn adaptation(adapts: u32) -> Result<Adaptation, carrousel_error> {
    Ok(if flag(adapts)? { Adaptation::Counting } else { Adaptation::Fixed })
}

/// Makes the sending end of a flow: `window` bytes of eager messages, each with 64 more, that no receive has
/// taken, and
/// `limit` announced receives at most. With `adapts` 1 it announces while that pays.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_sender_create(
    abi: u32,
    allocator: Option<&carrousel_allocator>,
    window: u64,
    limit: u16,
    adapts: u32,
    sender: Option<&mut MaybeUninit<*mut carrousel_sender>>,
) -> carrousel_error {
    object::create(abi, allocator, 0, sender, || {
        let (end, eager, under_way) = Default::default();
        Ok(carrousel_sender { end, eager, window, limit, adaptation: adaptation(adapts)?, under_way })
    })
}

/// Frees an end, and sets the pointer to null.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_sender_free(sender: Option<&mut *mut carrousel_sender>) -> carrousel_error {
    object::free(sender)
}

/// A message of `len` bytes goes eagerly, with its data behind it, under a name that no message under way
/// has. `EMPTY` if it does not fit the window: then it has to go by rendezvous, and nothing has changed.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_sender_eager(
    sender: *mut carrousel_sender,
    tag: u64,
    len: u64,
    send: carrousel_handle,
) -> carrousel_error {
    object::enter(sender, |sender| {
        sender.check_free(send.into())?;
        if !sender.eager.admits(len, sender.window) {
            return Err(carrousel_error::Empty.into());
        }
        sender.end.eager(Tag(tag), send.into());
        sender.eager.sent(len);
        Ok(())
    })
}

/// How a rendezvous goes out.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_route {
    /// 1 if it is written into an announced receive, which the other fields name; 0 if an RTS offers it.
    pub is_write: u32,
    /// Of an RTS: a `carrousel_hint`.
    pub hint: u32,
    /// The receive that the RTR was sent for.
    pub receive: carrousel_handle,
    /// Which of the receives that it announced.
    pub index: u16,
    /// Bytes that it can take.
    pub len: u64,
    /// Where.
    pub memory: carrousel_memory,
}

/// Decides how a message goes that is not eager. `agree` 0 forbids a write into an announced receive, 1
/// permits it. The message is under way until `carrousel_sender_finished`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_sender_rendezvous(
    sender: *mut carrousel_sender,
    tag: u64,
    len: u64,
    send: carrousel_handle,
    agree: u32,
    route: Option<&mut MaybeUninit<carrousel_route>>,
) -> carrousel_error {
    object::enter(sender, |sender| {
        let (send, agree) = (Handle::from(send), flag(agree)?);
        let out = route.ok_or(carrousel_error::NullPointer)?;
        sender.check_free(send)?;
        let message = Outgoing { tag: Tag(tag), len, send };
        let route = sender.end.rendezvous(&message, sender.adaptation, || agree);
        sender.under_way.insert(send);
        out.write(match route {
            Route::Rts(hint) => carrousel_route { hint: of_hint(hint) as u32, ..Default::default() },
            Route::Write(Target { rtr: RtrId { receive, index }, len, memory }) => carrousel_route {
                is_write: 1,
                hint: carrousel_hint::None as u32,
                receive: receive.into(),
                index,
                len,
                memory: memory.into(),
            },
        });
        Ok(())
    })
}

/// A packet of the receiver, of the kinds RTR, ACK, RTS-ACK and CANCEL. To a CANCEL, the host answers
/// CANCEL-ACK.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_sender_packet(
    sender: *mut carrousel_sender,
    packet: Option<&carrousel_packet>,
) -> carrousel_error {
    object::enter(sender, |sender| {
        match Packet::try_from(packet.ok_or(carrousel_error::NullPointer)?)? {
            Packet::Rtr(rtr) => {
                if sender.end.announcements() + usize::from(rtr.ahead) >= usize::from(sender.limit) {
                    return Err(Violation::TooManyLines.into());
                }
                sender.end.rtr(&rtr, sender.adaptation)?;
            }
            Packet::Ack { seen, taken } => {
                // Both are true, or nothing of it is acted upon.
                let mut eager = sender.eager.clone();
                eager.taken(taken)?;
                sender.end.seen(seen)?;
                sender.eager = eager;
            }
            Packet::RtsAck { send } => {
                sender.check_under_way(send)?;
                sender.end.answered(send);
            }
            Packet::Cancel { rtr } => sender.end.cancel(rtr),
            _ => return Err(carrousel_error::UnknownValue.into()),
        }
        Ok(())
    })
}

/// The transfer of a message is over: it was written, or read by the receiver (ATS).
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_sender_finished(
    sender: *mut carrousel_sender,
    send: carrousel_handle,
) -> carrousel_error {
    object::enter(sender, |sender| {
        let send = send.into();
        sender.check_under_way(send)?;
        sender.end.finished(send);
        sender.under_way.remove(&send);
        Ok(())
    })
}

impl carrousel_sender {
    fn check_free(&self, send: Handle) -> Result<(), Fault> {
        if self.under_way.contains(&send) { Err(carrousel_error::WrongState.into()) } else { Ok(()) }
    }

    fn check_under_way(&self, send: Handle) -> Result<(), Fault> {
        if self.under_way.contains(&send) { Ok(()) } else { Err(carrousel_error::NoSuchRequest.into()) }
    }
}

/// Makes the receiving end of a flow, with the same numbers as the sending one.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_receiver_create(
    abi: u32,
    allocator: Option<&carrousel_allocator>,
    window: u64,
    limit: u16,
    adapts: u32,
    receiver: Option<&mut MaybeUninit<*mut carrousel_receiver>>,
) -> carrousel_error {
    object::create(abi, allocator, 0, receiver, || {
        let (end, eager) = Default::default();
        let adaptation = adaptation(adapts)?;
        Ok(carrousel_receiver { end, eager, window, limit, adaptation, announced: 0, permitted: 0 })
    })
}

/// Frees an end, and sets the pointer to null.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_receiver_free(receiver: Option<&mut *mut carrousel_receiver>) -> carrousel_error {
    object::free(receiver)
}

/// A receive that might be announced.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_candidate {
    /// The tag.
    pub tag: u64,
    /// The bits of the tag that do not matter.
    pub ignore: u64,
    /// Bytes that it can take.
    pub len: u64,
    /// Matching messages of the flow that were processed, modulo 2^32.
    pub processed: u32,
    /// Earlier receives that are not announced and could take the same messages: those of the same source,
    /// tag and mask.
    pub same_selector: u16,
    /// All others of these.
    pub others: u16,
}

/// Whether a receive may be announced now: `seen` and `ahead` get what its RTR says. `EMPTY` if it may not.
/// When the RTR is sent, `carrousel_receiver_announced` follows.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_receiver_announce(
    receiver: *mut carrousel_receiver,
    candidate: Option<&carrousel_candidate>,
    seen: Option<&mut MaybeUninit<u32>>,
    ahead: Option<&mut MaybeUninit<u16>>,
) -> carrousel_error {
    object::enter(receiver, |receiver| {
        let it = candidate.ok_or(carrousel_error::NullPointer)?;
        let (Some(seen), Some(ahead)) = (seen, ahead) else {
            return Err(carrousel_error::NullPointer.into());
        };
        let limit = receiver.limit;
        let candidate = Candidate {
            tag: TagSelector::new(Tag(it.tag), it.ignore),
            len: it.len,
            processed: it.processed,
            blockers: Blockers { same_selector: it.same_selector, others: it.others },
            limit,
        };
        receiver.permitted = 0;
        let may = receiver.end.has_room(limit).then(|| receiver.end.announce(&candidate)).flatten();
        let Some((processed, before)) = may else { return Err(carrousel_error::Empty.into()) };
        receiver.permitted = before.saturating_add(1);
        seen.write(processed);
        ahead.write(before);
        Ok(())
    })
}

/// The RTR that `carrousel_receiver_announce` has permitted was sent.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_receiver_announced(receiver: *mut carrousel_receiver) -> carrousel_error {
    object::enter(receiver, |receiver| {
        let receives = core::mem::take(&mut receiver.permitted);
        if receives == 0 {
            return Err(carrousel_error::WrongState.into());
        }
        receiver.announced += u32::from(receives);
        receiver.end.announced(receives);
        Ok(())
    })
}

/// The `number`-th matching message (EAGER, RTS, FIN) is being processed: `EMPTY`, or the fields of the ACK
/// that is due, one for each `credit_every` messages.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_receiver_arrived(
    receiver: *mut carrousel_receiver,
    number: u32,
    credit_every: u16,
    ack: Option<&mut MaybeUninit<carrousel_packet>>,
) -> carrousel_error {
    object::enter(receiver, |receiver| {
        let out = ack.ok_or(carrousel_error::NullPointer)?;
        receiver.permitted = 0;
        let is_due = receiver.end.arrived(number, credit_every);
        let packet = Packet::Ack { seen: number, taken: receiver.eager.told() };
        tell(is_due.then(|| packet.into()), Some(out))
    })
}

/// A receive has taken an eager message of `len` bytes, of `processed` that were processed: `EMPTY`, or the
/// fields of the ACK that is due.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_receiver_taken(
    receiver: *mut carrousel_receiver,
    len: u64,
    processed: u32,
    ack: Option<&mut MaybeUninit<carrousel_packet>>,
) -> carrousel_error {
    object::enter(receiver, |receiver| {
        let out = ack.ok_or(carrousel_error::NullPointer)?;
        let is_due = receiver.eager.take(len, receiver.window);
        let packet = is_due.then(|| Packet::Ack { seen: processed, taken: receiver.eager.tell() });
        tell(packet.map(Into::into), Some(out))
    })
}

/// An RTS for `tag` had a `carrousel_hint`. `unmark` gets 1 if announced receives of the envelope count as
/// not announced from now on: each is then told by `carrousel_receiver_withdrawn`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_receiver_hint(
    receiver: *mut carrousel_receiver,
    tag: u64,
    hint: u32,
    unmark: Option<&mut MaybeUninit<u32>>,
) -> carrousel_error {
    object::enter(receiver, |receiver| {
        let hint = hint_of(hint)?;
        let out = unmark.ok_or(carrousel_error::NullPointer)?;
        receiver.permitted = 0;
        out.write((receiver.end.hint(Tag(tag), hint) == Unmark::Envelope).into());
        Ok(())
    })
}

/// What an announcement of a receive has met.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_fate {
    /// The message was written into it.
    Used = 1,
    /// Its message came by RTS.
    Dropped = 2,
    /// Its message came eagerly.
    Mispredicted = 3,
}
numbered!(carrousel_fate: Used, Dropped, Mispredicted);

/// A receive that has its message.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_matched {
    /// The tag of the message.
    pub tag: u64,
    /// A `carrousel_fate`.
    pub fate: u32,
    /// 1 if the receive was announced.
    pub announced: u32,
    /// 1 if its own RTR has announced it, and not that of a later receive.
    pub own_rtr: u32,
    /// 1 if it could not have been announced: it expects an eager message, or any source.
    pub exempt: u32,
    /// 1 if an announcement would have been of use: the receive was there before the message.
    pub waited: u32,
}

/// A receive has its message.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_receiver_matched(
    receiver: *mut carrousel_receiver,
    matched: Option<&carrousel_matched>,
) -> carrousel_error {
    object::enter(receiver, |receiver| {
        let it = matched.ok_or(carrousel_error::NullPointer)?;
        let [announced, own, exempt, waited] =
            [flag(it.announced)?, flag(it.own_rtr)?, flag(it.exempt)?, flag(it.waited)?];
        let fate = match carrousel_fate::of(it.fate)? {
            carrousel_fate::Used => Fate::Used,
            carrousel_fate::Dropped => Fate::Dropped,
            carrousel_fate::Mispredicted => Fate::Mispredicted,
        };
        let is_possible = if announced { receiver.announced > 0 } else { fate != Fate::Used && !own };
        if !is_possible {
            return Err(carrousel_error::WrongState.into());
        }
        receiver.permitted = 0;
        receiver.announced -= u32::from(announced);
        if receiver.adaptation == Adaptation::Counting {
            if own {
                receiver.end.usage().resolved(fate);
            } else if !announced && !exempt {
                receiver.end.usage().unannounced(waited);
            }
        }
        // The mirror rules have no RTS-ACK.
        let _ = receiver.end.matched(&Matched { tag: Tag(it.tag), fate, announced, exempt });
        Ok(())
    })
}

/// An announced receive was cancelled, or counts as not announced any more.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_receiver_withdrawn(receiver: *mut carrousel_receiver) -> carrousel_error {
    object::enter(receiver, |receiver| {
        if receiver.announced == 0 {
            return Err(carrousel_error::WrongState.into());
        }
        receiver.permitted = 0;
        receiver.announced -= 1;
        receiver.end.withdrawn();
        Ok(())
    })
}
