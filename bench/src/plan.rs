//! Plans: the measurements, and how long each takes.

use crate::benchmark::SIZE_MAX;
use crate::{Benchmark, Case};
use std::time::{Duration, Instant};
use thiserror::Error;

/// The most batches of one measurement: their times are kept.
pub const REPETITIONS_MAX: u32 = 100_000;

/// One benchmark at one size and, where it has some, one number of connections or one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What.
    pub benchmark: Benchmark,
    /// Bytes of a message; 0 where there are none.
    pub size: u64,
    /// Partners of rank 0; none where the benchmark is between other ranks.
    pub connections: Option<u32>,
    /// Which rank begins; none where the benchmark is not an overlap.
    pub case: Option<Case>,
}

/// How much is measured in a [`Step`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Seconds of batches. Warming up comes before, and at least five batches are measured.
    pub seconds: f64,
    /// So many batches, instead of a time.
    pub repetitions: Option<u32>,
}

impl Budget {
    /// A median of fewer batches says little.
    const BATCHES_MIN: usize = 5;

    /// When the time is over that begins now.
    pub(crate) fn until(self) -> Instant {
        Instant::now() + Duration::try_from_secs_f64(self.seconds).unwrap_or_default()
    }

    /// Whether so many batches are not enough.
    pub(crate) fn wants_more(self, done: usize, until: Instant) -> bool {
        let more = match self.repetitions {
            Some(repetitions) => done < repetitions as usize,
            None => done < Self::BATCHES_MIN || Instant::now() < until,
        };
        more && done < REPETITIONS_MAX as usize
    }
}

impl Default for Budget {
    /// As long as the measurements of other libraries are by default (`cargo xtask bench peers`).
    fn default() -> Self {
        Self { seconds: 0.2, repetitions: None }
    }
}

/// The measurements of a job. Every rank has the same plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) budget: Budget,
}

/// Why a plan is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Nobody to send to.
    #[error("{ranks} rank has no peer to send to: start at least 2 (-n 2)")]
    Alone {
        /// How many there are.
        ranks: u32,
    },
    /// More ranks than a benchmark is for.
    #[error(
        "{} is between 2 ranks, and there are {ranks}: start 2 (-n 2), or measure multi_latency, multi_bandwidth, \
         multi_pair, allreduce or barrier",
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
        // One pair is not many, and neither is one connection.
        let fits = |benchmark: &Benchmark| match benchmark {
            Benchmark::MultiPair | Benchmark::MultiLatency | Benchmark::MultiBandwidth => ranks > 2,
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
            let variants: Vec<(Option<u32>, Option<Case>)> = match benchmark {
                Benchmark::Overlap => Case::ALL.map(|case| (None, Some(case))).into(),
                _ if benchmark.has_connections() => {
                    connections(ranks).into_iter().map(|k| (Some(k), None)).collect()
                }
                _ => vec![(None, None)],
            };
            let step = move |size, (connections, case)| Step { benchmark, size, connections, case };
            variants.into_iter().flat_map(move |variant| sizes.iter().map(move |size| step(*size, variant)))
        });
        Ok(Self { steps: steps.collect(), budget })
    }

    /// The measurements, in their order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

/// How many partners rank 0 has in turn: the powers of two, then all.
fn connections(ranks: u32) -> Vec<u32> {
    let all = ranks - 1;
    let powers = (0..u32::BITS).map(|bit| 1 << bit).take_while(|count| *count < all);
    powers.chain([all]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Benchmark::{Allreduce, Bandwidth, Barrier, Latency, MultiBandwidth, MultiLatency, MultiPair};

    fn names(plan: &Plan) -> Vec<Benchmark> {
        let mut names: Vec<Benchmark> = plan.steps().iter().map(|step| step.benchmark).collect();
        names.dedup();
        names
    }

    #[test]
    fn two_ranks_measure_everything_but_what_is_of_many() {
        let plan = Plan::new(2, &[], &[], Budget::default()).expect("it is right");
        let many = [MultiPair, MultiLatency, MultiBandwidth];
        assert_eq!(names(&plan).len(), Benchmark::ALL.len() - many.len());
        assert!(!names(&plan).iter().any(|name| many.contains(name)));
    }

    #[test]
    fn connections_double_until_rank_0_has_all() {
        let numbers = |ranks| {
            let plan = Plan::new(ranks, &[MultiLatency], &[8], Budget::default()).expect("it is right");
            plan.steps().iter().map(|step| step.connections.unwrap_or(0)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(2), [1]);
        assert_eq!(numbers(3), [1, 2]);
        assert_eq!(numbers(5), [1, 2, 4]);
        assert_eq!(numbers(8), [1, 2, 4, 7]);
        assert_eq!(numbers(u32::MAX).len(), 33);
    }

    #[test]
    fn more_ranks_measure_what_is_for_more() {
        let plan = Plan::new(5, &[], &[], Budget::default()).expect("it is right");
        assert_eq!(names(&plan), [MultiLatency, MultiBandwidth, MultiPair, Allreduce, Barrier]);
        let error = Plan::new(4, &[Latency], &[], Budget::default());
        assert_eq!(error, Err(PlanError::TwoRanks { benchmark: Latency, ranks: 4 }));
    }

    #[test]
    fn sizes_are_for_all_that_have_some() {
        let plan = Plan::new(2, &[Barrier, Bandwidth], &[8, 64], Budget::default()).expect("it is right");
        let step = |benchmark, size| Step { benchmark, size, connections: None, case: None };
        assert_eq!(plan.steps(), [step(Bandwidth, 8), step(Bandwidth, 64), step(Barrier, 0)]);
    }

    #[test]
    fn an_overlap_is_measured_in_every_case_at_every_size() {
        let plan = Plan::new(2, &[Benchmark::Overlap], &[], Budget::default()).expect("it is right");
        let of = |case| {
            let steps = plan.steps().iter().filter(move |step| step.case == Some(case));
            steps.map(|step| step.size >> 10).collect::<Vec<_>>()
        };
        assert_eq!(Case::ALL.map(of), [[64, 256, 1024, 4096]; 4]);
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
