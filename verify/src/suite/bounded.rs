//! Suites of models that explore all executions within some bounds.

use super::{SuiteReport, SuiteRow, SuiteSettings, VERSION};
use crate::bounds::Bounds;
use crate::outcome::Outcome;
use crate::report::Verdict;
use crate::rules::RuleSet;
use std::time::Instant;

/// One line of such a suite's table.
pub(super) struct BoundedFamily<B> {
    pub(super) name: String,
    pub(super) bounds: B,
    /// What its exploration has to meet.
    pub(super) must_reach: Vec<&'static str>,
}

/// Explores the families of a suite with every rule on.
pub(super) fn bounded<B: Bounds>(
    suite: &str,
    families: &[BoundedFamily<B>],
    settings: &SuiteSettings<'_>,
) -> SuiteReport {
    let began = Instant::now();
    let mine: Vec<&BoundedFamily<B>> = families
        .iter()
        .enumerate()
        .filter(|(index, _)| settings.is_mine(*index))
        .map(|(_, one)| one)
        .collect();
    let mut rows = Vec::with_capacity(mine.len());
    for (at, family) in mine.iter().enumerate() {
        if let Some(began) = settings.began {
            began(&family.name, at, mine.len());
        }
        let mut row = SuiteRow::new(family.name.clone(), B::SET);
        row.must_reach = family.must_reach.iter().map(|what| (*what).to_owned()).collect();
        row.explored(family.bounds.explore(&settings.limits));
        rows.push(row);
        if settings.limits.is_interrupted() {
            break;
        }
    }
    SuiteReport {
        version: VERSION,
        suite: suite.to_owned(),
        full: settings.full,
        shard: settings.shard,
        interrupted: settings.limits.is_interrupted(),
        seconds: began.elapsed().as_secs_f64(),
        rows,
    }
}

impl SuiteRow {
    /// A line without results.
    pub(super) fn new(name: String, set: RuleSet) -> Self {
        Self {
            name,
            protocol: set.name().to_owned(),
            source: None,
            programs: 0,
            programs_in_all: 0,
            states: 0,
            transitions: 0,
            seconds: 0.0,
            verdict: Verdict::Proven,
            reached: Default::default(),
            must_reach: Vec::new(),
            counterexample: None,
        }
    }

    /// Adds the outcome of an exploration. All executions within some bounds count as one program.
    pub(super) fn explored(&mut self, outcome: Outcome) {
        self.programs += 1;
        self.programs_in_all += 1;
        self.states += outcome.states;
        self.transitions += outcome.generated;
        self.seconds += outcome.seconds;
        for (what, times) in outcome.reached {
            *self.reached.entry(what.to_owned()).or_default() += times;
        }
        if let Some(broken) = outcome.broken {
            self.verdict = Verdict::Violated;
            self.counterexample = Some(broken);
        } else if outcome.stopped.is_some() {
            self.verdict = Verdict::Inconclusive;
        }
    }
}
