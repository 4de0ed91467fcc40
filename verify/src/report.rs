//! What a person or a script is told.

use crate::explore::Stopped;
use carrousel_scenario::Check;
use serde::{Deserialize, Serialize};

/// The verdict of a check, or of a whole scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds in every execution.
    Proven,
    /// It does not hold in some execution.
    Violated,
    /// A bound was hit before all executions were explored.
    Inconclusive,
    /// There is nothing that it speaks of.
    NotApplicable,
}

impl Verdict {
    /// As in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Violated => "violated",
            Self::Inconclusive => "inconclusive",
            Self::NotApplicable => "not-applicable",
        }
    }
}

/// The report on one scenario. Serialises as the object that `--format json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Its title, or its file.
    pub scenario: String,
    /// The worst verdict of its checks, notes aside.
    pub verdict: Verdict,
    /// All was explored.
    pub exhaustive: bool,
    /// Somebody has ended it before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Why not all was explored.
    #[serde(skip)]
    pub stopped: Option<Stopped>,
    /// Distinct states, and those of the searches for shorter counterexamples.
    pub states: u64,
    /// Steps between them.
    pub transitions: u64,
    /// Length of the longest shortest path.
    pub depth: u64,
    /// Time it took.
    pub seconds: f64,
    /// All nine checks.
    pub checks: Vec<CheckReport>,
}

/// The report on one check.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// Its name in files and reports.
    pub name: &'static str,
    /// Its verdict.
    pub verdict: Verdict,
    /// A shortest execution that violates it.
    pub counterexample: Option<Counterexample>,
    /// Which check it is.
    #[serde(skip)]
    pub check: Check,
}

/// An execution that violates a check.
#[derive(Clone, Debug, Serialize)]
pub struct Counterexample {
    /// What goes wrong, in a sentence or two.
    pub summary: String,
    /// How it comes about.
    pub steps: Vec<StepReport>,
    /// The messages between the ranks, to be drawn.
    #[serde(skip)]
    pub chart: crate::chart::Chart,
}

/// One step of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepReport {
    /// The rank that takes it; none for a step of the network.
    pub rank: Option<u32>,
    /// The line of the statement; none for a step of the network.
    pub line: Option<u32>,
    /// What happens.
    pub what: String,
}
