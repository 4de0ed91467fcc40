//! The table of registrations, and the list of the idle ones, longest idle first.

use crate::{RegionId, Span};
use alloc::vec::Vec;

/// The index that stands for no slot.
const NONE: u32 = u32::MAX;

/// The state of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// The driver was asked for it.
    Registering,
    /// The driver was asked for it, and its pages were invalidated since.
    Stale,
    /// It is in the index and can be handed out.
    Valid,
    /// It is in use, is never handed out again, and is deregistered when its last use ends.
    Doomed,
}

/// One registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CachedRegion {
    pub(super) span: Span,
    pub(super) state: State,
    /// The number of uses. The transfer that requested it counts from the beginning.
    pub(super) holds: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Slot {
    generation: u32,
    entry: Option<CachedRegion>,
    /// The neighbours in the list of idle entries. In a free slot, `newer` is the next free slot.
    older: u32,
    newer: u32,
}

/// All registrations by index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    first_free: u32,
    oldest: u32,
    newest: u32,
    entries: u32,
    bytes: u64,
    idle_entries: u32,
    idle_bytes: u64,
}

impl Slots {
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            first_free: NONE,
            oldest: NONE,
            newest: NONE,
            entries: 0,
            bytes: 0,
            idle_entries: 0,
            idle_bytes: 0,
        }
    }

    /// The number of entries and bytes of all registrations.
    pub(super) const fn all(&self) -> (u32, u64) {
        (self.entries, self.bytes)
    }

    /// The number of entries and bytes of those that are in use, or under way.
    pub(super) const fn busy(&self) -> (u32, u64) {
        (self.entries - self.idle_entries, self.bytes - self.idle_bytes)
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&CachedRegion> {
        self.slots.get(index as usize)?.entry.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut CachedRegion> {
        self.slots.get_mut(index as usize)?.entry.as_mut()
    }

    /// The present name of an index.
    #[inline]
    pub(super) fn name(&self, index: u32) -> RegionId {
        let generation = self.slots.get(index as usize).map_or(0, |slot| slot.generation);
        RegionId { index, generation }
    }

    /// Adds an entry that is in use. `None` if there are as many as can be counted.
    pub(super) fn insert(&mut self, entry: CachedRegion) -> Option<u32> {
        let index = if self.first_free == NONE {
            let index = u32::try_from(self.slots.len()).ok().filter(|index| *index != NONE)?;
            self.slots.push(Slot { generation: 0, entry: None, older: NONE, newer: NONE });
            index
        } else {
            self.first_free
        };
        let slot = &mut self.slots[index as usize];
        self.first_free = core::mem::replace(&mut slot.newer, NONE);
        slot.entry = Some(entry);
        self.entries += 1;
        self.bytes += entry.span.len();
        Some(index)
    }

    /// Removes an entry that is not in the list of idle ones.
    pub(super) fn remove(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let Some(entry) = slot.entry.take() else { return };
        slot.generation = slot.generation.wrapping_add(1);
        slot.newer = self.first_free;
        self.first_free = index;
        self.entries -= 1;
        self.bytes -= entry.span.len();
    }

    /// The entry that has been idle for longest.
    pub(super) fn longest_idle(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Puts an entry that has become idle at the end of the list.
    #[inline]
    pub(super) fn set_idle(&mut self, index: u32) {
        let before = core::mem::replace(&mut self.newest, index);
        let slot = &mut self.slots[index as usize];
        (slot.older, slot.newer) = (before, NONE);
        self.idle_entries += 1;
        self.idle_bytes += slot.entry.as_ref().map_or(0, |entry| entry.span.len());
        match self.slots.get_mut(before as usize) {
            Some(slot) => slot.newer = index,
            None => self.oldest = index,
        }
    }

    /// Takes an entry out of the list of idle ones. Always inlined: each message of an often used buffer does it, and a call
    /// would cost it a dozen instructions more.
    #[inline(always)]
    pub(super) fn set_busy(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let older = core::mem::replace(&mut slot.older, NONE);
        let newer = core::mem::replace(&mut slot.newer, NONE);
        self.idle_entries -= 1;
        self.idle_bytes -= slot.entry.as_ref().map_or(0, |entry| entry.span.len());
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
        match self.slots.get_mut(newer as usize) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
    }
}
