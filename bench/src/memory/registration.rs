//! What registering memory costs, beside copying it.

use super::{Adapter, MemoryError, copies, repeated, touched, us_since};
use crate::Budget;
use crate::statistics::Summary;
use serde::Serialize;
use std::time::Instant;

const KI: usize = 1 << 10;
const MI: usize = 1 << 20;

/// What is registered: from a page to the largest message.
pub const REGISTERED_SIZES: [usize; 7] = [4 * KI, 16 * KI, 64 * KI, 256 * KI, MI, 4 * MI, 16 * MI];

/// What memory of one size costs, in us (speculative-rendezvous 3).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RegistrationCost {
    /// Bytes, of whole pages that are there.
    pub size: usize,
    /// To register it.
    pub register: Summary,
    /// To end the registration.
    pub deregister: Summary,
    /// To copy as many bytes instead, again and again between the same places.
    pub copy: Summary,
}

/// Measures one size after the other.
///
/// # Errors
/// When the adapter refuses, or there is too little memory.
pub fn registration_costs(
    adapter: &Adapter,
    sizes: &[usize],
    budget: Budget,
) -> Result<Vec<RegistrationCost>, MemoryError> {
    let mut costs = Vec::new();
    for size in sizes {
        let cost = RegistrationCost {
            size: *size,
            register: time(adapter, *size, budget, Part::Begin)?,
            deregister: time(adapter, *size, budget, Part::End)?,
            copy: copies::copy(*size, budget)?,
        };
        costs.push(cost);
    }
    Ok(costs)
}

/// What of a registration is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Begin,
    End,
    Both,
}

/// The time of a registration of so many bytes, in us.
pub(super) fn time(
    adapter: &Adapter,
    bytes: usize,
    budget: Budget,
    part: Part,
) -> Result<Summary, MemoryError> {
    let mut memory = touched(bytes)?;
    repeated(budget, || {
        let begins = Instant::now();
        let (begun, ends) = adapter.register(&mut memory, || (us_since(begins), Instant::now()))?;
        Ok(match part {
            Part::Begin => begun,
            Part::End => us_since(ends),
            Part::Both => us_since(begins),
        })
    })
}
