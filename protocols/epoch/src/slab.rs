//! A table whose entries keep their position.

use alloc::vec::Vec;

/// The end of the list of free positions.
const NONE: u32 = u32::MAX;

/// An empty table keeps room for so many entries.
const ROOM_MAX: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Place<T> {
    Taken(T),
    /// Free; with the next free position.
    Free(u32),
}

/// Entries by position. Positions are used again; an empty table forgets which it had.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slab<T> {
    places: Vec<Place<T>>,
    free: u32,
    len: u32,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), free: NONE, len: 0 }
    }

    pub(crate) fn insert(&mut self, entry: T) -> u32 {
        self.len += 1;
        match self.places.get_mut(self.free as usize) {
            Some(place) => {
                let at = self.free;
                if let Place::Free(next) = *place {
                    self.free = next;
                }
                *place = Place::Taken(entry);
                at
            }
            None => {
                self.places.push(Place::Taken(entry));
                (self.places.len() - 1) as u32
            }
        }
    }

    pub(crate) fn remove(&mut self, at: u32) -> Option<T> {
        let place = self.places.get_mut(at as usize).filter(|place| matches!(place, Place::Taken(_)))?;
        let Place::Taken(entry) = core::mem::replace(place, Place::Free(self.free)) else { return None };
        self.free = at;
        self.len -= 1;
        if self.len == 0 {
            // Two states in which nothing is left are equal, whatever their past.
            self.places.clear();
            self.free = NONE;
            // An epoch with all ranks as its targets may never come again.
            if self.places.capacity() > ROOM_MAX {
                self.places = Vec::new();
            }
        }
        Some(entry)
    }

    pub(crate) fn get(&self, at: u32) -> Option<&T> {
        match self.places.get(at as usize) {
            Some(Place::Taken(entry)) => Some(entry),
            _ => None,
        }
    }

    pub(crate) fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        match self.places.get_mut(at as usize) {
            Some(Place::Taken(entry)) => Some(entry),
            _ => None,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.places).filter_map(|(at, place)| match place {
            Place::Taken(entry) => Some((at, entry)),
            Place::Free(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_used_again_and_forgotten_when_nothing_is_left() {
        let mut slab = Slab::new();
        let [a, b, c] = ["a", "b", "c"].map(|entry| slab.insert(entry));
        assert_eq!(slab.remove(a), Some("a"));
        assert_eq!(slab.remove(a), None, "it is free");
        assert_eq!(slab.remove(c), Some("c"));
        assert_eq!((slab.insert("d"), slab.insert("e"), slab.insert("f")), (c, a, 3));
        assert!(slab.iter().eq([(0, &"e"), (1, &"b"), (2, &"d"), (3, &"f")]));
        for at in [0, b, 2, 3] {
            slab.remove(at);
        }
        assert_eq!(slab, Slab::new());
    }
}
