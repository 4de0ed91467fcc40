//! Credits: the number of packets that may be on their way to a peer, given by its receive buffers.

use core::marker::PhantomData;

/// The rules of credits, one function each, so that the checker can have a type with one rule off.
pub trait CreditRules {
    /// When half of the window is owed, a frame of its own gives the credits back: there may be no packet in that
    /// direction that could carry them.
    fn give_back_alone() -> bool {
        true
    }
    /// A frame that only gives credits back takes none. Otherwise two ends without credits would wait for each other.
    fn giving_is_free() -> bool {
        true
    }
    /// An end without a credit waits.
    fn spend_what_there_is() -> bool {
        true
    }
}

/// A peer gives back more credits than were spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{given} credits are given back, and {spent} were spent")]
pub struct CreditError {
    /// The credits that the peer gives back.
    pub given: u16,
    /// The credits that were spent and not given back so far.
    pub spent: u16,
}

/// The credits of both directions, as one end knows them.
///
/// Both ends have the same window. Frames that carry nothing but credits ([`Credits::owes`]) need receive buffers,
/// too. At most [`Credits::alone`] of them are on their way: each stands for half a window of packets that were
/// taken, and the window is sent again only when they have arrived.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Credits<R> {
    window: u16,
    /// Packets that were sent, and whose credits were not given back.
    spent: u16,
    /// Packets of the peer that were taken, and whose credits were not given back.
    taken: u16,
    rules: PhantomData<R>,
}

impl<R: CreditRules> Credits<R> {
    /// The initial state, with receive buffers for `window` packets at each end; the window is at least 2.
    pub fn new(window: u16) -> Self {
        Self { window: window.max(2), spent: 0, taken: 0, rules: PhantomData }
    }

    /// The most frames with nothing but credits that can be on their way; each needs a receive buffer.
    pub const fn alone(window: u16) -> u16 {
        // The window is at least twice its half; an odd window has one packet more.
        let window = if window < 2 { 2 } else { window };
        window / (window / 2)
    }

    /// The receive buffers for everything that a peer may have on its way: the packets of the window, frames that
    /// carry nothing but credits, and one frame without a credit, which announces the end of the packets. A driver
    /// may give the credit of a packet back before it posts the buffer again; then it needs one more for each buffer
    /// that it leaves unposted.
    pub const fn buffers(window: u16) -> u32 {
        let packets = if window < 2 { 2 } else { window };
        packets as u32 + Self::alone(window) as u32 + 1
    }

    /// The number of packets that may be sent now.
    pub fn left(&self) -> u16 {
        self.window.saturating_sub(self.spent)
    }

    /// Takes a credit for a packet. Returns false if no credit is left: then the packet has to wait.
    #[inline]
    pub fn spend(&mut self) -> bool {
        if R::spend_what_there_is() && self.spent >= self.window {
            return false;
        }
        self.spent = self.spent.saturating_add(1);
        true
    }

    /// A packet of the peer that had taken a credit was taken; its receive buffer is posted again soon.
    #[inline]
    pub fn took(&mut self) {
        self.taken = self.taken.saturating_add(1);
    }

    /// Whether a frame of its own has to give credits back now. That frame takes no credit.
    #[inline]
    pub fn owes(&self) -> bool {
        R::give_back_alone()
            && self.taken >= self.window / 2
            && (R::giving_is_free() || self.spent < self.window)
    }

    /// The credits to put into the next frame to the peer. They count as given back.
    #[inline]
    pub fn give(&mut self) -> u16 {
        core::mem::take(&mut self.taken)
    }

    /// A frame of the peer has carried this many credits.
    ///
    /// # Errors
    /// If they are more than were spent: no correct peer gives them.
    #[inline]
    pub fn given(&mut self, given: u16) -> Result<(), CreditError> {
        let spent = self.spent;
        self.spent = spent.checked_sub(given).ok_or(CreditError { given, spent })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rules;

    #[test]
    fn who_has_none_waits() {
        let mut credits = Credits::<Rules>::new(3);
        assert_eq!([(); 4].map(|()| credits.spend()), [true, true, true, false]);
        credits.given(1).expect("one was spent");
        assert_eq!([(); 2].map(|()| credits.spend()), [true, false]);
    }

    #[test]
    fn half_a_window_is_given_back_alone() {
        let mut credits = Credits::<Rules>::new(5);
        credits.took();
        assert!(!credits.owes());
        credits.took();
        assert!(credits.owes());
        assert_eq!(credits.give(), 2);
        assert!(!credits.owes());
        assert_eq!(credits.give(), 0);
    }

    #[test]
    fn more_than_was_spent_is_an_error() {
        let mut credits = Credits::<Rules>::new(8);
        assert!(credits.spend());
        assert_eq!(credits.given(2), Err(CreditError { given: 2, spent: 1 }));
        assert_eq!(credits.left(), 7, "an error changes nothing");
    }

    #[test]
    fn the_smallest_window_works() {
        for window in [0, 1, 2] {
            let mut credits = Credits::<Rules>::new(window);
            assert_eq!(credits.left(), 2);
            credits.took();
            assert!(credits.owes());
        }
        assert_eq!([2, 3, 4, 5, 64].map(Credits::<Rules>::alone), [2, 3, 2, 2, 2]);
    }
}
