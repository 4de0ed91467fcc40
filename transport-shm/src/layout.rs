//! The layout of a segment: a header, then a place for each peer. Where rings are large, a place has two of them: a small one,
//! which has memory once the peer connects, and the one that was asked for, to which the peer moves when it needs more room.
//!
//! | word | content |
//! | --- | --- |
//! | 0 | [`MAGIC`] |
//! | 1 | [`VERSION`] |
//! | 2 | peers |
//! | 3 | capacity of a ring, in words |
//! | 4 | how far the owner is: 0, [`LEAVES`] or [`FINISHED`] |
//! | 5 | a number that no other segment has, by which a process that was told it recognises this segment |
//! | 6 | 1 while the owner sleeps, see [`crate::doorbell`] |
//! | 7 | how many of the peers that have connected ring the doorbell |
//! | 8 | the processor on which the owner last looked for peers, plus 1; 0 before it has looked |
//! | 9 to 15 | zero |
//! | 16 to h - 1 | which peers have connected, see [`crate::announce`] |
//! | h + i * p | the first ring of peer i: 8 words for the consumer's position, 8 control words for a transfer that both processes copy, then the messages |
//! | behind it | the second one, if the first is small: the same again, without control words in use |
//!
//! A place has p = 16 + capacity words, or 16 + [`SMALL`] more if the capacity is more than [`SMALL_BELOW`].
//!
//! Each part begins at a multiple of 128 bytes, so that no two share a cache line, nor a pair of lines.

use crate::announce;
use crate::ring::{CAPACITY_MAX, POSITIONS};
use crate::sync::{AtomicU64, Ordering};
use std::ops::Range;
use thiserror::Error;

/// The first word of a segment: "carrshm" and a zero, little end first.
const MAGIC: u64 = u64::from_le_bytes(*b"carrshm\0");
/// The version, which changes whenever a process of an earlier one could misread a segment.
const VERSION: u64 = 9;
/// Words of the header in front of those in which peers announce themselves.
const HEADER: usize = 16;
/// The word that tells how far the owner is.
pub(crate) const STAGE: usize = 4;
/// The word that identifies a segment.
pub(crate) const NONCE: usize = 5;
/// The word of the doorbell.
pub(crate) const DOORBELL: usize = 6;
/// The word that counts the peers that ring it.
pub(crate) const RINGERS: usize = 7;
/// The word that tells on which processor the owner runs.
pub(crate) const PROCESSOR: usize = 8;
/// In [`STAGE`]: the owner takes packets, and the application behind it receives no message any more.
pub(crate) const LEAVES: u64 = 2;
/// In [`STAGE`]: the owner has sent all of its messages, and needs none.
pub(crate) const FINISHED: u64 = 1;
/// The most peers: more than the largest nodes have.
const PEERS_MAX: u64 = 1 << 16;
/// The least capacity, in words, so that a ring ends where a pair of cache lines does.
const CAPACITY_MIN: u64 = 16;

/// Words of a small ring: with its positions, less than a page.
const SMALL: usize = 256;
/// A ring of more words than this is preceded by a small one: most pairs of ranks exchange little, and so take no more than a
/// page or two.
const SMALL_BELOW: usize = 4 * SMALL;

/// How many rings a segment has, and of which capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    peers: usize,
    capacity: usize,
}

/// A layout that no segment can have, or memory that is not a segment of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// There are too few peers or too many.
    #[error("{0} peers: expected 1 to {PEERS_MAX}")]
    Peers(u64),
    /// A ring cannot have this capacity.
    #[error("a ring of {0} words: expected a power of two from {CAPACITY_MIN} to {CAPACITY_MAX}")]
    Capacity(u64),
    /// The segment would not fit the address space.
    #[error("{peers} rings of {capacity} words do not fit the address space")]
    Large {
        /// Rings.
        peers: u64,
        /// Words in each.
        capacity: u64,
    },
    /// The memory does not begin as a segment does.
    #[error("this memory is not a segment: it begins with {0:#x}")]
    Magic(u64),
    /// The segment was made by another version of this crate.
    #[error("the segment has version {0}, this process has {VERSION}: they run different builds")]
    Version(u64),
    /// The memory is smaller than its header says.
    #[error("the segment has {found} bytes, and {expected} by its header")]
    Small {
        /// Bytes of the memory.
        found: u64,
        /// Bytes by its header.
        expected: u64,
    },
}

impl Layout {
    /// Rings for `peers` processes, each of `capacity` words of 8 bytes. The capacity is a power of two;
    /// a message takes a word more than its payload, and [half of the ring](crate::largest) at most.
    pub fn new(peers: usize, capacity: usize) -> Result<Self, LayoutError> {
        Self::checked(peers as u64, capacity as u64)
    }

    fn checked(peers: u64, capacity: u64) -> Result<Self, LayoutError> {
        if !(1..=PEERS_MAX).contains(&peers) {
            return Err(LayoutError::Peers(peers));
        }
        if !capacity.is_power_of_two() || !(CAPACITY_MIN..=CAPACITY_MAX as u64).contains(&capacity) {
            return Err(LayoutError::Capacity(capacity));
        }
        // Both are bounded, so 64 bits hold the size; a slice has a smaller bound, checked below.
        let bytes = (header(peers as usize) as u64 + peers * place(capacity as usize) as u64) * 8;
        if bytes > isize::MAX as u64 {
            return Err(LayoutError::Large { peers, capacity });
        }
        Ok(Self { peers: peers as usize, capacity: capacity as usize })
    }

    /// How many peers have a ring.
    pub fn peers(&self) -> usize {
        self.peers
    }

    /// Words in each ring.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes of the whole segment, if all of its rings are used.
    pub fn bytes(&self) -> usize {
        (header(self.peers) + self.peers * place(self.capacity)) * 8
    }

    /// Bytes of the header, which is all that is used before a peer connects.
    pub fn header_bytes(&self) -> usize {
        header(self.peers) * 8
    }

    /// Bytes of the ring with which a pair begins.
    pub fn first_bytes(&self) -> usize {
        (POSITIONS + first(self.capacity)) * 8
    }

    /// Bytes of a ring of the whole capacity.
    pub fn ring_bytes(&self) -> usize {
        (POSITIONS + self.capacity) * 8
    }

    /// The words in which peers announce that they have connected.
    pub(crate) fn announced(&self) -> Range<usize> {
        HEADER..header(self.peers)
    }

    /// The words of a peer's first ring.
    pub(crate) fn first_ring(&self, peer: usize) -> Option<Range<usize>> {
        let begin = header(self.peers) + peer.checked_mul(place(self.capacity))?;
        (peer < self.peers).then(|| begin..begin + POSITIONS + first(self.capacity))
    }

    /// The words of its second ring; `None` if the first has the whole capacity.
    pub(crate) fn second_ring(&self, peer: usize) -> Option<Range<usize>> {
        let begin = self.first_ring(peer)?.end;
        has_two(self.capacity).then(|| begin..begin + POSITIONS + self.capacity)
    }

    /// Bytes of the smallest segment: a smaller file is refused unread.
    pub(crate) const BYTES_MIN: usize = (header(1) + place(CAPACITY_MIN as usize)) * 8;

    /// Writes the header of a new segment.
    pub(crate) fn write(&self, nonce: u64, words: &[AtomicU64]) {
        let numbers = [MAGIC, VERSION, self.peers as u64, self.capacity as u64, 0, nonce];
        for (word, value) in words.iter().zip(numbers) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Reads the header of another process's segment, whose file has `found` bytes. Every word is read once: the value
    /// that is checked is the one that is used, whatever happens to the memory afterwards.
    pub(crate) fn read(words: &[AtomicU64], found: u64) -> Result<Self, LayoutError> {
        let [magic, version, peers, capacity] = [0, 1, 2, 3].map(|at| words.get(at));
        let (Some(magic), Some(version), Some(peers), Some(capacity)) = (magic, version, peers, capacity)
        else {
            return Err(LayoutError::Small { found, expected: Self::BYTES_MIN as u64 });
        };
        let magic = magic.load(Ordering::Relaxed);
        if magic != MAGIC {
            return Err(LayoutError::Magic(magic));
        }
        let version = version.load(Ordering::Relaxed);
        if version != VERSION {
            return Err(LayoutError::Version(version));
        }
        let layout = Self::checked(peers.load(Ordering::Relaxed), capacity.load(Ordering::Relaxed))?;
        let expected = layout.bytes() as u64;
        if found < expected { Err(LayoutError::Small { found, expected }) } else { Ok(layout) }
    }
}

/// Whether a place has two rings.
const fn has_two(capacity: usize) -> bool {
    capacity > SMALL_BELOW
}

/// Words of the first ring of a place, without its positions.
const fn first(capacity: usize) -> usize {
    if has_two(capacity) { SMALL } else { capacity }
}

/// Words of a place.
const fn place(capacity: usize) -> usize {
    POSITIONS + capacity + if has_two(capacity) { POSITIONS + SMALL } else { 0 }
}

/// Words of the header of a segment with so many rings.
const fn header(peers: usize) -> usize {
    HEADER + announce::words(peers)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn memory(words: &[u64]) -> Vec<AtomicU64> {
        words.iter().copied().map(AtomicU64::new).collect()
    }

    /// Reads the header of a segment that consists of these words.
    fn read(words: &[AtomicU64]) -> Result<Layout, LayoutError> {
        Layout::read(words, words.len() as u64 * 8)
    }

    #[test]
    fn a_header_that_was_written_is_read() {
        let layout = Layout::new(3, 64).expect("it is right");
        let words = memory(&vec![0; layout.bytes() / 8]);
        layout.write(7, &words);
        assert_eq!(read(&words), Ok(layout));
        assert_eq!(words[NONCE].load(Ordering::Relaxed), 7);
        let small = read(&words[1..]).map_err(|error| matches!(error, LayoutError::Magic(VERSION)));
        assert_eq!(small, Err(true));
        let expected = layout.bytes() as u64;
        let cut = read(&words[..words.len() - 1]);
        assert_eq!(cut, Err(LayoutError::Small { found: expected - 8, expected }));
    }

    #[test]
    fn rings_are_apart_and_fill_the_segment() {
        for (capacity, lens) in [(16, vec![16]), (SMALL_BELOW, vec![SMALL_BELOW]), (2048, vec![SMALL, 2048])]
        {
            let layout = Layout::new(3, capacity).expect("it is right");
            let mut at = layout.header_bytes() / 8;
            assert_eq!(layout.announced().end, at);
            for peer in 0..3 {
                let rings: Vec<_> =
                    layout.first_ring(peer).into_iter().chain(layout.second_ring(peer)).collect();
                assert_eq!(rings.len(), lens.len());
                for (ring, len) in rings.into_iter().zip(&lens) {
                    assert_eq!((ring.start, ring.len(), ring.start % 16), (at, POSITIONS + len, 0));
                    at = ring.end;
                }
            }
            assert_eq!(at * 8, layout.bytes());
            assert_eq!((layout.first_ring(3), layout.second_ring(3)), (None, None));
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert_eq!(Layout::new(0, 64), Err(LayoutError::Peers(0)));
        assert_eq!(Layout::new(65537, 64), Err(LayoutError::Peers(65537)));
        for capacity in [0, 8, 63, CAPACITY_MAX * 2, usize::MAX] {
            assert_eq!(Layout::new(1, capacity), Err(LayoutError::Capacity(capacity as u64)));
        }
        assert_eq!(read(&memory(&[MAGIC, VERSION + 1, 1, 64])), Err(LayoutError::Version(VERSION + 1)));
        assert!(matches!(read(&memory(&[MAGIC])), Err(LayoutError::Small { found: 8, .. })));
    }

    /// A word that a hostile peer may write.
    fn word() -> impl Strategy<Value = u64> {
        prop_oneof![any::<u64>(), 0..200u64, (0..64u32).prop_map(|bit| 1 << bit)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 20 } else { 2000 }, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever a header says, a layout that is accepted lies within the memory.
        #[test]
        fn a_hostile_header_stays_within_the_memory(peers in word(), capacity in word(), len in 2..300usize) {
            let mut words = vec![MAGIC, VERSION, peers, capacity];
            words.resize(len, 0);
            if let Ok(layout) = read(&memory(&words)) {
                let last = layout.peers() - 1;
                let ring = layout.second_ring(last).or(layout.first_ring(last));
                prop_assert!(ring.is_some_and(|ring| ring.end <= words.len()));
            }
        }
    }
}
