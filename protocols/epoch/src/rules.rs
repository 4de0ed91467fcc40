//! The safety rules of epochs.

use core::fmt::Debug;
use core::hash::Hash;

/// The safety rules of epochs, one constant each; `rules.toml` gives the purpose of each. Types that switch a rule off
/// exist only in the checker and in tests.
pub trait EpochRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// E1: a transfer of access A is issued only when the target has granted A.
    const WAITS_FOR_GRANT: bool = true;
    /// E2: grants are counted, so that several early ones are not taken for one.
    const COUNTS_NOT_BITS: bool = true;
    /// E3: an exposure is counted and granted when it is activated, and not when it is opened.
    const EXPOSURES_COUNT_AT_ACTIVATION: bool = true;
    /// E4: lock grants have a triple of their own.
    const LOCKS_COUNT_APART: bool = true;
    /// E5: Done belongs to the exposure with its id, and to no earlier one.
    const DONE_BY_EQUALITY: bool = true;
    /// E6: Done and LockRelease are posted behind the data, on the same ordered lane.
    const DONE_BEHIND_DATA: bool = true;
    /// E7: Done and LockRelease wait for the data of reads and atomics.
    const FENCED_BEHIND_READS: bool = true;
    /// E8: Done waits for the grant, even if there was no operation.
    const DONE_WAITS_FOR_GRANT: bool = true;
    /// E9: the scan of deferred epochs stops at the first that may not be activated.
    const STOPS_AT_FIRST: bool = true;
    /// E10: without a flag, an epoch is activated only after those that were closed before have completed.
    const SERIAL_DEFAULT: bool = true;
    /// E11: an epoch may be active with one that was open when it was opened.
    const NESTED: bool = true;
    /// E12: an epoch is compared with all that are active, and not only with the one before it.
    const CHECKS_ALL_ACTIVE: bool = true;
    /// E13: the flags do not apply to fence and lock_all.
    const FLAGS_EXCLUDE_FENCE: bool = true;
    /// E14: of two lock epochs with the same target, the second waits for the end of the first.
    const SAME_TARGET_DEFERS: bool = true;
    /// E15: of an access epoch and a lock epoch with a common target, the second waits for the end of the first.
    const LOCK_BESIDE_ACCESS_DEFERS: bool = true;
    /// E16: a fence epoch ends only when Done has come from all ranks.
    const FENCE_WAITS_FOR_ALL_DONE: bool = true;
    /// E17: an open fence epoch without operations does not hold back other epochs.
    const INERT_FENCE: bool = true;
    /// E18: a fence epoch ends after the epochs that were opened inside it.
    const FENCE_ENDS_IN_ORDER: bool = true;
    /// E19: an exposure epoch is not activated while a lock on this memory is held.
    const EXPOSURE_WAITS_FOR_LOCK: bool = true;
    /// E20: a lock request waits while an exposure epoch is active, or a fence epoch that its origin has left.
    const LOCK_WAITS_FOR_EXPOSURE: bool = true;
    /// E21: the operations whose completion counts for a flush.
    const FLUSH_COVERS: Covers = Covers::UpToStamp;
    /// E22: a flush counts operations that are not issued yet.
    const FLUSH_COUNTS_UNISSUED: bool = true;
    /// E23: deferred epochs are scanned after each event that completes an epoch, and not only in calls.
    const ACTIVATES_AFTER_COMPLETION: bool = true;
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
