//! The rules that can be switched off, to see that they are needed.

use core::fmt::Debug;
use core::hash::Hash;

/// One constant a rule; `rules.toml` says where each comes from and what it prevents.
pub trait ScheduleRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// R7: a small accumulate does not overtake a queued one to its target.
    const ACCUMULATES_IN_ORDER: bool = true;
    /// R20: what ends an epoch at a target stands behind the queued copies to it.
    const NOTICE_BEHIND_COPIES: bool = true;
    /// R8: what is demanded includes what is queued.
    const DEMAND_REACHES_QUEUED: bool = true;
    /// A transfer that is waited for when its target grants it is not queued until somebody asks again.
    const LATE_GRANT_IS_DUE: bool = true;
}

/// Every rule is on: the type of production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllScheduleRules {}

impl ScheduleRules for AllScheduleRules {}
