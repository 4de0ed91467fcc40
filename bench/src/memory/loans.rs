//! What an eager message costs that is sent from where it is.

use super::{Adapter, MemoryError, copies, repeated, us_since};
use crate::Budget;
use crate::statistics::Summary;
use carrousel_transport_verbs::{LoanTrial, VerbsError};
use std::time::Instant;

/// Bytes of the messages: more than go in a work request, few enough that the copy is the least part.
const SIZE: usize = 512;
/// So many in one way, then as many in the other: what disturbs one disturbs the other.
const TURN: usize = 20;

/// By how much longer such a message takes than one that is copied, without what the copy takes; in us. Between two
/// ranks of this process, through the adapter.
pub(super) fn extra(adapter: &Adapter, budget: Budget) -> Result<Summary, MemoryError> {
    let silent = |why: VerbsError| MemoryError::Silent { adapter: adapter.name().to_owned(), why };
    let copy = copies::warm(SIZE, budget)?.median;
    let mut trial = LoanTrial::new(&adapter.device, SIZE).map_err(silent)?;
    let mut turn = |lent| {
        let began = Instant::now();
        (0..TURN).try_for_each(|_| trial.send(lent))?;
        Ok(us_since(began) / TURN as f64)
    };
    let differences = repeated(budget, || Ok(turn(true)? - turn(false)?)).map_err(silent)?;
    // Nothing takes less than no time.
    Ok(differences.map(|difference| (difference + copy).max(0.0)))
}
