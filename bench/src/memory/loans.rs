//! What an eager message costs that is sent from where it is.

use super::{Adapter, MemoryError, repeated, us_since};
use crate::Budget;
use crate::statistics::Summary;
use carrousel_transport_verbs::{LoanTrial, VerbsError};
use std::time::Instant;

/// So many in one way, then as many in the other: what disturbs one disturbs the other.
const TURN: usize = 20;

/// Messages that are sent through the adapter, between two ranks of this process, from memory that is in the
/// caches of the processor.
pub(super) struct Loans<'a> {
    adapter: &'a Adapter,
    trial: LoanTrial,
}

impl<'a> Loans<'a> {
    /// Connects them, for messages of at most so many bytes.
    pub(super) fn new(adapter: &'a Adapter, bytes_max: usize) -> Result<Self, MemoryError> {
        let trial = LoanTrial::new(&adapter.device, bytes_max).map_err(silent(adapter))?;
        Ok(Self { adapter, trial })
    }

    /// By how much less time a message takes that is lent to the adapter than one that is copied first, in us. Less than
    /// none where the adapter takes longer to gather what lies in two places, or to say that it has read it.
    pub(super) fn saved(&mut self, bytes: usize, budget: Budget) -> Result<Summary, MemoryError> {
        let Self { adapter, trial } = self;
        let mut turn = |lent| {
            let began = Instant::now();
            for _ in 0..TURN {
                trial.send(bytes, lent)?;
            }
            Ok(us_since(began) / TURN as f64)
        };
        repeated(budget, || Ok(turn(false)? - turn(true)?)).map_err(silent(adapter))
    }
}

fn silent(adapter: &Adapter) -> impl Fn(VerbsError) -> MemoryError {
    |why| MemoryError::Silent { adapter: adapter.name().to_owned(), why }
}
