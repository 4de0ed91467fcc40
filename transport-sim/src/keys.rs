//! Tables that are only looked up in, by small keys; and how what was large once gives its memory back.
//!
//! The standard hash resists keys that an adversary has chosen, which there are none of here, and takes much longer.
//! Nothing may depend on the order of such a table, so it is never walked.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A table by small keys.
pub(crate) type ByKey<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// An odd number with as many ones as zeros, in no pattern: the fraction of the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Multiplies and folds, so that each bit of a key reaches every bit of the hash.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        let wide = u128::from(self.0.rotate_left(32) ^ value ^ MULTIPLIER) * u128::from(MULTIPLIER);
        self.0 = wide as u64 ^ (wide >> 64) as u64;
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

/// So many entries that an empty table, or list, may keep the room for them. Each rank has some of these, and needs them
/// large once in a while, when it is its turn.
const ROOM_MAX: usize = 64;

/// Takes out an entry.
pub(crate) fn take<K: Eq + Hash, V>(table: &mut ByKey<K, V>, key: &K) -> Option<V> {
    let value = table.remove(key);
    if table.is_empty() && table.capacity() > 2 * ROOM_MAX {
        *table = ByKey::default();
    }
    value
}

/// Takes out the first entry.
pub(crate) fn take_first<T>(list: &mut VecDeque<T>) -> Option<T> {
    let first = list.pop_front();
    if list.is_empty() && list.capacity() > ROOM_MAX {
        *list = VecDeque::new();
    }
    first
}

/// Takes out all entries.
pub(crate) fn clear<T>(list: &mut Vec<T>) {
    list.clear();
    if list.capacity() > ROOM_MAX {
        *list = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn hash(key: impl Hash) -> u64 {
        let mut mix = Mix::default();
        key.hash(&mut mix);
        mix.finish()
    }

    #[test]
    fn neighbouring_keys_spread_over_the_bits_that_a_table_looks_at() {
        let hashes: Vec<u64> =
            (0..64_u32).flat_map(|one| (0..64_u32).map(move |two| hash((one, two)))).collect();
        let all = hashes.len() as f64;
        // The buckets are the low bits, and the tags the high ones. Of random hashes, 1 - 1/e take a bucket alone.
        let buckets: BTreeSet<u64> = hashes.iter().map(|hash| hash % 4096).collect();
        assert!(buckets.len() as f64 > 0.5 * all, "{} buckets", buckets.len());
        let tags: BTreeSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
        assert_eq!(tags.len(), 128);
    }

    #[test]
    fn what_is_over_gives_its_room_back() {
        let mut table: ByKey<u32, u32> = (0..1000).map(|key| (key, key)).collect();
        let mut queue: VecDeque<u32> = (0..1000).collect();
        for key in 0..1000 {
            assert!(table.capacity() >= 1000 && queue.capacity() >= 1000);
            assert_eq!((take(&mut table, &key), take_first(&mut queue)), (Some(key), Some(key)));
        }
        assert_eq!((table.capacity(), queue.capacity()), (0, 0));
        let mut list = vec![0; 1000];
        clear(&mut list);
        assert_eq!(list.capacity(), 0);
        list.push(1);
        clear(&mut list);
        assert!(list.capacity() > 0, "it is needed again at once");
    }
}
