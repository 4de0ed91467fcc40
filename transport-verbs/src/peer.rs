//! One peer: its connection, what is posted to it, and what waits.

use crate::frame::{self, CREDITS, GOODBYE, PACKET};
use crate::ibv::{Operation, Parts, QueuePair, Request, Sge, Slots};
use crate::{Loss, VerbsError};
use carrousel_link::{Credits, Rules};
use carrousel_transport::wire::{HEAD_MAX, encode};
use carrousel_transport::{Arrival, Context, Handle, Memory, Packet, RankId};
use std::collections::VecDeque;
use std::sync::Arc;

/// Set in the number of every work request that sends; those of receive buffers do not have it.
pub(crate) const SENDS: u64 = 1 << 63;
/// How often at least a work request has a completion of its own, which those before it share.
const SIGNAL: u32 = 16;

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
    /// A packet, which takes a credit.
    Packet(Vec<u8>),
    /// That this process has sent all of its messages.
    Goodbye,
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
    pub(crate) notice: Option<(Context, Packet)>,
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
    /// Whether completions are wanted, so that what is scarce becomes free again. Half of everything is only
    /// used by those that have one: so whoever waits for some gets it.
    fn is_scarce(&self) -> bool {
        self.outstanding * 2 >= self.room || self.free.len() * 2 <= self.slots.count() as usize
    }
}

/// How far a peer is.
#[derive(Debug)]
pub(crate) enum State {
    /// A connection was asked for.
    Asked,
    /// Packets may come; none may go.
    Made(Arc<QueuePair>),
    Up(Arc<QueuePair>),
    /// What is still posted keeps the queue pair.
    Lost(Loss, Option<Arc<QueuePair>>),
}

#[derive(Debug)]
pub(crate) struct Peer {
    rank: RankId,
    pub(crate) state: State,
    pub(crate) credits: Credits<Rules>,
    /// In the order of posting, which is that of completion.
    pub(crate) posted: VecDeque<Posted>,
    /// The number of the first of them.
    pub(crate) first: u32,
    /// How many of the last ones have no completion of their own.
    pub(crate) unsignaled: u32,
    /// The number of the last one that waits for reads before it.
    fence: Option<u32>,
    pub(crate) waiting: VecDeque<Waiting>,
    /// It has said that it has sent all of its messages.
    pub(crate) finished: bool,
    /// It is lost, as was to be expected, and nobody was told.
    pub(crate) ended: bool,
    /// Whether it is in the list of those that something waits for.
    pub(crate) listed: bool,
}

impl Peer {
    pub(crate) fn new(rank: RankId) -> Self {
        Self {
            rank,
            state: State::Asked,
            // Nobody asks for them before the connection is made.
            credits: Credits::new(0),
            posted: VecDeque::new(),
            first: 0,
            unsignaled: 0,
            fence: None,
            waiting: VecDeque::new(),
            finished: false,
            ended: false,
            listed: false,
        }
    }

    /// Whether a completion will come: if the peer acknowledges, or because it does not.
    pub(crate) fn expects(&self) -> bool {
        self.posted.len() > self.unsignaled as usize
    }

    /// Whether something was posted, or waits, that somebody has to be told of.
    pub(crate) fn owes(&self) -> bool {
        let told = |one: &Posted| matches!(one, Posted::Write(_) | Posted::Read(_));
        let is_goodbye = |one: &Waiting| matches!(one, Waiting::Goodbye);
        self.posted.iter().any(told) || !self.waiting.iter().all(is_goodbye)
    }

    /// The queue pair, if `requests` more can be posted.
    #[inline]
    fn pair(&self, shared: &Shared, requests: u32) -> Option<&Arc<QueuePair>> {
        let State::Up(pair) = &self.state else { return None };
        let fits = self.posted.len() + requests as usize <= pair.depth();
        (fits && shared.outstanding + requests <= shared.room).then_some(pair)
    }

    /// The name of the work request that is posted as the `ahead`th from now.
    #[inline]
    fn id(&self, ahead: u32) -> u64 {
        let number = self.first.wrapping_add(self.posted.len() as u32).wrapping_add(ahead);
        SENDS | u64::from(self.rank.0) << 32 | u64::from(number)
    }

    /// Whether a request, if it were posted now, shall have a completion of its own.
    #[inline]
    fn signals(&self, shared: &Shared, depth: usize) -> bool {
        self.unsignaled + 1 >= SIGNAL.min(depth as u32 / 2) || shared.is_scarce()
    }

    /// Whether something that waits for reads before it may not have begun.
    fn is_fenced(&self) -> bool {
        self.fence.is_some_and(|number| (number.wrapping_sub(self.first) as usize) < self.posted.len())
    }

    /// Takes note of what was posted.
    #[inline]
    fn note(&mut self, shared: &mut Shared, posted: Posted, signaled: bool) {
        self.posted.push_back(posted);
        self.unsignaled = if signaled { 0 } else { self.unsignaled + 1 };
        shared.outstanding += 1;
    }

    /// Posts a frame. False if it has to wait.
    #[inline]
    pub(crate) fn post(
        &mut self,
        shared: &mut Shared,
        kind: u16,
        head: &[u8],
        data: &[u8],
    ) -> Result<bool, VerbsError> {
        let Some(pair) = self.pair(shared, 1) else { return Ok(false) };
        let len = head.len() + data.len();
        let (is_inline, depth) = (len <= pair.inline(), pair.depth());
        if !is_inline && shared.free.is_empty() || kind == PACKET && !self.credits.spend() {
            return Ok(false);
        }
        let signaled = self.signals(shared, depth);
        let operation = Operation::Send(frame::immediate(kind, self.credits.give()));
        let id = self.id(0);
        let request = |parts| Request { id, operation, parts, signaled, fenced: false };
        // A borrow of the pair alone: what else is of this peer has changed.
        let State::Up(pair) = &self.state else { return Ok(false) };
        let posted = if is_inline {
            pair.post([request(Parts::Inline([head, data]))])?;
            Posted::Nothing
        } else {
            let Some(slot) = shared.free.pop() else { return Ok(false) };
            let bytes = shared.slots.bytes_mut(slot, len);
            bytes[..head.len()].copy_from_slice(head);
            bytes[head.len()..].copy_from_slice(data);
            // Whether or not: who could not post it is lost, and others need the slot.
            pair.post([request(Parts::Keyed(&[shared.slots.sge(slot, len)]))])
                .inspect_err(|_| shared.free.push(slot))?;
            Posted::Slot(slot)
        };
        self.note(shared, posted, signaled);
        Ok(true)
    }

    /// Posts a packet whose data are not copied. False if it has to wait.
    pub(crate) fn lend(&mut self, shared: &mut Shared, head: &[u8], loan: Loan) -> Result<bool, VerbsError> {
        if self.pair(shared, 1).is_none() || shared.free.is_empty() || !self.credits.spend() {
            return Ok(false);
        }
        let (id, credits) = (self.id(0), self.credits.give());
        let State::Up(pair) = &self.state else { return Ok(false) };
        let Some(slot) = shared.free.pop() else { return Ok(false) };
        shared.slots.bytes_mut(slot, head.len()).copy_from_slice(head);
        let operation = Operation::Send(frame::immediate(PACKET, credits));
        let parts = Parts::Keyed(&[shared.slots.sge(slot, head.len()), loan.data]);
        pair.post([Request { id, operation, parts, signaled: true, fenced: false }])
            .inspect_err(|_| shared.free.push(slot))?;
        self.note(shared, Posted::Lent(slot, loan.name), true);
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
            let Some(pair) = self.pair(shared, 1) else { return Ok(Some(transfer)) };
            let (len, id) = (shared.message, self.id(0));
            let signaled = self.signals(shared, pair.depth());
            let parts = Parts::Keyed(&[transfer.piece(len)]);
            pair.post([Request { id, operation: transfer.operation(), parts, signaled, fenced: false }])?;
            self.note(shared, Posted::Nothing, signaled);
            transfer.advance(len);
        }
        let requests = 1 + u32::from(transfer.notice.is_some());
        if self.pair(shared, requests).is_none() || transfer.notice.is_some() && !self.credits.spend() {
            return Ok(Some(transfer));
        }
        let (id, next) = (self.id(0), self.id(1));
        let credits = if transfer.notice.is_some() { self.credits.give() } else { 0 };
        let State::Up(pair) = &self.state else { return Ok(Some(transfer)) };
        let parts = Parts::Keyed(&[transfer.piece(transfer.len)]);
        let data = Request { id, operation: transfer.operation(), parts, signaled: true, fenced: false };
        let Some((context, packet)) = transfer.notice else {
            pair.post([data])?;
            self.note(shared, transfer.posted(), true);
            return Ok(None);
        };
        let mut head = [0; HEAD_MAX];
        let len = encode(context, &packet, &mut head);
        // A read is complete here when its answer is: whatever says so must not overtake that.
        let fenced = transfer.kind != Kind::Write;
        // Somebody may wait for its end.
        let signaled = fenced && !shared.reads_behind_fences;
        let notice = Request {
            id: next,
            operation: Operation::Send(frame::immediate(PACKET, credits)),
            parts: Parts::Inline([&head[..len], &[]]),
            signaled,
            fenced,
        };
        pair.post([data, notice])?;
        self.note(shared, transfer.posted(), true);
        self.note(shared, Posted::Nothing, signaled);
        if fenced {
            self.fence = Some(next as u32);
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
                Waiting::Packet(bytes) => {
                    (!self.post(shared, PACKET, &bytes, &[])?).then_some(Waiting::Packet(bytes))
                }
                Waiting::Goodbye => (!self.post(shared, GOODBYE, &[], &[])?).then_some(Waiting::Goodbye),
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
        if self.credits.owes() && self.post(shared, CREDITS, &[], &[])? {
            went += 1;
        }
        Ok(went)
    }

    /// Whether [`Peer::flush`] has something to do.
    pub(crate) fn has_more(&self) -> bool {
        match self.state {
            State::Up(_) => !self.waiting.is_empty() || self.credits.owes(),
            State::Asked | State::Made(_) => !self.waiting.is_empty(),
            // That completes without anybody's doing.
            State::Lost(..) => false,
        }
    }

    /// The next request, if it is to do nothing but to have a completion.
    fn nothing(&self) -> Request<'static> {
        let operation = Operation::Write { address: 0, key: 0 };
        Request { id: self.id(0), operation, parts: Parts::Keyed(&[]), signaled: true, fenced: false }
    }

    /// Posts something that has to be acknowledged and does nothing.
    pub(crate) fn probe(&mut self, shared: &mut Shared) -> Result<(), VerbsError> {
        let Some(pair) = self.pair(shared, 1) else { return Ok(()) };
        pair.post([self.nothing()])?;
        self.note(shared, Posted::Nothing, true);
        Ok(())
    }

    /// Behind the end of the connection: what was posted without a completion of its own has none any more if it was done
    /// before the end. One more request does, as all that is posted from now on fails at once.
    pub(crate) fn mark(&mut self, shared: &mut Shared, pair: &QueuePair) {
        if self.unsignaled == 0 {
            return;
        }
        // A full queue has a completion of its own to come, as that is asked for long before.
        if pair.post([self.nothing()]).is_ok() {
            self.note(shared, Posted::Nothing, true);
        }
    }

    /// Takes the work requests up to number `last` off the list of those that are posted, and hands them over.
    #[inline]
    pub(crate) fn completed(&mut self, last: u32, mut each: impl FnMut(Posted)) {
        let count = last.wrapping_sub(self.first).wrapping_add(1);
        for _ in 0..count {
            let Some(posted) = self.posted.pop_front() else { break };
            self.first = self.first.wrapping_add(1);
            each(posted);
        }
    }

    /// Of a lost peer, when nothing is posted to it any more: what waits completes, in its order behind what was posted.
    #[inline]
    pub(crate) fn settle(&mut self, done: &mut VecDeque<Arrival>) {
        let State::Lost(_, pair) = &mut self.state else { return };
        if !self.posted.is_empty() {
            return;
        }
        *pair = None;
        for waiting in self.waiting.drain(..) {
            if let Waiting::Transfer(transfer) = waiting {
                done.push_back(transfer.arrival());
            }
        }
    }
}
