//! The results of all jobs: counts, and each failure with the command that repeats it.

use super::run::{JobEnd, RankReport};
use crate::table;
use serde::Serialize;
use std::collections::BTreeMap;

/// Lines of what a job has complained about that are shown.
const TOLD: usize = 40;

/// The result of a job.
#[derive(Clone, Debug, Default)]
pub(super) struct JobOutcome {
    pub(super) kind: String,
    pub(super) ranks: u32,
    /// Messages and bytes that all ranks have received.
    pub(super) received: RankReport,
    /// Traces that were checked, and those of which something was changed.
    pub(super) checks: u64,
    pub(super) corrupted: u64,
    pub(super) wrong: Vec<String>,
    /// Its command line, and the one that does all to it that was done.
    pub(super) command: String,
    pub(super) repeat: String,
    /// Its standard error.
    pub(super) stderr: String,
}

impl JobOutcome {
    pub(super) fn of(ended: &JobEnd, kind: &str, ranks: u32, command: String) -> Self {
        let mut received = RankReport::default();
        for report in &ended.reports {
            received.messages += report.messages;
            received.bytes += report.bytes;
            received.collectives += report.collectives;
        }
        let (wrong, stderr) = (ended.wrong.clone(), ended.stderr.clone());
        Self { kind: kind.to_owned(), ranks, received, wrong, command, stderr, ..Self::default() }
    }
}

/// A job that has failed.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Failure {
    kind: String,
    wrong: Vec<String>,
    command: String,
    repeat: String,
    stderr: String,
}

/// Everything so far.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Tally {
    pub(super) seed: u64,
    pub(super) seconds: u64,
    pub(super) jobs: u64,
    /// By what was done to them.
    kinds: BTreeMap<String, u64>,
    ranks: u64,
    messages: u64,
    bytes: u64,
    collectives: u64,
    traces_checked: u64,
    changed_traces_checked: u64,
    /// Tests that were skipped here, and why.
    pub(super) skipped: Vec<String>,
    pub(super) failures: Vec<Failure>,
}

impl Tally {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    pub(super) fn add(&mut self, outcome: JobOutcome) {
        self.jobs += 1;
        *self.kinds.entry(outcome.kind.clone()).or_default() += 1;
        self.ranks += u64::from(outcome.ranks);
        self.messages += outcome.received.messages;
        self.bytes += outcome.received.bytes;
        self.collectives += outcome.received.collectives;
        self.traces_checked += outcome.checks;
        self.changed_traces_checked += outcome.corrupted;
        if outcome.wrong.is_empty() {
            return;
        }
        let JobOutcome { kind, wrong, command, repeat, stderr, .. } = outcome;
        let lines: Vec<&str> = stderr.lines().take(TOLD).collect();
        self.failures.push(Failure { kind, wrong, command, repeat, stderr: lines.join("\n") });
    }

    /// For a person.
    pub(super) fn table(&self) -> String {
        let mut table = table::table();
        let mut row = |name: &str, count: u64| {
            table.add_row([name.to_owned(), count.to_string()]);
        };
        row("jobs", self.jobs);
        for (kind, jobs) in &self.kinds {
            row(&format!("  {kind}"), *jobs);
        }
        row("ranks", self.ranks);
        row("messages", self.messages);
        row("bytes", self.bytes);
        row("collectives, by rank", self.collectives);
        row("traces checked", self.traces_checked);
        row("changed traces checked", self.changed_traces_checked);
        row("failures", self.failures.len() as u64);
        let mut text = table::render(table, 1..2);
        for failure in &self.failures {
            text += &format!("\n{failure}");
        }
        for why in &self.skipped {
            text += &format!("skipped: {why}\n");
        }
        text
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "failed: {}: {}", self.kind, self.wrong.join("; "))?;
        writeln!(f, "  repeat: {}\n  job:    {}", self.repeat, self.command)?;
        self.stderr.lines().try_for_each(|line| writeln!(f, "  | {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_with_its_command() {
        let mut tally = Tally::default();
        tally.add(JobOutcome { kind: "none".into(), ranks: 2, ..JobOutcome::default() });
        let wrong = vec!["no end".to_owned()];
        let (command, repeat) = ("carrousel run".to_owned(), "cargo xtask soak --job 3".to_owned());
        tally.add(JobOutcome {
            kind: "rank killed".into(),
            ranks: 3,
            wrong,
            command,
            repeat,
            ..JobOutcome::default()
        });
        let text = tally.table();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            lines[..4],
            [vec!["jobs", "2"], vec!["none", "1"], vec!["rank", "killed", "1"], vec!["ranks", "5"]]
        );
        assert!(text.contains("failed: rank killed: no end\n  repeat: cargo xtask soak --job 3"), "{text}");
    }
}
