//! What the peers of a transport share: buffers for packets, and room for completions; and what a completion sets free.

use crate::attempts::Results;
use crate::ibv::BounceBuffers;
use carrousel_transport::{Arrival, Handle};
use std::collections::VecDeque;

/// A work request that was posted, and is not known to be complete. Small: every peer has room for as many as may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Posted {
    /// Its completion has no effect.
    Nothing,
    /// The bounce buffer is free again when it is complete.
    Slot(u32),
    /// This request's write is complete with it.
    Write(Handle),
    /// This request's read is.
    Read(Handle),
    /// The atomic whose value this slot is for is.
    Atomic(u32),
    /// The bounce buffer is free again, and the zero-copy send of that name is done.
    Zcopy(u32, u32),
}

/// What all peers share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Memory for packets that are too large to be copied into a work request.
    pub(crate) bounce_buffers: BounceBuffers,
    pub(crate) free: Vec<u32>,
    /// Work requests that were posted, each of which may have a completion.
    pub(crate) outstanding: u32,
    /// The capacity of the completion queue, in completions.
    pub(crate) room: u32,
    /// Bytes of the largest work request.
    pub(crate) message: u64,
    /// What atomics find, once there was one.
    pub(crate) results: Option<Box<Results>>,
}

impl Shared {
    /// Whether so many more may be posted.
    #[inline]
    pub(crate) fn fits(&self, requests: u32) -> bool {
        self.outstanding + requests <= self.room
    }

    /// A work request is complete, or its completion is not waited for any more.
    #[inline]
    pub(crate) fn over(
        &mut self,
        posted: Posted,
        done: &mut VecDeque<Arrival>,
        zcopy_done: &mut VecDeque<u32>,
    ) {
        self.outstanding -= 1;
        match posted {
            Posted::Nothing => {}
            Posted::Slot(slot) => self.free.push(slot),
            Posted::Write(request) => done.push_back(Arrival::Written(request)),
            Posted::Read(request) => done.push_back(Arrival::Read(request)),
            Posted::Atomic(slot) => {
                if let Some(results) = &mut self.results {
                    results.over(slot, done);
                }
            }
            Posted::Zcopy(slot, name) => {
                self.free.push(slot);
                zcopy_done.push_back(name);
            }
        }
    }

    /// Whether completions are wanted, so that what is scarce becomes free again. Half of everything is only
    /// used by those that have one: so a peer that waits for some gets it.
    pub(crate) fn is_scarce(&self) -> bool {
        self.outstanding * 2 >= self.room || self.free.len() * 2 <= self.bounce_buffers.count() as usize
    }
}
