//! Credits: how many packets may be on their way to a peer that has so many receive buffers for them.

use core::marker::PhantomData;

/// The rules of credits; one constant each, so that the checker can have a type with one of them off.
pub trait CreditRules {
    /// Credits are given back alone when half of the window is owed, as nothing may go the other way that could
    /// carry them.
    const GIVE_BACK_ALONE: bool = true;
    /// What only gives credits back takes none: two ends without credits would wait for each other.
    const GIVING_IS_FREE: bool = true;
    /// An end without a credit waits.
    const SPEND_WHAT_THERE_IS: bool = true;
}

/// A peer gives back more than it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{given} credits are given back, and {spent} were spent")]
pub struct TooMany {
    /// Given back.
    pub given: u16,
    /// Not given back so far.
    pub spent: u16,
}

/// What one end knows of the credits of both directions.
///
/// The window is that of both ends. Frames that carry nothing but credits ([`Credits::owes`]) need receive buffers
/// too, but at most [`Credits::alone`] of them are on their way: each is for half a window that was taken,
/// and the window is sent again only when they have arrived.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Credits<R> {
    window: u16,
    /// Packets sent, and not given back.
    spent: u16,
    /// Packets of the peer taken, and not given back.
    taken: u16,
    rules: PhantomData<R>,
}

impl<R: CreditRules> Credits<R> {
    /// At the start, with receive buffers for `window` packets at each end; at least 2.
    pub fn new(window: u16) -> Self {
        Self { window: window.max(2), spent: 0, taken: 0, rules: PhantomData }
    }

    /// The most frames on their way that carry nothing but credits, and the receive buffers that they need.
    pub const fn alone(window: u16) -> u16 {
        // The window is at least twice its half; an odd one has one more.
        let window = if window < 2 { 2 } else { window };
        window / (window / 2)
    }

    /// The receive buffers for all that a peer may have on its way: the window's packets, frames that carry nothing
    /// but credits, and one frame that takes none, which says that it was the last packet. A driver that gives
    /// the credit of a packet back before its buffer is posted again needs as many more as it leaves unposted.
    pub const fn buffers(window: u16) -> u32 {
        let packets = if window < 2 { 2 } else { window };
        packets as u32 + Self::alone(window) as u32 + 1
    }

    /// Packets that may be sent now.
    pub fn left(&self) -> u16 {
        self.window.saturating_sub(self.spent)
    }

    /// Takes a credit for a packet. False if there is none: then it has to wait.
    #[inline]
    pub fn spend(&mut self) -> bool {
        if R::SPEND_WHAT_THERE_IS && self.spent >= self.window {
            return false;
        }
        self.spent = self.spent.saturating_add(1);
        true
    }

    /// A packet of the peer that has taken a credit is taken: its receive buffer is posted again soon.
    #[inline]
    pub fn took(&mut self) {
        self.taken = self.taken.saturating_add(1);
    }

    /// Whether credits have to be given back by a frame of their own now. The frame takes no credit.
    #[inline]
    pub fn owes(&self) -> bool {
        R::GIVE_BACK_ALONE && self.taken >= self.window / 2 && (R::GIVING_IS_FREE || self.spent < self.window)
    }

    /// The credits that the next frame to the peer carries.
    #[inline]
    pub fn give(&mut self) -> u16 {
        core::mem::take(&mut self.taken)
    }

    /// A frame of the peer has carried so many credits.
    ///
    /// # Errors
    /// When they are more than were spent: no honest peer gives them.
    #[inline]
    pub fn given(&mut self, given: u16) -> Result<(), TooMany> {
        let spent = self.spent;
        self.spent = spent.checked_sub(given).ok_or(TooMany { given, spent })?;
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
        assert_eq!(credits.given(2), Err(TooMany { given: 2, spent: 1 }));
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
