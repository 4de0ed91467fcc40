//! What memory costs, in one process and without a job: registering it with an adapter, copying it, and looking
//! for a registration.

mod adapter;
mod copies;
mod loans;
mod registration;
mod reuse;

pub use adapter::Adapter;
pub use registration::{REGISTERED_SIZES, RegistrationCost, registration_costs};
pub use reuse::{ClassCosts, reuse_costs, thresholds};

use crate::Budget;
use crate::statistics::Summary;
use memmap2::MmapMut;
use std::time::Instant;
use thiserror::Error;

/// Bytes of a page.
const PAGE: usize = 4096;

/// Why nothing was measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// No adapter can be used.
    #[error("memory cannot be registered: {0}")]
    NoAdapter(String),
    /// An adapter does not take the memory.
    #[error("{adapter} does not register {bytes} bytes: {why}")]
    Refused {
        /// The name of the adapter.
        adapter: String,
        /// Of how many bytes.
        bytes: usize,
        /// What the system says.
        why: String,
    },
    /// An adapter does not reach itself.
    #[error("{adapter} sends no messages: {why}")]
    Silent {
        /// The name of the adapter.
        adapter: String,
        /// What becomes of them.
        #[source]
        why: carrousel::Error,
    },
    /// There is too little memory.
    #[error("no {bytes} bytes of memory")]
    Memory {
        /// The bytes that could not be had.
        bytes: usize,
    },
}

impl MemoryError {
    fn no_adapter(why: impl ToString) -> Self {
        Self::NoAdapter(why.to_string())
    }
}

/// A time in us, again and again, as often as the budget says. The first one, which is warming up, does not count.
fn repeated<E>(budget: Budget, mut once: impl FnMut() -> Result<f64, E>) -> Result<Summary, E> {
    once()?;
    let (mut times, until) = (Vec::new(), budget.until());
    while budget.wants_more(times.len(), until) {
        times.push(once()?);
    }
    Ok(Summary::of(&mut times).unwrap_or(Summary::NONE))
}

/// The time since `began`, in us.
fn us_since(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e6
}

/// Memory that is there: every page was touched.
fn touched(bytes: usize) -> Result<MmapMut, MemoryError> {
    let mut map = MmapMut::map_anon(bytes).map_err(|_| MemoryError::Memory { bytes })?;
    map.iter_mut().step_by(PAGE).for_each(|byte| *byte = u8::MAX);
    Ok(map)
}
