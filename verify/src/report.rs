//! The report on a scenario, for people and for scripts.

use crate::chart::Chart;
use crate::explain::wording::place_of;
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
pub const VERSION: u32 = 2;

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
    /// In some execution all ranks end their programs.
    #[serde(skip)]
    pub ends: bool,
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
    /// The same for who is told only the steps that matter: whether there is a way with fewer steps in all is no matter
    /// then.
    #[serde(skip)]
    pub sentences: String,
    /// How it comes about: all steps. Those that the violation depends on are marked.
    pub steps: Vec<StepReport>,
    /// The ranks that wait forever.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stuck: Vec<StuckReport>,
    /// The steps that the violation depends on, as they are told; some of them as one.
    #[serde(skip)]
    pub told: Vec<ToldReport>,
    /// What is not told, in a line or a few.
    #[serde(skip)]
    pub folded: Vec<String>,
    /// What is told, to be drawn.
    #[serde(skip)]
    pub chart: Chart,
    /// All steps, to be drawn.
    #[serde(skip)]
    pub full_chart: Chart,
}

impl Counterexample {
    /// Tells all steps.
    pub fn tell_all(&mut self) {
        self.told = self.steps.iter().map(ToldReport::of).collect();
        self.folded.clear();
        self.sentences.clone_from(&self.summary);
        self.chart.clone_from(&self.full_chart);
        self.steps.iter_mut().for_each(|step| step.matters = true);
    }
}

/// A step, or several, as told to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldReport {
    /// `rank 0`, `ranks 0 to 3`, or `network`.
    pub who: String,
    /// The line of the statement, if it is one.
    pub line: Option<u32>,
    /// Which time the rank does so, from 1; none if it does so once.
    pub time: Option<u32>,
    /// What happens.
    pub what: String,
    /// Of the step that violates, or after which a rank waits forever: what goes wrong.
    pub wrong: Option<String>,
}

impl ToldReport {
    /// `line 8`, or `line 8, 2nd time`; empty if it has none.
    pub fn place(&self) -> String {
        self.line.map_or_else(String::new, |line| place_of(line, self.time))
    }

    /// One step by itself.
    pub fn of(step: &StepReport) -> Self {
        let who = step.rank.map_or_else(|| "network".to_owned(), |rank| format!("rank {rank}"));
        Self { who, line: step.line, time: step.time, what: step.what.clone(), wrong: step.wrong.clone() }
    }
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
    /// Which time the rank does so, from 1; none if it does so once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<u32>,
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
    /// The violation depends on it.
    pub matters: bool,
    /// Of the step that violates, or after which a rank waits forever: what goes wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
}

/// A rank that waits forever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StuckReport {
    /// Which rank.
    pub rank: u32,
    /// The line of the statement at which it waits; none if there is no file.
    pub line: Option<u32>,
    /// That statement.
    pub what: String,
    /// It only waits for ranks that wait, too.
    pub is_victim: bool,
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
