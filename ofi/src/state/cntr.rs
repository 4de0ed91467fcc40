//! Counters (fi_cntr(3)): how many operations have ended, and how many of them with an error.

/// A counter.
#[derive(Debug, Default)]
pub(crate) struct Cntr {
    pub(crate) value: u64,
    pub(crate) errors: u64,
    /// How many objects are bound to it.
    pub(crate) users: u32,
}
