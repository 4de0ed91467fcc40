//! Overlap: whether a rank computed or waited while its requests were open.
//!
//! All of it follows from the times of the statements, in virtual time as in real time.

use carrousel_transport_sim::{Late, LineTotal, Report, Statement};
use serde::Serialize;
use std::collections::BTreeMap;

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
        let Report { scenario, network, makespan_us, statements, late, .. } = report;
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
        let computing = Busy::of(of_rank, Statement::computes);
        let waiting = Busy::of(of_rank, Statement::waits);
        let overlap = |statement: &Statement| {
            let (from, to) = (statement.end_us, statement.complete_us?);
            statement.starts_request().then(|| Overlap {
                computed_us: computing.between(of_rank, from, to),
                waited_us: waiting.between(of_rank, from, to),
            })
        };
        of_rank.iter().map(overlap).collect::<Vec<_>>()
    };
    statements.chunk_by(|one, next| one.rank == next.rank).flat_map(of_rank).collect()
}

/// The totals of statements by file, line and operation. A simulation adds them up by itself.
pub(crate) fn totals(statements: &[Statement]) -> Vec<LineTotal> {
    let mut lines: BTreeMap<(Option<&str>, u32, &str), LineTotal> = BTreeMap::new();
    for (statement, overlap) in statements.iter().zip(overlaps(statements)) {
        let Statement { file, line, op, begin_us, end_us, complete_us, .. } = statement;
        let total = lines.entry((file.as_deref(), *line, op)).or_insert_with(|| LineTotal {
            file: file.clone(),
            line: *line,
            op: op.clone(),
            ..LineTotal::default()
        });
        let in_call = end_us - begin_us;
        total.times += 1;
        total.in_call_us += in_call;
        total.longest_us = total.longest_us.max(in_call);
        total.to_complete_us += complete_us.unwrap_or(*end_us) - begin_us;
        if let Some(Overlap { computed_us, waited_us }) = overlap {
            total.requests += 1;
            total.computed_us += computed_us;
            total.waited_us += waited_us;
        }
    }
    lines.into_values().collect()
}

/// How long statements of some kinds have taken, before each statement of a rank.
struct Busy {
    is_of_kind: fn(&Statement) -> bool,
    before: Vec<f64>,
}

impl Busy {
    fn of(statements: &[Statement], is_of_kind: fn(&Statement) -> bool) -> Self {
        let mut sum = 0.0;
        let before = statements.iter().map(|statement| {
            let before = sum;
            if is_of_kind(statement) {
                sum += statement.end_us - statement.begin_us;
            }
            before
        });
        Self { is_of_kind, before: before.collect() }
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
        let statement = &statements[at];
        let Statement { begin_us, end_us, .. } = statement;
        let partly = if (self.is_of_kind)(statement) { time.min(*end_us) - begin_us } else { 0.0 };
        self.before[at] + partly
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_transport_sim::{Config, Network, Progress, simulate};

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

    /// A simulation adds up as it goes; here everything is known.
    #[test]
    fn totals_of_statements_are_those_that_the_simulation_has_added_up() {
        let text = "ranks 2\nwindow w 8MiB\nrank 0\n  repeat 3\n    r = irecv from 1 tag 0 size 1MiB\n    compute 300us\n    \
                    s = isend to 1 tag 1 size 64\n    wait r s\n    start w to [1]\n    put w to 1 size 1MiB\n    \
                    e = icomplete w\n    compute 100us\n    wait e\n  end\nrank 1\n  repeat 3\n    compute 10us\n    \
                    s = isend to 0 tag 0 size 1MiB\n    r = irecv from 0 tag 1 size 64\n    compute 700us\n    wait s\n    \
                    post w from [0]\n    wait_epoch w\n    wait r\n  end\n";
        let scenario = carrousel_scenario::load("totals.scn", text.as_bytes()).expect("it is right");
        for progress in [Progress::None, Progress::Thread] {
            let config = Config { progress, ..Config::new(Network::named("qdr").expect("it is there")) };
            let report = simulate(&scenario, &config).expect("it ends");
            let expected = totals(&report.statements);
            assert_eq!(report.lines.len(), expected.len());
            for (found, expected) in report.lines.iter().zip(&expected) {
                let exact = |it: &LineTotal| (it.file.clone(), it.line, it.op.clone(), it.times, it.requests);
                assert_eq!(exact(found), exact(expected));
                let sums = |it: &LineTotal| {
                    [it.in_call_us, it.longest_us, it.to_complete_us, it.computed_us, it.waited_us]
                };
                for (found, expected) in sums(found).into_iter().zip(sums(expected)) {
                    assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
                }
            }
        }
    }

    #[test]
    fn a_request_that_is_never_complete_has_no_overlap() {
        let statements =
            [statement(0, "isend", 0.0, 1.0, None), statement(0, "compute", 1.0, 2.0, Some(2.0))];
        assert_eq!(of(&statements), [None, None]);
        assert_eq!(of(&[statement(0, "isend", 0.0, 1.0, Some(1.0))]), [Some((0.0, 0.0))]);
    }
}
