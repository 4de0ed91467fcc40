//! Receives of messages without tags. A buffer may be for many messages (`FI_MULTI_RECV`): each gets what is left of it,
//! until that is less than the host wants.
//!
//! To the engine a buffer is a chain of receives. A receive that was posted later, and could get the same message, waits
//! here until the buffer is used up: the engine matches in the order in which it is given receives.

#![allow(unsafe_code, reason = "the host lends its buffers by pointer")]

use super::buffers::Buffer;
use super::calls::{Counted, Incoming, Operation, bytes_mut, refused};
use super::cq::{Completion, Failed};
use super::ep::Ep;
use super::ops::{Op, Role};
use super::shared::Shared;
use crate::fi::{self, Errno};
use carrousel_engine::BoxedError;
use carrousel_rank::{Failure, Source, Tag, TagSelector};

/// Each message in a buffer begins at a multiple of this, from where the buffer begins: hosts read headers in place.
const ALIGNMENT: usize = 16;

impl Ep {
    /// Starts a receive.
    ///
    /// # Safety
    /// As [`Ep::receive`].
    pub(super) unsafe fn receive_untagged(&mut self, receive: &Incoming, from: Source) -> Result<(), Errno> {
        let many = receive.flags & fi::MULTI_RECV != 0;
        let waits =
            self.untagged.buffers.iter().any(|earlier| earlier.is_for_many() && earlier.overlaps(from));
        if !many && !waits {
            // SAFETY: as the caller promises.
            return unsafe { self.post_any(receive, from) };
        }
        if many && receive.len < self.untagged.least_room {
            return Err(Errno::TOO_SMALL);
        }
        let number = self.untagged.numbers;
        self.untagged.numbers += 1;
        self.untagged.buffers.push_back(Buffer { number, receive: *receive, from, used: 0, posted: false });
        self.post_untagged()
    }

    /// Gives the engine the receives that wait for no buffer any more.
    fn post_untagged(&mut self) -> Result<(), Errno> {
        let mut at = 0;
        while let Some(buffer) = self.untagged.buffers.get(at) {
            let before = self.untagged.buffers.range(..at);
            let waits =
                before.into_iter().any(|earlier| earlier.is_for_many() && earlier.overlaps(buffer.from));
            if buffer.posted || waits {
                at += 1;
            } else if buffer.is_for_many() {
                self.post_rest(at)?;
                at += 1;
            } else {
                let (receive, from) = (buffer.receive, buffer.from);
                self.untagged.buffers.remove(at);
                // SAFETY: the buffer was lent until its completion, which has not been reported.
                unsafe { self.post_any(&receive, from) }?;
            }
        }
        Ok(())
    }

    /// Posts a receive for what is left of a buffer.
    fn post_rest(&mut self, at: usize) -> Result<(), Errno> {
        let buffer = &self.untagged.buffers[at];
        let (rest, from, number) = (buffer.rest(), buffer.from, buffer.number);
        let caller = Operation::Message.call().caller();
        let tag = TagSelector::exact(Tag(0));
        // SAFETY: the buffer was lent until its completion, which is reported once this request, its last one, has ended.
        let request = unsafe { self.engine.receive(bytes_mut(rest.buffer, rest.len), caller, from, tag) };
        let request = request.map_err(refused)?;
        let Incoming { context, flags, buffer, .. } = rest;
        let (reports, flags) = (self.receive.reports(flags), fi::RECV | fi::MSG);
        let op = Op::new(Role::Chunk(number), reports, flags, context, buffer.addr());
        self.ops.begin(request, op);
        self.untagged.buffers[at].posted = true;
        Ok(())
    }

    /// A message has come into a buffer, or none will.
    pub(super) fn chunk_ended(
        &mut self,
        number: u64,
        mut completion: Completion,
        failure: Option<Failure>,
        error: Option<BoxedError>,
        shared: &mut Shared,
    ) {
        let Some(at) = self.untagged.buffers.iter().position(|buffer| buffer.number == number) else {
            return;
        };
        let least = self.untagged.least_room;
        let buffer = &mut self.untagged.buffers[at];
        buffer.posted = false;
        buffer.used = (buffer.used + completion.len).next_multiple_of(ALIGNMENT);
        let ends = failure.is_some() || buffer.used + least.max(1) > buffer.receive.len;
        let reports = self.receive.reports(buffer.receive.flags);
        if ends {
            completion.flags |= fi::MULTI_RECV;
            self.untagged.buffers.remove(at);
        }
        match failure {
            None => {
                self.count(Counted::Recv, shared);
                // That the buffer is the host's again is told in any case.
                if reports || ends {
                    self.report(self.receive, completion, shared);
                }
            }
            Some(failure) => {
                let overflow = match failure {
                    Failure::Truncated { sent } => (sent as usize).saturating_sub(completion.len),
                    _ => 0,
                };
                let error = match (failure, error) {
                    (Failure::Cancelled, _) => Errno::CANCELED,
                    (_, Some(error)) => refused(error),
                    (..) => Errno::OTHER,
                };
                self.fail(self.receive, Counted::Recv, Failed { of: completion, error, overflow }, shared);
            }
        }
        if !ends && let Err(error) = self.post_rest(at) {
            self.drop_buffer(at, error, shared);
        }
        while let Err(error) = self.post_untagged() {
            match self.untagged.buffers.iter().position(|buffer| !buffer.posted) {
                Some(at) => self.drop_buffer(at, error, shared),
                None => break,
            }
        }
    }

    /// A buffer cannot be posted.
    #[cold]
    fn drop_buffer(&mut self, at: usize, error: Errno, shared: &mut Shared) {
        if let Some(buffer) = self.untagged.buffers.remove(at) {
            self.rooms.remove(&buffer.receive.buffer.addr());
            let many = buffer.receive.flags & fi::MULTI_RECV;
            let of = Completion::of(buffer.receive.context, fi::RECV | fi::MSG | many);
            self.fail(self.receive, Counted::Recv, Failed { of, error, overflow: 0 }, shared);
        }
    }

    /// Cancels a receive that the engine does not have. False if there is none with this context.
    pub(super) fn cancel_waiting(&mut self, context: usize, shared: &mut Shared) -> bool {
        let is_it = |buffer: &Buffer| !buffer.posted && buffer.receive.context == context;
        let Some(at) = self.untagged.buffers.iter().position(is_it) else { return false };
        self.drop_buffer(at, Errno::CANCELED, shared);
        true
    }
}
