//! How a search looks at a job.

use crate::weakest::Order;

/// The reductions of an exploration, and the variants of MPI and of the network that it explores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Leave out orders that make no difference, and forget past ones that no rank can observe any more.
    pub reduce: bool,
    /// The weakest MPI: a standard send may be buffered or wait for its receive, a collective may wait for ranks whose
    /// data it does not need, and the begin of an access epoch for its targets; flags of windows are hints.
    pub portable: bool,
    /// Connections keep order, as real ones do. Rule R1 says that the protocols need it; its ablation switches it
    /// off.
    pub ordered: bool,
    /// An order of the weakest MPI that is switched off: its ablation.
    pub without: Option<Order>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { reduce: true, portable: false, ordered: true, without: None }
    }
}
