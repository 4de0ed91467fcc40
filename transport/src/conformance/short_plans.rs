//! Short plans of packets, data and atomics, for records that are kept.

use super::atomics::{atomic_plans, generated_atomics};
use super::plan::Plan;
use super::plans::{Size, generated_plan, named_plans};
use alloc::vec::Vec;

/// Plans of a few steps, with little data, for records that are kept.
pub fn short_plans() -> Vec<Plan> {
    let size = Size { eager: 12, large: 3000, burst: 16 };
    let generated = (100..108).map(|seed| generated_plan(seed, 2 + seed as u32 % 2, 24, &size));
    let atomics = (100..104).map(|seed| generated_atomics(seed, 2 + seed as u32 % 2, 24, &size));
    named_plans(&size).into_iter().chain(generated).chain(atomic_plans(&size)).chain(atomics).collect()
}
