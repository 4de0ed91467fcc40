//! Tables that are only looked up in, by small keys.
//!
//! The standard hash resists keys that an adversary has chosen, which there are none of here, and takes much longer.
//! Nothing may depend on the order of such a table, so it is never walked.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::hash::Hash;

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
}
