//! One-sided operations at their target, which carries them out when it makes progress.

#![allow(unsafe_code, reason = "the host has registered its memory by pointer")]

use super::atomics::{AtomicKind, apply, datatype_size};
use super::av::Av;
use super::calls::{Counted, Operation, bytes, bytes_mut, refused};
use super::cq::Completion;
use super::ep::{Ep, failed};
use super::ops::{Kept, Op, Role, TargetWrite};
use super::rma_packets::{Head, Kind, PAYLOAD_BYTES, WITH_DATA, data_tag};
use super::shared::Shared;
use super::table::Table;
use crate::fi::{self, Errno};
use carrousel_engine::{SendEnvelope, SendKind};
use carrousel_rank::{RankId, Source, Status, Tag, TagSelector};

impl Ep {
    /// Carries out a packet. One that is none of this protocol's is dropped.
    pub(super) fn take_packet(&mut self, from: RankId, packet: &[u8], avs: &Table<Av>, shared: &mut Shared) {
        let Some((kind, head, rest)) = Head::read(packet) else { return };
        if kind == Kind::Answer {
            return self.answered(from, &head, rest, shared);
        }
        let source = self.position(from, avs);
        let done = match kind {
            Kind::Write => self.write_here(source, &head, rest, shared).map(|()| Some(Vec::new())),
            Kind::WriteApart => self.await_data(from, source, &head, shared).map(|()| None),
            Kind::Read => self.read_here(from, &head, shared).map(|()| None),
            _ => self.atomic_here(kind, &head, rest, shared).map(Some),
        };
        let (result, values) = match done {
            // It is answered once its data has come, or by the data.
            Ok(None) => return,
            Ok(Some(values)) => (Ok(()), values),
            Err(error) => (Err(error), Vec::new()),
        };
        self.answer(from, &head, result, &values, shared);
    }

    fn answer(
        &mut self,
        to: RankId,
        of: &Head,
        result: Result<(), Errno>,
        values: &[u8],
        shared: &mut Shared,
    ) {
        let head = Head::answer(of.number.get(), result);
        // A peer that is gone needs no answer, and nothing else can keep one from it.
        let _ = self.send_packet(to, &head, &[values], shared);
    }

    fn write_here(
        &mut self,
        source: u64,
        head: &Head,
        data: &[u8],
        shared: &mut Shared,
    ) -> Result<(), Errno> {
        if data.len() as u64 != head.len.get() {
            return Err(Errno::INVALID);
        }
        let (start, cntr) = place(head, head.len.get(), fi::REMOTE_WRITE, shared)?;
        // SAFETY: the host has registered these bytes for peers to write; a program that uses them meanwhile has a race.
        unsafe { std::ptr::copy(data.as_ptr(), start as *mut u8, data.len()) };
        self.was_written(head, source, cntr, fi::RMA, shared);
        Ok(())
    }

    /// Counts a write of a peer, and reports it if the peer wants that.
    fn was_written(
        &mut self,
        head: &Head,
        source: u64,
        cntr: Option<usize>,
        class: u64,
        shared: &mut Shared,
    ) {
        self.count(Counted::RemoteWrite, shared);
        count_region(cntr, shared);
        if head.flags & WITH_DATA != 0 {
            let flags = class | fi::REMOTE_WRITE | fi::REMOTE_CQ_DATA;
            let (len, data) = (head.len.get() as usize, head.data.get());
            let completion = Completion { len, data, source, ..Completion::of(0, flags) };
            self.report(self.receive, completion, shared);
        }
    }

    /// Waits for the data of a write, which comes in a message of its own.
    fn await_data(
        &mut self,
        from: RankId,
        source: u64,
        head: &Head,
        shared: &mut Shared,
    ) -> Result<(), Errno> {
        let found = place(head, head.len.get(), fi::REMOTE_WRITE, shared);
        // Refused data is received nevertheless, into no room, or its sender would wait for ever.
        let (start, len, cntr) = match found {
            Ok((start, cntr)) => (start as *mut u8, head.len.get() as usize, cntr),
            Err(_) => (std::ptr::null_mut(), 0, None),
        };
        let (caller, tag) = (Operation::Data.call().caller(), Tag(data_tag(head.number.get(), true)));
        let room = bytes_mut(start, len);
        // SAFETY: the host has registered these bytes for peers to write until it closes the region.
        let request =
            unsafe { self.engine.receive(room, caller, Source::Rank(from), TagSelector::exact(tag)) };
        let write = TargetWrite { from, head: *head, cntr, source, refused: found.err() };
        self.ops.begin_keeping(request.map_err(refused)?, Op::internal(Role::Written), Kept::Write(write));
        Ok(())
    }

    /// The data of a write has come.
    pub(super) fn written(&mut self, write: TargetWrite, status: &Status, shared: &mut Shared) {
        let TargetWrite { from, head, cntr, source, refused } = write;
        let result = match (refused, status.failure) {
            (Some(error), _) => Err(error),
            (None, Some(_)) => Err(failed(Completion::default(), status, None).error),
            (None, None) => Ok(()),
        };
        if result.is_ok() {
            self.was_written(&head, source, cntr, fi::RMA, shared);
        }
        self.answer(from, &head, result, &[], shared);
    }

    fn read_here(&mut self, from: RankId, head: &Head, shared: &mut Shared) -> Result<(), Errno> {
        let len = head.len.get();
        let (start, cntr) = place(head, len, fi::REMOTE_READ, shared)?;
        let envelope = SendEnvelope::new(from, Tag(data_tag(head.number.get(), false)));
        let (data, call) = (bytes(start as *const u8, len as usize), Operation::Data.call());
        let op = Op::internal(Role::Internal);
        if len as usize <= PAYLOAD_BYTES {
            // So that a later write to the same place does not come before it.
            // SAFETY: the host has registered these bytes for peers to read.
            let data = unsafe { &*data };
            if !self.engine.send_now(data, call.caller(), envelope).map_err(refused)? {
                self.send_copy(data, Operation::Data, envelope, false, op, shared)?;
            }
        } else {
            // SAFETY: the host has registered these bytes for peers to read until it closes the region.
            let request = unsafe { self.engine.send(data, call.caller(), envelope, SendKind::Standard) };
            if let Some(request) = request.map_err(refused)? {
                self.ops.begin(request, op);
            }
        }
        self.count(Counted::RemoteRead, shared);
        count_region(cntr, shared);
        Ok(())
    }

    fn atomic_here(
        &mut self,
        kind: Kind,
        head: &Head,
        operands: &[u8],
        shared: &mut Shared,
    ) -> Result<Vec<u8>, Errno> {
        let size = datatype_size(u32::from(head.datatype)).ok_or(Errno::INVALID)?;
        let len = (head.count.get() as usize).checked_mul(size).ok_or(Errno::INVALID)?;
        let access = match kind {
            Kind::Atomic => fi::REMOTE_WRITE,
            _ => fi::REMOTE_READ | fi::REMOTE_WRITE,
        };
        let atomic = AtomicKind::of(kind).ok_or(Errno::INVALID)?;
        // A read alone changes nothing, and needs no permission to write.
        let access = if atomic.only_reads(head.op) { fi::REMOTE_READ } else { access };
        let (start, cntr) = place(head, len as u64, access, shared)?;
        // SAFETY: the host has registered these bytes for peers to change; a program that uses them meanwhile has a race.
        let memory = unsafe { &mut *bytes_mut(start as *mut u8, len) };
        let before = apply(atomic, head.datatype, head.op, memory, operands)?;
        let counted = if atomic.only_reads(head.op) { Counted::RemoteRead } else { Counted::RemoteWrite };
        self.count(counted, shared);
        count_region(cntr, shared);
        Ok(before)
    }
}

/// Where the memory is that a packet names, and the counter of its region.
fn place(head: &Head, len: u64, access: u64, shared: &Shared) -> Result<(usize, Option<usize>), Errno> {
    shared.mrs.find(head.key.get(), head.address.get(), len, access)
}

/// Counts an access to a region.
fn count_region(cntr: Option<usize>, shared: &mut Shared) {
    if let Some(cntr) = cntr.and_then(|cntr| shared.cntrs.get_mut(cntr)) {
        cntr.value += 1;
    }
}
