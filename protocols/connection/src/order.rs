//! The order of packets that travel to a peer by two rails, each of which keeps its own order.

use alloc::collections::VecDeque;
use core::marker::PhantomData;

/// The rules of order, one function each, so that the checker can have a type with one rule off.
pub trait OrderRules {
    /// A packet that arrives before its turn waits for it.
    fn wait_for_turn() -> bool {
        true
    }
    /// If no packet followed a write by the same rail, the next packet goes by the rail of the write.
    fn write_takes_next() -> bool {
        true
    }
}

/// The number of packet numbers; the last one is followed by 0.
pub const NUMBERS: u16 = 1 << 15;
/// The most packets that may be on their way, so that each has a number of its own.
pub const ORDERED_MAX: u16 = NUMBERS / 2;

/// A packet has a number that no correct peer gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("packet {number} has come, and {due} is due")]
pub struct SequenceError {
    /// The number of the packet.
    pub number: u16,
    /// The number of the packet that is due.
    pub due: u16,
}

/// One of two rails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rail {
    /// For packets with data, writes and reads.
    First,
    /// For packets that need not wait for those.
    Second,
}

/// SequenceNumbers packets at the sending end, in the order in which they are to be taken.
///
/// Writes go by the first rail and have no number. They have arrived before the packets behind them are taken: the
/// packet directly behind a write goes by the same rail, and all later ones are taken behind that packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SequenceNumbers<R> {
    next: u16,
    /// Whether a write was posted behind the last packet that went by the first rail.
    behind_write: bool,
    rules: PhantomData<R>,
}

impl<R: OrderRules> Default for SequenceNumbers<R> {
    fn default() -> Self {
        Self::starting_at(0)
    }
}

impl<R: OrderRules> SequenceNumbers<R> {
    /// Begins with this number.
    pub fn starting_at(number: u16) -> Self {
        Self { next: number % NUMBERS, behind_write: false, rules: PhantomData }
    }

    /// The number of the next packet, and its rail: `wish`, unless the packet has to follow a write.
    pub fn next(&self, wish: Rail) -> (u16, Rail) {
        let is_bound = R::write_takes_next() && self.behind_write;
        (self.next, if is_bound { Rail::First } else { wish })
    }

    /// The packet was sent by this rail.
    pub fn sent(&mut self, rail: Rail) {
        self.next = (self.next + 1) % NUMBERS;
        self.behind_write &= rail == Rail::Second;
    }

    /// A write was posted by the first rail. Its data have to be there when the next packet is taken.
    pub fn wrote(&mut self) {
        self.behind_write = true;
    }
}

/// Restores the order of packets at the receiving end.
///
/// Packets that arrive early are kept. They never exceed the window, if the credit of a packet is given back at its
/// turn and not before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReorderBuffer<T, R> {
    /// The number of the packet that is due.
    due: u16,
    /// Kept packets, from the due number on. The first is missing, or the list is empty.
    early: VecDeque<Option<T>>,
    rules: PhantomData<R>,
}

impl<T, R: OrderRules> Default for ReorderBuffer<T, R> {
    fn default() -> Self {
        Self::starting_at(0)
    }
}

impl<T, R: OrderRules> ReorderBuffer<T, R> {
    /// The first packet has this number.
    pub fn starting_at(number: u16) -> Self {
        Self { due: number % NUMBERS, early: VecDeque::new(), rules: PhantomData }
    }

    /// A packet with this number has arrived: returns whether it is due. A due packet is taken, and
    /// [`ReorderBuffer::ready`] follows; for any other packet, [`ReorderBuffer::keep`] does.
    pub fn is_next(&mut self, number: u16) -> bool {
        if number == self.due {
            self.advance();
            return true;
        }
        !R::wait_for_turn()
    }

    /// Advances to the next packet. Returns the packet that was due, if it was kept.
    fn advance(&mut self) -> Option<T> {
        self.due = (self.due + 1) % NUMBERS;
        self.early.pop_front().flatten()
    }

    /// Keeps a packet that has arrived early, of a peer that may have `window` packets on their way.
    ///
    /// # Errors
    /// If it has arrived twice, or is further ahead than the window.
    pub fn keep(&mut self, number: u16, window: u16, packet: T) -> Result<(), SequenceError> {
        let ahead = usize::from((number % NUMBERS + NUMBERS - self.due) % NUMBERS);
        if ahead >= usize::from(window) {
            return Err(SequenceError { number, due: self.due });
        }
        if self.early.len() <= ahead {
            self.early.resize_with(ahead + 1, || None);
        }
        let place = &mut self.early[ahead];
        if place.is_some() {
            return Err(SequenceError { number, due: self.due });
        }
        *place = Some(packet);
        Ok(())
    }

    /// A kept packet that is due.
    pub fn ready(&mut self) -> Option<T> {
        self.early.front()?.as_ref()?;
        let packet = self.advance();
        if self.early.is_empty() {
            // Early packets are rare: no memory is held meanwhile.
            self.early = VecDeque::new();
        }
        packet
    }

    /// The number of packets that wait for their turn.
    pub fn kept(&self) -> usize {
        self.early.iter().flatten().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rules;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// Takes packets as they arrive, and returns the order of their turns.
    fn turns(start: u16, window: u16, come: &[u16]) -> Result<Vec<u16>, SequenceError> {
        let (mut order, mut taken) = (ReorderBuffer::<u16, Rules>::starting_at(start), Vec::new());
        for number in come {
            if order.is_next(*number) {
                taken.push(*number);
                while let Some(kept) = order.ready() {
                    taken.push(kept);
                }
            } else {
                order.keep(*number, window, *number)?;
            }
        }
        Ok(taken)
    }

    #[test]
    fn who_is_early_waits() {
        assert_eq!(turns(0, 8, &[0, 1, 2]), Ok(Vec::from([0, 1, 2])));
        assert_eq!(turns(0, 8, &[2, 1, 0, 3]), Ok(Vec::from([0, 1, 2, 3])));
        assert_eq!(turns(0, 8, &[1, 3, 0]), Ok(Vec::from([0, 1])));
        let last = NUMBERS - 1;
        assert_eq!(turns(last, 8, &[0, last, 1]), Ok(Vec::from([last, 0, 1])));
    }

    #[test]
    fn what_no_honest_peer_sends_is_an_error() {
        assert_eq!(turns(0, 2, &[2]), Err(SequenceError { number: 2, due: 0 }));
        assert_eq!(turns(0, 8, &[1, 1]), Err(SequenceError { number: 1, due: 0 }));
        assert_eq!(turns(0, 8, &[0, 0]), Err(SequenceError { number: 0, due: 1 }), "one that was taken");
        assert!(turns(0, 8, &[u16::MAX]).is_err());
    }

    #[test]
    fn a_write_has_the_next_packet_behind_it() {
        let mut numbers = SequenceNumbers::<Rules>::default();
        let send = |numbers: &mut SequenceNumbers<Rules>| {
            let (number, rail) = numbers.next(Rail::Second);
            numbers.sent(rail);
            (number, rail)
        };
        assert_eq!(send(&mut numbers), (0, Rail::Second));
        numbers.wrote();
        assert_eq!(send(&mut numbers), (1, Rail::First));
        assert_eq!(send(&mut numbers), (2, Rail::Second));
    }

    proptest! {
        /// Two rails; the next packet of each arrives at any time.
        #[test]
        fn two_ways_are_one_order(
            start in 0..NUMBERS,
            rails in prop::collection::vec(any::<bool>(), 0..200),
            comes in prop::collection::vec(any::<bool>(), 200),
        ) {
            let mut numbers = SequenceNumbers::<Rules>::starting_at(start);
            let mut sent = [VecDeque::new(), VecDeque::new()];
            let mut all = Vec::new();
            for rail in rails {
                let (number, _) = numbers.next(Rail::Second);
                sent[usize::from(rail)].push_back(number);
                all.push(number);
                numbers.sent(Rail::Second);
            }
            let mut come = Vec::new();
            for rail in comes.into_iter().cycle() {
                let first = sent[usize::from(rail)].pop_front();
                match first.or_else(|| sent[usize::from(!rail)].pop_front()) {
                    Some(number) => come.push(number),
                    None => break,
                }
            }
            prop_assert_eq!(turns(start, 200, &come), Ok(all));
        }
    }
}
