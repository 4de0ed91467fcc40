//! Values with their hashes, which many states share.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A value with its hash. It never changes as long as states share it.
#[derive(Debug)]
pub struct Hashed<T>(Arc<WithHash<T>>);

#[derive(Clone, Debug)]
struct WithHash<T> {
    hash: u64,
    value: T,
}

impl<T: Hash> Hashed<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(Arc::new(WithHash { hash: hash_of(&value), value }))
    }

    /// The hash of the value, the same in every run.
    pub(crate) fn hash_of_value(&self) -> u64 {
        self.0.hash
    }
}

impl<T: Clone + Hash> Hashed<T> {
    /// Changes the value, or a copy of it if others share it.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut T)) {
        let WithHash { hash, value } = Arc::make_mut(&mut self.0);
        change(value);
        *hash = hash_of(value);
    }
}

/// A hash that is the same in every run, so that state counts can be compared.
pub(crate) fn hash_of<T: Hash>(value: &T) -> u64 {
    ahash::RandomState::with_seeds(1, 2, 3, 4).hash_one(value)
}

impl<T> Clone for Hashed<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> std::ops::Deref for Hashed<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T: PartialEq> PartialEq for Hashed<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.hash == other.0.hash && self.0.value == other.0.value
    }
}

impl<T: Eq> Eq for Hashed<T> {}

impl<T> Hash for Hashed<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}
