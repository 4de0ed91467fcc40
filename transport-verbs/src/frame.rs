//! What a packet is on the connection: its bytes, and the number that comes with them.
//!
//! The number has the credits that the sender gives back in its lower half, and the kind of the frame above.

/// A packet of the protocols: head and data. Takes a credit.
pub(crate) const PACKET: u16 = 1;
/// Nothing but credits.
pub(crate) const CREDITS: u16 = 2;
/// The sender has sent all of its messages by this rail.
pub(crate) const GOODBYE: u16 = 3;
/// The application of the sender receives no message any more.
pub(crate) const LEAVES: u16 = 4;
/// A packet as well, whose place in its direction is in the other bits: there is another rail that packets may take.
pub(crate) const NUMBERED: u16 = 1 << 15;

const _: () = assert!(carrousel_connection::NUMBERS <= NUMBERED);

/// Whether a frame of this kind takes a credit.
#[inline]
pub(crate) fn takes_credit(kind: u16) -> bool {
    kind == PACKET || kind & NUMBERED != 0
}

pub(crate) fn immediate(kind: u16, credits: u16) -> u32 {
    u32::from(kind) << 16 | u32::from(credits)
}

/// Kind and credits.
pub(crate) fn parts(immediate: u32) -> (u16, u16) {
    ((immediate >> 16) as u16, immediate as u16)
}
