//! Sends, receives, and the search for messages that have arrived.

#![allow(unsafe_code, reason = "the host lends its buffers by pointer")]

use super::av::Av;
use super::calls::{Counted, Incoming, Operation, Outgoing, SCATTERED, bytes, bytes_mut, refused};
use super::cq::{Completion, Failed};
use super::ep::Ep;
use super::ops::{Kept, Op, Role};
use super::pieces::Pieces;
use super::shared::Shared;
use super::table::Table;
use crate::fi::{self, Errno};
use carrousel_engine::{Found, SendEnvelope, SendKind};
use carrousel_rank::{Handle, Source, Status, Tag, TagSelector};

/// What is done with a message that a search finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seeking {
    Peek,
    Claim,
    Discard,
}

impl Ep {
    /// Starts a send.
    ///
    /// # Safety
    /// The buffer is valid for reads, and nobody writes to it, until the send's completion, or until this returns if it is
    /// an inject.
    #[inline(always)]
    pub(crate) unsafe fn send(
        &mut self,
        message: &Outgoing,
        avs: &Table<Av>,
        shared: &mut Shared,
    ) -> Result<(), Errno> {
        self.ready()?;
        let &Outgoing { of, tag, data, context, flags, .. } = message;
        let envelope = SendEnvelope { to: self.rank(message.to, avs)?, tag: Tag(tag), data };
        let synchronous = flags & (fi::DELIVERY_COMPLETE | fi::MATCH_COMPLETE) != 0;
        let bytes = bytes(message.buffer, message.len);
        let flags_of = fi::SEND | of.flag();
        let reports = !message.silent && self.transmit.reports(flags);
        let op = Op::new(Role::Send, reports, flags_of, context, 0);
        if flags & fi::INJECT != 0 {
            if message.len > self.options.inject_bytes {
                return Err(Errno::TOO_LONG);
            }
            // SAFETY: the buffer is valid for reads now, as the caller promises.
            let bytes = unsafe { &*bytes };
            if synchronous || !self.engine.send_now(bytes, of.call().caller(), envelope).map_err(refused)? {
                // A host that sends by injects need not read a queue, which alone would tell of a loss.
                self.engine.look_for_ends();
                if self.engine.is_lost(envelope.to) {
                    return Err(Errno::RESET);
                }
                return self.send_copy(bytes, of, envelope, synchronous, op, shared);
            }
            self.sent_at_once(&op, shared);
            return Ok(());
        }
        let kind = SendKind::of_request(synchronous);
        // SAFETY: as the caller promises: the request has ended when its completion is reported.
        let request = unsafe { self.engine.send(bytes, of.call().caller(), envelope, kind) };
        match request.map_err(refused)? {
            None => self.sent_at_once(&op, shared),
            Some(request) => self.ops.begin(request, op),
        }
        Ok(())
    }

    /// Sends a copy of bytes, which the endpoint keeps.
    #[cold]
    #[inline(never)]
    pub(super) fn send_copy(
        &mut self,
        bytes: &[u8],
        of: Operation,
        envelope: SendEnvelope,
        synchronous: bool,
        op: Op,
        shared: &mut Shared,
    ) -> Result<(), Errno> {
        self.send_kept(bytes.into(), of, envelope, synchronous, op, shared)
    }

    /// Sends bytes that the endpoint keeps.
    fn send_kept(
        &mut self,
        copy: Box<[u8]>,
        of: Operation,
        envelope: SendEnvelope,
        synchronous: bool,
        op: Op,
        shared: &mut Shared,
    ) -> Result<(), Errno> {
        let kind = SendKind::of_request(synchronous);
        // SAFETY: the copy is kept until the request has ended, and nobody writes to it.
        let request = unsafe { self.engine.send(&raw const *copy, of.call().caller(), envelope, kind) };
        match request.map_err(refused)? {
            // It went at once after all.
            None if matches!(op.role, Role::Send) => self.sent_at_once(&op, shared),
            None => {}
            Some(request) => self.ops.begin_keeping(request, op, Kept::Copy { _bytes: copy }),
        }
        Ok(())
    }

    #[inline]
    fn sent_at_once(&mut self, op: &Op, shared: &mut Shared) {
        self.count(Counted::Send, shared);
        if op.reports {
            self.report(self.transmit, Completion::of(op.context, op.flags), shared);
        }
    }

    /// Starts a receive, or looks for a message that has arrived.
    ///
    /// # Safety
    /// The buffer is valid for reads and writes, initialised, and nobody uses it, until the receive's completion.
    #[inline(always)]
    pub(crate) unsafe fn receive(
        &mut self,
        receive: &Incoming,
        avs: &Table<Av>,
        shared: &mut Shared,
    ) -> Result<(), Errno> {
        const UNUSUAL: u64 = fi::PEEK | fi::CLAIM | fi::DISCARD | SCATTERED;
        self.ready()?;
        if receive.flags & UNUSUAL != 0 {
            // SAFETY: as the caller promises.
            return unsafe { self.receive_unusually(receive, avs, shared) };
        }
        let from = self.source(receive.from, receive.of, avs)?;
        if receive.of == Operation::Message {
            // SAFETY: as the caller promises.
            return unsafe { self.receive_untagged(receive, from) };
        }
        // SAFETY: as the caller promises.
        unsafe { self.post(receive, from) }
    }

    /// Starts a receive.
    ///
    /// # Safety
    /// As [`Ep::receive`].
    #[inline(always)]
    pub(super) unsafe fn post(&mut self, receive: &Incoming, from: Source) -> Result<(), Errno> {
        let tag = TagSelector::new(Tag(receive.tag), receive.ignore);
        let (bytes, caller) = (bytes_mut(receive.buffer, receive.len), receive.of.call().caller());
        // SAFETY: as the caller promises: the request has ended when its completion is reported.
        let request = unsafe { self.engine.receive(bytes, caller, from, tag) }.map_err(refused)?;
        let op = self.receive_op(receive);
        self.ops.begin(request, op);
        Ok(())
    }

    /// The same, of a receive into any number of buffers.
    ///
    /// # Safety
    /// As [`Ep::receive`].
    pub(super) unsafe fn post_any(&mut self, receive: &Incoming, from: Source) -> Result<(), Errno> {
        if receive.flags & SCATTERED == 0 {
            // SAFETY: as the caller promises.
            return unsafe { self.post(receive, from) };
        }
        let tag = TagSelector::new(Tag(receive.tag), receive.ignore);
        let (bytes, caller) = (bytes_mut(receive.buffer, receive.len), receive.of.call().caller());
        // SAFETY: the room is kept with the request until that has ended.
        let request = unsafe { self.engine.receive(bytes, caller, from, tag) }.map_err(refused)?;
        self.begin_receive(request, receive);
        Ok(())
    }

    /// A request of a receive begins.
    fn begin_receive(&mut self, request: Handle, receive: &Incoming) {
        let op = self.receive_op(receive);
        let room = Some(receive.flags & SCATTERED).filter(|flag| *flag != 0);
        match room.and_then(|_| self.rooms.remove(&receive.buffer.addr())) {
            None => self.ops.begin(request, op),
            Some((room, pieces)) => {
                let op = Op::new(Role::Scattered, op.reports, op.flags, op.context, pieces.start().addr());
                self.ops.begin_keeping(request, op, Kept::Scattered(room, pieces));
            }
        }
    }

    /// As [`Ep::send`], from several buffers.
    ///
    /// # Safety
    /// The buffers are valid for reads now, and nobody writes to them.
    pub(crate) unsafe fn send_pieces(
        &mut self,
        message: &Outgoing,
        pieces: &Pieces,
        avs: &Table<Av>,
        shared: &mut Shared,
    ) -> Result<(), Errno> {
        self.ready()?;
        let &Outgoing { of, tag, data, context, flags, silent, .. } = message;
        if flags & fi::INJECT != 0 && pieces.len() > self.options.inject_bytes {
            return Err(Errno::TOO_LONG);
        }
        let envelope = SendEnvelope { to: self.rank(message.to, avs)?, tag: Tag(tag), data };
        let synchronous = flags & (fi::DELIVERY_COMPLETE | fi::MATCH_COMPLETE) != 0;
        let reports = !silent && self.transmit.reports(flags);
        let op = Op::new(Role::Send, reports, fi::SEND | of.flag(), context, 0);
        // SAFETY: as the caller promises.
        let bytes = unsafe { pieces.gathered() };
        if synchronous || !self.engine.send_now(&bytes, of.call().caller(), envelope).map_err(refused)? {
            return self.send_kept(bytes, of, envelope, synchronous, op, shared);
        }
        self.sent_at_once(&op, shared);
        Ok(())
    }

    /// As [`Ep::receive`], into several buffers.
    ///
    /// # Safety
    /// As [`Ep::receive`], of all buffers.
    pub(crate) unsafe fn receive_pieces(
        &mut self,
        receive: &Incoming,
        pieces: Pieces,
        avs: &Table<Av>,
        shared: &mut Shared,
    ) -> Result<(), Errno> {
        if receive.flags & fi::MULTI_RECV != 0 {
            return Err(Errno::INVALID);
        }
        // A search has no buffer, and a message that is discarded needs none.
        let needs_room = receive.flags & (fi::PEEK | fi::DISCARD) == 0;
        // Never empty, so that each is somewhere else.
        let mut room = vec![0; pieces.len().max(1)].into_boxed_slice();
        let (buffer, len) = (room.as_mut_ptr(), pieces.len());
        let flags = if needs_room { receive.flags | SCATTERED } else { receive.flags };
        if needs_room {
            self.rooms.insert(buffer.addr(), (room, pieces));
        }
        // SAFETY: the room is kept until the request has ended, and the buffers are lent as long.
        let begun = unsafe { self.receive(&Incoming { buffer, len, flags, ..*receive }, avs, shared) };
        if begun.is_err() {
            self.rooms.remove(&buffer.addr());
        }
        begun
    }

    #[inline]
    fn receive_op(&self, receive: &Incoming) -> Op {
        let &Incoming { context, flags, of, .. } = receive;
        let (reports, buffer) = (self.receive.reports(flags), receive.buffer.addr());
        Op::new(Role::Receive, reports, fi::RECV | of.flag(), context, buffer)
    }

    /// fi_tagged(3), `FI_PEEK`, `FI_CLAIM` and `FI_DISCARD`.
    #[cold]
    #[inline(never)]
    unsafe fn receive_unusually(
        &mut self,
        receive: &Incoming,
        avs: &Table<Av>,
        shared: &mut Shared,
    ) -> Result<(), Errno> {
        let seeking = match receive.flags & (fi::PEEK | fi::CLAIM | fi::DISCARD) {
            0 => {
                let from = self.source(receive.from, receive.of, avs)?;
                // SAFETY: as the caller promises, for both.
                return unsafe {
                    match receive.of {
                        Operation::Message => self.receive_untagged(receive, from),
                        _ => self.post_any(receive, from),
                    }
                };
            }
            fi::PEEK => Seeking::Peek,
            flags if flags == fi::PEEK | fi::CLAIM => Seeking::Claim,
            flags if flags == fi::PEEK | fi::DISCARD => Seeking::Discard,
            // SAFETY: as the caller promises.
            fi::CLAIM => return unsafe { self.receive_claimed(receive) },
            flags if flags == fi::CLAIM | fi::DISCARD => return self.discard_claimed(receive, shared),
            _ => return Err(Errno::FLAGS),
        };
        let from = self.source(receive.from, receive.of, avs)?;
        let found = self.seek(receive, from, seeking)?;
        let op = self.receive_op(receive);
        let mut completion = Completion::of(op.context, op.flags);
        match found {
            None => {
                self.sought(receive.of, from, TagSelector::new(Tag(receive.tag), receive.ignore));
                let failed = Failed { of: completion, error: Errno::NO_MESSAGE, overflow: 0 };
                // A search that finds nothing is no failure of a receive, so no counter counts it.
                if let Some(cq) = self.receive.cq.and_then(|cq| shared.cqs.get_mut(cq)) {
                    cq.fail(failed);
                }
            }
            Some(Found { envelope, data, bytes }) => {
                completion.len = bytes as usize;
                completion.tag = envelope.tag.0;
                completion.data = data.unwrap_or(0);
                completion.flags |= if data.is_some() { fi::REMOTE_CQ_DATA } else { 0 };
                completion.source = self.position(envelope.source, avs);
                if op.reports {
                    self.report(self.receive, completion, shared);
                }
            }
        }
        self.settle(avs, shared);
        Ok(())
    }

    fn seek(&mut self, receive: &Incoming, from: Source, seeking: Seeking) -> Result<Option<Found>, Errno> {
        let tag = TagSelector::new(Tag(receive.tag), receive.ignore);
        let call = receive.of.call();
        if seeking == Seeking::Peek {
            return self.engine.probe_now(call.caller(), from, tag).map_err(refused);
        }
        let Some(claimed) = self.engine.claim_now(call.caller(), from, tag).map_err(refused)? else {
            return Ok(None);
        };
        if seeking == Seeking::Claim {
            self.claimed.push((receive.context, claimed));
        } else {
            let site = carrousel_engine::CallSite::caller();
            self.engine.discard(claimed.request, site).map_err(refused)?;
        }
        Ok(Some(claimed.found))
    }

    /// The message that a search with this context has claimed.
    fn take_claimed(&mut self, context: usize) -> Result<carrousel_engine::ClaimedMessage, Errno> {
        let at = self.claimed.iter().position(|(of, _)| *of == context).ok_or(Errno::NO_MESSAGE)?;
        Ok(self.claimed.remove(at).1)
    }

    unsafe fn receive_claimed(&mut self, receive: &Incoming) -> Result<(), Errno> {
        let claimed = self.take_claimed(receive.context)?;
        let (bytes, caller) = (bytes_mut(receive.buffer, receive.len), receive.of.call().caller());
        // SAFETY: as the caller promises: the request has ended when its completion is reported.
        let request = unsafe { self.engine.receive_claimed(bytes, caller, claimed.request) };
        self.begin_receive(request.map_err(refused)?, receive);
        Ok(())
    }

    fn discard_claimed(&mut self, receive: &Incoming, shared: &mut Shared) -> Result<(), Errno> {
        let claimed = self.take_claimed(receive.context)?;
        let site = carrousel_engine::CallSite::caller();
        self.engine.discard(claimed.request, site).map_err(refused)?;
        let op = self.receive_op(receive);
        if op.reports {
            self.report(self.receive, Completion::of(op.context, op.flags), shared);
        }
        Ok(())
    }

    /// Cancels the oldest receive with this context, if it has no message yet.
    pub(crate) fn cancel(
        &mut self,
        context: usize,
        avs: &Table<Av>,
        shared: &mut Shared,
    ) -> Result<(), Errno> {
        let is_receive = |op: &Op| {
            matches!(op.role, Role::Receive | Role::Scattered | Role::Chunk(_)) && op.context == context
        };
        if self.cancel_waiting(context, shared) {
            return Ok(());
        }
        let request = self.ops.find(is_receive).ok_or(Errno::NOT_FOUND)?;
        self.engine.cancel(request, carrousel_engine::CallSite::caller());
        self.settle(avs, shared);
        Ok(())
    }

    /// Puts what a receive into several buffers has got where it belongs.
    pub(super) fn scatter_received(kept: Option<Kept>, status: &Status) {
        if let Some(Kept::Scattered(room, pieces)) = kept {
            let len = room.len().min(status.len as usize);
            // SAFETY: the host has lent these buffers until the completion, which has not been reported.
            unsafe { pieces.scatter(&room[..len]) };
        }
    }
}
