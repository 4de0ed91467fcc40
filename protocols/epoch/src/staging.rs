//! The staging buffers of a target: which origins have one, and which wait for one.

use alloc::collections::{BTreeSet, VecDeque};
use carrousel_wire::RankId;

/// Why a packet, or a report of the driver, about staging cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum StagingError {
    /// An origin asks for a buffer while it has one, or waits for one.
    #[error("{0} asks for a staging buffer, and has one or waits for one")]
    AskedTwice(RankId),
    /// A buffer is given that was not asked for.
    #[error("{0} gives a staging buffer that was not asked for")]
    NotAsked(RankId),
    /// The driver has applied an operand for which no buffer was given.
    #[error("an operand of {0} was applied, which has no staging buffer")]
    HasNone(RankId),
}

/// The staging buffers of this rank.
///
/// An origin has one buffer at most, or one request that waits. So requests need no more room than the window has ranks,
/// and no packet waits for one to be answered. Whoever has a buffer sends its operand without waiting for anything else:
/// every buffer comes back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StagingBuffers {
    free: u16,
    holders: BTreeSet<RankId>,
    /// In order of arrival.
    waiting: VecDeque<RankId>,
}

impl StagingBuffers {
    pub(crate) fn new(buffers: u16) -> Self {
        Self { free: buffers.max(1), holders: BTreeSet::new(), waiting: VecDeque::new() }
    }

    /// An origin asks for a buffer. Whether it has one now.
    pub(crate) fn request(&mut self, origin: RankId) -> Result<bool, StagingError> {
        if self.holders.contains(&origin) || self.waiting.contains(&origin) {
            return Err(StagingError::AskedTwice(origin));
        }
        self.waiting.push_back(origin);
        Ok(self.give() == Some(origin))
    }

    /// The operand of an origin was applied: its buffer is free. The origin that has it next, if one waits.
    pub(crate) fn applied(&mut self, origin: RankId) -> Result<Option<RankId>, StagingError> {
        if !self.holders.remove(&origin) {
            return Err(StagingError::HasNone(origin));
        }
        self.free += 1;
        Ok(self.give())
    }

    /// Without E27: the buffer of an origin is free as soon as it was given.
    pub(crate) fn give_again(&mut self) {
        self.free += 1;
    }

    /// An origin has died. The origin that has its buffer next, if one waits.
    pub(crate) fn died(&mut self, origin: RankId) -> Option<RankId> {
        self.waiting.retain(|waiting| *waiting != origin);
        self.free += u16::from(self.holders.remove(&origin));
        self.give()
    }

    /// Whether no origin has a buffer, and none waits for one.
    pub(crate) fn is_unused(&self) -> bool {
        self.holders.is_empty() && self.waiting.is_empty()
    }

    /// Gives a free buffer to the origin that has waited longest.
    fn give(&mut self) -> Option<RankId> {
        if self.free == 0 {
            return None;
        }
        let origin = self.waiting.pop_front()?;
        self.free -= 1;
        self.holders.insert(origin);
        Some(origin)
    }
}

/// Accumulates of this rank to one target, from one that is staged on. For the first a buffer is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct StagedQueue {
    /// In program order.
    pub(crate) operations: VecDeque<u32>,
    /// The buffer for the first is there. It is used at once; without E26, when the access is granted.
    pub(crate) has_buffer: bool,
}
