//! The report of a replay.

use super::usage::{CallSite, MpiUsageError};
use carrousel_trace::HostRank;
use serde::Serialize;

/// How far a replay is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayProgress {
    /// Records that have been replayed.
    pub records: u64,
    /// Bytes that have been read.
    pub read: u64,
    /// Bytes of the trace.
    pub bytes: u64,
}

/// The outcome of a replay. Serialises as the object that `--format json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplayReport {
    /// Whether the model allows it.
    pub verdict: ReplayVerdict,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How many ranks the job had.
    pub ranks: u32,
    /// The ranks by name, if they are endpoints inside another MPI library.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointName>,
    /// Calls that the model allows, communicators that were defined included.
    pub calls: u64,
    /// Events that the model allows.
    pub events: u64,
    /// Answers that agree with the model: requests that were ended, and probes.
    pub answers: u64,
    /// Where reality left the model.
    pub departure: Option<Departure>,
    /// What could not be followed to its end.
    pub gaps: Vec<Gap>,
    /// What the program did that MPI forbids, whatever the model thinks of it.
    pub misuses: Vec<MpiUsageError>,
}

/// Which endpoint a rank of the report is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndpointName {
    /// The rank of the report.
    pub rank: u32,
    /// The file of its part; `None` if it has recorded nothing.
    pub part: Option<String>,
    /// Its address.
    pub address: String,
    /// The number of its process at its node.
    pub process: Option<u32>,
    /// What the launcher has called that process.
    pub host: Option<HostRank>,
}

/// Whether the model allows what a trace says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplayVerdict {
    /// All of it.
    Allowed,
    /// Not all of it.
    Departed,
    /// All that could be followed, but not the whole trace.
    Incomplete,
}

/// Where reality left the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Departure {
    /// At which rank.
    pub rank: u32,
    /// Which record of its part: its line, from 1.
    pub record: u64,
    /// Where the application made its last call.
    #[serde(flatten)]
    pub place: CallSite,
    /// What the record says.
    pub happened: String,
    /// What the model would have allowed instead.
    pub allowed: String,
}

/// What could not be followed to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// Of which rank.
    pub rank: u32,
    /// The last record that was replayed; 0 if there is none.
    pub record: u64,
    /// Why no further.
    pub why: Why,
}

/// Why a part could not be followed to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// There is no such part.
    Missing,
    /// It is cut short.
    Cut,
    /// It has reached its limit, and its rank went on.
    Limit,
    /// It goes on with a packet that this rank has sent behind the gap in its own part.
    Needs(u32),
}
