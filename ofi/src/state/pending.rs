//! One-sided operations that have not ended, at the process that has started them.

use super::calls::Counted;
use super::pieces::Pieces;
use crate::fi::Errno;
use carrousel_rank::{Handle, RankId};
use std::collections::HashMap;

/// What an operation reports when it ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) context: usize,
    pub(super) flags: u64,
    pub(super) reports: bool,
    pub(super) counted: Counted,
}

/// An operation that has not ended.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) report: Report,
    pub(super) target: RankId,
    /// Where its result goes.
    pub(super) result: Option<Pieces>,
    /// The request of the data that comes or goes apart, until it has ended.
    pub(super) data: Option<Handle>,
    /// Whether the answer is here.
    pub(super) answered: bool,
    pub(super) error: Option<Errno>,
}

/// The one-sided operations of an endpoint.
#[derive(Debug, Default)]
pub(super) struct Rma {
    pub(super) pending: HashMap<u64, Pending>,
    pub(super) numbers: u64,
    /// A packet that is put together.
    pub(super) scratch: Vec<u8>,
    /// Whether a peer was lost. A receive from any source fails then, as its message could have been that peer's: packets of
    /// the others are looked for instead.
    pub(super) has_lost: bool,
}
