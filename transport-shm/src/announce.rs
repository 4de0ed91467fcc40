//! Which peers have connected: a bit for each, and a counter that a peer increments once its bit is set. The owner of a
//! segment polls one word while no peer connects, and only the rings that are in use.
//!
//! A peer sets its bit, then counts itself (`COUNT`); the owner that sees the new count (`READ_COUNT`) sees the bits that
//! were set before. Both are needed: an owner that had seen the count and not the bit would not look again.

pub use crate::sync::Sound;
use crate::sync::{AtomicU64, Ordering};

/// The word of the counter.
pub const COUNTER: usize = 0;
/// The word where the bits begin: they have cache lines of their own, since only the counter is polled.
const BITS: usize = 16;
/// Bits in a word.
const WORD: usize = u64::BITS as usize;

/// The memory orders, see [`crate::ring::RingOrders`].
pub trait AnnounceOrders {
    /// A peer counts itself: an owner that sees this sees the peer's bit.
    const COUNT: Ordering = Ordering::Release;
    /// The owner loads the counter.
    const READ_COUNT: Ordering = Ordering::Acquire;
}

impl AnnounceOrders for Sound {}

/// Words that so many peers need: whole pairs of cache lines.
pub const fn words(peers: usize) -> usize {
    BITS + peers.div_ceil(WORD).next_multiple_of(16)
}

/// Announces that `peer` has connected. A second announcement changes nothing.
///
/// # Panics
/// When `words` are for fewer peers.
pub fn announce<O: AnnounceOrders>(words: &[AtomicU64], peer: usize) {
    words[BITS + peer / WORD].fetch_or(1 << (peer % WORD), Ordering::Relaxed);
    words[COUNTER].fetch_add(1, O::COUNT);
}

/// Claims the place of a peer that nobody has, where peers are not known ahead: sets its bit, which no other peer does
/// then. `None` if all are taken. The owner may see the bit before [`announce`], which follows the peer's first message.
///
/// # Panics
/// When `words` are for fewer peers.
pub fn claim(words: &[AtomicU64], peers: usize) -> Option<usize> {
    (0..peers).find(|peer| {
        let (word, bit) = (&words[BITS + peer / WORD], 1 << (peer % WORD));
        // Atomic by itself: who changes the bit has the place. Nothing else is ordered by it.
        word.load(Ordering::Relaxed) & bit == 0 && word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    })
}

/// The owner's side.
#[derive(Debug)]
pub struct Listener<O = Sound> {
    /// The counter, when it was last loaded by [`Self::new_peers`].
    count_seen: u64,
    /// The bits of the peers that were returned.
    peers_seen: Vec<u64>,
    peers: usize,
    orders: std::marker::PhantomData<fn() -> O>,
}

impl<O: AnnounceOrders> Listener<O> {
    /// The listener of a segment with so many peers, none of which has connected.
    pub fn new(peers: usize) -> Self {
        Self {
            count_seen: 0,
            peers_seen: vec![0; peers.div_ceil(WORD)],
            peers,
            orders: std::marker::PhantomData,
        }
    }

    /// Whether a peer may have connected since [`Self::new_peers`].
    #[inline]
    pub fn has_changed(&self, counter: &AtomicU64) -> bool {
        counter.load(O::READ_COUNT) != self.count_seen
    }

    /// The peers that have connected since this was last called.
    pub fn new_peers(&mut self, words: &[AtomicU64]) -> Vec<usize> {
        self.count_seen = words[COUNTER].load(O::READ_COUNT);
        let mut new_peers = Vec::new();
        for (at, (peers_seen, word)) in self.peers_seen.iter_mut().zip(&words[BITS..]).enumerate() {
            let mut new = word.load(Ordering::Relaxed) & !*peers_seen;
            *peers_seen |= new;
            while new != 0 {
                new_peers.push(at * WORD + new.trailing_zeros() as usize);
                new &= new - 1;
            }
        }
        // No honest peer sets the bits behind that of the last one.
        new_peers.retain(|peer| *peer < self.peers);
        new_peers
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_peer_is_new_once() {
        let memory: Vec<AtomicU64> = (0..words(130)).map(|_| AtomicU64::new(0)).collect();
        let mut listener = Listener::<Sound>::new(130);
        assert!(!listener.has_changed(&memory[COUNTER]));
        for peer in [129, 0, 64, 0] {
            announce::<Sound>(&memory, peer);
        }
        assert!(listener.has_changed(&memory[COUNTER]));
        assert_eq!(listener.new_peers(&memory), [0, 64, 129]);
        assert!(!listener.has_changed(&memory[COUNTER]));
        announce::<Sound>(&memory, 64);
        announce::<Sound>(&memory, 63);
        assert_eq!(listener.new_peers(&memory), [63]);
    }

    #[test]
    fn a_place_is_claimed_once() {
        let memory: Vec<AtomicU64> = (0..words(66)).map(|_| AtomicU64::new(0)).collect();
        announce::<Sound>(&memory, 1);
        let claimed: Vec<_> = std::iter::from_fn(|| claim(&memory, 66)).collect();
        assert_eq!(claimed, (0..66).filter(|peer| *peer != 1).collect::<Vec<_>>());
        let mut listener = Listener::<Sound>::new(66);
        assert_eq!(listener.new_peers(&memory).len(), 66);
    }

    #[test]
    fn bits_of_no_peer_are_ignored() {
        let memory: Vec<AtomicU64> = (0..words(3)).map(|_| AtomicU64::new(u64::MAX)).collect();
        let mut listener = Listener::<Sound>::new(3);
        assert_eq!(listener.new_peers(&memory), [0, 1, 2]);
        assert_eq!(listener.new_peers(&memory), [0usize; 0]);
    }
}
