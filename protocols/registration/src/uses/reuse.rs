//! Counts the uses of buffers, and decides when a buffer has enough of them.

use super::table::{Key, Table, UseCount};
use super::{Advice, Path, Policy, Thresholds, class};
use crate::RegionId;
use alloc::vec::Vec;

/// The number of registrations, paid or not, from which the policy learns.
const LEARNED_FROM: u32 = 16;

/// Refusals are counted up to this number: 2^31 times as many uses as usual is as good as never.
const REFUSALS_MAX: u8 = 31;

/// The marks on one registration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Marks {
    generation: u32,
    /// The number of entries that name it. 0 once it is lost.
    entries: u32,
    /// The number of these entries that have not paid for it.
    unpaid: u32,
}

/// Decides which buffers are used often enough.
///
/// Counts the uses of each buffer (an address with messages of one size class) on all paths together. Its answers are
/// advice: wrong counts cost time, never data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reuse {
    policy: Policy,
    table: Table,
    /// The marks, by index of the registration.
    marks: Vec<Marks>,
    /// The number of entries whose registration is not lost.
    registered: u32,
    /// The numbers of entries that have paid for their registration (`paid`), and that lost it before (`wasted`).
    paid: u32,
    wasted: u32,
}

impl Reuse {
    /// Without counted uses.
    pub const fn new(policy: Policy) -> Self {
        let table = Table::new(policy.bucket_bits_min, policy.bucket_bits_max);
        Self { policy, table, marks: Vec::new(), registered: 0, paid: 0, wasted: 0 }
    }

    /// `len` bytes at `address` are about to be transferred. Allocates only for a new buffer.
    #[inline]
    pub fn on_use(&mut self, address: u64, len: u64, path: Path) -> Advice {
        if len < self.policy.bytes_min || len > self.policy.bytes_max {
            return Advice::Copy;
        }
        let key = Key { address, class: class(len) };
        let enough = self.policy.thresholds.uses(path, key.class);
        if enough == Thresholds::NEVER {
            return Advice::Copy;
        }
        let needed = self.needed(enough);
        let Some(entry) = self.table.find(key) else { return self.on_first_use(key, needed) };
        entry.uses = entry.uses.saturating_add(1);
        match entry.mark {
            Some(region) => {
                if !entry.has_paid && entry.uses >= enough {
                    entry.has_paid = true;
                    self.has_paid_for(region);
                }
                Advice::Direct(region)
            }
            None if entry.uses >= needed.saturating_mul(1 << entry.refusals) => Advice::Register,
            None => Advice::Copy,
        }
    }

    /// The buffer's memory is registered by this name.
    pub fn registered(&mut self, address: u64, len: u64, region: RegionId) {
        let Some(entry) = self.table.find(Key { address, class: class(len) }) else { return };
        let before = *entry;
        if before.mark == Some(region) {
            return;
        }
        (entry.mark, entry.has_paid, entry.refusals) = (Some(region), false, 0);
        self.unmark(&before);
        let index = region.index as usize;
        if self.marks.len() <= index {
            self.marks.resize(index + 1, Marks::default());
        }
        let marks = self.marks[index];
        if marks.generation != region.generation {
            self.lost(RegionId { generation: marks.generation, ..region });
        }
        let marks = &mut self.marks[index];
        marks.generation = region.generation;
        marks.entries += 1;
        marks.unpaid += 1;
        self.registered += 1;
    }

    /// The buffer's memory is not registered, or no longer. Its uses are counted from the start, beginning with this
    /// use.
    pub fn restart(&mut self, address: u64, len: u64) {
        let Some(entry) = self.table.find(Key { address, class: class(len) }) else { return };
        let before = *entry;
        (entry.uses, entry.mark, entry.has_paid) = (1, None, false);
        self.unmark(&before);
    }

    /// As [`Reuse::restart`], for memory that could not be registered: it then needs twice as many uses as the last
    /// time. So memory that can never be registered, such as memory that cannot be written to, costs the less the
    /// more it is used.
    pub fn refused(&mut self, address: u64, len: u64) {
        self.restart(address, len);
        if let Some(entry) = self.table.find(Key { address, class: class(len) }) {
            entry.refusals = (entry.refusals + 1).min(REFUSALS_MAX);
        }
    }

    /// This registration has ended. The cost is the same for any number of buffers that name it.
    pub fn lost(&mut self, region: RegionId) {
        if let Some(marks) = self.marks_of(region) {
            let Marks { entries, unpaid, .. } = *marks;
            (marks.entries, marks.unpaid) = (0, 0);
            self.registered -= entries;
            self.wasted = self.wasted.saturating_add(unpaid);
        }
    }

    /// Forgets all buffers.
    pub fn clear(&mut self) {
        *self = Self::new(self.policy);
    }

    /// Whether new buffers are not counted (speculative-rendezvous 5.3.4): less than the demanded share of all is
    /// registered, and the chains of the table have begun to grow. The state is not final: buffers in the table are
    /// still counted, and each insertion decides anew.
    pub fn is_stopped(&self) -> bool {
        let share = u64::from(self.registered) * 100;
        let demanded = self.table.len() as u64 * u64::from(self.policy.share_percent);
        self.table.has_growing_chains() && share < demanded
    }

    /// The number of buffers that are counted.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether no buffer is counted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of them that are registered.
    pub const fn registered_len(&self) -> u32 {
        self.registered
    }

    /// The number of uses after which a buffer is registered; registering pays from `enough` uses on.
    #[inline]
    fn needed(&self, enough: u32) -> u32 {
        let has_learned =
            self.policy.learns && self.wasted > self.paid && self.wasted + self.paid >= LEARNED_FROM;
        let percent = if has_learned { 100 } else { self.policy.speculation_percent };
        let uses = (u64::from(enough) * u64::from(percent)).div_ceil(100);
        u32::try_from(uses).unwrap_or(u32::MAX).max(1)
    }

    #[cold]
    fn on_first_use(&mut self, key: Key, needed: u32) -> Advice {
        if self.table.len() >= self.policy.entries_max as usize || self.is_stopped() {
            return Advice::Copy;
        }
        let Some(entry) = self.table.insert(key) else { return Advice::Copy };
        entry.uses = 1;
        if needed <= 1 { Advice::Register } else { Advice::Copy }
    }

    #[cold]
    fn has_paid_for(&mut self, region: RegionId) {
        if let Some(marks) = self.marks_of(region).filter(|marks| marks.unpaid > 0) {
            marks.unpaid -= 1;
            self.paid = self.paid.saturating_add(1);
        }
    }

    /// Removes an entry from the marks of the registration that it named.
    fn unmark(&mut self, before: &UseCount) {
        let marks = before.mark.and_then(|region| self.marks_of(region));
        if let Some(marks) = marks.filter(|marks| marks.entries > 0) {
            marks.entries -= 1;
            marks.unpaid -= u32::from(!before.has_paid);
            self.registered -= 1;
        }
    }

    /// The marks on a registration, unless another registration has its index now.
    fn marks_of(&mut self, region: RegionId) -> Option<&mut Marks> {
        let marks = self.marks.get_mut(region.index as usize)?;
        (marks.generation == region.generation).then_some(marks)
    }
}
