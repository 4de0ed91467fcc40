//! What a run reports.

use crate::timeline::Timeline;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a run reports. Serialized, it is the object that `sim --format json` prints; the timeline and
/// the statistics are beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The scenario's title, or its file if it has none.
    pub scenario: String,
    /// The parameter set.
    pub network: String,
    /// When the last rank had finished its program, in virtual microseconds.
    pub makespan_us: f64,
    /// What the ranks did, rank by rank, each in the order of its program.
    pub statements: Vec<Statement>,
    /// What a timeline shows; empty when it was not asked for.
    #[serde(skip)]
    pub timeline: Timeline,
    /// Counts.
    #[serde(skip)]
    pub statistics: Statistics,
}

/// One executed statement. Times are virtual microseconds since the start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// The rank that executed it.
    pub rank: u32,
    /// The source file that it stands in, if it is not the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Arc<str>>,
    /// Its line in the file, from 1.
    pub line: u32,
    /// Its label.
    pub label: Option<Arc<str>>,
    /// Its keyword.
    pub op: Cow<'static, str>,
    /// When it was called.
    pub begin_us: f64,
    /// When the call returned.
    pub end_us: f64,
    /// When the library knew that what it started was complete; `None` when that never was.
    pub complete_us: Option<f64>,
}

/// Packets of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// How many.
    pub packets: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
}

/// Counts of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// What travelled, by the name that people give it.
    pub by_kind: BTreeMap<Cow<'static, str>, Count>,
    /// Bytes of messages.
    pub data_bytes: u64,
    /// Simulated events.
    pub events: u64,
}

impl Statistics {
    /// How many of this kind travelled.
    pub fn packets(&self, kind: &str) -> u64 {
        self.by_kind.get(kind).map_or(0, |count| count.packets)
    }

    /// RTRs that a message was written into: each is acknowledged by FIN or RTR-ACK.
    pub fn rtrs_used(&self) -> u64 {
        self.packets("FIN") + self.packets("RTR-ACK")
    }

    /// RTRs that nothing was written into: crossed, mispredicted, declined, or never answered.
    pub fn rtrs_unused(&self) -> u64 {
        self.packets("RTR").saturating_sub(self.rtrs_used())
    }
}

impl Report {
    /// The statements of `rank` with this label, in order.
    pub fn labelled(&self, rank: u32, label: &str) -> impl Iterator<Item = &Statement> {
        self.statements.iter().filter(move |s| s.rank == rank && s.label.as_deref() == Some(label))
    }
}
