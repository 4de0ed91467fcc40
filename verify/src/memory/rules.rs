//! The machine with one rule off, by name. Only the checker has them.

use super::bounds::MemoryBounds;
use super::environment::EnvironmentFault;
use super::model::MemoryModel;
use crate::explore::Limits;
use crate::outcome::Outcome;
use carrousel_registration::{AllCacheRules, AllReuseRules, CacheRules, ReuseRules};

/// The name of the set of rules, in the register.
pub const SET: &str = "registration";

/// The rules of the driver and of the kernel.
const ENVIRONMENT_FAULTS: [(&str, EnvironmentFault); 2] = [
    ("REFUSED_IS_COPIED", EnvironmentFault::DriverWaits),
    ("TOLD_BEFORE_REUSE", EnvironmentFault::KernelTellsLate),
];

macro_rules! without {
    (
        cache { $($cache:ident $cache_rule:ident;)* }
        reuse { $($reuse:ident $reuse_rule:ident;)* }
    ) => {
        $(
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            enum $cache {}
            impl CacheRules for $cache {
                const $cache_rule: bool = false;
            }
        )*
        $(
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            enum $reuse {}
            impl ReuseRules for $reuse {
                const $reuse_rule: bool = false;
            }
        )*

        /// The rules that can be switched off.
        pub const RULES: &[&str] =
            &[$(stringify!($cache_rule),)* $(stringify!($reuse_rule),)* ENVIRONMENT_FAULTS[0].0, ENVIRONMENT_FAULTS[1].0];

        /// Explores all executions within `bounds` with a rule off. None if there is no such rule.
        pub fn explore_without(rule: &str, bounds: MemoryBounds, limits: &Limits<'_>) -> Option<Outcome> {
            $(
                if rule == stringify!($cache_rule) {
                    return Some(MemoryModel::<$cache, AllReuseRules>::new(bounds, EnvironmentFault::None).explore(limits));
                }
            )*
            $(
                if rule == stringify!($reuse_rule) {
                    return Some(MemoryModel::<AllCacheRules, $reuse>::new(bounds, EnvironmentFault::None).explore(limits));
                }
            )*
            let (_, fault) = ENVIRONMENT_FAULTS.into_iter().find(|(name, _)| *name == rule)?;
            Some(MemoryModel::<AllCacheRules, AllReuseRules>::new(bounds, fault).explore(limits))
        }
    };
}

without! {
    cache {
        WithoutCovers COVERS;
        WithoutNames NAME_IS_CHECKED;
        WithoutInvalidation INVALIDATION_KILLS;
        WithoutStaying IN_USE_STAYS;
        WithoutReaching INVALIDATION_REACHES_REGISTERING;
        WithoutStale STALE_IS_NOT_USED;
        WithoutIdleOnly EVICTS_IDLE_ONLY;
    }
    reuse {
        WithoutCompletion COMPLETES_LOCALLY;
    }
}

/// Explores all executions within `bounds`, with the rules as they are in production.
pub fn explore(bounds: MemoryBounds, limits: &Limits<'_>) -> Outcome {
    MemoryModel::<AllCacheRules, AllReuseRules>::new(bounds, EnvironmentFault::None).explore(limits)
}
