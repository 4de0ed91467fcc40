//! The memory behind a lock, and what holders do to it.

/// Two words, which are equal whenever nobody writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LockedData([u8; 2]);

impl LockedData {
    /// One of the words.
    pub(super) fn read(self, word: usize) -> u8 {
        self.0[word]
    }

    /// Whether no word was written without the other.
    pub(super) fn is_whole(self) -> bool {
        self.0[0] == self.0[1]
    }

    /// Writes a word. Returns whether the value is that before, greater by one: else an update is lost.
    pub(super) fn write(&mut self, word: usize, value: u8) -> bool {
        let before = std::mem::replace(&mut self.0[word], value);
        before.checked_add(1) == Some(value)
    }
}
