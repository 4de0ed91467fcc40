//! The machine with one rule off, by name. Only the checker has them.

use super::bounds::Bounds;
use super::environment::Around;
use super::model::Model;
use crate::explore::Limits;
use crate::outcome::Outcome;
use carrousel_reuse::{AllCacheRules, AllReuseRules, CacheRules, ReuseRules};

/// The name of the set of rules, in the register.
pub const SET: &str = "reuse";

/// The rules that are not the machine's: of the driver, and of the kernel.
const AROUND: [(&str, Around); 2] =
    [("REFUSED_IS_COPIED", Around::DriverWaits), ("TOLD_BEFORE_REUSE", Around::KernelTellsLate)];

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
            &[$(stringify!($cache_rule),)* $(stringify!($reuse_rule),)* AROUND[0].0, AROUND[1].0];

        /// Explores all within `bounds` with a rule off. None if there is no such rule.
        pub fn explore_without(rule: &str, bounds: Bounds, limits: &Limits<'_>) -> Option<Outcome> {
            $(
                if rule == stringify!($cache_rule) {
                    return Some(Model::<$cache, AllReuseRules>::new(bounds, Around::Right).explore(limits));
                }
            )*
            $(
                if rule == stringify!($reuse_rule) {
                    return Some(Model::<AllCacheRules, $reuse>::new(bounds, Around::Right).explore(limits));
                }
            )*
            let (_, around) = AROUND.into_iter().find(|(name, _)| *name == rule)?;
            Some(Model::<AllCacheRules, AllReuseRules>::new(bounds, around).explore(limits))
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

/// Explores all within `bounds`, with the rules as they are in production.
pub fn explore(bounds: Bounds, limits: &Limits<'_>) -> Outcome {
    Model::<AllCacheRules, AllReuseRules>::new(bounds, Around::Right).explore(limits)
}
