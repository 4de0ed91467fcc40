//! Which positions of a table are taken, and the lowest that is not, however many there are.

use alloc::vec::Vec;

/// How many positions a word tells of.
const BITS: usize = u64::BITS as usize;

/// The positions that are taken. It depends on these only, and on how many were taken at most, not on the order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Places {
    /// A bit each.
    taken: Vec<u64>,
    /// Words of `taken` in which none is free, a bit each.
    full: Vec<u64>,
}

impl Places {
    /// Takes a position, which is free, and not further than one behind the last that ever was taken.
    pub(crate) fn take(&mut self, place: usize) {
        let word = place / BITS;
        if word == self.taken.len() {
            self.taken.push(0);
            self.full.resize(word / BITS + 1, 0);
        }
        self.taken[word] |= 1 << (place % BITS);
        if self.taken[word] == u64::MAX {
            self.full[word / BITS] |= 1 << (word % BITS);
        }
    }

    /// A position is free again.
    pub(crate) fn free(&mut self, place: usize) {
        let word = place / BITS;
        self.taken[word] &= !(1 << (place % BITS));
        self.full[word / BITS] &= !(1 << (word % BITS));
    }

    /// The lowest free position. Looks at one word of `full` for each 4,096 that are taken.
    pub(crate) fn lowest(&self) -> usize {
        let first = self.full.iter().position(|word| *word != u64::MAX).unwrap_or(self.full.len());
        let word = first * BITS + self.full.get(first).map_or(0, |word| word.trailing_ones() as usize);
        let bit = self.taken.get(word).map_or(0, |word| word.trailing_ones() as usize);
        word * BITS + bit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        /// Against a set in which the lowest is looked for one by one; past the bounds of words at each level.
        #[test]
        fn the_lowest_free_place_is_found(
            start in 0usize..9000,
            steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 0..400),
        ) {
            let (mut places, mut taken) = (Places::default(), BTreeSet::new());
            for place in 0..start {
                prop_assert_eq!(places.lowest(), place);
                places.take(place);
                taken.insert(place);
            }
            for (takes, which) in steps {
                let lowest = (0..).find(|place| !taken.contains(place)).expect("there are more");
                prop_assert_eq!(places.lowest(), lowest);
                if takes || taken.is_empty() {
                    places.take(lowest);
                    taken.insert(lowest);
                } else {
                    let place = *which.get(&taken.iter().copied().collect::<Vec<_>>());
                    taken.remove(&place);
                    places.free(place);
                }
            }
        }
    }
}
