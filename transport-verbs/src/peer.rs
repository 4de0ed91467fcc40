//! One peer: its connection, what is posted to it, and what waits.

use crate::attempts::Attempt;
use crate::control::Control;
use crate::frame::{self, CREDITS, PACKET};
use crate::ibv::{Operation, Parts, Request, Sge};
use crate::rail::Rail;
use crate::shared::{Posted, Shared};
use crate::{Loss, VerbsError};
use carrousel_connection::{Credits, Rules};
use carrousel_transport::{Arrival, Direction, Handle, Head, Memory};
use std::collections::VecDeque;

/// A zero-copy send: its data, as the adapter knows it, and the name that is reported when the send is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ZcopySend {
    pub(crate) data: Sge,
    pub(crate) name: u32,
}

/// What could not be posted yet.
#[derive(Debug)]
pub(crate) enum Waiting {
    /// A packet, which takes a credit, and its data.
    Packet(Head, Vec<u8>),
    /// A frame of this kind and nothing else, by a rail: the second one, if `control`, or the first.
    Word {
        word: u16,
        control: bool,
    },
    Transfer(Transfer),
    Atomic(Attempt),
}

/// What is done with memory of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransferKind {
    Write,
    Read,
}

/// A write or a read, or what is left of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) kind: TransferKind,
    /// Local bytes, under the adapter's key for this process.
    pub(crate) local: Memory,
    /// The peer's bytes.
    pub(crate) remote: Memory,
    pub(crate) len: u64,
    pub(crate) request: Handle,
    /// What goes behind the data.
    pub(crate) notice: Option<Head>,
}

impl Transfer {
    /// What is reported when it is complete.
    pub(crate) fn arrival(&self) -> Arrival {
        if self.kind == TransferKind::Write {
            Arrival::Written(self.request)
        } else {
            Arrival::Read(self.request)
        }
    }

    fn posted(&self) -> Posted {
        if self.kind == TransferKind::Write {
            Posted::Write(self.request)
        } else {
            Posted::Read(self.request)
        }
    }

    fn operation(&self) -> Operation {
        let Memory { address, key } = self.remote;
        match self.kind {
            TransferKind::Write => Operation::Write { address, key },
            TransferKind::Read => Operation::Read { address, key },
        }
    }

    /// The first bytes, as the adapter knows them here.
    fn piece(&self, len: u64) -> Sge {
        Sge { address: self.local.address, len: len as u32, key: self.local.key }
    }

    fn advance(&mut self, len: u64) {
        self.local.address = self.local.address.wrapping_add(len);
        self.remote.address = self.remote.address.wrapping_add(len);
        self.len -= len;
    }
}

/// How far a peer is.
#[derive(Debug)]
pub(crate) enum PeerState {
    /// A connection was asked for.
    Asked,
    /// Packets may come; none may go.
    Made,
    Up,
    Lost(Loss),
}

#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) state: PeerState,
    /// The first rail, from when the connection is made until nothing is posted to a peer that is lost.
    pub(crate) data: Option<Rail>,
    /// The second rail, if there is one, and the order of packets over both.
    pub(crate) control: Option<Box<Control>>,
    pub(crate) credits: Credits<Rules>,
    /// A swap is posted: later atomics wait until it is over.
    pub(crate) swaps: bool,
    pub(crate) waiting: VecDeque<Waiting>,
    /// It is lost; the loss is reported when the adapter has let go of what was posted.
    pub(crate) untold: bool,
    /// What is reported then, behind the loss.
    pub(crate) failed: Vec<Arrival>,
    /// The number of rails by which it has said that it has sent all of its messages.
    pub(crate) goodbyes: u8,
    /// Its application receives no message any more.
    pub(crate) leaves: bool,
    /// It has ended as expected, which is not reported as a loss.
    pub(crate) ended: bool,
    /// Whether it is in the list of those that something waits for.
    pub(crate) listed: bool,
}

impl Default for Peer {
    fn default() -> Self {
        Self {
            state: PeerState::Asked,
            data: None,
            control: None,
            // They are not used before the connection is made.
            credits: Credits::new(0),
            swaps: false,
            waiting: VecDeque::new(),
            untold: false,
            failed: Vec::new(),
            goodbyes: 0,
            leaves: false,
            ended: false,
            listed: false,
        }
    }
}

impl Peer {
    /// Its rails.
    fn rails(&self) -> impl Iterator<Item = &Rail> {
        self.data.iter().chain(self.control.iter().map(|control| &control.rail))
    }

    /// As [`Peer::rails`].
    pub(crate) fn rails_mut(&mut self) -> impl Iterator<Item = &mut Rail> {
        self.data.iter_mut().chain(self.control.iter_mut().map(|control| &mut control.rail))
    }

    /// Whether it has said that it has sent all of its messages.
    pub(crate) fn is_finished(&self) -> bool {
        self.goodbyes > u8::from(self.control.is_some())
    }

    /// Whether it has had all that it needs, as it says that behind a barrier, and nothing is wanted of its memory.
    pub(crate) fn needs_nothing(&self) -> bool {
        let is_transfer = |one: &Waiting| matches!(one, Waiting::Transfer(_) | Waiting::Atomic(_));
        let is_wanted = || self.rails().any(Rail::has_transfers) || self.waiting.iter().any(is_transfer);
        self.is_finished() && !is_wanted()
    }

    /// Whether something was posted, or waits, that has not been acknowledged.
    pub(crate) fn is_busy(&self) -> bool {
        !self.waiting.is_empty() || !self.rails().all(Rail::is_empty)
    }

    /// Whether a completion will come: if the peer acknowledges, or because it does not.
    pub(crate) fn expects(&self) -> bool {
        self.rails().any(Rail::expects)
    }

    /// Whether an operation is posted, or waits, whose end has to be reported.
    pub(crate) fn owes(&self) -> bool {
        let is_word = |one: &Waiting| matches!(one, Waiting::Word { .. });
        self.rails().any(Rail::has_transfers) || !self.waiting.iter().all(is_word)
    }

    /// The first rail, if `requests` more can be posted.
    fn room(&mut self, shared: &Shared, requests: u32) -> Option<&mut Rail> {
        let Self { state: PeerState::Up, data: Some(rail), .. } = self else { return None };
        rail.fits(shared, requests).then_some(rail)
    }

    /// Posts a packet. False if it has to wait.
    #[inline]
    pub(crate) fn send(
        &mut self,
        shared: &mut Shared,
        direction: impl FnOnce() -> Direction,
        packet: [&[u8]; 2],
    ) -> Result<bool, VerbsError> {
        let Self { state: PeerState::Up, data: Some(rail), control, credits, .. } = self else {
            return Ok(false);
        };
        match control {
            None => rail.send(shared, credits, PACKET, packet),
            Some(control) => control.send(rail, shared, credits, (direction(), packet)),
        }
    }

    /// Posts a packet whose data is not copied. False if it has to wait.
    pub(crate) fn send_zcopy(
        &mut self,
        shared: &mut Shared,
        head: &Head,
        zcopy: ZcopySend,
    ) -> Result<bool, VerbsError> {
        let Self { state: PeerState::Up, data: Some(rail), control, credits, .. } = self else {
            return Ok(false);
        };
        if !rail.fits(shared, 1) || shared.free.is_empty() || !credits.spend() {
            return Ok(false);
        }
        let kind = control.as_mut().map_or(PACKET, |control| control.number(head.direction()));
        let head = head.as_bytes();
        let Some(slot) = shared.free.pop() else { return Ok(false) };
        shared.bounce_buffers.bytes_mut(slot, head.len()).copy_from_slice(head);
        let operation = Operation::Send(frame::immediate(kind, credits.give()));
        let parts = Parts::Keyed(&[shared.bounce_buffers.sge(slot, head.len()), zcopy.data]);
        let request = Request { id: rail.id(0), operation, parts, signaled: true, fenced: false };
        rail.post(shared, [request], [Posted::Zcopy(slot, zcopy.name)])
            .inspect_err(|_| shared.free.push(slot))?;
        Ok(true)
    }

    /// Posts a transfer, with its notice, or what of it there is room for. Returns what is left.
    pub(crate) fn transfer(
        &mut self,
        shared: &mut Shared,
        mut transfer: Transfer,
    ) -> Result<Option<Transfer>, VerbsError> {
        while transfer.len > shared.message {
            let Some(rail) = self.room(shared, 1) else { return Ok(Some(transfer)) };
            let (id, signaled) = (rail.id(0), rail.signals(shared));
            let parts = Parts::Keyed(&[transfer.piece(shared.message)]);
            let piece = Request { id, operation: transfer.operation(), parts, signaled, fenced: false };
            rail.post(shared, [piece], [Posted::Nothing])?;
            transfer.advance(shared.message);
        }
        let Self { state: PeerState::Up, data: Some(rail), control, credits, .. } = self else {
            return Ok(Some(transfer));
        };
        // A read is complete here when its answer is: the notice must not overtake it.
        let is_fenced = transfer.kind == TransferKind::Read && transfer.notice.is_some();
        let fence = if is_fenced { rail.fence() } else { None };
        let notice_at = 1 + u32::from(fence.is_some());
        if !rail.fits(shared, notice_at + u32::from(transfer.notice.is_some())) {
            return Ok(Some(transfer));
        }
        let parts = Parts::Keyed(&[transfer.piece(transfer.len)]);
        let operation = transfer.operation();
        let data = Request { id: rail.id(0), operation, parts, signaled: true, fenced: false };
        let Some(notice) = &transfer.notice else {
            rail.post(shared, [data], [transfer.posted()])?;
            if let Some(control) = control.as_mut().filter(|_| transfer.kind != TransferKind::Read) {
                control.wrote();
            }
            return Ok(None);
        };
        let (head, len) = (notice.as_bytes(), notice.as_bytes().len());
        let is_inline = rail.takes_inline(len);
        if !is_inline && shared.free.is_empty() || !credits.spend() {
            return Ok(Some(transfer));
        }
        let slot = if is_inline { None } else { shared.free.pop() };
        let copied = slot.map(|slot| {
            shared.bounce_buffers.bytes_mut(slot, len).copy_from_slice(head);
            [shared.bounce_buffers.sge(slot, len)]
        });
        let kind = control.as_mut().map_or(PACKET, |control| control.number(notice.direction()));
        let notice = Request {
            id: rail.id(notice_at),
            operation: Operation::Send(frame::immediate(kind, credits.give())),
            parts: copied.as_ref().map_or(Parts::Inline([head, &[]]), |sge| Parts::Keyed(sge)),
            // Another packet may wait for its buffer.
            signaled: slot.is_some() && rail.signals(shared),
            fenced: is_fenced && fence.is_none(),
        };
        let (transferred, noticed) = (transfer.posted(), slot.map_or(Posted::Nothing, Posted::Slot));
        let went = match fence {
            None => rail.post(shared, [data, notice], [transferred, noticed]),
            Some((operation, word)) => {
                let parts = Parts::Keyed(&[word]);
                let fence = Request { id: rail.id(1), operation, parts, signaled: false, fenced: false };
                rail.post(shared, [data, fence, notice], [transferred, Posted::Nothing, noticed])
            }
        };
        // The buffer of a packet that could not be posted is free again: its peer is lost, and others need it.
        went.inspect_err(|_| shared.free.extend(slot))?;
        Ok(None)
    }

    /// Posts what waits, as far as there is room, and credits that are owed. Returns how much went.
    pub(crate) fn flush(&mut self, shared: &mut Shared) -> Result<usize, VerbsError> {
        let mut went = 0;
        if !self.has_more() {
            return Ok(went);
        }
        while let Some(waiting) = self.waiting.pop_front() {
            let left = match waiting {
                Waiting::Packet(head, data) => {
                    let went = self.send(shared, || head.direction(), [head.as_bytes(), &data])?;
                    (!went).then_some(Waiting::Packet(head, data))
                }
                Waiting::Word { word, control } => {
                    (!self.say(shared, word, control)?).then_some(Waiting::Word { word, control })
                }
                Waiting::Atomic(attempt) => match self.atomic(shared, attempt) {
                    Ok(went) => (!went).then_some(waiting),
                    Err(error) => {
                        self.waiting.push_front(waiting);
                        return Err(error);
                    }
                },
                Waiting::Transfer(transfer) => match self.transfer(shared, transfer) {
                    Ok(left) => left.map(Waiting::Transfer),
                    Err(error) => {
                        // It completes when the peer is lost.
                        self.waiting.push_front(waiting);
                        return Err(error);
                    }
                },
            };
            if let Some(left) = left {
                self.waiting.push_front(left);
                break;
            }
            went += 1;
        }
        if went > 0 && self.waiting.is_empty() {
            // What waits is allocated anyway; a peer for which nothing does keeps no memory for it.
            self.waiting = VecDeque::new();
        }
        if self.credits.owes() && self.say(shared, CREDITS, true)? {
            went += 1;
        }
        Ok(went)
    }

    /// Posts a frame without a packet, by the second rail if there is one and `control` is set. False if it has to wait.
    fn say(&mut self, shared: &mut Shared, kind: u16, control: bool) -> Result<bool, VerbsError> {
        let Self { state: PeerState::Up, data: Some(data), control: second, credits, .. } = self else {
            return Ok(false);
        };
        let second = second.as_mut().filter(|_| control).map(|second| &mut second.rail);
        second.unwrap_or(data).send(shared, credits, kind, [&[], &[]])
    }

    /// Whether [`Peer::flush`] has something to do.
    pub(crate) fn has_more(&self) -> bool {
        match self.state {
            PeerState::Up => !self.waiting.is_empty() || self.credits.owes(),
            PeerState::Asked | PeerState::Made => !self.waiting.is_empty(),
            // What is posted completes by itself.
            PeerState::Lost(_) => false,
        }
    }

    /// Posts something that has to be acknowledged and does nothing, if packets may be sent.
    pub(crate) fn probe(&mut self, shared: &mut Shared) -> Result<(), VerbsError> {
        self.room(shared, 1).map_or(Ok(()), |rail| rail.probe(shared))
    }

    /// Posts a probe behind work requests that would have no completion.
    pub(crate) fn drain(&mut self, shared: &mut Shared) -> Result<(), VerbsError> {
        let is_up = matches!(self.state, PeerState::Up);
        self.rails_mut().filter(|rail| is_up && rail.is_silent()).try_for_each(|rail| rail.probe(shared))
    }

    /// Takes the work requests of one rail up to number `last` off the list of those that are posted, and hands them over.
    #[inline]
    pub(crate) fn completed(&mut self, control: bool, last: u32, each: impl FnMut(Posted)) {
        let Self { data, control: second, .. } = self;
        let rail = if control { second.as_mut().map(|second| &mut second.rail) } else { data.as_mut() };
        if let Some(rail) = rail {
            rail.completed(last, each);
        }
    }

    /// Of a lost peer, when nothing is posted to it any more: what waits completes, in its order behind what was posted.
    /// True if its loss is to be reported now.
    pub(crate) fn settle(&mut self, done: &mut VecDeque<Arrival>) -> bool {
        matches!(self.state, PeerState::Lost(_)) && self.rails().all(Rail::is_empty) && self.end(done)
    }

    fn end(&mut self, done: &mut VecDeque<Arrival>) -> bool {
        (self.data, self.control) = (None, None);
        done.extend(self.failed.drain(..));
        for waiting in self.waiting.drain(..) {
            match waiting {
                Waiting::Transfer(transfer) => done.push_back(transfer.arrival()),
                Waiting::Atomic(attempt) => done.push_back(attempt.fetched(0)),
                Waiting::Packet(..) | Waiting::Word { .. } => {}
            }
        }
        std::mem::take(&mut self.untold)
    }
}
