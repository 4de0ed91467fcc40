//! The safety rules of epochs.

use core::fmt::Debug;
use core::hash::Hash;

/// The safety rules of epochs, one function each; `rules.toml` gives the purpose of each. Types that switch a rule off
/// exist only in the checker and in tests.
pub trait EpochRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// E1: a transfer of access A is issued only when the target has granted A.
    fn waits_for_grant() -> bool {
        true
    }
    /// E2: grants are counted, so that several early ones are not taken for one.
    fn counts_not_bits() -> bool {
        true
    }
    /// E3: an exposure is counted and granted when it is activated, and not when it is opened.
    fn exposures_count_at_activation() -> bool {
        true
    }
    /// E4: lock grants have a triple of their own.
    fn locks_count_apart() -> bool {
        true
    }
    /// E5: Done belongs to the exposure with its id, and to no earlier one.
    fn done_by_equality() -> bool {
        true
    }
    /// E6: Done and LockRelease are posted behind the data, on the same ordered lane.
    fn done_behind_data() -> bool {
        true
    }
    /// E7: Done and LockRelease wait for the data of reads and atomics.
    fn fenced_behind_reads() -> bool {
        true
    }
    /// E8: Done waits for the grant, even if there was no operation.
    fn done_waits_for_grant() -> bool {
        true
    }
    /// E9: the scan of deferred epochs stops at the first that may not be activated.
    fn stops_at_first() -> bool {
        true
    }
    /// E10: without a flag, an epoch is activated only after those that were closed before have completed.
    fn serial_default() -> bool {
        true
    }
    /// E11: an epoch may be active with one that was open when it was opened.
    fn nested() -> bool {
        true
    }
    /// E12: an epoch is compared with all that are active, and not only with the one before it.
    fn checks_all_active() -> bool {
        true
    }
    /// E13: the flags do not apply to fence and lock_all.
    fn flags_exclude_fence() -> bool {
        true
    }
    /// E14: of two lock epochs with the same target, the second waits for the end of the first.
    fn same_target_defers() -> bool {
        true
    }
    /// E15: of an access epoch and a lock epoch with a common target, the second waits for the end of the first.
    fn lock_beside_access_defers() -> bool {
        true
    }
    /// E16: a fence epoch ends only when Done has come from all ranks.
    fn fence_waits_for_all_done() -> bool {
        true
    }
    /// E17: an open fence epoch without operations does not hold back other epochs.
    fn inert_fence() -> bool {
        true
    }
    /// E18: a fence epoch ends after the epochs that were opened inside it.
    fn fence_ends_in_order() -> bool {
        true
    }
    /// E19: an exposure epoch is not activated while a lock on this memory is held.
    fn exposure_waits_for_lock() -> bool {
        true
    }
    /// E20: a lock request waits while an exposure epoch is active, or a fence epoch that its origin has left.
    fn lock_waits_for_exposure() -> bool {
        true
    }
    /// E21: the operations whose completion counts for a flush.
    fn flush_covers() -> Covers {
        Covers::UpToStamp
    }
    /// E22: a flush counts operations that are not issued yet.
    fn flush_counts_unissued() -> bool {
        true
    }
    /// E23: deferred epochs are scanned after each event that completes an epoch, and not only in calls.
    fn activates_after_completion() -> bool {
        true
    }
    /// E24: Done and LockRelease wait until all accumulates before them have a staging buffer, if they need one.
    fn done_after_staged() -> bool {
        true
    }
    /// E25: an accumulate waits behind an earlier one to its target that waits for a staging buffer.
    fn behind_staged() -> bool {
        true
    }
    /// E26: a staging buffer is asked for when the access is granted.
    fn stages_granted() -> bool {
        true
    }
    /// E27: a staging buffer is free again when its operand was applied.
    fn buffer_until_applied() -> bool {
        true
    }
}

/// Every rule is on: the type of production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllEpochRules {}
impl EpochRules for AllEpochRules {}

/// The operations whose completion counts for a flush, by their age. The stamp of a flush is the age of the operation
/// called just before it (nonblocking-rma-epochs VII-C).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Covers {
    /// Those called before the flush. The sound reading.
    UpToStamp,
    /// Those called after the flush: VII-C as written, if "younger" means called later. Only the checker uses it.
    AfterStamp,
    /// Those called before the last one: VII-C as written, if "younger" means a smaller age. Only the checker uses it.
    BeforeStamp,
}

impl Covers {
    pub(crate) fn covers(self, age: u64, stamp: u64) -> bool {
        match self {
            Self::UpToStamp => age <= stamp,
            Self::AfterStamp => age > stamp,
            Self::BeforeStamp => age < stamp,
        }
    }
}
