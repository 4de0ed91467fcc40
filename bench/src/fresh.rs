//! Messages from and into memory that is new to the library, and such that is not.
//!
//! New is what was mapped since the last batch: whatever the library had kept of those addresses, registrations first
//! of all, is void. Memory of an allocator would not do, since it comes back as it was. What was mapped for the last
//! batches stays, as much as is reasonable, so that addresses come back late, too.

use crate::benchmark::DATA;
use carrousel::{Communicator, Error};
use memmap2::MmapMut;
use std::collections::VecDeque;
use std::time::Instant;

const PAGE: usize = 4096;
/// Round trips of a batch. Their new memory has to be there at once, so large messages are fewer.
const ROUND_TRIPS: usize = 64;
const ROUND_TRIPS_MIN: usize = 4;
/// So much new memory is enough for a batch, unless the fewest round trips need more.
const NEW_BYTES: usize = 64 << 20;
/// And so much of it stays mapped.
const HELD_BYTES: usize = 128 << 20;

/// The memory of one rank.
#[derive(Debug)]
pub(crate) struct Fresh {
    /// How many percent of the messages are in memory that was used before.
    pub(crate) percent: usize,
    size: usize,
    round_trips: usize,
    /// A place to send from and one to receive into, for all messages that are not in new memory.
    used: Option<Lot>,
    /// Such places for each other message; those of the batch are last.
    new: VecDeque<Lot>,
}

impl Fresh {
    pub(crate) fn new(size: usize, percent: usize) -> Self {
        let pair = 2 * stride(size);
        let round_trips = (NEW_BYTES / pair).clamp(ROUND_TRIPS_MIN, ROUND_TRIPS);
        Self { percent, size, round_trips, used: None, new: VecDeque::new() }
    }

    /// Brings the memory of the next batch, with a mark in the last byte of all that is sent. On failure, how many
    /// bytes there are not.
    pub(crate) fn renew(&mut self, stamp: u8) -> Result<(), usize> {
        let size = self.size;
        let used = match &mut self.used {
            Some(used) => used,
            none => none.insert(Lot::new(size, 1)?),
        };
        used.stamp(size, stamp);
        let pairs = (0..self.round_trips).filter(|at| self.is_new(*at)).count();
        if pairs > 0 {
            // Mapped before others go: at other addresses.
            let mut lot = Lot::new(size, pairs)?;
            lot.stamp(size, stamp);
            self.new.push_back(lot);
            while self.new.len() > 1 && self.new.iter().map(|lot| lot.map.len()).sum::<usize>() > HELD_BYTES {
                self.new.pop_front();
            }
        }
        Ok(())
    }

    /// Whether the mark is wherever a message should have come to.
    pub(crate) fn have_come(&self, stamp: u8) -> bool {
        let used = self.used.iter().filter(|_| self.percent > 0);
        let new = self.new.back().into_iter().filter(|_| self.percent < 100);
        used.chain(new).all(|lot| lot.has_come(self.size, stamp))
    }

    /// The round trips of a batch: half of the time of one.
    pub(crate) fn ping_pong(&mut self, world: &Communicator, peer: u32, leads: bool) -> Result<f64, Error> {
        let (size, round_trips) = (self.size, self.round_trips);
        let new_ones: Vec<bool> = (0..round_trips).map(|at| self.is_new(at)).collect();
        let (Some(used), mut new) = (&mut self.used, self.new.back_mut()) else { return Ok(0.0) };
        let mut next = 0;
        let began = Instant::now();
        for is_new in new_ones {
            let (outgoing, incoming) = match &mut new {
                Some(new) if is_new => {
                    next += 1;
                    new.pair_mut(size, next - 1)
                }
                _ => used.pair_mut(size, 0),
            };
            if leads {
                world.send(outgoing, peer, DATA)?;
            }
            world.recv(incoming, peer, DATA)?;
            if !leads {
                world.send(outgoing, peer, DATA)?;
            }
        }
        Ok(began.elapsed().as_secs_f64() / 2.0 / round_trips as f64)
    }

    /// Whether this round trip is in new memory: those that are lie evenly between the others.
    fn is_new(&self, at: usize) -> bool {
        let before = |at: usize| at * (100 - self.percent.min(100)) / 100;
        before(at) != before(at + 1)
    }
}

/// Memory that was mapped, and touched, at once: pairs of places, one to send from and one to receive into.
#[derive(Debug)]
struct Lot {
    map: MmapMut,
}

impl Lot {
    /// On failure, how many bytes there are not.
    fn new(size: usize, pairs: usize) -> Result<Self, usize> {
        let bytes = stride(size).saturating_mul(2).saturating_mul(pairs);
        let mut map = MmapMut::map_anon(bytes).map_err(|_| bytes)?;
        map.iter_mut().step_by(PAGE).for_each(|byte| *byte = u8::MAX);
        Ok(Self { map })
    }

    /// Where the message of a pair is sent from, and where one is received.
    fn pair_mut(&mut self, size: usize, pair: usize) -> (&[u8], &mut [u8]) {
        let stride = stride(size);
        let places = &mut self.map[2 * pair * stride..][..2 * stride];
        let (outgoing, incoming) = places.split_at_mut(stride);
        (&outgoing[..size], &mut incoming[..size])
    }

    /// Marks the last byte of all that is sent.
    fn stamp(&mut self, size: usize, stamp: u8) {
        if let Some(last) = size.checked_sub(1) {
            let places = self.map.chunks_exact_mut(stride(size));
            places.step_by(2).for_each(|place| place[last] = stamp);
        }
    }

    /// Whether all that was received has the mark.
    fn has_come(&self, size: usize, stamp: u8) -> bool {
        let mut incoming = self.map.chunks_exact(stride(size)).skip(1).step_by(2);
        size.checked_sub(1).is_none_or(|last| incoming.all(|place| place[last] == stamp))
    }
}

/// From one place to the next. No two messages share a page: one that is registered would register the other.
fn stride(size: usize) -> usize {
    size.max(1).next_multiple_of(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The addresses of the places that messages of a batch are sent from.
    fn places(fresh: &mut Fresh, stamp: u8) -> Vec<usize> {
        fresh.renew(stamp).expect("there is memory");
        let size = fresh.size;
        let new: Vec<bool> = (0..fresh.round_trips).map(|at| fresh.is_new(at)).collect();
        let mut next = 0;
        let mut address = |is_new: &bool| {
            let lot = if *is_new { fresh.new.back_mut() } else { fresh.used.as_mut() };
            let pair = if *is_new { next } else { 0 };
            next += usize::from(*is_new);
            lot.expect("it was brought").pair_mut(size, pair).0.as_ptr().addr()
        };
        new.iter().map(&mut address).collect()
    }

    /// How many of the messages of a batch are at addresses that one before them had, in this batch or another.
    fn again(percent: usize) -> usize {
        let mut fresh = Fresh::new(512, percent);
        let first = places(&mut fresh, 1);
        let second = places(&mut fresh, 2);
        let known = |at: usize| first.contains(&second[at]) || second[..at].contains(&second[at]);
        (0..second.len()).filter(|at| known(*at)).count()
    }

    #[test]
    fn as_many_messages_as_asked_for_are_in_memory_that_was_used() {
        assert_eq!([0, 50, 75, 100].map(again), [0, ROUND_TRIPS / 2, ROUND_TRIPS * 3 / 4, ROUND_TRIPS]);
    }

    #[test]
    fn no_two_messages_share_a_page() {
        let mut pages: Vec<_> = places(&mut Fresh::new(8, 0), 1).iter().map(|at| at / PAGE).collect();
        pages.dedup();
        assert_eq!(pages.len(), ROUND_TRIPS);
    }

    #[test]
    fn large_messages_are_fewer_and_what_is_held_is_bounded() {
        let mut fresh = Fresh::new(16 << 20, 0);
        assert_eq!(fresh.round_trips, ROUND_TRIPS_MIN);
        fresh = Fresh::new(1 << 20, 0);
        assert_eq!(fresh.round_trips, 32);
        (1..5).for_each(|stamp| assert_eq!(places(&mut fresh, stamp).len(), 32));
        assert_eq!(fresh.new.iter().map(|lot| lot.map.len()).sum::<usize>(), HELD_BYTES);
    }

    #[test]
    fn a_message_that_has_not_come_is_noticed_in_new_memory_and_in_used() {
        for percent in [0, 50, 100] {
            let mut fresh = Fresh::new(100, percent);
            places(&mut fresh, 7);
            assert!(!fresh.have_come(7));
            let size = fresh.size;
            for used in [true, false] {
                let lot = if used { fresh.used.as_mut() } else { fresh.new.back_mut() };
                let Some(lot) = lot else { continue };
                (0..lot.map.len() / 2 / PAGE).for_each(|pair| lot.pair_mut(size, pair).1.fill(7));
                // Half of it is not all.
                assert_eq!(fresh.have_come(7), !used || percent == 100);
            }
            assert!(fresh.have_come(7));
            assert!(!fresh.have_come(8));
        }
    }
}
