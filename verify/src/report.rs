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

/// The version of [`Report`] as JSON: raised when a field goes, or changes its name, type or meaning, or gets a value
/// that the schema did not name; not when one is added.
pub const VERSION: u32 = 1;

/// The report on one scenario. Serialises as the object that `--format json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`VERSION`].
    pub version: u32,
    /// Its file, as it was named.
    pub file: String,
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
    /// The rank that takes it, and how.
    pub kind: StepKind,
    /// The rank whose statement it is; none for a step of the library by itself, or of the network.
    pub rank: Option<u32>,
    /// The line of that statement; none where `rank` is none.
    pub line: Option<u32>,
    /// The rank at which it happens.
    pub at: u32,
    /// The other rank: from which something arrives, or which a statement names; of one that names none, the first to
    /// which it sends something. None if there is no other.
    pub peer: Option<u32>,
    /// What arrives, or the first thing that a statement sends: a packet's name, or `data`.
    pub packet: Option<&'static str>,
    /// The statement that what arrives, or is announced, belongs to.
    pub about: Option<StatementReport>,
    /// All that is sent in this step.
    pub sends: Vec<SentReport>,
    /// What happens, in words.
    pub what: String,
}

/// Kinds of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// A rank begins a statement, or is over with it if it does not wait.
    Statement,
    /// A statement that waits returns.
    Return,
    /// The library announces a receive.
    Announcement,
    /// A packet arrives.
    Packet,
    /// Data arrives that its sender has written.
    Data,
    /// Data has been read.
    Read,
    /// An adapter reports to its own rank that a transfer is complete.
    Completion,
}

/// A statement of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatementReport {
    /// Whose.
    pub rank: u32,
    /// Its line; none where there is no file.
    pub line: Option<u32>,
}

/// Something that is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentReport {
    /// A packet's name, or `data`.
    pub packet: &'static str,
    /// To which rank.
    pub to: u32,
}
