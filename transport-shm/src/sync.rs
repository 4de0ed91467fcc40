//! The atomics: the standard library's, or, under `--cfg loom`, those of the model checker; and the sound orders.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

/// The memory orders that the algorithms need: those of [`crate::ring::RingOrders`],
/// [`crate::announce::AnnounceOrders`], [`crate::chunk_queue::ChunkOrders`] and [`crate::doorbell::DoorbellOrders`].
#[derive(Clone, Copy, Debug)]
pub enum Sound {}
