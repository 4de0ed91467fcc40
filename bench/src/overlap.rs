//! Overlap in the pattern of plain programs: a barrier; irecv at one rank and isend at the other; both compute; both
//! wait. What is measured is each of these calls: where data moves while both compute, the waits take next to nothing.
//!
//! Between the call that starts a request and the wait for it, neither rank enters the library: no token, no probe, no
//! test, which would let the library make progress that a plain program does not give it.

use crate::batches::Batches;
use crate::error::Error;
use crate::exchange::Exchange;
use crate::statistics::Summary;
use crate::{Budget, Case, Measured, Overlapped, Step};
use std::time::Duration;

/// Both ranks compute for so many times what the transfer alone takes, within these bounds.
const TRANSFERS_COMPUTED: f64 = 4.0;
const COMPUTE_MIN: Duration = Duration::from_millis(1);
const COMPUTE_MAX: Duration = Duration::from_millis(500);
/// Exchanges without computation, which warm up and say what the transfer takes.
const ALONE: u32 = 5;
/// Measures a case at a size: a result for each of its calls. At rank 0; what the other gets says nothing.
pub(crate) fn measure(
    batches: &mut Batches<'_>,
    step: Step,
    case: Case,
    budget: Budget,
) -> Result<Vec<Measured>, Error> {
    // The first one connects.
    batches.exchange(case)?;
    let alone = batches.exchanges(case, Budget { repetitions: Some(ALONE), ..budget })?;
    // The early rank waits for the late one as well, so this is rather too long.
    let longer = |exchange: &Exchange| exchange.sender.seconds().max(exchange.receiver.seconds());
    let mut transfers: Vec<f64> = alone.iter().map(longer).collect();
    let transfer = Summary::of(&mut transfers).unwrap_or(Summary::NONE).median;
    let compute = Duration::try_from_secs_f64(TRANSFERS_COMPUTED * transfer).unwrap_or(COMPUTE_MAX);
    let compute_us = batches.agree(compute.clamp(COMPUTE_MIN, COMPUTE_MAX).as_micros() as u32)?.into();
    batches.part.compute = Duration::from_micros(compute_us);
    let exchanges = batches.exchanges(case, budget)?;
    let out_of_order = exchanges.iter().filter(|exchange| !exchange.is_in_order(case)).count();
    let measured = case.calls().map(|call| {
        let mut times: Vec<f64> = exchanges.iter().map(|exchange| exchange.of(call) * 1e6).collect();
        let overlapped = Overlapped { case, call, compute_us, out_of_order };
        Measured::of_call(step, Summary::of(&mut times).unwrap_or(Summary::NONE), overlapped)
    });
    Ok(measured.collect())
}
