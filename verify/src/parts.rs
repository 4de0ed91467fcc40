//! A list in parts that states share.
//!
//! A step changes one rank. A state that held a pointer to each rank would copy, count and hash as many of them for each step;
//! with parts it does so for one part, and for the number of parts.

use crate::hashed::Hashed;
use smallvec::SmallVec;
use std::hash::Hash;
use std::ops::Index;

/// Values of a part.
const PART: usize = 8;

type Part<T> = SmallVec<[T; PART]>;

/// Values by position.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Parts<T> {
    /// All are full but the last one.
    parts: SmallVec<[Hashed<Part<T>>; 1]>,
    len: usize,
}

impl<T> Parts<T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the list has no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value at a position, if there is one.
    pub fn get(&self, at: usize) -> Option<&T> {
        self.parts.get(at / PART)?.get(at % PART)
    }

    /// All of them, by position.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.parts.iter().flat_map(|part| part.iter())
    }
}

impl<T: Clone + Hash> Parts<T> {
    /// Replaces the value at a position, which is there.
    pub fn set(&mut self, at: usize, value: T) {
        self.parts[at / PART].change(|part| part[at % PART] = value);
    }
}

impl<T> Index<usize> for Parts<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        &self.parts[at / PART][at % PART]
    }
}

impl<T: Clone + Hash> FromIterator<T> for Parts<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let values: Vec<T> = values.into_iter().collect();
        let parts = values.chunks(PART).map(|part| Hashed::new(part.iter().cloned().collect())).collect();
        Self { parts, len: values.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hashed::hash_of;

    #[test]
    fn a_value_is_replaced_in_its_place_only() {
        for len in [1, PART - 1, PART, PART + 1, 3 * PART] {
            let values: Parts<usize> = (0..len).collect();
            assert_eq!((values.len(), values.iter().count(), values.is_empty()), (len, len, false));
            for at in [0, len / 2, len - 1] {
                let mut changed = values.clone();
                changed.set(at, 99);
                let expected: Vec<usize> =
                    (0..len).map(|other| if other == at { 99 } else { other }).collect();
                assert_eq!(changed.iter().copied().collect::<Vec<_>>(), expected);
                assert!(changed != values && values[at] == at && changed.get(len).is_none());
                // It is the list that would have been made so, whatever it was before.
                assert_eq!(hash_of(&changed), hash_of(&expected.into_iter().collect::<Parts<_>>()));
                changed.set(at, at);
                assert_eq!(changed, values);
            }
        }
        assert!(Parts::<usize>::from_iter([]).is_empty());
    }
}
