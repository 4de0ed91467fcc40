//! The report of a run.

use crate::late::Late;
use crate::timeline::Timeline;
use crate::totals::{LineTotal, computes, starts_request, waits};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The report of a run. Serialized, it is the object that `sim --format json` prints, without what is counted or added
/// up, and without the timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The scenario's title, or its file if it has none.
    pub scenario: String,
    /// The parameter set.
    pub network: String,
    /// The time at which the last rank had finished its program, in virtual microseconds.
    pub makespan_us: f64,
    /// The executed statements, rank by rank, each in the order of its program; none if they were more than were asked for.
    pub statements: Vec<Statement>,
    /// The executed statements in totals, by file, line and operation.
    #[serde(skip)]
    pub lines: Vec<LineTotal>,
    /// The waits for late ranks in epochs, rank by rank: the longest, as many as were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<Late>,
    /// How many such waits there were.
    #[serde(skip)]
    pub late_count: u64,
    /// The data of a timeline; empty if it was not asked for.
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
    /// The source file of the statement, if that is not the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Arc<str>>,
    /// Its line in the file, from 1.
    pub line: u32,
    /// Its label.
    pub label: Option<Arc<str>>,
    /// Its keyword.
    pub op: Cow<'static, str>,
    /// The time of the call.
    pub begin_us: f64,
    /// The time at which the call returned.
    pub end_us: f64,
    /// The time at which the library knew that the started request was complete; `None` if it never was.
    pub complete_us: Option<f64>,
}

impl Statement {
    /// Whether it starts a request that goes on after it has returned.
    pub fn starts_request(&self) -> bool {
        starts_request(&self.op)
    }

    /// Whether its rank computes, or reads and writes its own buffers.
    pub fn computes(&self) -> bool {
        computes(&self.op)
    }

    /// Whether it waits for requests.
    pub fn waits(&self) -> bool {
        waits(&self.op)
    }
}

/// Packets of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Their number.
    pub packets: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
}

/// Counts of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Counts of loads, by their names for people.
    pub by_kind: BTreeMap<Cow<'static, str>, Count>,
    /// Bytes of messages.
    pub data_bytes: u64,
    /// Simulated events.
    pub events: u64,
}

impl Statistics {
    /// The number of packets of this kind.
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
