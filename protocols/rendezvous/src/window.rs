//! Flow control of eager messages: bounds the eager data of a sender that no receive has taken.
//!
//! Eager data waits at the receiver, or on its way, until its receive is posted. A sender that is faster than its
//! receiver would so fill the memory of both. Each end of a flow counts: the sender counts what it has sent eagerly,
//! and the receiver what its receives have taken; the receiver reports its count now and then by ACK. A message that
//! would exceed the window becomes a rendezvous, as a longer message does by its size. It does not wait for credit.
//! So a program that counts on no buffer, as MPI demands (MPI-4.1, 3.5), cannot be stopped by the window, however
//! small it is.

use crate::Violation;

/// The bytes that a message counts in addition to its data: messages without data are kept, too.
pub const MESSAGE_COST: u64 = 64;

/// The window without a bound. With it nothing is counted, because the data held may exceed the range of the counts.
pub const NO_WINDOW: u64 = u64::MAX;

/// The bytes that a message of this length counts.
#[inline]
pub const fn cost(len: u64) -> u64 {
    len.saturating_add(MESSAGE_COST)
}

/// The sending end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EagerSent {
    /// Bytes that were sent, and are not known to be taken. The receiver's count is modulo 2^64; `held` tells a
    /// possible count from an impossible one.
    held: u64,
    /// The count that the receiver has reported last.
    taken: u64,
}

impl EagerSent {
    /// Whether a message of this length fits the window. A single message always fits.
    #[inline]
    pub fn admits(&self, len: u64, window: u64) -> bool {
        self.held == 0 || self.held.saturating_add(cost(len)) <= window
    }

    /// Counts a message that goes eagerly.
    #[inline]
    pub fn sent(&mut self, len: u64) {
        self.held = self.held.saturating_add(cost(len));
    }

    /// The receiver reports how much its receives have taken in all.
    ///
    /// # Errors
    /// If that is more than was sent.
    pub fn taken(&mut self, taken: u64) -> Result<(), Violation> {
        let news = taken.wrapping_sub(self.taken);
        // An older report that came late would look impossible. Packets of a lane keep their order, so none comes
        // late.
        if news > self.held {
            return Err(Violation::TakenTooMuch { news, held: self.held });
        }
        self.held -= news;
        self.taken = taken;
        Ok(())
    }
}

/// The receiving end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EagerTaken {
    /// The bytes that receives have taken in all, modulo 2^64.
    taken: u64,
    /// The count that the sender was told last.
    told: u64,
}

impl EagerTaken {
    /// A receive takes a message of this length. True asks for an ACK that [tells](EagerTaken::tell) the count: more
    /// than half of the window is free, and the sender does not know it.
    #[inline]
    pub fn take(&mut self, len: u64, window: u64) -> bool {
        self.taken = self.taken.wrapping_add(cost(len));
        self.taken.wrapping_sub(self.told) > window / 2 && window != NO_WINDOW
    }

    /// The count to tell the sender, which counts as told from now on.
    #[inline]
    pub fn tell(&mut self) -> u64 {
        self.told = self.taken;
        self.told
    }

    /// The count that the sender was told last: for an ACK with another reason, which changes nothing here.
    #[inline]
    pub fn told(&self) -> u64 {
        self.told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_always_fits_and_more_only_if_there_is_room() {
        for window in [0, 1, 100, 1000] {
            let mut sent = EagerSent::default();
            let mut admitted = 0;
            while sent.admits(100, window) {
                sent.sent(100);
                admitted += 1;
            }
            assert_eq!(admitted, (window / cost(100)).max(1), "{window}");
        }
    }

    #[test]
    fn without_a_window_more_than_can_be_counted_has_room() {
        let (mut sent, mut taken) = (EagerSent::default(), EagerTaken::default());
        for _ in 0..3 {
            assert!(sent.admits(1 << 63, NO_WINDOW));
            sent.sent(1 << 63);
            assert!(!taken.take(1 << 63, NO_WINDOW));
            // An ACK with another reason.
            assert_eq!(sent.taken(taken.told()), Ok(()));
        }
    }

    #[test]
    fn what_was_taken_makes_room_when_half_of_the_window_is_free() {
        let window = 4 * cost(36);
        let (mut sent, mut taken) = (EagerSent::default(), EagerTaken::default());
        let mut told = 0;
        for _ in 0..1000 {
            assert!(sent.admits(36, window));
            sent.sent(36);
            if taken.take(36, window) {
                assert_eq!(sent.taken(taken.tell()), Ok(()));
                told += 1;
            }
        }
        assert_eq!(told, 1000 / 3, "three of four are more than half");
    }

    #[test]
    fn more_than_was_sent_is_a_violation() {
        let mut sent = EagerSent::default();
        sent.sent(8);
        let too_much = Violation::TakenTooMuch { news: cost(8) + 1, held: cost(8) };
        assert_eq!(sent.taken(cost(8) + 1), Err(too_much));
        assert_eq!(sent.taken(cost(8)), Ok(()));
        assert!(sent.taken(0).is_err(), "it went back");
    }

    #[test]
    fn counts_go_round() {
        let mut sent = EagerSent { held: 0, taken: u64::MAX - 10 };
        let mut taken = EagerTaken { taken: u64::MAX - 10, told: u64::MAX - 10 };
        sent.sent(100);
        assert!(taken.take(100, 0));
        assert_eq!(sent.taken(taken.tell()), Ok(()));
        assert_eq!(sent.held, 0);
    }
}
