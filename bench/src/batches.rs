//! Batches of calls: how many, how long, and what a call takes.
//!
//! Rank 0 decides, and tells the others between batches how to go on.

use crate::benchmark::Clock;
use crate::calls::RankInMeasurement;
use crate::clock::monotonic;
use crate::error::Error;
use crate::exchange::{Exchange, Took};
use crate::statistics::Summary;
use crate::{Budget, Case, Step};
use carrousel::Communicator;
use std::time::{Duration, Instant};

/// A batch is at least this long, so that the clock does not show in it; and not much longer, so that an
/// interruption spoils one of many batches.
const BATCH_SECONDS_MIN: f64 = 0.5e-3;
const CALLS_MAX: u32 = 1 << 24;
/// Tags of what ranks tell each other between batches.
const DECISION: u32 = 0;
const SECONDS: u32 = 1;
const START: u32 = 2;
/// The time from the message that names the start of an exchange to that start: for that message, and the barrier.
const SOON: Duration = Duration::from_micros(100);

/// One step on one rank.
#[derive(Debug)]
pub(crate) struct Batches<'a> {
    world: &'a Communicator,
    /// For what is said between batches: none of the measured messages can be taken for it.
    control: &'a Communicator,
    step: Step,
    pub(crate) part: RankInMeasurement<'a>,
    stamp: u8,
    /// Whether the ranks share a node, and with it a clock.
    share_clock: bool,
}

/// A batch that is over.
struct Batch {
    /// The seconds that count; at rank 0.
    seconds: f64,
    /// How long it took this rank, with the barrier before.
    wall: f64,
}

impl<'a> Batches<'a> {
    pub(crate) fn new(world: &'a Communicator, control: &'a Communicator, step: Step) -> Result<Self, Error> {
        let part = RankInMeasurement::new(world, step).map_err(|bytes| no_memory(step, bytes))?;
        let share_clock = step.case.is_some() && control.split_by_node()?.size() == control.size();
        Ok(Self { world, control, step, part, stamp: 0, share_clock })
    }

    /// The duration of a call, in seconds, at rank 0; empty at the others.
    pub(crate) fn of_calls(&mut self, calls: u32, budget: Budget) -> Result<Summary, Error> {
        let mut times =
            self.repeated(budget, |batches| Ok(batches.one(calls)?.seconds / f64::from(calls)))?;
        Ok(Summary::of(&mut times).unwrap_or(Summary::NONE))
    }

    /// The durations of the calls of an overlap, exchange by exchange. Rank 0 knows those of both ranks, the other its
    /// own.
    pub(crate) fn exchanges(&mut self, case: Case, budget: Budget) -> Result<Vec<Exchange>, Error> {
        self.repeated(budget, |batches| batches.exchange(case))
    }

    /// One exchange of an overlap.
    pub(crate) fn exchange(&mut self, case: Case) -> Result<Exchange, Error> {
        let start = self.common_start()?;
        let took = self.checked(|part| part.exchange(case, start))?;
        let mut other = took.to_array();
        if self.control.rank() > 0 {
            self.control.send(&other, 0, SECONDS)?;
        } else {
            self.control.recv(&mut other, 1, SECONDS)?;
        }
        // Rank 0 sends.
        Ok(Exchange { sender: took, receiver: Took::from_array(other) })
    }

    /// When the early rank of an overlap begins, by the clock of the node; none where the ranks do not share one.
    fn common_start(&self) -> Result<Option<Duration>, Error> {
        if !self.share_clock {
            return Ok(None);
        }
        let mut start = [(monotonic() + SOON).as_nanos() as u64];
        if self.control.rank() > 0 {
            self.control.recv(&mut start, 0, START)?;
        } else {
            self.control.send(&start, 1, START)?;
        }
        Ok(Some(Duration::from_nanos(start[0])))
    }

    /// The time of a call in memory that is new to the library by that in memory that is not, in turns.
    pub(crate) fn of_new_by_used(&mut self, budget: Budget) -> Result<Summary, Error> {
        let mut ratios = self.repeated(budget, |batches| {
            let [new, used] = [0, 100].map(|percent| {
                batches.part.reuse(percent);
                batches.one(1).map(|batch| batch.seconds)
            });
            Ok(new? / used?.max(f64::MIN_POSITIVE))
        })?;
        Ok(Summary::of(&mut ratios).unwrap_or(Summary::NONE))
    }

    /// A value again and again, as often as the budget says.
    fn repeated<T>(
        &mut self,
        budget: Budget,
        mut once: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut values = Vec::new();
        let until = budget.until();
        loop {
            let more = budget.wants_more(values.len(), until);
            if self.agree(u32::from(more))? == 0 {
                return Ok(values);
            }
            values.push(once(self)?);
        }
    }

    /// The same, with as many calls in a batch as make it long enough.
    pub(crate) fn of_long_enough(&mut self, budget: Budget) -> Result<Summary, Error> {
        let mut calls = self.calls_of_a_batch()?;
        loop {
            let summary = self.of_calls(calls, budget)?;
            // An interruption while the batch was sized leaves it too short: its ends would count, and a
            // single call is quicker than one of many. The median knows better.
            let short = summary.median * f64::from(calls) < BATCH_SECONDS_MIN / 8.0 && calls < CALLS_MAX;
            let better = (BATCH_SECONDS_MIN / summary.median.max(1e-12)).min(f64::from(CALLS_MAX)) as u32 + 1;
            let again = short && !self.step.benchmark.is_single();
            match self.agree(if again { better } else { 0 })? {
                0 => return Ok(summary),
                better => calls = better,
            }
        }
    }

    /// Doubles the calls of a batch until it is long enough; this is the warming up as well.
    pub(crate) fn calls_of_a_batch(&mut self) -> Result<u32, Error> {
        // The first one connects; it says nothing about the next.
        self.one(1)?;
        let mut calls = 1;
        loop {
            let wall = self.one(calls)?.wall;
            let single = self.step.benchmark.is_single();
            let enough = single || wall >= BATCH_SECONDS_MIN || calls >= CALLS_MAX;
            if self.agree(u32::from(enough))? != 0 {
                return Ok(calls);
            }
            calls *= 2;
        }
    }

    /// One batch.
    fn one(&mut self, calls: u32) -> Result<Batch, Error> {
        let (benchmark, began) = (self.step.benchmark, Instant::now());
        let seconds = self.checked(|part| part.run(benchmark, calls))?;
        let wall = began.elapsed().as_secs_f64();
        Ok(Batch { seconds: self.collect(seconds)?, wall })
    }

    /// Messages of all ranks behind a barrier, of which those that have come are looked at.
    fn checked<T>(
        &mut self,
        run: impl FnOnce(&mut RankInMeasurement<'a>) -> Result<T, carrousel::Error>,
    ) -> Result<T, Error> {
        let Step { benchmark, size, .. } = self.step;
        // Never what fresh memory holds, which is 0 or 255.
        self.stamp = self.stamp % 0x7f + 1;
        self.part.stamp(benchmark, self.stamp).map_err(|bytes| no_memory(self.step, bytes))?;
        self.world.barrier()?;
        let done = run(&mut self.part)?;
        if !self.part.has_come(benchmark, self.stamp) {
            return Err(Error::Corrupt { benchmark, size });
        }
        Ok(done)
    }

    /// The seconds of the rank, or of the slowest of the ranks, whose clock counts; at rank 0.
    fn collect(&self, seconds: f64) -> Result<f64, Error> {
        let (me, size) = (self.control.rank(), self.control.size());
        let (counting, mut slowest) = match self.step.benchmark.clock() {
            Clock::First => (0..0, seconds),
            Clock::Leaders => (2..size, seconds),
        };
        // A rank that only follows says 0, as does one without a peer.
        for rank in counting.step_by(2) {
            if me == rank {
                self.control.send(&[seconds], 0, SECONDS)?;
            } else if me == 0 {
                let mut told = [0.0f64];
                self.control.recv(&mut told, rank, SECONDS)?;
                slowest = slowest.max(told[0]);
            }
        }
        Ok(slowest)
    }

    /// How many pairs of ranks there are.
    pub(crate) fn pairs(&self) -> u32 {
        self.world.size() / 2
    }

    /// The decision of rank 0.
    pub(crate) fn agree(&self, value: u32) -> Result<u32, Error> {
        let mut decided = [value];
        if self.control.rank() > 0 {
            self.control.recv(&mut decided, 0, DECISION)?;
        } else {
            for rank in 1..self.control.size() {
                self.control.send(&decided, rank, DECISION)?;
            }
        }
        Ok(decided[0])
    }
}

fn no_memory(step: Step, bytes: usize) -> Error {
    Error::Memory { benchmark: step.benchmark, bytes }
}
