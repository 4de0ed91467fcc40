//! The report on a scenario, for people and for scripts.

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
    /// The scenario has nothing that the check is about.
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

/// The version of [`Report`] as JSON: raised when a field is removed, or changes its name, type or meaning, or gets a
/// value that the schema did not name; not when a field is added.
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
    /// The search was interrupted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The limit at which the search has ended, if it has not explored all states.
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
    /// The violation in a sentence or two.
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
    /// The kind of step.
    pub kind: StepKind,
    /// The rank whose statement it is; none for a step of the library by itself, or of the network.
    pub rank: Option<u32>,
    /// The line of that statement; none if `rank` is none.
    pub line: Option<u32>,
    /// The rank at which it happens.
    pub at: u32,
    /// The other rank, if there is one: the sender of what arrives, or the peer that the statement names; of a
    /// statement that names none, the first rank to which it sends.
    pub peer: Option<u32>,
    /// The name of the packet that arrives, or that the statement sends first; `data` for data without a packet.
    pub packet: Option<&'static str>,
    /// The statement to which the arrival or the announcement belongs.
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
    /// A rank begins a statement. If the statement does not wait, it ends, too.
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
    /// A rank gets a lock, or gives it back (weakest MPI).
    Lock,
}

/// A statement of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatementReport {
    /// Whose.
    pub rank: u32,
    /// Its line; none if there is no file.
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
