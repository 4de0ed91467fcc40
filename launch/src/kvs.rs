//! The key-value store of a job (the key-value space of PMI), with the values that ranks put for each other. A rank may
//! be hostile, or have a wrong loop: the number and size of its values are bounded.

use std::collections::HashMap;
use thiserror::Error;

/// Bytes of the longest key and value in PMI-1, including the terminating zero in C.
pub(crate) const KEY_MAX: usize = 64;
pub(crate) const VALUE_MAX: usize = 1024;
/// Limits of a rank. It needs one address, in some parts; the rest is for any other use that a library may make of
/// values.
const KEYS_PER_RANK: u32 = 4096;
const BYTES_PER_RANK: usize = 4 << 20;
/// The limit of all ranks together: 1 KiB for each of as many ranks as a job can have.
const BYTES_MAX: usize = 1 << 30;

/// Why a value is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum PutError {
    #[error("the key has been put before")]
    DuplicateKey,
    #[error("the key or the value is too long")]
    TooLong,
    #[error("it has put more than {KEYS_PER_RANK} values for other ranks")]
    TooManyKeys,
    #[error("it has put more than 4 MiB of values for other ranks")]
    TooManyBytes,
    #[error("all ranks together have put more than 1 GiB of values")]
    StoreFull,
}

/// Values by their keys, and how much each rank has put.
#[derive(Debug)]
pub(crate) struct KeyValueStore {
    values: HashMap<String, String>,
    by_rank: Vec<(u32, usize)>,
    bytes: usize,
}

impl KeyValueStore {
    /// A store with these values of the launcher.
    pub(crate) fn new(ranks: u32, values: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { values: values.into_iter().collect(), by_rank: vec![(0, 0); ranks as usize], bytes: 0 }
    }

    pub(crate) fn put(&mut self, rank: u32, key: &str, value: &str) -> Result<(), PutError> {
        if key.len() >= KEY_MAX || value.len() >= VALUE_MAX {
            return Err(PutError::TooLong);
        }
        if self.values.contains_key(key) {
            return Err(PutError::DuplicateKey);
        }
        let (keys, bytes) = &mut self.by_rank[rank as usize];
        let more = key.len() + value.len();
        if *keys == KEYS_PER_RANK {
            return Err(PutError::TooManyKeys);
        }
        if *bytes + more > BYTES_PER_RANK {
            return Err(PutError::TooManyBytes);
        }
        if self.bytes + more > BYTES_MAX {
            return Err(PutError::StoreFull);
        }
        (*keys, *bytes) = (*keys + 1, *bytes + more);
        self.bytes += more;
        self.values.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts a value as often as the store takes it.
    fn fill(store: &mut KeyValueStore, rank: u32, value: &str) -> (u32, PutError) {
        let mut put = |number: u32| store.put(rank, &format!("{rank}.{number}"), value).err();
        (0..100_000).find_map(|number| Some((number, put(number)?))).expect("there is a bound")
    }

    #[test]
    fn a_rank_cannot_put_for_ever() {
        let mut store = KeyValueStore::new(2, []);
        assert_eq!(fill(&mut store, 0, "x"), (KEYS_PER_RANK, PutError::TooManyKeys));
        // Another rank still can.
        assert_eq!(store.put(1, "a", "b"), Ok(()));
        assert_eq!((store.get("a"), store.get("0.17"), store.get("c")), (Some("b"), Some("x"), None));
        assert_eq!(store.put(1, "a", "c"), Err(PutError::DuplicateKey));
    }

    #[test]
    fn a_rank_cannot_put_more_than_its_share_of_bytes() {
        let mut store = KeyValueStore::new(1, []);
        let (count, error) = fill(&mut store, 0, &"x".repeat(VALUE_MAX - 1));
        assert_eq!(error, PutError::TooManyBytes);
        assert!(count as usize * VALUE_MAX <= BYTES_PER_RANK + VALUE_MAX, "{count}");
        assert_eq!(store.put(0, &"k".repeat(KEY_MAX), "x"), Err(PutError::TooLong));
        assert_eq!(store.put(0, "k", &"x".repeat(VALUE_MAX)), Err(PutError::TooLong));
    }

    #[test]
    fn all_ranks_together_cannot_put_for_ever() {
        let mut store = KeyValueStore::new(1, []);
        store.bytes = BYTES_MAX - 1;
        assert_eq!(store.put(0, "k", "x"), Err(PutError::StoreFull));
    }
}
