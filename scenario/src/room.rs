//! The memory that a file takes.
//!
//! A few bytes of text can become a large tree or large programs. Their memory is counted before it is allocated, so
//! that a hostile file is refused before the system has to swap. The count is of the bytes that are asked for, and of
//! the allocator's overhead.

use std::cell::Cell;

/// The allocator's overhead for one allocation, rounding included.
pub(crate) const ALLOCATION: usize = 16;

/// Memory that is taken, up to a limit.
#[derive(Debug)]
pub(crate) struct Room {
    taken: Cell<u64>,
    max: u64,
}

/// The limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Room {
    /// Room for `max` bytes, of which `taken` are.
    pub(crate) fn new(taken: u64, max: u64) -> Self {
        Room { taken: Cell::new(taken), max }
    }

    /// Takes `bytes`. Shared, because the parser's cursor, of which there are several at a time, has it.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), Full> {
        self.taken.set(self.taken.get().saturating_add(bytes as u64));
        if self.taken.get() > self.max { Err(Full) } else { Ok(()) }
    }

    /// Takes `count` values of type `T` in one piece.
    pub(crate) fn take_list<T>(&self, count: usize) -> Result<(), Full> {
        self.take(count.saturating_mul(size_of::<T>()).saturating_add(ALLOCATION))
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_ends_behind_its_last_byte() {
        let room = Room::new(90, 100);
        assert_eq!(room.take(10), Ok(()));
        assert_eq!(room.take(1), Err(Full));
        assert_eq!(Room::new(0, 100).take_list::<u64>(usize::MAX), Err(Full));
    }
}
