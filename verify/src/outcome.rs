//! The outcome of exploring a state machine within some bounds.

use crate::explore::Stopped;

/// What an exploration found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Distinct states.
    pub states: u64,
    /// States generated; a state that is reached in several ways counts several times.
    pub generated: u64,
    /// Time it took.
    pub seconds: f64,
    /// How often each situation was met, by its name in tables.
    pub reached: Vec<(&'static str, u64)>,
    /// The limit at which the exploration has ended, if it has not explored all states.
    pub stopped: Option<Stopped>,
    /// The first broken promise, with the steps that lead to it. They are a shortest path if one thread has explored.
    pub broken: Option<String>,
}
