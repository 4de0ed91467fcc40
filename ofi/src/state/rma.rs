//! One-sided operations (fi_rma(3), fi_atomic(3)) at the process that starts them.
//!
//! An operation is a packet, which the target carries out when it makes progress, and an answer. Data that does not fit a
//! packet is a message of its own, from the memory of one process to that of the other. So operations work over any
//! transport of the engine. An operation is complete once the answer is here, which is after its effect
//! (`FI_DELIVERY_COMPLETE`), whatever was asked for. Packets are carried out in the order in which they were sent.

#![allow(unsafe_code, reason = "the host lends its buffers by pointer")]

use super::av::Av;
use super::calls::{Access, Counted, OneSided, Operation, Place, bytes, bytes_mut, refused};
use super::cq::{Completion, Failed};
use super::ep::{Ep, failed};
use super::ops::{Kept, Op, Role};
use super::pending::{Pending, Report};
use super::pieces::Pieces;
use super::rma_packets::{Head, Kind, PACKET_BYTES, PAYLOAD_BYTES, WITH_DATA, data_tag};
use super::shared::Shared;
use super::table::Table;
use crate::fi::{self, Errno};
use carrousel_engine::{BoxedError, SendEnvelope, SendKind};
use carrousel_rank::{Failure, Handle, RankId, Source, Status, Tag, TagSelector};
use zerocopy::IntoBytes;

/// Receives that wait for packets: a burst of more is copied once more.
const PACKETS: usize = 4;

impl Ep {
    /// Waits for packets.
    pub(super) fn await_packets(&mut self) -> Result<(), Errno> {
        (0..PACKETS).try_for_each(|_| self.await_packet(vec![0; PACKET_BYTES].into_boxed_slice()))
    }

    /// Waits for a packet, for which there is this room.
    pub(super) fn await_packet(&mut self, room: Box<[u8]>) -> Result<(), Errno> {
        self.await_packet_of(Source::Any, room)
    }

    fn await_packet_of(&mut self, from: Source, mut room: Box<[u8]>) -> Result<(), Errno> {
        let bytes = bytes_mut(room.as_mut_ptr(), room.len());
        let (caller, any) = (Operation::Packet.call().caller(), TagSelector::new(Tag(0), u64::MAX));
        // SAFETY: the room is kept with the request until that has ended, and nobody else uses it.
        let request = unsafe { self.engine.receive(bytes, caller, from, any) };
        self.ops.begin_keeping(request.map_err(refused)?, Op::internal(Role::Packet), Kept::Bytes(room));
        Ok(())
    }

    /// Sends a packet, with data behind its head.
    pub(super) fn send_packet(
        &mut self,
        to: RankId,
        head: &Head,
        data: &[&[u8]],
        shared: &mut Shared,
    ) -> Result<(), Errno> {
        let mut packet = std::mem::take(&mut self.rma.scratch);
        packet.clear();
        packet.extend_from_slice(head.as_bytes());
        data.iter().for_each(|data| packet.extend_from_slice(data));
        let envelope = SendEnvelope::new(to, Tag(0));
        let of = Operation::Packet;
        let sent = match self.engine.send_now(&packet, of.call().caller(), envelope).map_err(refused) {
            Ok(true) => Ok(()),
            Ok(false) => self.send_copy(&packet, of, envelope, false, Op::internal(Role::Internal), shared),
            Err(error) => Err(error),
        };
        self.rma.scratch = packet;
        sent
    }

    /// Whether a one-sided operation can begin now.
    fn ready_for(&self, capability: u64, flags: u64) -> Result<(), Errno> {
        self.ready()?;
        match () {
            () if self.options.caps & capability == 0 => Err(Errno::NOT_SUPPORTED),
            // Behind a fence, operations begin once those before have ended.
            () if flags & fi::FENCE != 0 && !self.rma.pending.is_empty() => Err(Errno::AGAIN),
            () => Ok(()),
        }
    }

    /// The rank of a target, which is not lost.
    fn target(&mut self, address: u64, avs: &Table<Av>) -> Result<RankId, Errno> {
        let target = self.rank(address, avs)?;
        if self.rma.has_lost && self.engine.is_lost(target) { Err(Errno::RESET) } else { Ok(target) }
    }

    fn begin(&mut self, target: RankId, report: Report, result: Option<Pieces>) -> u64 {
        let number = self.rma.numbers;
        self.rma.numbers += 1;
        let pending = Pending { report, target, result, data: None, answered: false, error: None };
        self.rma.pending.insert(number, pending);
        number
    }

    fn report_of(&self, what: &OneSided, class: u64, access: Access) -> Report {
        let (flag, counted) = match access {
            Access::Read => (fi::READ, Counted::Read),
            Access::Write => (fi::WRITE, Counted::Write),
        };
        let reports = !what.silent && self.transmit.reports(what.flags);
        Report { context: what.context, flags: class | flag, reports, counted }
    }

    /// Starts a read or a write.
    ///
    /// # Safety
    /// The local memory is valid for the access, and used by nobody else, until the completion, or until this returns if the
    /// operation is an inject.
    pub(crate) unsafe fn access(
        &mut self,
        access: Access,
        local: &Pieces,
        place: Place,
        what: OneSided,
        avs: &Table<Av>,
        shared: &mut Shared,
    ) -> Result<(), Errno> {
        self.ready_for(fi::RMA, what.flags)?;
        let len = local.len();
        if what.flags & fi::INJECT != 0 && len > self.options.inject_bytes.min(PAYLOAD_BYTES) {
            return Err(Errno::TOO_LONG);
        }
        let target = self.target(place.of, avs)?;
        let report = self.report_of(&what, fi::RMA, access);
        let number = self.begin(target, report, None);
        let flags = if what.data.is_some() { WITH_DATA } else { 0 };
        let head = Head {
            flags,
            key: place.key.into(),
            address: place.address.into(),
            len: (len as u64).into(),
            data: what.data.unwrap_or(0).into(),
            ..Head::new(Kind::Read, number)
        };
        let begun = match access {
            // SAFETY: as the caller promises.
            Access::Read => unsafe { self.read(target, number, local, &head, shared) },
            Access::Write if len <= PAYLOAD_BYTES => {
                let head = Head { kind: Kind::Write as u8, ..head };
                // SAFETY: valid for reads now, as the caller promises.
                let data = unsafe { local.slices() };
                self.send_packet(target, &head, &data, shared)
            }
            // SAFETY: as the caller promises.
            Access::Write => unsafe { self.write_apart(target, number, local, &head, shared) },
        };
        if begun.is_err() {
            self.rma.pending.remove(&number);
        }
        begun
    }

    /// # Safety
    /// As [`Ep::access`].
    unsafe fn read(
        &mut self,
        target: RankId,
        number: u64,
        local: &Pieces,
        head: &Head,
        shared: &mut Shared,
    ) -> Result<(), Errno> {
        let (caller, tag) = (Operation::Data.call().caller(), Tag(data_tag(number, false)));
        // Data for several buffers goes through one.
        let mut kept = (!local.is_one()).then(|| vec![0; local.len()].into_boxed_slice());
        let start = kept.as_mut().map_or(local.start(), |room| room.as_mut_ptr());
        let room = bytes_mut(start, local.len());
        // SAFETY: as the caller promises: the operation ends after this request has, with which a copy is kept.
        let request =
            unsafe { self.engine.receive(room, caller, Source::Rank(target), TagSelector::exact(tag)) };
        let (request, op) = (request.map_err(refused)?, Op::internal(Role::ReadData(number)));
        match kept {
            None => self.ops.begin(request, op),
            Some(room) => self.ops.begin_keeping(request, op, Kept::Scattered(room, *local)),
        }
        if let Some(pending) = self.rma.pending.get_mut(&number) {
            pending.data = Some(request);
        }
        let sent = self.send_packet(target, head, &[], shared);
        if sent.is_err() {
            // It ends by itself, and finds its operation gone.
            self.engine.cancel(request, carrousel_engine::CallSite::caller());
        }
        sent
    }

    /// # Safety
    /// As [`Ep::access`].
    unsafe fn write_apart(
        &mut self,
        target: RankId,
        number: u64,
        local: &Pieces,
        head: &Head,
        shared: &mut Shared,
    ) -> Result<(), Errno> {
        let head = Head { kind: Kind::WriteApart as u8, ..*head };
        self.send_packet(target, &head, &[], shared)?;
        let envelope = SendEnvelope::new(target, Tag(data_tag(number, true)));
        // SAFETY: valid for reads now, as the caller promises.
        let kept = (!local.is_one()).then(|| unsafe { local.gathered() });
        let start = kept.as_ref().map_or(local.start().cast_const(), |copy| copy.as_ptr());
        let (data, caller) = (bytes(start, local.len()), Operation::Data.call().caller());
        // SAFETY: as the caller promises: the operation ends after this request has, with which a copy is kept.
        let request = unsafe { self.engine.send(data, caller, envelope, SendKind::Standard) };
        if let Some(request) = request.map_err(refused)? {
            let op = Op::internal(Role::WriteData(number));
            match kept {
                None => self.ops.begin(request, op),
                Some(copy) => self.ops.begin_keeping(request, op, Kept::Bytes(copy)),
            }
            if let Some(pending) = self.rma.pending.get_mut(&number) {
                pending.data = Some(request);
            }
        }
        Ok(())
    }

    /// Starts an atomic, whose operands fit a packet. `result` is where the old values go.
    ///
    /// # Safety
    /// The result is valid for writes, and used by nobody else, until the completion.
    #[allow(clippy::too_many_arguments, reason = "an atomic has as many parts")]
    pub(crate) unsafe fn atomic(
        &mut self,
        kind: super::atomics::AtomicKind,
        (datatype, op, count): (u8, u8, u32),
        operands: &[&[u8]],
        result: Option<Pieces>,
        place: Place,
        what: OneSided,
        avs: &Table<Av>,
        shared: &mut Shared,
    ) -> Result<(), Errno> {
        self.ready_for(fi::ATOMIC, what.flags)?;
        let target = self.target(place.of, avs)?;
        let access = if result.is_some() { Access::Read } else { Access::Write };
        let report = self.report_of(&what, fi::ATOMIC, access);
        let number = self.begin(target, report, result);
        let head = Head {
            datatype,
            op,
            count: count.into(),
            key: place.key.into(),
            address: place.address.into(),
            ..Head::new(kind.packet(), number)
        };
        let sent = self.send_packet(target, &head, operands, shared);
        if sent.is_err() {
            self.rma.pending.remove(&number);
        }
        sent
    }

    /// A request of a one-sided operation has ended.
    pub(super) fn end_one_sided(
        &mut self,
        (request, role, kept): (Handle, Role, Option<Kept>),
        status: &Status,
        error: Option<BoxedError>,
        avs: &Table<Av>,
        shared: &mut Shared,
    ) {
        match (role, kept) {
            (Role::Packet, Some(Kept::Bytes(room))) => self.packet_arrived(room, status, avs, shared),
            (Role::ReadData(number) | Role::WriteData(number), kept) => {
                if let (Some(Kept::Scattered(room, pieces)), None) = (kept, status.failure)
                    && self.rma.pending.contains_key(&number)
                {
                    // SAFETY: the host has lent these buffers until the completion, which has not been reported.
                    unsafe { pieces.scatter(&room) };
                }
                self.data_ended(number, request, status, error, shared);
            }
            (Role::Written, Some(Kept::Write(write))) => self.written(write, status, shared),
            _ => {}
        }
    }

    /// A packet has come, or none will.
    fn packet_arrived(&mut self, room: Box<[u8]>, status: &Status, avs: &Table<Av>, shared: &mut Shared) {
        match (status.failure, status.message) {
            (None, Some((from, _))) => {
                let len = (status.len as usize).min(room.len());
                self.take_packet(from, &room[..len], avs, shared);
                if !self.rma.has_lost && self.await_packet(room).is_err() {
                    self.rma.has_lost = true;
                }
            }
            // Longer than any packet is: another program's.
            (Some(Failure::Truncated { .. }), _) if !self.rma.has_lost => {
                let _ = self.await_packet(room);
            }
            (Some(Failure::PeerLost(_)), _) => {
                self.rma.has_lost = true;
                self.give_up_operations(shared);
            }
            _ => {}
        }
    }

    /// Receives the packets that have come, once no receive waits for those of anybody.
    #[cold]
    #[inline(never)]
    pub(super) fn look_for_packets(&mut self, avs: &Table<Av>, shared: &mut Shared) {
        let (caller, any) = (Operation::Packet.call().caller(), TagSelector::new(Tag(0), u64::MAX));
        while let Some(found) = self.engine.probe(caller.id(), Source::Any, any) {
            let room = vec![0; PACKET_BYTES].into_boxed_slice();
            if self.await_packet_of(Source::Rank(found.envelope.source), room).is_err() {
                break;
            }
            self.settle(avs, shared);
        }
        self.give_up_operations(shared);
    }

    /// Operations on lost peers will have no answer. One whose data is under way ends when that has ended.
    fn give_up_operations(&mut self, shared: &mut Shared) {
        let Self { rma, engine, .. } = self;
        let is_lost = |pending: &Pending| !pending.answered && engine.is_lost(pending.target);
        let lost = rma.pending.iter_mut().filter(|(_, pending)| is_lost(pending)).map(|(number, pending)| {
            pending.answered = true;
            pending.error.get_or_insert(Errno::RESET);
            *number
        });
        for number in lost.collect::<Vec<_>>() {
            self.end_operation(number, shared);
        }
    }

    /// An operation is answered.
    pub(super) fn answered(&mut self, from: RankId, head: &Head, result: &[u8], shared: &mut Shared) {
        let number = head.number.get();
        let Some(pending) = self.rma.pending.get_mut(&number).filter(|pending| pending.target == from) else {
            return;
        };
        pending.answered = true;
        if head.count.get() != 0 {
            pending.error = Some(Errno(i32::try_from(head.count.get()).unwrap_or(Errno::OTHER.0)));
        } else if let Some(into) = pending.result {
            if result.len() == into.len() {
                // SAFETY: the host has lent this memory until the completion, which is reported below.
                unsafe { into.scatter(result) };
            } else {
                pending.error = Some(Errno::OTHER);
            }
        }
        if let (Some(_), Some(data), Counted::Read) = (pending.error, pending.data, pending.report.counted) {
            // No data will come.
            self.engine.cancel(data, carrousel_engine::CallSite::caller());
        }
        self.end_operation(number, shared);
    }

    /// The data of an operation has come or gone.
    fn data_ended(
        &mut self,
        number: u64,
        request: Handle,
        status: &Status,
        error: Option<BoxedError>,
        shared: &mut Shared,
    ) {
        let Some(pending) = self.rma.pending.get_mut(&number).filter(|one| one.data == Some(request)) else {
            return;
        };
        pending.data = None;
        if status.failure.is_some() {
            let of = failed(Completion::default(), status, error);
            pending.error.get_or_insert(of.error);
            // A target that is lost does not answer; one that refuses has.
            pending.answered |= matches!(status.failure, Some(Failure::PeerLost(_)));
        }
        // The data is the answer of a read.
        pending.answered |= pending.report.counted == Counted::Read;
        self.end_operation(number, shared);
    }

    /// Reports an operation, if it has ended.
    fn end_operation(&mut self, number: u64, shared: &mut Shared) {
        let ended = |pending: &Pending| pending.answered && pending.data.is_none();
        if !self.rma.pending.get(&number).is_some_and(ended) {
            return;
        }
        let Some(Pending { report, error, .. }) = self.rma.pending.remove(&number) else { return };
        let of = Completion::of(report.context, report.flags);
        match error {
            None => {
                self.count(report.counted, shared);
                if report.reports {
                    self.report(self.transmit, of, shared);
                }
            }
            Some(error) => {
                self.fail(self.transmit, report.counted, Failed { of, error, overflow: 0 }, shared)
            }
        }
    }
}
