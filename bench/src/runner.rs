//! A plan, carried out.

use crate::batches::Batches;
use crate::error::Error;
use crate::overlap;
use crate::statistics::Summary;
use crate::{Benchmark, Budget, Measured, Plan, Step};
use carrousel::Communicator;
use std::time::Duration;

/// The computation grows by so many percent of the transfer's time.
const STEP_PERCENT: u32 = 10;
/// The most such steps. With a computation of 1.1 of the transfer's time the whole is too long for certain,
/// so a search ends before.
const STEPS_MAX: u32 = 12;
/// Hidden is what makes the whole at most so many times as long.
const LONGER: f64 = 1.1;

/// The progress of a plan, as rank 0 is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress<'a> {
    /// A measurement begins.
    Begins(Step),
    /// A measurement has its results: of an overlap, one for each call.
    Done(&'a [Measured]),
}

/// Carries out a plan: called by every rank of `world`, with the same plan. Rank 0 gets the results, and
/// `watch` is told of them between the measurements, never meanwhile; other ranks get nothing.
///
/// # Errors
/// When the library fails, or there is too little memory. The other ranks wait for this one then: end the
/// process, and its launcher tells them.
pub fn measure(
    world: &Communicator,
    plan: &Plan,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Measured>, Error> {
    let control = world.duplicate()?;
    let first = world.rank() == 0;
    let mut results = Vec::new();
    for step in plan.steps() {
        if first {
            watch(Progress::Begins(*step));
        }
        let mut batches = Batches::new(world, &control, *step)?;
        let measured = match step.case {
            Some(case) => overlap::measure(&mut batches, *step, case, plan.budget)?,
            None => vec![Measured::new(*step, value(&mut batches, *step, plan.budget)?)],
        };
        if first {
            watch(Progress::Done(&measured));
            results.extend(measured);
        }
    }
    Ok(results)
}

/// One measurement, in its own unit.
fn value(batches: &mut Batches<'_>, step: Step, budget: Budget) -> Result<Summary, Error> {
    let Step { benchmark, size, connections, .. } = step;
    match benchmark {
        Benchmark::HiddenSend | Benchmark::HiddenReceive => hidden_share(batches, budget),
        Benchmark::MessageRate => {
            let messages = benchmark.messages() as f64;
            Ok(batches.of_long_enough(budget)?.map(|seconds| messages / seconds.max(f64::MIN_POSITIVE)))
        }
        Benchmark::Bandwidth | Benchmark::Bibandwidth | Benchmark::MultiPair | Benchmark::MultiBandwidth => {
            let pairs = if benchmark == Benchmark::MultiPair { batches.pairs() } else { 1 };
            let ways = connections.unwrap_or(pairs);
            let bytes = benchmark.messages() as f64 * f64::from(ways) * size as f64;
            let rate = |seconds: f64| bytes / seconds.max(f64::MIN_POSITIVE) / 1e6;
            Ok(batches.of_long_enough(budget)?.map(rate))
        }
        Benchmark::ReuseRatio => {
            batches.calls_of_a_batch()?;
            batches.of_new_by_used(budget)
        }
        Benchmark::Reversed => {
            let messages = benchmark.messages() as f64;
            Ok(batches.of_long_enough(budget)?.map(|seconds| seconds / messages * 1e6))
        }
        Benchmark::Latency
        | Benchmark::Stream
        | Benchmark::Sendrecv
        | Benchmark::ReuseNone
        | Benchmark::ReuseHalf
        | Benchmark::ReuseFull
        | Benchmark::MultiLatency
        | Benchmark::Overlap
        | Benchmark::Allreduce
        | Benchmark::Barrier => Ok(batches.of_long_enough(budget)?.map(|seconds| seconds * 1e6)),
    }
}

/// The share of a transfer that can be hidden behind a computation, in percent (speculative-rendezvous 3.4): the
/// computation c grows by tenths of the transfer's time l0 until the whole, l, takes a tenth longer than l0;
/// with the last c and l before that, (c - (l - l0)) / l0.
fn hidden_share(batches: &mut Batches<'_>, budget: Budget) -> Result<Summary, Error> {
    let budget = Budget { seconds: budget.seconds / f64::from(STEPS_MAX), ..budget };
    let calls = batches.calls_of_a_batch()?;
    batches.part.compute = Duration::ZERO;
    let alone = batches.of_calls(calls, budget)?;
    let l0 = alone.median.max(1e-9);
    let (mut c, mut l, mut count) = (0.0, l0, alone.count);
    for step in 1..=STEPS_MAX {
        // Only rank 0 computes, and only it knows l0.
        let longer_c = f64::from(step * STEP_PERCENT) / 100.0 * l0;
        batches.part.compute = Duration::try_from_secs_f64(longer_c).unwrap_or_default();
        let longer = batches.of_calls(calls, budget)?;
        count = count.min(longer.count);
        if batches.agree(u32::from(longer.median < LONGER * l0))? == 0 {
            break;
        }
        (c, l) = (longer_c, longer.median);
    }
    let percent = 100.0 * (c - (l - l0)) / l0;
    Ok(Summary { median: percent, lower: percent, upper: percent, count })
}
