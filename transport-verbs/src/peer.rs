//! One peer: its connection, what is posted to it, and what waits.

use crate::control::Control;
use crate::frame::{self, CREDITS, GOODBYE, PACKET};
use crate::ibv::{Operation, Parts, Request, Sge, Slots};
use crate::way::Way;
use crate::{Loss, VerbsError};
use carrousel_link::{Credits, Rules};
use carrousel_transport::{Arrival, Direction, Handle, Head, Memory};
use std::collections::VecDeque;

/// A work request that was posted, and is not known to be complete. Small: every peer has room for as many as may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Posted {
    /// Nothing hangs on it.
    Nothing,
    /// The slot is free again when it is complete.
    Slot(u32),
    /// This request's write is complete with it.
    Write(Handle),
    /// This request's read, or change, is.
    Read(Handle),
    /// The slot is free, and the buffer of that name is its owner's again.
    Lent(u32, u32),
}

/// The data of a packet that is sent from where they are: what the adapter knows them as, and the name that their
/// owner hears when they may be changed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loan {
    pub(crate) data: Sge,
    pub(crate) name: u32,
}

/// What could not be posted yet.
#[derive(Debug)]
pub(crate) enum Waiting {
    /// A packet, which takes a credit, and its data.
    Packet(Head, Vec<u8>),
    /// That this process has sent all of its messages by a way: the second one, or the first.
    Goodbye {
        control: bool,
    },
    Transfer(Transfer),
}

/// What is done with memory of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Write,
    Read,
    Change(Change),
}

/// How 8 bytes of a peer are changed; nothing else comes between looking and changing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Something is added to them.
    Add(u64),
    /// They are replaced if they are as expected.
    Swap {
        /// What they have to be.
        expected: u64,
        /// What they become.
        new: u64,
    },
}

/// A write or a read, or what is left of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) kind: Kind,
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
        if self.kind == Kind::Write { Arrival::Written(self.request) } else { Arrival::Read(self.request) }
    }

    fn posted(&self) -> Posted {
        if self.kind == Kind::Write { Posted::Write(self.request) } else { Posted::Read(self.request) }
    }

    fn operation(&self) -> Operation {
        let Memory { address, key } = self.remote;
        match self.kind {
            Kind::Write => Operation::Write { address, key },
            Kind::Read => Operation::Read { address, key },
            Kind::Change(Change::Add(add)) => Operation::Add { address, key, add },
            Kind::Change(Change::Swap { expected, new }) => Operation::Swap { address, key, expected, new },
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

/// What all peers share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Memory for packets that are too large to be copied into a work request.
    pub(crate) slots: Slots,
    pub(crate) free: Vec<u32>,
    /// Work requests that were posted, each of which may have a completion.
    pub(crate) outstanding: u32,
    /// Completions that there is room for.
    pub(crate) room: u32,
    /// Bytes of the largest work request.
    pub(crate) message: u64,
    /// Whether a read may be posted behind a closed fence.
    pub(crate) reads_behind_fences: bool,
}

impl Shared {
    /// Whether so many more may be posted.
    #[inline]
    pub(crate) fn fits(&self, requests: u32) -> bool {
        self.outstanding + requests <= self.room
    }

    /// A work request is complete, or nobody waits for that any more.
    #[inline]
    pub(crate) fn over(
        &mut self,
        posted: Posted,
        done: &mut VecDeque<Arrival>,
        returned: &mut VecDeque<u32>,
    ) {
        self.outstanding -= 1;
        match posted {
            Posted::Nothing => {}
            Posted::Slot(slot) => self.free.push(slot),
            Posted::Write(request) => done.push_back(Arrival::Written(request)),
            Posted::Read(request) => done.push_back(Arrival::Read(request)),
            Posted::Lent(slot, name) => {
                self.free.push(slot);
                returned.push_back(name);
            }
        }
    }

    /// Whether completions are wanted, so that what is scarce becomes free again. Half of everything is only
    /// used by those that have one: so whoever waits for some gets it.
    pub(crate) fn is_scarce(&self) -> bool {
        self.outstanding * 2 >= self.room || self.free.len() * 2 <= self.slots.count() as usize
    }
}

/// How far a peer is.
#[derive(Debug)]
pub(crate) enum State {
    /// A connection was asked for.
    Asked,
    /// Packets may come; none may go.
    Made,
    Up,
    Lost(Loss),
}

#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) state: State,
    /// How it is reached, from when the connection is made until nothing is posted to a peer that is lost.
    pub(crate) data: Option<Way>,
    /// The second way, if there is one, and the order that packets have by both.
    pub(crate) control: Option<Box<Control>>,
    pub(crate) credits: Credits<Rules>,
    /// The number of the last work request that waits for reads before it.
    fence: Option<u32>,
    pub(crate) waiting: VecDeque<Waiting>,
    /// It is lost, and nobody is told before the adapter has let go of what was posted.
    pub(crate) untold: bool,
    /// What is reported then, behind the loss.
    pub(crate) failed: Vec<Arrival>,
    /// By how many ways it has said that it has sent all of its messages.
    pub(crate) goodbyes: u8,
    /// It is lost, as was to be expected, and nobody was told.
    pub(crate) ended: bool,
    /// Whether it is in the list of those that something waits for.
    pub(crate) listed: bool,
}

impl Default for Peer {
    fn default() -> Self {
        Self {
            state: State::Asked,
            data: None,
            control: None,
            // Nobody asks for them before the connection is made.
            credits: Credits::new(0),
            fence: None,
            waiting: VecDeque::new(),
            untold: false,
            failed: Vec::new(),
            goodbyes: 0,
            ended: false,
            listed: false,
        }
    }
}

impl Peer {
    /// By all ways.
    fn ways(&self) -> impl Iterator<Item = &Way> {
        self.data.iter().chain(self.control.iter().map(|control| &control.way))
    }

    /// As [`Peer::ways`].
    pub(crate) fn ways_mut(&mut self) -> impl Iterator<Item = &mut Way> {
        self.data.iter_mut().chain(self.control.iter_mut().map(|control| &mut control.way))
    }

    /// Whether it has said that it has sent all of its messages.
    pub(crate) fn is_finished(&self) -> bool {
        self.goodbyes > u8::from(self.control.is_some())
    }

    /// Whether it has had all that it needs, as it says that behind a barrier, and nothing is wanted of its memory.
    pub(crate) fn needs_nothing(&self) -> bool {
        let is_transfer = |one: &Waiting| matches!(one, Waiting::Transfer(_));
        let is_wanted = || self.ways().any(Way::has_transfers) || self.waiting.iter().any(is_transfer);
        self.is_finished() && !is_wanted()
    }

    /// Whether something was posted, or waits, that has not been acknowledged.
    pub(crate) fn is_busy(&self) -> bool {
        !self.waiting.is_empty() || !self.ways().all(Way::is_empty)
    }

    /// Whether a completion will come: if the peer acknowledges, or because it does not.
    pub(crate) fn expects(&self) -> bool {
        self.ways().any(Way::expects)
    }

    /// Whether something was posted, or waits, that somebody has to be told of.
    pub(crate) fn owes(&self) -> bool {
        let is_goodbye = |one: &Waiting| matches!(one, Waiting::Goodbye { .. });
        self.ways().any(Way::has_transfers) || !self.waiting.iter().all(is_goodbye)
    }

    /// The first way, if `requests` more can be posted.
    fn room(&mut self, shared: &Shared, requests: u32) -> Option<&mut Way> {
        let Self { state: State::Up, data: Some(way), .. } = self else { return None };
        way.fits(shared, requests).then_some(way)
    }

    /// Whether something that waits for reads before it may not have begun.
    fn is_fenced(&self) -> bool {
        let is_posted = |number| self.data.as_ref().is_some_and(|way| way.is_posted(number));
        self.fence.is_some_and(is_posted)
    }

    /// Posts a packet. False if it has to wait.
    #[inline]
    pub(crate) fn send(
        &mut self,
        shared: &mut Shared,
        direction: impl FnOnce() -> Direction,
        packet: [&[u8]; 2],
    ) -> Result<bool, VerbsError> {
        let Self { state: State::Up, data: Some(way), control, credits, .. } = self else { return Ok(false) };
        match control {
            None => way.send(shared, credits, PACKET, packet),
            Some(control) => control.send(way, shared, credits, (direction(), packet)),
        }
    }

    /// Posts a packet whose data are not copied. False if it has to wait.
    pub(crate) fn lend(&mut self, shared: &mut Shared, head: &Head, loan: Loan) -> Result<bool, VerbsError> {
        let Self { state: State::Up, data: Some(way), control, credits, .. } = self else { return Ok(false) };
        if !way.fits(shared, 1) || shared.free.is_empty() || !credits.spend() {
            return Ok(false);
        }
        let kind = control.as_mut().map_or(PACKET, |control| control.number(head.direction()));
        let head = head.as_bytes();
        let Some(slot) = shared.free.pop() else { return Ok(false) };
        shared.slots.bytes_mut(slot, head.len()).copy_from_slice(head);
        let operation = Operation::Send(frame::immediate(kind, credits.give()));
        let parts = Parts::Keyed(&[shared.slots.sge(slot, head.len()), loan.data]);
        let request = Request { id: way.id(0), operation, parts, signaled: true, fenced: false };
        way.post(shared, [request], [Posted::Lent(slot, loan.name)])
            .inspect_err(|_| shared.free.push(slot))?;
        Ok(true)
    }

    /// Posts a transfer, with its notice, or what of it there is room for. Returns what is left.
    pub(crate) fn transfer(
        &mut self,
        shared: &mut Shared,
        mut transfer: Transfer,
    ) -> Result<Option<Transfer>, VerbsError> {
        if transfer.kind != Kind::Write && !shared.reads_behind_fences && self.is_fenced() {
            return Ok(Some(transfer));
        }
        while transfer.len > shared.message {
            let Some(way) = self.room(shared, 1) else { return Ok(Some(transfer)) };
            let (id, signaled) = (way.id(0), way.signals(shared));
            let parts = Parts::Keyed(&[transfer.piece(shared.message)]);
            let piece = Request { id, operation: transfer.operation(), parts, signaled, fenced: false };
            way.post(shared, [piece], [Posted::Nothing])?;
            transfer.advance(shared.message);
        }
        let Self { state: State::Up, data: Some(way), control, credits, .. } = self else {
            return Ok(Some(transfer));
        };
        let requests = 1 + u32::from(transfer.notice.is_some());
        if !way.fits(shared, requests) {
            return Ok(Some(transfer));
        }
        let parts = Parts::Keyed(&[transfer.piece(transfer.len)]);
        let operation = transfer.operation();
        let data = Request { id: way.id(0), operation, parts, signaled: true, fenced: false };
        let Some(notice) = &transfer.notice else {
            way.post(shared, [data], [transfer.posted()])?;
            if let Some(control) = control.as_mut().filter(|_| transfer.kind != Kind::Read) {
                control.wrote();
            }
            return Ok(None);
        };
        let (head, len) = (notice.as_bytes(), notice.as_bytes().len());
        let is_inline = way.takes_inline(len);
        if !is_inline && shared.free.is_empty() || !credits.spend() {
            return Ok(Some(transfer));
        }
        let slot = if is_inline { None } else { shared.free.pop() };
        let copied = slot.map(|slot| {
            shared.slots.bytes_mut(slot, len).copy_from_slice(head);
            [shared.slots.sge(slot, len)]
        });
        let kind = control.as_mut().map_or(PACKET, |control| control.number(notice.direction()));
        // A read is complete here when its answer is: whatever says so must not overtake that.
        let fenced = transfer.kind != Kind::Write;
        let notice = Request {
            id: way.id(1),
            operation: Operation::Send(frame::immediate(kind, credits.give())),
            parts: copied.as_ref().map_or(Parts::Inline([head, &[]]), |sge| Parts::Keyed(sge)),
            // Somebody may wait for its end, or for its slot.
            signaled: fenced && !shared.reads_behind_fences || slot.is_some() && way.signals(shared),
            fenced,
        };
        let number = way.number(1);
        let posted = [transfer.posted(), slot.map_or(Posted::Nothing, Posted::Slot)];
        // A slot of what could not be posted is free again: its peer is lost, and others need it.
        way.post(shared, [data, notice], posted).inspect_err(|_| shared.free.extend(slot))?;
        if fenced {
            self.fence = Some(number);
        }
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
                Waiting::Goodbye { control } => {
                    (!self.say(shared, GOODBYE, control)?).then_some(Waiting::Goodbye { control })
                }
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

    /// Posts a frame without a packet, by the second way if there is one and it is to be that. False if it has to wait.
    fn say(&mut self, shared: &mut Shared, kind: u16, control: bool) -> Result<bool, VerbsError> {
        let Self { state: State::Up, data: Some(data), control: second, credits, .. } = self else {
            return Ok(false);
        };
        let second = second.as_mut().filter(|_| control).map(|second| &mut second.way);
        second.unwrap_or(data).send(shared, credits, kind, [&[], &[]])
    }

    /// Whether [`Peer::flush`] has something to do.
    pub(crate) fn has_more(&self) -> bool {
        match self.state {
            State::Up => !self.waiting.is_empty() || self.credits.owes(),
            State::Asked | State::Made => !self.waiting.is_empty(),
            // That completes without anybody's doing.
            State::Lost(_) => false,
        }
    }

    /// Posts something that has to be acknowledged and does nothing, if packets may be sent.
    pub(crate) fn probe(&mut self, shared: &mut Shared) -> Result<(), VerbsError> {
        self.room(shared, 1).map_or(Ok(()), |way| way.probe(shared))
    }

    /// Posts as much behind all that would have no completion.
    pub(crate) fn drain(&mut self, shared: &mut Shared) -> Result<(), VerbsError> {
        let is_up = matches!(self.state, State::Up);
        self.ways_mut().filter(|way| is_up && way.is_silent()).try_for_each(|way| way.probe(shared))
    }

    /// Takes the work requests of one way up to number `last` off the list of those that are posted, and hands them over.
    #[inline]
    pub(crate) fn completed(&mut self, control: bool, last: u32, each: impl FnMut(Posted)) {
        let Self { data, control: second, .. } = self;
        let way = if control { second.as_mut().map(|second| &mut second.way) } else { data.as_mut() };
        if let Some(way) = way {
            way.completed(last, each);
        }
    }

    /// Of a lost peer, when nothing is posted to it any more: what waits completes, in its order behind what was posted.
    /// True if somebody is to be told of its loss now.
    pub(crate) fn settle(&mut self, done: &mut VecDeque<Arrival>) -> bool {
        matches!(self.state, State::Lost(_)) && self.ways().all(Way::is_empty) && self.end(done)
    }

    fn end(&mut self, done: &mut VecDeque<Arrival>) -> bool {
        (self.data, self.control) = (None, None);
        done.extend(self.failed.drain(..));
        for waiting in self.waiting.drain(..) {
            if let Waiting::Transfer(transfer) = waiting {
                done.push_back(transfer.arrival());
            }
        }
        std::mem::take(&mut self.untold)
    }
}
