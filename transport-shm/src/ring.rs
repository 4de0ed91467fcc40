//! The ring: a queue of messages from one process to one other.
//!
//! Its memory is the consumer's position, on cache lines of its own, and a power of two of words for
//! messages, in which a message that reaches the end continues at the beginning. A position is a number
//! of words since the ring began. It never goes back, so the word that it names is its remainder, and
//! the difference of two is what lies between; 64 bits last for centuries.
//!
//! A message is there when its header is: the word where the consumer looks next is zero until then.
//! So a small message travels in one cache line, together with the news that it is there; for two processes
//! that wait for each other the transfer of that line is the whole latency. Messages begin at every fourth word, so
//! that one of up to 24 bytes never lies in two lines. The producer needs the consumer's position only when the ring
//! seems full: it keeps a copy of that position, and loads it again only then.
//!
//! # Why a message is whole
//!
//! The producer stores the payload, and zero where the next header will be (`END`; for a small message that
//! was done behind the one before), then the header (`PUBLISH`); the consumer loads the header (`LOOK`),
//! then the payload. Release and acquire make every word that was stored before the header visible, the
//! zero behind it too: so the consumer finds there that zero or the next header, never a word from
//! before. The other way round, the consumer loads the words, then stores its position (`FREE`), and the
//! producer loads that (`REUSE`) before it stores into the same words again: the loads happen before
//! these stores, and a load cannot see a store that it happens before. Loom runs a load before the
//! stores that follow it, so no wrong value would show there if these two were weaker; its tests ask
//! it whether such a load and store are ordered.

use crate::error::{CorruptRingError, PushError, RingSizeError};
use crate::fetch;
use crate::frame::{self, Frame, Span};
pub use crate::sync::Sound;
use crate::sync::{AtomicU64, Ordering};
use std::marker::PhantomData;
use std::ops::Deref;

/// The word of the consumer's position.
const CONSUMER_POSITION: usize = 0;

/// Words of a ring's memory in front of the messages: two cache lines, as processors fetch lines in pairs.
pub const POSITIONS: usize = 16;
/// The first of the control words among them, which the ring leaves to transfers that both processes copy; see
/// [`crate::chunk_queue`].
pub const CONTROL_WORDS_START: usize = 8;
/// The smallest capacity, in words; such a ring carries messages without payload only.
pub const CAPACITY_MIN: usize = 2;
/// The largest capacity, in words, so that every length fits its 32 bits in the header.
pub const CAPACITY_MAX: usize = 1 << 29;

/// The largest payload, in bytes, that a ring of this capacity, in words, takes: with its header half of
/// the ring, so that one message can be written while another is read.
pub const fn largest(capacity: usize) -> usize {
    (capacity / 2).saturating_sub(1) * 8
}

/// Messages begin at multiples of so many words, half a cache line; in the small rings of tests, at any word.
const fn grain(capacity: usize) -> usize {
    if capacity < 64 { 1 } else { 4 }
}

/// How many words behind a message are kept free of headers, where the capacity permits it: three cache lines. With two,
/// producer and consumer fetch lines from each other more often (processors fetch a line next to the one they need).
const fn ahead(capacity: usize) -> u64 {
    match capacity / 4 {
        0 => 1,
        quarter if quarter < 24 => quarter as u64,
        _ => 24,
    }
}

/// How many words behind a message a cache line is prefetched, before something is stored there: a line more than
/// [`ahead`] reaches. When the consumer is behind, its processor fetches lines that are further ahead than this.
const FETCH: u64 = 36;

/// The memory orders, and the zero behind a message. They are constants of a type, so that nothing at run
/// time can weaken them; the tests weaken one after the other and find the failure that each causes.
pub trait RingOrders {
    /// The producer stores a header: a consumer that sees the header sees the words stored before it.
    const PUBLISH: Ordering = Ordering::Release;
    /// The consumer loads a header.
    const LOOK: Ordering = Ordering::Acquire;
    /// The consumer stores its position: its loads of the words before that position come first.
    const FREE: Ordering = Ordering::Release;
    /// The producer loads the consumer's position.
    const REUSE: Ordering = Ordering::Acquire;
    /// The producer stores zero where the header of the next message will be.
    const END: bool = true;
}

impl RingOrders for Sound {}

/// The capacity of a ring in `memory`.
fn capacity(memory: &[AtomicU64]) -> Result<usize, RingSizeError> {
    let capacity = memory.len().saturating_sub(POSITIONS);
    let fits = capacity.is_power_of_two() && (CAPACITY_MIN..=CAPACITY_MAX).contains(&capacity);
    if fits { Ok(capacity) } else { Err(RingSizeError { words: memory.len() }) }
}

/// The sending end. A ring has only one, from the first message on.
#[derive(Debug)]
pub struct Producer<M, O = Sound> {
    memory: M,
    capacity: usize,
    /// See [`largest`] and [`ahead`], for this capacity.
    largest: usize,
    /// With room for a [last message](Producer::push_last), where that was asked for.
    ahead: u64,
    /// Positions of messages are multiples of this.
    grain: usize,
    /// The position of the next message.
    written: u64,
    /// The consumer's position, when it was last loaded.
    taken: u64,
    /// The first position of a header, from `written` on, whose word may not be zero.
    zeroed: u64,
    corrupt: Option<CorruptRingError>,
    orders: PhantomData<fn() -> O>,
}

impl<M: Deref<Target = [AtomicU64]>> Producer<M> {
    /// The sending end of the ring in `memory`, in which there has been no ring before: its positions are zero,
    /// as those of a new segment are.
    pub fn new(memory: M) -> Result<Self, RingSizeError> {
        Self::with_orders(memory)
    }
}

impl<M: Deref<Target = [AtomicU64]>, O: RingOrders> Producer<M, O> {
    /// As [`Producer::new`], for tests.
    pub fn with_orders(memory: M) -> Result<Self, RingSizeError> {
        let capacity = capacity(&memory)?;
        let (grain, largest, ahead) = (grain(capacity), largest(capacity), ahead(capacity));
        let (written, taken, zeroed) = (0, 0, grain as u64);
        let (corrupt, orders) = (None, PhantomData);
        Ok(Self { memory, capacity, largest, ahead, grain, written, taken, zeroed, corrupt, orders })
    }

    /// Keeps room for a [last message](Self::push_last), behind each of the others.
    #[must_use]
    pub fn with_last(mut self) -> Self {
        self.ahead += self.grain as u64;
        self
    }

    /// Appends the last message, without payload, for which [room was kept](Self::with_last).
    ///
    /// # Errors
    /// If no room was kept, or the consumer has damaged the ring.
    pub fn push_last(&mut self, tag: u32) -> Result<(), PushError> {
        self.ahead = ahead(self.capacity);
        self.push(tag, &[])
    }

    /// The memory that the ring is in.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// The largest payload, in bytes.
    #[inline]
    pub fn largest(&self) -> usize {
        self.largest
    }

    /// Appends a message, whose payload is the parts one after the other.
    #[inline]
    pub fn push(&mut self, tag: u32, parts: &[&[u8]]) -> Result<(), PushError> {
        let len = parts.iter().fold(0, |sum: usize, part| sum.saturating_add(part.len()));
        self.publish(tag, len, |payload| payload.store(parts))
    }

    /// Appends a message, whose payload is the `words`, 8 bytes each, little end first, and `data`.
    #[inline]
    pub fn push_words<const WORDS: usize>(
        &mut self,
        tag: u32,
        words: [u64; WORDS],
        data: &[u8],
    ) -> Result<(), PushError> {
        let len = data.len().saturating_add(size_of::<[u64; WORDS]>());
        self.publish(tag, len, |payload| payload.store_words(words, data))
    }

    #[inline(always)]
    fn publish(&mut self, tag: u32, len: usize, store: impl FnOnce(Span<'_>)) -> Result<(), PushError> {
        if let Some(corrupt) = self.corrupt {
            return Err(corrupt.into());
        }
        if len > self.largest {
            return Err(PushError::TooLarge { len, largest: self.largest });
        }
        let words = frame::words(len, self.grain);
        // With the zeros behind it.
        let ahead = self.ahead;
        let needed = words as u64 + ahead;
        if self.free_words() < needed {
            self.reload_taken()?;
            if self.free_words() < needed {
                return Err(PushError::Full);
            }
        }
        let ring = &self.memory[POSITIONS..][..self.capacity];
        let at = |position: u64| &ring[(position & (self.capacity as u64 - 1)) as usize];
        let (here, next) = (self.written, self.written.wrapping_add(words as u64));
        store(Span::new(ring, here.wrapping_add(1), words - 1));
        if O::END && self.zeroed <= next {
            at(next).store(0, Ordering::Relaxed);
            self.zeroed = next + self.grain as u64;
        }
        // `largest` fits 32 bits, see `CAPACITY_MAX`.
        at(here).store(frame::header(tag, len as u32), O::PUBLISH);
        self.written = next;
        // The consumer has the message that it waits for. Now the next messages are prepared: their ends are marked
        // ahead, and their cache lines are fetched. A store whose line is in another cache holds up those behind it;
        // a line that was prefetched arrives while other work is done.
        fetch::to_write(at(next.wrapping_add(FETCH)));
        while O::END && self.zeroed < next + ahead {
            at(self.zeroed).store(0, Ordering::Relaxed);
            self.zeroed += self.grain as u64;
        }
        Ok(())
    }

    /// Free words, by the consumer's position that was last loaded.
    fn free_words(&self) -> u64 {
        self.capacity as u64 - self.written.wrapping_sub(self.taken)
    }

    /// Loads the consumer's position.
    fn reload_taken(&mut self) -> Result<(), CorruptRingError> {
        let found = self.memory[CONSUMER_POSITION].load(O::REUSE);
        // One comparison for "went back" and "ran ahead": either makes the difference grow.
        if self.written.wrapping_sub(found) > self.written.wrapping_sub(self.taken) {
            let corrupt = CorruptRingError::Consumer { found, before: self.taken, written: self.written };
            self.corrupt = Some(corrupt);
            return Err(corrupt);
        }
        self.taken = found;
        Ok(())
    }
}

/// The receiving end. A ring has only one, from the first message on.
#[derive(Debug)]
pub struct Consumer<M, O = Sound> {
    memory: M,
    capacity: usize,
    /// See [`largest`], for this capacity.
    largest: usize,
    /// Positions of messages are multiples of this.
    grain: usize,
    /// The position where the next message is, or will be.
    taken: u64,
    corrupt: Option<CorruptRingError>,
    orders: PhantomData<fn() -> O>,
}

impl<M: Deref<Target = [AtomicU64]>> Consumer<M> {
    /// The receiving end of the ring in `memory`; see [`Producer::new`].
    pub fn new(memory: M) -> Result<Self, RingSizeError> {
        Self::with_orders(memory)
    }
}

impl<M: Deref<Target = [AtomicU64]>, O: RingOrders> Consumer<M, O> {
    /// As [`Consumer::new`], for tests.
    pub fn with_orders(memory: M) -> Result<Self, RingSizeError> {
        let capacity = capacity(&memory)?;
        let (grain, largest, taken) = (grain(capacity), largest(capacity), 0);
        Ok(Self { memory, capacity, largest, grain, taken, corrupt: None, orders: PhantomData })
    }

    /// Takes the next message, if there is one: its payload becomes the contents of `into`, its tag is
    /// returned. Allocates only when no message before was as large.
    pub fn pop(&mut self, into: &mut Vec<u8>) -> Result<Option<u32>, CorruptRingError> {
        self.take(|frame| {
            // Not cleared before: only the bytes by which it is longer than the last message have to be zeroed.
            into.resize(frame.len(), 0);
            frame.copy_to(0, into);
            frame.tag()
        })
    }

    /// Takes the next message, if there is one, and lets `read` read it where it lies.
    #[inline(always)]
    pub fn take<T>(&mut self, read: impl FnOnce(Frame<'_>) -> T) -> Result<Option<T>, CorruptRingError> {
        if let Some(corrupt) = self.corrupt {
            return Err(corrupt);
        }
        let (positions, ring) = self.memory.split_at(POSITIONS);
        let ring = &ring[..self.capacity];
        // Read once: the value that is checked is the one that is used.
        let header = ring[(self.taken & (self.capacity as u64 - 1)) as usize].load(O::LOOK);
        let Some((tag, len)) = frame::parse(header) else { return Ok(None) };
        let largest = self.largest;
        if len as usize > largest {
            let corrupt = CorruptRingError::Length { len, largest };
            self.corrupt = Some(corrupt);
            return Err(corrupt);
        }
        let words = frame::words(len as usize, self.grain);
        let payload = Span::new(ring, self.taken.wrapping_add(1), words - 1);
        let value = read(Frame::new(tag, len as usize, payload));
        self.taken = self.taken.wrapping_add(words as u64);
        positions[CONSUMER_POSITION].store(self.taken, O::FREE);
        Ok(Some(value))
    }

    /// Whether the next message may be there; takes nothing.
    #[inline]
    pub fn has_next(&self) -> bool {
        self.header_at(self.taken) != 0
    }

    /// The word at a position where a message may begin.
    #[inline]
    fn header_at(&self, position: u64) -> u64 {
        let (_, ring) = self.memory.split_at(POSITIONS);
        ring[(position & (self.capacity as u64 - 1)) as usize].load(O::LOOK)
    }

    /// The position of the next message: messages that have been taken are before it.
    pub fn position(&self) -> u64 {
        self.taken
    }

    /// The position behind all messages that have arrived, found without taking one: [`Consumer::position`] gets there
    /// by taking them.
    pub fn arrived(&self) -> u64 {
        let mut end = self.taken;
        // A peer that writes anything can make its ring seem endless.
        while end.wrapping_sub(self.taken) < self.capacity as u64 {
            let Some((_, len)) = frame::parse(self.header_at(end)) else { break };
            if len as usize > self.largest {
                break;
            }
            end = end.wrapping_add(frame::words(len as usize, self.grain) as u64);
        }
        end
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
