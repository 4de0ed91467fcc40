//! The rules that can be switched off, to see that they are needed.

use core::fmt::Debug;
use core::hash::Hash;

/// One function a rule; `rules.toml` says where each comes from and what it prevents.
pub trait ScheduleRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// R7: a small accumulate does not overtake a queued one to its target.
    fn accumulates_in_order() -> bool {
        true
    }
    /// R20: what ends an epoch at a target stands behind the queued copies to it.
    fn notice_behind_copies() -> bool {
        true
    }
    /// R8: what is demanded includes what is queued.
    fn demand_reaches_queued() -> bool {
        true
    }
    /// A transfer that is waited for when its target grants it is not queued until somebody asks again.
    fn late_grant_is_due() -> bool {
        true
    }
}

/// Every rule is on: the type of production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllScheduleRules {}

impl ScheduleRules for AllScheduleRules {}
