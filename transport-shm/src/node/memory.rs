//! How much memory is available for rings. A system that is asked for more does not refuse it, but kills a process, and
//! not always one of those that asked.

use carrousel_system::{SYSTEM, System};
use std::fmt;
use thiserror::Error;

/// The node, or a control group, has too little memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "too little memory: {what} of {ranks} ranks on this node takes {}, and {} are available (fewer ranks on a node \
     take less, and so do smaller rings: the option `shm_ring`)",
    Bytes(*.needed), Bytes(*.available)
)]
pub struct MemoryShortageError {
    /// The purpose of the memory, in words.
    pub what: &'static str,
    /// Ranks of the node.
    pub ranks: usize,
    /// Bytes that are needed.
    pub needed: u64,
    /// Bytes that are available.
    pub available: u64,
}

/// A number of bytes, for people.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes >= 10 << 20 => write!(f, "{} MiB", bytes >> 20),
            bytes => write!(f, "{} KiB", bytes.div_ceil(1 << 10)),
        }
    }
}

/// The memory that this rank may take for rings before it asks again how much is available.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    ranks: usize,
    /// Bytes that may be taken without asking.
    left: u64,
}

impl Budget {
    /// The budget of one of so many ranks, whose rings have so many bytes at first.
    ///
    /// # Errors
    /// When there is too little memory for a barrier of the ranks, in which each rank has as many rings as the logarithm
    /// of their number.
    pub(super) fn new(ranks: usize, ring: u64) -> Result<Self, MemoryShortageError> {
        let rings = u64::from(usize::BITS - ranks.saturating_sub(1).leading_zeros());
        let needed = (ranks as u64).saturating_mul(rings).saturating_mul(ring);
        let mut budget = Self { ranks, left: 0 };
        budget.look("a barrier", needed, SYSTEM.available_memory())?;
        Ok(budget)
    }

    /// Takes the bytes of a ring.
    ///
    /// # Errors
    /// When the memory would not suffice if each rank took a ring now.
    pub(super) fn take(&mut self, ring: u64) -> Result<(), MemoryShortageError> {
        if self.left < ring {
            let needed = ring.saturating_mul(self.ranks as u64);
            self.look("a ring more for each", needed, SYSTEM.available_memory())?;
        }
        self.left = self.left.saturating_sub(ring);
        Ok(())
    }

    fn look(
        &mut self,
        what: &'static str,
        needed: u64,
        available: Option<u64>,
    ) -> Result<(), MemoryShortageError> {
        // A system that does not say how much is available is trusted when it allocates memory.
        let available = available.unwrap_or(u64::MAX);
        if needed > available {
            return Err(MemoryShortageError { what, ranks: self.ranks, needed, available });
        }
        // If all ranks take so much before they ask again, half is left.
        self.left = available / 2 / self.ranks.max(1) as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_shortage_names_the_numbers_and_a_remedy() {
        let mut budget = Budget { ranks: 1000, left: 0 };
        let error = budget.look("a barrier", 625 * MIB, Some(100 * MIB)).expect_err("it is too little");
        assert_eq!(
            error.to_string(),
            "too little memory: a barrier of 1000 ranks on this node takes 625 MiB, and 100 MiB are available (fewer \
             ranks on a node take less, and so do smaller rings: the option `shm_ring`)"
        );
        assert_eq!(budget.look("a barrier", 625 * MIB, Some(2000 * MIB)), Ok(()));
        assert_eq!(budget.left, MIB, "of half, a thousandth");
    }
}
