//! What came of exploring a machine within some bounds.

use crate::explore::Stopped;

/// What an exploration found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Distinct states.
    pub states: u64,
    /// States generated, the same one several times.
    pub generated: u64,
    /// Time it took.
    pub seconds: f64,
    /// How often each thing was met, by its name in tables.
    pub reached: Vec<(&'static str, u64)>,
    /// Why not all was explored.
    pub stopped: Option<Stopped>,
    /// The first broken promise, and how it comes about. A shortest way, if one thread has explored.
    pub broken: Option<String>,
}
