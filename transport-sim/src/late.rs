//! A wait for a rank that is late, as a report has it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a rank waits in an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// An origin has closed its access epoch, and a target has not posted.
    LatePost,
    /// A target waits for the end of its exposure epoch, has all data, and an origin has not closed its access epoch.
    LateComplete,
    /// A rank has closed its fence epoch while data was still on its way to it.
    EarlyFence,
    /// A rank has closed its fence epoch, and another has not.
    WaitAtFence,
    /// An origin waits for a lock that another holds.
    LateUnlock,
}

/// `Late Post`.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LatePost => "Late Post",
            Self::LateComplete => "Late Complete",
            Self::EarlyFence => "Early Fence",
            Self::WaitAtFence => "Wait at Fence",
            Self::LateUnlock => "Late Unlock",
        })
    }
}

/// A stretch of time in which a statement waits, and for whom. Times are virtual microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Late {
    /// Why.
    pub pattern: Pattern,
    /// The rank that waits.
    pub rank: u32,
    /// The line of the statement that waits.
    pub line: u32,
    /// The rank that is waited for.
    pub by: u32,
    /// From when.
    pub from_us: f64,
    /// Until when.
    pub to_us: f64,
}
