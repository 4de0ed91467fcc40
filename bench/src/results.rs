//! The results of a plan.

use crate::case::Overlapped;
use crate::statistics::Summary;
use crate::{Benchmark, Budget, Step};
use serde::Serialize;

/// A result in short: what `cargo xtask bench peers` reads, of us as of others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Record {
    /// The measurement.
    pub bench: Benchmark,
    /// Bytes of a message; 0 where there are none.
    pub size: u64,
    /// Partners of rank 0, where there are several of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// The subject of the value, if it is one of an overlap.
    #[serde(flatten)]
    pub overlapped: Option<Overlapped>,
    /// The median over the batches.
    pub value: f64,
    /// The unit of `value`, see [`Benchmark::unit`].
    pub unit: &'static str,
    /// Batches that were measured.
    pub repetitions: usize,
}

/// A result with its spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The result.
    #[serde(flatten)]
    pub record: Record,
    /// Between which values half of the batches were, in the unit of the value; none of a share that can be hidden,
    /// which is the end of a search.
    pub quartiles: Option<[f64; 2]>,
}

impl Measured {
    pub(crate) fn new(step: Step, summary: Summary) -> Self {
        let Step { benchmark, size, connections, .. } = step;
        let record = Record {
            bench: benchmark,
            size,
            connections,
            overlapped: None,
            value: summary.median,
            unit: benchmark.unit(),
            repetitions: summary.count,
        };
        let spreads = !benchmark.is_hidden_share();
        Self { record, quartiles: spreads.then_some([summary.lower, summary.upper]) }
    }

    /// The result of a call of an overlap.
    pub(crate) fn of_call(step: Step, summary: Summary, overlapped: Overlapped) -> Self {
        let mut measured = Self::new(step, summary);
        measured.record.overlapped = Some(overlapped);
        measured
    }
}

/// All results, and how they were come by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Results {
    /// Ranks of the job.
    pub ranks: u32,
    /// Cores that rank 0 was allowed to use, before it was pinned to one of them.
    pub cores: usize,
    /// Seconds that each measurement was allowed.
    pub seconds: f64,
    /// Batches that each measurement had to have; none where the time decided.
    pub repetitions: Option<u32>,
    /// In the order of measurement.
    pub results: Vec<Measured>,
}

impl Results {
    /// None yet.
    pub fn new(ranks: u32, cores: usize, budget: Budget) -> Self {
        let Budget { seconds, repetitions } = budget;
        Self { ranks, cores, seconds, repetitions, results: Vec::new() }
    }

    /// Those of one benchmark, by size.
    pub fn of(&self, benchmark: Benchmark) -> impl Iterator<Item = &Measured> {
        self.results.iter().filter(move |measured| measured.record.bench == benchmark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, CallKind, Case};

    #[test]
    fn a_record_is_the_object_that_others_print() {
        let summary = Summary { median: 0.25, lower: 0.2, upper: 0.5, count: 7 };
        let step = Step { benchmark: Benchmark::Latency, size: 8, connections: None, case: None };
        let measured = Measured::new(step, summary);
        let line = serde_json::to_string(&measured.record).expect("it is JSON");
        assert_eq!(line, r#"{"bench":"latency","size":8,"value":0.25,"unit":"us","repetitions":7}"#);
        let whole = serde_json::to_value(measured).expect("it is JSON");
        assert_eq!(whole["value"], 0.25);
        assert_eq!(whole["quartiles"], serde_json::json!([0.2, 0.5]));
        let step = Step { benchmark: Benchmark::MultiLatency, size: 8, connections: Some(3), case: None };
        let several = serde_json::to_value(Measured::new(step, summary)).expect("it is JSON");
        assert_eq!((&whole["connections"], &several["connections"]), (&serde_json::Value::Null, &3.into()));
        let call = Call { kind: CallKind::RecvWait, message: 1 };
        let overlapped = Overlapped { case: Case::SenderEarlyTwo, call, compute_us: 1000, out_of_order: 2 };
        let step = Step { benchmark: Benchmark::Overlap, case: Some(overlapped.case), ..step };
        let measured = Measured::of_call(Step { connections: None, ..step }, summary, overlapped);
        let line = serde_json::to_string(&measured.record).expect("it is JSON");
        let expected = r#"{"bench":"overlap","size":8,"case":"sender_early_two","call":"recv_wait2","compute_us":1000,"out_of_order":2,"value":0.25,"unit":"us","repetitions":7}"#;
        assert_eq!(line, expected);
    }
}
