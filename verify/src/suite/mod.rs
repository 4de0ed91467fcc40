//! The built-in suites: every program up to a bound, all executions of registered memory, connections, locks and
//! epochs within bounds, and ablations with each rule off in turn.

use crate::explore::Limits;
use crate::report::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of [`SuiteReport`] as JSON: raised when a field is removed, or changes its name, type or meaning, or
/// gets a value that the schema did not name; not when a field is added.
pub const VERSION: u32 = 1;

/// The report on a run of a suite. Reports of the shards of one suite can be merged.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuiteReport {
    /// [`VERSION`].
    pub version: u32,
    /// `rendezvous`, `provider`, `progress`, `memory`, `connection`, `lock`, `epoch` or `ablations`.
    pub suite: String,
    /// As far as the longest search that was done, not the short one.
    pub full: bool,
    /// Which part of the suite: `(i, n)` with 1 <= i <= n.
    pub shard: (u32, u32),
    /// The run was interrupted before all lines were there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Time it took.
    pub seconds: f64,
    /// One line of the table each.
    pub rows: Vec<SuiteRow>,
}

/// One line of a suite's table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuiteRow {
    /// The family of programs, or the rule that is off.
    pub name: String,
    /// The rule set.
    pub protocol: String,
    /// Of an ablation: where its race was published.
    pub source: Option<String>,
    /// Programs that were explored; those equal up to renaming count once.
    pub programs: u64,
    /// Programs that they stand for.
    pub programs_in_all: u64,
    /// Distinct states.
    pub states: u64,
    /// States generated; a state that is reached in several ways counts several times.
    pub transitions: u64,
    /// Time it took.
    pub seconds: f64,
    /// Proven, for a family; violated is what an ablation must show.
    pub verdict: Verdict,
    /// What the exploration met.
    pub reached: BTreeMap<String, u64>,
    /// What it had to meet.
    pub must_reach: Vec<String>,
    /// A violation: its program, its steps and its chart.
    pub counterexample: Option<String>,
}

mod ablations;
mod bounded;
mod connection;
mod epoch;
mod families;
mod lock;
mod memory;
mod progress;
mod provider;
mod rendezvous;
mod space;

pub use ablations::{ABLATIONS, Ablation, Search, Subject, ablations};
pub use connection::connection;
pub use epoch::epoch;
pub use lock::lock;
pub use memory::memory;
pub use progress::progress;
pub use provider::provider;
pub use rendezvous::rendezvous;

/// Called before each line of the table: its name, its position from 0, and the number of lines.
pub type Began<'a> = dyn Fn(&str, usize, usize) + Sync + 'a;

/// How to run a suite.
#[derive(Clone, Copy)]
pub struct SuiteSettings<'a> {
    /// As far as the longest search that was done.
    pub full: bool,
    /// Which part: `(i, n)` with 1 <= i <= n. Every n-th program, or ablation, is in it.
    pub shard: (u32, u32),
    /// Bounds of each search.
    pub limits: Limits<'a>,
    /// Leave out orders that make no difference.
    pub reduce: bool,
    /// Called before each line of the table.
    pub began: Option<&'a Began<'a>>,
}

impl Default for SuiteSettings<'_> {
    fn default() -> Self {
        Self { full: false, shard: (1, 1), limits: Limits::default(), reduce: true, began: None }
    }
}

impl SuiteSettings<'_> {
    fn is_mine(&self, index: usize) -> bool {
        let (part, parts) = self.shard;
        index as u64 % u64::from(parts.max(1)) == u64::from(part.saturating_sub(1))
    }
}

/// Why reports cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// There is no report.
    #[error("there is no report to merge")]
    Nothing,
    /// They are of different suites, or divided differently.
    #[error("the reports are not parts of one run: `{first}` and `{other}`")]
    Different {
        /// The first report's suite and parts.
        first: String,
        /// Another's.
        other: String,
    },
    /// A report is of a run that was interrupted.
    #[error("part {part} was interrupted before its end: run it again")]
    Interrupted {
        /// Which part.
        part: u32,
    },
    /// A part is there twice, or not at all.
    #[error("part {part} of {parts} is there {times} times")]
    Parts {
        /// Which part.
        part: u32,
        /// Of how many.
        parts: u32,
        /// How often.
        times: usize,
    },
}

/// One report from those of all the shards of a suite.
///
/// # Errors
/// When they are not all the shards of one suite.
pub fn merge(reports: Vec<SuiteReport>) -> Result<SuiteReport, MergeError> {
    if let Some(report) = reports.iter().find(|report| report.interrupted) {
        return Err(MergeError::Interrupted { part: report.shard.0 });
    }
    let mut reports = reports.into_iter();
    let mut whole = reports.next().ok_or(MergeError::Nothing)?;
    let mut parts = vec![whole.shard.0];
    let name = |report: &SuiteReport| {
        let SuiteReport { suite, full, shard, .. } = report;
        format!("{suite}{}, {} parts", if *full { " (full)" } else { "" }, shard.1)
    };
    for report in reports {
        if name(&report) != name(&whole) {
            return Err(MergeError::Different { first: name(&whole), other: name(&report) });
        }
        parts.push(report.shard.0);
        whole.seconds += report.seconds;
        for row in report.rows {
            match whole.rows.iter_mut().find(|own| own.name == row.name && own.protocol == row.protocol) {
                Some(own) => own.add(row),
                None => whole.rows.push(row),
            }
        }
    }
    let of = whole.shard.1;
    for part in 1..=of {
        let times = parts.iter().filter(|given| **given == part).count();
        if times != 1 {
            return Err(MergeError::Parts { part, parts: of, times });
        }
    }
    whole.shard = (1, 1);
    Ok(whole)
}

impl SuiteRow {
    fn add(&mut self, other: Self) {
        self.programs += other.programs;
        // Each shard reports the count of all shards.
        self.programs_in_all = self.programs_in_all.max(other.programs_in_all);
        self.states += other.states;
        self.transitions += other.transitions;
        self.seconds += other.seconds;
        // A violation that one shard has found outweighs an inconclusive end of another.
        if self.verdict == Verdict::Proven || other.verdict == Verdict::Violated {
            self.verdict = other.verdict;
        }
        for (what, times) in other.reached {
            *self.reached.entry(what).or_default() += times;
        }
        self.must_reach.extend(other.must_reach.into_iter().filter(|what| !self.reached.contains_key(what)));
        self.counterexample = self.counterexample.take().or(other.counterexample);
    }

    /// Whether the line is as it must be: a family is proven and has met all situations, an ablation is violated.
    pub fn is_as_expected(&self) -> bool {
        match self.source {
            Some(_) => self.verdict == Verdict::Violated,
            None => self.verdict == Verdict::Proven && self.not_reached().is_empty(),
        }
    }

    /// The situations that the exploration should have met and did not.
    pub fn not_reached(&self) -> Vec<&str> {
        let unmet = |what: &&String| self.reached.get(*what).is_none_or(|times| *times == 0);
        self.must_reach.iter().filter(unmet).map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: u32, verdict: Verdict) -> SuiteReport {
        let row = SuiteRow {
            name: "ring".to_owned(),
            protocol: "mirror".to_owned(),
            source: None,
            programs: 1,
            programs_in_all: 2,
            states: 3,
            transitions: 4,
            seconds: 0.5,
            verdict,
            reached: BTreeMap::new(),
            must_reach: Vec::new(),
            counterexample: (verdict == Verdict::Violated).then(|| "it hangs".to_owned()),
        };
        let suite = "rendezvous".to_owned();
        let (full, interrupted, shard) = (false, false, (number, 2));
        SuiteReport { version: VERSION, suite, full, shard, interrupted, seconds: 0.5, rows: vec![row] }
    }

    #[test]
    fn what_one_shard_has_found_another_one_does_not_take_back() {
        use Verdict::{Inconclusive, Proven, Violated};
        let verdicts = [Proven, Violated, Inconclusive];
        for (one, other) in verdicts.iter().flat_map(|one| verdicts.map(|other| (*one, other))) {
            let whole = merge(vec![part(1, one), part(2, other)]).expect("they are the parts of one run");
            let worse = [Violated, Inconclusive, Proven].into_iter().find(|it| [one, other].contains(it));
            let [row] = &whole.rows[..] else { panic!("it is one line") };
            assert_eq!((Some(row.verdict), row.states), (worse, 6), "{one:?}, {other:?}");
            assert_eq!(row.counterexample.is_some(), row.verdict == Violated);
        }
    }
}
