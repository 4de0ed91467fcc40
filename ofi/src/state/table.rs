//! Entries that keep their position while others come and go.

/// Entries by position.
#[derive(Debug)]
pub(crate) struct Table<T>(Vec<Option<T>>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Table<T> {
    /// Adds an entry, and returns its position.
    pub(crate) fn insert(&mut self, entry: T) -> usize {
        match self.0.iter().position(Option::is_none) {
            Some(free) => {
                self.0[free] = Some(entry);
                free
            }
            None => {
                self.0.push(Some(entry));
                self.0.len() - 1
            }
        }
    }

    pub(crate) fn remove(&mut self, at: usize) -> Option<T> {
        self.0.get_mut(at)?.take()
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        self.0.get(at)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.0.get_mut(at)?.as_mut()
    }

    #[inline]
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_keeps_its_position_and_a_free_one_is_used_again() {
        let mut table = Table::default();
        assert_eq!((table.insert('a'), table.insert('b'), table.insert('c')), (0, 1, 2));
        assert_eq!(table.remove(1), Some('b'));
        assert_eq!((table.remove(1), table.get(1)), (None, None));
        assert_eq!(table.insert('d'), 1);
        assert_eq!(table.values_mut().map(|c| *c).collect::<String>(), "adc");
    }
}
