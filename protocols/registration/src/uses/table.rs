//! The table of buffers that are counted: a hash table with chains (speculative-rendezvous 5.3.3).
//!
//! The thesis chose it over a balanced tree, which slows down as it grows (figure 5.4). Entries lie in one list in
//! the order of their insertion, and a chain links their positions: the table's behaviour depends on the calls alone.
//! A look-up costs one multiplication, and one access for each entry of a chain, one on average up to the largest
//! size. Growing doubles the buckets and links all entries anew.

use crate::RegionId;
use alloc::vec;
use alloc::vec::Vec;

/// The index that stands for no entry.
const NONE: u32 = u32::MAX;

/// 2^64 divided by the golden ratio, as in the hash of the Linux kernel (`GOLDEN_RATIO_64`).
const GOLDEN: u64 = 0x61C8_8646_80B5_83EB;

/// A buffer: an address with messages of one size class. Messages of another class have another threshold, and may
/// not fit into the same registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) address: u64,
    pub(super) class: u8,
}

impl Key {
    /// A multiplicative hash. The class goes into bits that no address uses.
    #[inline]
    fn bucket(self, bits: u32) -> usize {
        let mixed = (self.address ^ (u64::from(self.class) << 58)).wrapping_mul(GOLDEN);
        ((mixed >> 32) >> (32 - bits)) as usize
    }
}

/// The counts of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct UseCount {
    pub(super) key: Key,
    /// The next entry of the chain.
    next: u32,
    /// The number of uses since the beginning, or since its registration was lost.
    pub(super) uses: u32,
    /// The registration that it had when it was last looked up.
    pub(super) mark: Option<RegionId>,
    /// Whether it was used often enough to have paid for the mark.
    pub(super) has_paid: bool,
    /// The number of refused registrations since the last successful one.
    pub(super) refusals: u8,
}

/// All buffers that are counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Table {
    entries: Vec<UseCount>,
    /// The first entry of each chain. Empty before the first insertion.
    buckets: Vec<u32>,
    bits: u32,
    bits_max: u32,
}

impl Table {
    pub(super) const fn new(bits_min: u32, bits_max: u32) -> Self {
        const MOST: u32 = 31;
        let bits_max = if bits_max < MOST { bits_max } else { MOST };
        let bits = if bits_min < bits_max { bits_min } else { bits_max };
        Self { entries: Vec::new(), buckets: Vec::new(), bits, bits_max }
    }

    #[inline]
    pub(super) fn find(&mut self, key: Key) -> Option<&mut UseCount> {
        let mut at = *self.buckets.get(key.bucket(self.bits))?;
        while let Some(entry) = self.entries.get(at as usize) {
            if entry.key == key {
                return self.entries.get_mut(at as usize);
            }
            at = entry.next;
        }
        None
    }

    /// Adds a buffer that is not in the table. `None` if it has as many as can be counted.
    pub(super) fn insert(&mut self, key: Key) -> Option<&mut UseCount> {
        let at = u32::try_from(self.entries.len()).ok().filter(|at| *at != NONE)?;
        if self.buckets.is_empty() {
            self.buckets = vec![NONE; 1 << self.bits];
        } else if self.entries.len() >= self.buckets.len() && self.bits < self.bits_max {
            self.grow();
        }
        let next = core::mem::replace(&mut self.buckets[key.bucket(self.bits)], at);
        self.entries.push(UseCount { key, next, uses: 0, mark: None, has_paid: false, refusals: 0 });
        self.entries.last_mut()
    }

    /// Whether the next entry makes the average chain longer than one: at the largest size, the table has as many
    /// entries as buckets.
    pub(super) fn has_growing_chains(&self) -> bool {
        self.bits == self.bits_max && self.entries.len() >= 1 << self.bits
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    fn grow(&mut self) {
        self.bits += 1;
        self.buckets.clear();
        self.buckets.resize(1 << self.bits, NONE);
        for (at, entry) in (0..).zip(&mut self.entries) {
            entry.next = core::mem::replace(&mut self.buckets[entry.key.bucket(self.bits)], at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u64) -> Key {
        Key { address: 0x7f00_0000_0000 + n * 64, class: (n % 9) as u8 }
    }

    #[test]
    fn what_was_inserted_is_found_at_every_size() {
        let mut table = Table::new(2, 6);
        for n in 0..200 {
            assert!(table.find(key(n)).is_none());
            table.insert(key(n)).expect("there is room").uses = n as u32;
            assert!((0..=n).all(|n| table.find(key(n)).is_some_and(|entry| entry.uses == n as u32)), "{n}");
        }
        assert_eq!((table.len(), table.buckets.len()), (200, 64));
    }

    #[test]
    fn it_doubles_when_it_has_as_many_entries_as_buckets() {
        let mut table = Table::new(2, 3);
        let mut sizes = Vec::new();
        let mut growing = Vec::new();
        for n in 0..9 {
            growing.push(table.has_growing_chains());
            table.insert(key(n));
            sizes.push(table.buckets.len());
        }
        assert_eq!(sizes, [4, 4, 4, 4, 8, 8, 8, 8, 8]);
        assert_eq!(growing, [false, false, false, false, false, false, false, false, true]);
    }

    #[test]
    fn addresses_of_a_common_stride_do_not_share_chains() {
        for stride in [64, 128, 4096, 9216, 1 << 20] {
            let mut table = Table::new(10, 10);
            (0..1024u64).for_each(|n| {
                table.insert(Key { address: 0x7f12_3456_0000 + n * stride, class: 1 });
            });
            let used = table.buckets.iter().filter(|bucket| **bucket != NONE).count();
            assert!(used > 1024 / 3, "stride {stride}: {used} of 1024 chains are used");
        }
    }

    #[test]
    fn a_table_of_one_bucket_is_a_list() {
        let mut table = Table::new(0, 0);
        (0..5).for_each(|n| assert!(table.insert(key(n)).is_some()));
        assert!((0..5).all(|n| table.find(key(n)).is_some()));
        assert!(table.find(key(5)).is_none());
    }
}
