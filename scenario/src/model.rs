//! Checked scenarios: the types that the engine, the simulator and the checker run.
//!
//! Everything is a number here. Expressions are evaluated, `repeat` is unrolled, names are resolved. A program in a
//! [`Scenario`] breaks no rule of the language.

use std::sync::Arc;

use crate::checks::Check;
use crate::ids::{CommunicatorId, RequestId, WindowId};
use crate::op::Op;

/// A checked scenario: its ranks, what they share, and the program of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The title, if the file has a `scenario "..."` line.
    pub title: Option<String>,
    /// The name of the file in messages.
    pub file: String,
    /// The number of ranks; they are numbered from 0.
    pub ranks: u32,
    /// The node of each rank, by rank. Nodes are numbered from 0 without gaps.
    pub nodes: Vec<u32>,
    /// The windows, by [`WindowId`].
    pub windows: Vec<Window>,
    /// The communicators, by [`CommunicatorId`]; that of all ranks is the first.
    pub communicators: Vec<Communicator>,
    /// The engine options that the file sets, in file order, each at most once.
    pub options: Vec<OptionSetting>,
    /// The checks that the file expects to be violated, in file order, each at most once.
    pub expects: Vec<Expect>,
    /// The program of each rank, by rank. Ranks with the same blocks share one allocation, if no expression in these
    /// uses `me`.
    pub programs: Vec<Arc<Program>>,
    /// The text of the file; [`Step::line`] counts its lines.
    pub source: Arc<str>,
}

impl Scenario {
    /// The window behind `id`.
    ///
    /// # Panics
    ///
    /// If `id` belongs to another scenario.
    pub fn window(&self, id: WindowId) -> &Window {
        &self.windows[id.0 as usize]
    }

    /// The communicator behind `id`.
    ///
    /// # Panics
    ///
    /// If `id` belongs to another scenario.
    pub fn communicator(&self, id: CommunicatorId) -> &Communicator {
        &self.communicators[id.0 as usize]
    }

    /// The program of `rank`.
    ///
    /// # Panics
    ///
    /// If the rank does not exist.
    pub fn program(&self, rank: u32) -> &Program {
        &self.programs[rank as usize]
    }

    /// The line `line` (from 1) of the source, without its end; empty beyond the last one.
    pub fn source_line(&self, line: u32) -> &str {
        let index = (line as usize).saturating_sub(1);
        self.source.lines().nth(index).unwrap_or("").trim()
    }
}

/// The program of one rank, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Program {
    /// The statements, `repeat` unrolled.
    pub steps: Vec<Step>,
    /// The names of the requests, receives and probes, by [`RequestId`], in the order of their first binding.
    ///
    /// A name that is bound twice is one `RequestId`: it stands for the variable, not for its value at some time.
    pub requests: Vec<Arc<str>>,
    /// The named local buffers, by [`BufferId`](crate::BufferId).
    pub buffers: Vec<Buffer>,
}

/// One statement of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The line of the file that has it, from 1.
    pub line: u32,
    /// Its label; unique among the statements of a rank, but every round of a `repeat` has it.
    pub label: Option<Arc<str>>,
    /// The name that is bound to its request, or to the message that it receives or finds. Never set where
    /// [`Verb::binds`](crate::verb::Verb::binds) is false.
    pub bind: Option<RequestId>,
    /// The communicator in which it sends, receives, or is a collective: the one behind `on`, or that of all ranks.
    pub on: CommunicatorId,
    /// Its operation.
    pub op: Op,
}

/// A named local buffer of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// Its name.
    pub name: Arc<str>,
    /// The bytes of its largest use in the program; 0 if the program itself alone reads or writes it. Uses whose size
    /// is known only when the program runs do not count.
    pub size: u64,
}

/// A window: memory that every rank exposes under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its name.
    pub name: String,
    /// Its bytes, at each rank.
    pub size: u64,
    /// The line that declares it, from 1.
    pub line: u32,
}

/// Ranks that send messages to each other under numbers of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Communicator {
    /// The name that its members have for it; others may have another communicator under this name. Empty for that of
    /// all ranks.
    pub name: Arc<str>,
    /// The line that declares it, from 1; 0 for that of all ranks.
    pub line: u32,
    /// The communicator that was split.
    pub parent: CommunicatorId,
    /// Its members, as ranks of the job, by their numbers in it.
    pub members: Arc<[u32]>,
}

/// `expect CHECK violated`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    /// The check that has to be violated.
    pub check: Check,
    /// The line, from 1.
    pub line: u32,
}

/// `option NAME VALUE` or `option WINDOW.FLAG on|off`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionSetting {
    /// The window that a flag belongs to; `None` for an option of the engine.
    pub window: Option<WindowId>,
    /// The name of the option or flag, as the [`Vocabulary`](crate::Vocabulary) has it.
    pub name: String,
    /// The value that it is set to.
    pub value: OptionValue,
    /// The line, from 1.
    pub line: u32,
}

/// The value of an option, of the kind that the [`Vocabulary`](crate::Vocabulary) asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// Bytes.
    Size(u64),
    /// Nanoseconds.
    TimeNs(u64),
    /// A plain number, possibly negative.
    Integer(i64),
    /// `on` or `off`.
    OnOff(bool),
    /// One of the words of a choice.
    Word(String),
}
