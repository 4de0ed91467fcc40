//! Overlap: whether a rank computed or waited while its requests were open.
//!
//! All of it follows from the times of the statements, in virtual time as in real time.

use carrousel_transport_sim::{Late, Report, Statement};
use serde::Serialize;

/// The time of a rank between the return of the call that started a request and the request's completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Overlap {
    /// How long it computed, or read and wrote its own buffers, in microseconds.
    pub(crate) computed_us: f64,
    /// How long it was in calls that wait for requests, in microseconds.
    pub(crate) waited_us: f64,
}

/// The version of [`SimulationReport`], by the rule of `schema/README.md`.
const VERSION: u32 = 1;

/// A report as it is printed for programs.
#[derive(Debug, Serialize)]
pub(crate) struct SimulationReport<'a> {
    version: u32,
    file: &'a str,
    scenario: &'a str,
    network: &'a str,
    makespan_us: f64,
    statements: Vec<StatementReport<'a>>,
    /// None of a run without windows, and of a real one, which does not tell.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    late: &'a [Late],
}

#[derive(Debug, Serialize)]
struct StatementReport<'a> {
    #[serde(flatten)]
    statement: &'a Statement,
    #[serde(flatten)]
    overlap: Option<Overlap>,
}

impl<'a> SimulationReport<'a> {
    /// The report on `file`, a scenario or a program, as it was named.
    pub(crate) fn new(file: &'a str, report: &'a Report) -> Self {
        let Report { scenario, network, makespan_us, statements, late, timeline: _, statistics: _ } = report;
        let overlaps = overlaps(statements);
        let statements = statements
            .iter()
            .zip(overlaps)
            .map(|(statement, overlap)| StatementReport { statement, overlap });
        let statements = statements.collect();
        Self { version: VERSION, file, scenario, network, makespan_us: *makespan_us, statements, late }
    }
}

/// The overlap of each statement that starts a request which was complete at some time; none of all others. Statements
/// stand rank by rank, each rank's in the order of its program.
pub(crate) fn overlaps(statements: &[Statement]) -> Vec<Option<Overlap>> {
    let of_rank = |of_rank: &[Statement]| {
        let computing = Busy::of(of_rank, &["compute", "read", "write"]);
        let waiting = Busy::of(of_rank, &["wait"]);
        let overlap = |statement: &Statement| {
            let (from, to) = (statement.end_us, statement.complete_us?);
            starts_request(statement).then(|| Overlap {
                computed_us: computing.between(of_rank, from, to),
                waited_us: waiting.between(of_rank, from, to),
            })
        };
        of_rank.iter().map(overlap).collect::<Vec<_>>()
    };
    statements.chunk_by(|one, next| one.rank == next.rank).flat_map(of_rank).collect()
}

fn starts_request(statement: &Statement) -> bool {
    matches!(
        &*statement.op,
        "isend"
            | "issend"
            | "irecv"
            | "ibarrier"
            | "icomplete"
            | "iwait_epoch"
            | "ifence"
            | "iunlock"
            | "iunlock_all"
    ) || statement.op.starts_with("iflush")
}

/// How long statements of some kinds have taken, before each statement of a rank.
struct Busy<'a> {
    ops: &'a [&'a str],
    before: Vec<f64>,
}

impl<'a> Busy<'a> {
    fn of(statements: &[Statement], ops: &'a [&'a str]) -> Self {
        let mut sum = 0.0;
        let before = statements.iter().map(|statement| {
            let before = sum;
            if ops.contains(&&*statement.op) {
                sum += statement.end_us - statement.begin_us;
            }
            before
        });
        Self { ops, before: before.collect() }
    }

    fn between(&self, statements: &[Statement], from: f64, to: f64) -> f64 {
        let us = self.until(statements, to) - self.until(statements, from);
        // Whole nanoseconds: no more is known.
        (us.max(0.0) * 1e3).round() / 1e3
    }

    /// Until that time, since the start.
    fn until(&self, statements: &[Statement], time: f64) -> f64 {
        let begun = statements.partition_point(|statement| statement.begin_us <= time);
        let Some(at) = begun.checked_sub(1) else { return 0.0 };
        let Statement { op, begin_us, end_us, .. } = &statements[at];
        let partly = if self.ops.contains(&&**op) { time.min(*end_us) - begin_us } else { 0.0 };
        self.before[at] + partly
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(
        rank: u32,
        op: &'static str,
        begin_us: f64,
        end_us: f64,
        complete_us: Option<f64>,
    ) -> Statement {
        Statement { rank, file: None, line: 1, label: None, op: op.into(), begin_us, end_us, complete_us }
    }

    fn of(statements: &[Statement]) -> Vec<Option<(f64, f64)>> {
        let pair = |Overlap { computed_us, waited_us }: Overlap| (computed_us, waited_us);
        overlaps(statements).into_iter().map(|overlap| overlap.map(pair)).collect()
    }

    #[test]
    fn a_request_is_overlapped_by_what_its_rank_computes_until_it_is_complete() {
        let statements = [
            statement(0, "compute", 0.0, 5.0, Some(5.0)),
            statement(0, "irecv", 5.0, 6.0, Some(31.0)),
            statement(0, "compute", 6.0, 16.0, Some(16.0)),
            statement(0, "read", 16.0, 17.0, Some(17.0)),
            statement(0, "send", 17.0, 20.0, Some(20.0)),
            statement(0, "wait", 20.0, 31.0, Some(31.0)),
            statement(0, "compute", 31.0, 99.0, Some(99.0)),
            // The times of another rank are its own.
            statement(1, "isend", 0.0, 2.0, Some(12.0)),
            statement(1, "compute", 2.0, 102.0, Some(102.0)),
            statement(1, "wait", 102.0, 102.5, Some(102.5)),
        ];
        let mut expected = vec![None; statements.len()];
        expected[1] = Some((11.0, 11.0));
        // It was complete in the middle of the computation.
        expected[7] = Some((10.0, 0.0));
        assert_eq!(of(&statements), expected);
    }

    #[test]
    fn a_request_that_is_never_complete_has_no_overlap() {
        let statements =
            [statement(0, "isend", 0.0, 1.0, None), statement(0, "compute", 1.0, 2.0, Some(2.0))];
        assert_eq!(of(&statements), [None, None]);
        assert_eq!(of(&[statement(0, "isend", 0.0, 1.0, Some(1.0))]), [Some((0.0, 0.0))]);
    }
}
