//! The parts of a domain that operations of every endpoint touch.

use super::cntr::Cntr;
use super::cq::Cq;
use super::mr::Mrs;
use super::table::Table;

/// The parts that operations of every endpoint touch.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) cqs: Table<Cq>,
    pub(crate) cntrs: Table<Cntr>,
    pub(crate) mrs: Mrs,
}
