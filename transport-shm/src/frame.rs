//! Messages as words: a header, then the payload, little end first, the last word filled up with zeros.
//!
//! Words are only ever loaded and stored atomically, so whatever the other process does to them
//! meanwhile, a copy has *some* bytes; the positions of the ring say whether they are a message.

use crate::sync::{AtomicU64, Ordering::Relaxed};

/// Words of a message with `len` bytes of payload, its header included, rounded up to a multiple of `grain`, a
/// power of two.
#[inline]
pub(crate) const fn words(len: usize, grain: usize) -> usize {
    (1 + len.div_ceil(8) + grain - 1) & !(grain - 1)
}

/// A header, which is never zero: a zero word says that no message is there yet.
pub(crate) const fn header(tag: u32, len: u32) -> u64 {
    (tag as u64) << 32 | (len as u64 + 1)
}

/// The tag and the length in a header; `None` for a word without a header.
pub(crate) const fn parse(header: u64) -> Option<(u32, u32)> {
    match (header as u32).checked_sub(1) {
        Some(len) => Some(((header >> 32) as u32, len)),
        None => None,
    }
}

/// Consecutive words of a ring: `head` up to the end of its memory, and `tail` from the beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    head: &'a [AtomicU64],
    tail: &'a [AtomicU64],
}

impl<'a> Span<'a> {
    /// The `words` words from `position`, of a ring with a power of two of words, not fewer than these.
    #[inline]
    pub(crate) fn new(ring: &'a [AtomicU64], position: u64, words: usize) -> Self {
        let at = (position & (ring.len() as u64 - 1)) as usize;
        let head = words.min(ring.len() - at);
        Self { head: &ring[at..at + head], tail: &ring[..words - head] }
    }

    /// Takes up to `count` contiguous words off the front: all of them, or those up to the end of the memory.
    #[inline]
    fn run(&mut self, count: usize) -> &'a [AtomicU64] {
        if self.head.is_empty() {
            (self.head, self.tail) = (self.tail, &[]);
        }
        let (run, rest) = self.head.split_at(count.min(self.head.len()));
        self.head = rest;
        run
    }

    #[inline]
    fn skip(&mut self, count: usize) {
        let skipped = self.run(count).len();
        self.run(count - skipped);
    }

    /// Stores whole words.
    #[inline]
    fn put(&mut self, mut words: &[[u8; 8]]) {
        while !words.is_empty() {
            let run = self.run(words.len());
            assert!(!run.is_empty(), "a span is as long as the words that are stored in it");
            let (head, tail) = words.split_at(run.len());
            for (word, bytes) in run.iter().zip(head) {
                word.store(u64::from_le_bytes(*bytes), Relaxed);
            }
            words = tail;
        }
    }

    /// Loads whole words.
    #[inline]
    fn get(&mut self, mut words: &mut [[u8; 8]]) {
        while !words.is_empty() {
            let run = self.run(words.len());
            assert!(!run.is_empty(), "a span is as long as the words that are loaded from it");
            let (head, tail) = words.split_at_mut(run.len());
            for (word, bytes) in run.iter().zip(head) {
                *bytes = word.load(Relaxed).to_le_bytes();
            }
            words = tail;
        }
    }

    /// Stores the parts of a payload, one after the other.
    #[inline]
    pub(crate) fn store(mut self, parts: &[&[u8]]) {
        // The word that the last part has begun, and how many of its bytes are filled.
        let (mut begun, mut filled) = ([0; 8], 0);
        for &(mut part) in parts {
            if filled > 0 {
                let (more, rest) = part.split_at(part.len().min(8 - filled));
                begun[filled..filled + more.len()].copy_from_slice(more);
                (part, filled) = (rest, filled + more.len());
                if filled < 8 {
                    continue;
                }
                self.put(&[begun]);
            }
            let (whole, rest) = part.as_chunks();
            self.put(whole);
            begun = [0; 8];
            begun[..rest.len()].copy_from_slice(rest);
            filled = rest.len();
        }
        if filled > 0 {
            self.put(&[begun]);
        }
    }

    /// Stores words and the data behind them.
    #[inline]
    pub(crate) fn store_words<const WORDS: usize>(self, first: [u64; WORDS], data: &[u8]) {
        // Nearly always the whole span is contiguous.
        if let (Some((places, words)), []) = (self.head.split_first_chunk::<WORDS>(), self.tail) {
            for (place, word) in places.iter().zip(first) {
                place.store(word, Relaxed);
            }
            let (whole, rest) = data.as_chunks();
            // What a loop over any number of words prepares takes longer than one word.
            if let (&[bytes], [word, ..]) = (whole, words) {
                word.store(u64::from_le_bytes(bytes), Relaxed);
            } else {
                for (word, bytes) in words.iter().zip(whole) {
                    word.store(u64::from_le_bytes(*bytes), Relaxed);
                }
            }
            if !rest.is_empty() {
                words[whole.len()].store(partial(rest), Relaxed);
            }
        } else {
            self.store(&[first.map(u64::to_le_bytes).as_flattened(), data]);
        }
    }
}

/// A word with some bytes, fewer than 8, and zeros.
#[inline]
fn partial(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// A message that is still in the ring. It may be read in parts, so that each byte is copied once, to
/// its destination.
///
/// A peer that breaks the rules can change the bytes while they are read, and between two reads of
/// the same: a caller that has to trust a byte reads it once.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    tag: u32,
    len: usize,
    payload: Span<'a>,
}

impl<'a> Frame<'a> {
    #[inline]
    pub(crate) fn new(tag: u32, len: usize, payload: Span<'a>) -> Self {
        Self { tag, len, payload }
    }

    /// The tag that the producer gave.
    #[inline]
    pub fn tag(&self) -> u32 {
        self.tag
    }

    /// Bytes of payload.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no payload.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first words, 8 bytes each, little end first.
    ///
    /// # Panics
    /// When the message has fewer.
    #[inline]
    pub fn first_words<const WORDS: usize>(&self) -> [u64; WORDS] {
        // Nearly always they are contiguous.
        match self.payload.head.first_chunk::<WORDS>() {
            Some(words) => std::array::from_fn(|at| words[at].load(Relaxed)),
            None => self.divided_words(),
        }
    }

    /// As [`Frame::first_words`], over the end of the memory.
    #[cold]
    fn divided_words<const WORDS: usize>(&self) -> [u64; WORDS] {
        let (mut span, mut words) = (self.payload, [[0; 8]; WORDS]);
        span.get(&mut words);
        words.map(u64::from_le_bytes)
    }

    /// Copies the bytes from `at` on, as many as `into` takes.
    ///
    /// # Panics
    /// When the message has fewer.
    #[inline(always)]
    pub fn copy_to(&self, at: usize, into: &mut [u8]) {
        let there = self.len.checked_sub(at).is_some_and(|rest| into.len() <= rest);
        assert!(there, "{} bytes from {at} on are not within {}", into.len(), self.len);
        if let (0, []) = (at % 8, self.payload.tail) {
            // Nearly always: whole, contiguous words.
            let words = &self.payload.head[at / 8..];
            let (whole, rest) = into.as_chunks_mut();
            // As in `Span::store_words`.
            if let ([bytes], [word, ..]) = (&mut *whole, words) {
                *bytes = word.load(Relaxed).to_le_bytes();
            } else {
                for (bytes, word) in whole.iter_mut().zip(words) {
                    *bytes = word.load(Relaxed).to_le_bytes();
                }
            }
            if !rest.is_empty() {
                let last = words[whole.len()].load(Relaxed);
                for (at, byte) in rest.iter_mut().enumerate() {
                    *byte = (last >> (8 * at)) as u8;
                }
            }
            return;
        }
        self.copy_unaligned(at, into);
    }

    /// As [`Frame::copy_to`], from any byte, and over the end of the memory.
    #[inline(never)]
    fn copy_unaligned(&self, at: usize, into: &mut [u8]) {
        let mut span = self.payload;
        span.skip(at / 8);
        let mut into = into;
        if !at.is_multiple_of(8) && !into.is_empty() {
            let mut word = [[0; 8]];
            span.get(&mut word);
            let begun = &word[0][at % 8..];
            let (first, rest) = into.split_at_mut(into.len().min(begun.len()));
            first.copy_from_slice(&begun[..first.len()]);
            into = rest;
        }
        let (whole, rest) = into.as_chunks_mut();
        span.get(whole);
        if !rest.is_empty() {
            let mut word = [[0; 8]];
            span.get(&mut word);
            rest.copy_from_slice(&word[0][..rest.len()]);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_has_both_halves() {
        assert_eq!(parse(header(0xdead_beef, 0x1234_5678)), Some((0xdead_beef, 0x1234_5678)));
        assert_eq!(parse(header(0, 0)), Some((0, 0)));
        assert_eq!(parse(0), None);
        assert_eq!([words(0, 1), words(1, 1), words(8, 1), words(9, 1)], [1, 2, 2, 3]);
        assert_eq!([words(0, 4), words(24, 4), words(25, 4)], [4, 4, 8]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 5 } else { 1000 }, failure_persistence: None, ..ProptestConfig::default() })]

        /// Wherever a message begins and however writing and reading divide it, its bytes are the same.
        #[test]
        fn cuts_do_not_show(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..6),
            position in any::<u64>(),
            cuts in (0..121usize, 0..121usize),
        ) {
            let ring: Vec<AtomicU64> = (0..16).map(|_| AtomicU64::new(u64::MAX)).collect();
            let bytes = parts.concat();
            let count = words(bytes.len(), 1);
            let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            let payload = Span::new(&ring, position, count - 1);
            payload.store(&slices);
            let frame = Frame::new(3, bytes.len(), payload);
            let (from, to) = (cuts.0.min(cuts.1).min(bytes.len()), cuts.0.max(cuts.1).min(bytes.len()));
            let mut part = vec![0; to - from];
            frame.copy_to(from, &mut part);
            prop_assert_eq!(&part, &bytes[from..to]);
            let last = ring[(position.wrapping_add(count as u64).wrapping_sub(2) % 16) as usize].load(Relaxed);
            let used = bytes.len() % 8;
            prop_assert!(used == 0 || last >> (8 * used) == 0, "the last word is filled up with zeros");
            let untouched = ring.iter().filter(|word| word.load(Relaxed) == u64::MAX).count();
            prop_assert!(untouched >= 16 - count);
        }
    }
}
