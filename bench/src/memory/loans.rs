//! What an eager message costs that is sent from where it is.

use super::copies::{COLD_BYTES, scattered};
use super::{Adapter, MemoryError, PAGE, repeated, us_since};
use crate::Budget;
use crate::statistics::Summary;
use carrousel_transport_verbs::{LoanTrial, VerbsError};
use std::iter::Cycle;
use std::time::Instant;
use std::vec::IntoIter;

/// So many in one way, then as many in the other: what disturbs one disturbs the other.
const TURN: usize = 20;

/// Messages that are sent through the adapter, between two ranks of this process, from memory that is in no cache.
pub(super) struct Loans<'a> {
    adapter: &'a Adapter,
    trial: LoanTrial,
    order: Cycle<IntoIter<usize>>,
}

impl<'a> Loans<'a> {
    /// Connects them, for messages of at most so many bytes.
    pub(super) fn new(adapter: &'a Adapter, bytes_max: usize) -> Result<Self, MemoryError> {
        let stride = bytes_max.next_multiple_of(PAGE);
        let count = (COLD_BYTES / stride) as u32;
        let trial = LoanTrial::new(&adapter.device, count, stride).map_err(silent(adapter))?;
        Ok(Self { adapter, trial, order: scattered(count as usize).into_iter().cycle() })
    }

    /// By how much less time a message takes that is lent to the adapter than one that is copied first, in us. Less than
    /// none where the adapter takes longer to gather what lies in two places, or to say that it has read it.
    pub(super) fn saved(&mut self, bytes: usize, budget: Budget) -> Result<Summary, MemoryError> {
        let Self { adapter, trial, order } = self;
        let mut turn = |lent| {
            let began = Instant::now();
            for message in order.by_ref().take(TURN) {
                trial.send(message as u32, bytes, lent)?;
            }
            Ok(us_since(began) / TURN as f64)
        };
        repeated(budget, || Ok(turn(false)? - turn(true)?)).map_err(silent(adapter))
    }
}

fn silent(adapter: &Adapter) -> impl Fn(VerbsError) -> MemoryError {
    |why| MemoryError::Silent { adapter: adapter.name().to_owned(), why }
}
