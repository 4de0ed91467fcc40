//! What is to be measured, and for how long.

use crate::Benchmark;
use crate::benchmark::SIZE_MAX;
use thiserror::Error;

/// The most batches of one measurement: their times are kept.
pub const REPETITIONS_MAX: u32 = 100_000;

/// One benchmark at one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What.
    pub benchmark: Benchmark,
    /// Bytes of a message; 0 where there are none.
    pub size: u64,
}

/// How much is measured in a [`Step`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Seconds of batches. Warming up comes before, and at least five batches are measured.
    pub seconds: f64,
    /// So many batches, instead of a time.
    pub repetitions: Option<u32>,
}

impl Default for Budget {
    /// As long as the measurements of other libraries are by default (`cargo xtask bench peers`).
    fn default() -> Self {
        Self { seconds: 0.2, repetitions: None }
    }
}

/// What is to be measured. Every rank has the same one.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) budget: Budget,
}

/// What cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Nobody to send to.
    #[error("{ranks} rank has nobody to send to: start at least 2 (-n 2)")]
    Alone {
        /// How many there are.
        ranks: u32,
    },
    /// More ranks than a benchmark is for.
    #[error(
        "{} is between 2 ranks, and there are {ranks}: start 2 (-n 2), or measure multi_pair, allreduce or barrier",
        benchmark.name()
    )]
    TwoRanks {
        /// Which.
        benchmark: Benchmark,
        /// How many there are.
        ranks: u32,
    },
    /// A size that is too large.
    #[error("a message of {size} bytes is too large to be measured: at most 16MiB ({SIZE_MAX})")]
    Size {
        /// In bytes.
        size: u64,
    },
    /// A time or a number of batches that makes no sense.
    #[error(
        "a measurement takes more than 0 and at most 3600 seconds, or 1 to {REPETITIONS_MAX} repetitions"
    )]
    Budget,
}

impl Plan {
    /// A plan for a job of `ranks`. No benchmarks: all that are for so many ranks. No sizes: those of
    /// each benchmark.
    ///
    /// # Errors
    /// When something cannot be measured.
    pub fn new(
        ranks: u32,
        benchmarks: &[Benchmark],
        sizes: &[u64],
        budget: Budget,
    ) -> Result<Self, PlanError> {
        if ranks < 2 {
            return Err(PlanError::Alone { ranks });
        }
        let seconds_fit = budget.seconds > 0.0 && budget.seconds <= 3600.0;
        if !seconds_fit || budget.repetitions.is_some_and(|count| count == 0 || count > REPETITIONS_MAX) {
            return Err(PlanError::Budget);
        }
        if let Some(size) = sizes.iter().find(|size| **size > SIZE_MAX) {
            return Err(PlanError::Size { size: *size });
        }
        // One pair is not many.
        let fits = |benchmark: &Benchmark| match benchmark {
            Benchmark::MultiPair => ranks > 2,
            _ => ranks == 2 || !benchmark.is_of_two(),
        };
        let chosen: Vec<Benchmark> = if benchmarks.is_empty() {
            Benchmark::ALL.into_iter().filter(fits).collect()
        } else {
            Benchmark::ALL.into_iter().filter(|benchmark| benchmarks.contains(benchmark)).collect()
        };
        if let Some(benchmark) = chosen.iter().find(|benchmark| ranks != 2 && benchmark.is_of_two()) {
            return Err(PlanError::TwoRanks { benchmark: *benchmark, ranks });
        }
        let steps = chosen.into_iter().flat_map(|benchmark| {
            let own = sizes.is_empty() || !benchmark.has_sizes();
            let sizes = if own { benchmark.own_sizes() } else { sizes };
            sizes.iter().map(move |size| Step { benchmark, size: *size })
        });
        Ok(Self { steps: steps.collect(), budget })
    }

    /// What is measured, in this order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Benchmark::{Allreduce, Bandwidth, Barrier, Latency, MultiPair};

    fn names(plan: &Plan) -> Vec<Benchmark> {
        let mut names: Vec<Benchmark> = plan.steps().iter().map(|step| step.benchmark).collect();
        names.dedup();
        names
    }

    #[test]
    fn two_ranks_measure_everything_but_many_pairs() {
        let plan = Plan::new(2, &[], &[], Budget::default()).expect("it is right");
        assert_eq!(names(&plan).len(), Benchmark::ALL.len() - 1);
        assert!(!names(&plan).contains(&MultiPair));
    }

    #[test]
    fn more_ranks_measure_what_is_for_more() {
        let plan = Plan::new(5, &[], &[], Budget::default()).expect("it is right");
        assert_eq!(names(&plan), [MultiPair, Allreduce, Barrier]);
        let error = Plan::new(4, &[Latency], &[], Budget::default());
        assert_eq!(error, Err(PlanError::TwoRanks { benchmark: Latency, ranks: 4 }));
    }

    #[test]
    fn sizes_are_for_all_that_have_some() {
        let plan = Plan::new(2, &[Barrier, Bandwidth], &[8, 64], Budget::default()).expect("it is right");
        let step = |benchmark, size| Step { benchmark, size };
        assert_eq!(plan.steps(), [step(Bandwidth, 8), step(Bandwidth, 64), step(Barrier, 0)]);
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let plan = |ranks, sizes: &[u64], seconds, repetitions| {
            Plan::new(ranks, &[], sizes, Budget { seconds, repetitions })
        };
        assert_eq!(plan(1, &[], 0.1, None), Err(PlanError::Alone { ranks: 1 }));
        assert_eq!(plan(2, &[1 << 30], 0.1, None), Err(PlanError::Size { size: 1 << 30 }));
        for (seconds, repetitions) in [(0.0, None), (f64::NAN, None), (1e9, None), (0.1, Some(0))] {
            assert_eq!(plan(2, &[], seconds, repetitions), Err(PlanError::Budget));
        }
    }
}
