//! One queue pair to a peer, and what is posted to it.

use crate::VerbsError;
use crate::frame::{self, takes_credit};
use crate::ibv::{Operation, Parts, QueuePair, Request, Sge};
use crate::shared::{Posted, Shared};
use carrousel_connection::{Credits, Rules};
use carrousel_transport::{Arrival, RankId};
use std::collections::VecDeque;
use std::sync::Arc;

/// Set in the name of every work request that sends; those of receive buffers do not have it.
pub(crate) const SENDS: u64 = 1 << 63;
/// Set in the name of those that were posted to a peer's second queue pair.
const CONTROL: u64 = 1 << 62;
/// How often at least a work request has a completion of its own, which those before it share.
const SIGNAL: u32 = 16;

/// The peer whose work request has this name, and whether it was posted to the second queue pair.
#[inline]
pub(crate) fn posted_to(id: u64) -> (RankId, bool) {
    (RankId((id >> 32) as u32 & 0x3fff_ffff), id & CONTROL != 0)
}

/// One queue pair to a peer, and what is posted to it.
#[derive(Debug)]
pub(crate) struct Rail {
    pair: Arc<QueuePair>,
    /// What the names of its work requests have in common.
    name: u64,
    /// In the order of posting, which is that of completion.
    posted: VecDeque<Posted>,
    /// The number of the first of them.
    first: u32,
    /// How many of the last ones have no completion of their own.
    unsignaled: u32,
}

impl Rail {
    /// The queue pair that `rank` is reached by, or the second one, for `control`.
    pub(crate) fn new(pair: Arc<QueuePair>, rank: RankId, control: bool) -> Self {
        let name = SENDS | if control { CONTROL } else { 0 } | u64::from(rank.0) << 32;
        Self { pair, name, posted: VecDeque::new(), first: 0, unsignaled: 0 }
    }

    /// Whether `requests` more can be posted.
    #[inline]
    pub(crate) fn fits(&self, shared: &Shared, requests: u32) -> bool {
        self.posted.len() + requests as usize <= self.pair.depth() && shared.fits(requests)
    }

    /// Whether so many bytes can be copied into a work request. A device may take none.
    #[inline]
    pub(crate) fn takes_inline(&self, len: usize) -> bool {
        len <= self.pair.inline()
    }

    /// The number of the work request that is posted as the `ahead`th from now.
    #[inline]
    pub(crate) fn number(&self, ahead: u32) -> u32 {
        self.first.wrapping_add(self.posted.len() as u32).wrapping_add(ahead)
    }

    /// Its name.
    #[inline]
    pub(crate) fn id(&self, ahead: u32) -> u64 {
        self.name | u64::from(self.number(ahead))
    }

    /// Whether a request, if it were posted now, should have a completion of its own.
    #[inline]
    pub(crate) fn signals(&self, shared: &Shared) -> bool {
        self.unsignaled + 1 >= SIGNAL.min(self.pair.depth() as u32 / 2) || shared.is_scarce()
    }

    /// Whether the adapter can be given fences; if not, it starts one read or atomic at a time, see `Limits::fences`.
    pub(crate) fn has_fences(&self) -> bool {
        self.pair.has_fences()
    }

    /// What stands for a fence, if the adapter has none.
    pub(crate) fn fence(&self) -> Option<(Operation, Sge)> {
        self.pair.fence()
    }

    /// Whether no work request is posted.
    pub(crate) fn is_empty(&self) -> bool {
        self.posted.is_empty()
    }

    /// Whether a completion will come: if the peer acknowledges, or because it does not.
    pub(crate) fn expects(&self) -> bool {
        self.posted.len() > self.unsignaled as usize
    }

    /// Whether something is posted that will have no completion.
    pub(crate) fn is_silent(&self) -> bool {
        self.unsignaled > 0
    }

    /// Whether a write, a read or an atomic is posted.
    pub(crate) fn has_transfers(&self) -> bool {
        self.posted.iter().any(|one| matches!(one, Posted::Write(_) | Posted::Read(_) | Posted::Atomic(_)))
    }

    /// Posts requests that fit, with what hangs on each.
    #[inline]
    pub(crate) fn post<const N: usize>(
        &mut self,
        shared: &mut Shared,
        requests: [Request<'_>; N],
        what: [Posted; N],
    ) -> Result<(), VerbsError> {
        let signaled = requests.each_ref().map(|request| request.signaled);
        self.pair.post(requests)?;
        for (posted, signaled) in what.into_iter().zip(signaled) {
            self.note(shared, posted, signaled);
        }
        Ok(())
    }

    /// Takes note of what was posted.
    #[inline]
    fn note(&mut self, shared: &mut Shared, posted: Posted, signaled: bool) {
        self.posted.push_back(posted);
        self.unsignaled = if signaled { 0 } else { self.unsignaled + 1 };
        shared.outstanding += 1;
    }

    /// Posts a frame, which brings the credits that are owed. False if it has to wait.
    #[inline]
    pub(crate) fn send(
        &mut self,
        shared: &mut Shared,
        credits: &mut Credits<Rules>,
        kind: u16,
        [head, data]: [&[u8]; 2],
    ) -> Result<bool, VerbsError> {
        let len = head.len() + data.len();
        let is_inline = self.takes_inline(len);
        if !self.fits(shared, 1)
            || !is_inline && shared.free.is_empty()
            || takes_credit(kind) && !credits.spend()
        {
            return Ok(false);
        }
        let signaled = self.signals(shared);
        let operation = Operation::Send(frame::immediate(kind, credits.give()));
        let id = self.id(0);
        let request = |parts| Request { id, operation, parts, signaled, fenced: false };
        let posted = if is_inline {
            self.pair.post([request(Parts::Inline([head, data]))])?;
            Posted::Nothing
        } else {
            let Some(slot) = shared.free.pop() else { return Ok(false) };
            let bytes = shared.bounce_buffers.bytes_mut(slot, len);
            bytes[..head.len()].copy_from_slice(head);
            bytes[head.len()..].copy_from_slice(data);
            // Also when posting fails: the peer is lost then, and others need the buffer.
            self.pair
                .post([request(Parts::Keyed(&[shared.bounce_buffers.sge(slot, len)]))])
                .inspect_err(|_| shared.free.push(slot))?;
            Posted::Slot(slot)
        };
        self.note(shared, posted, signaled);
        Ok(true)
    }

    /// The next request, if it is to do nothing but to have a completion.
    fn nothing(&self) -> Request<'static> {
        let operation = Operation::Write { address: 0, key: 0 };
        Request { id: self.id(0), operation, parts: Parts::Keyed(&[]), signaled: true, fenced: false }
    }

    /// Posts something that has to be acknowledged and does nothing.
    pub(crate) fn probe(&mut self, shared: &mut Shared) -> Result<(), VerbsError> {
        if self.fits(shared, 1) { self.post(shared, [self.nothing()], [Posted::Nothing]) } else { Ok(()) }
    }

    /// Ends the connection: what is posted completes with an error. False if the adapter is beyond that.
    pub(crate) fn fail(&self) -> bool {
        self.pair.fail().is_ok()
    }

    /// Of a connection that has ended: whether all that is posted has a completion to come, or nothing is posted. What has
    /// none of its own has none any more if it was done before the end. One more request does, as all that is posted from
    /// now on fails at once; there is room for it when every completion that was to come has been taken. False if the
    /// adapter does not take it.
    pub(crate) fn hears_of_rest(&mut self, shared: &mut Shared) -> bool {
        let is_left = !self.is_empty() && !self.expects();
        !is_left || self.post(shared, [self.nothing()], [Posted::Nothing]).is_ok()
    }

    /// Hands over all that is posted: its completions are not waited for.
    pub(crate) fn take_back(&mut self, each: impl FnMut(Posted)) {
        self.first = self.number(0);
        self.unsignaled = 0;
        self.posted.drain(..).for_each(each);
    }

    /// Of a connection that has ended: what is to be reported of its transfers. They are posted still, and nothing hangs on
    /// them any more.
    pub(crate) fn give_up_transfers(&mut self, shared: &mut Shared) -> impl Iterator<Item = Arrival> {
        self.posted.iter_mut().filter_map(|posted| {
            let arrival = match *posted {
                // Its slot is free when it is over.
                Posted::Atomic(slot) => return shared.results.as_mut()?.give_up(slot),
                Posted::Write(request) => Arrival::Written(request),
                Posted::Read(request) => Arrival::Read(request),
                Posted::Nothing | Posted::Slot(_) | Posted::Zcopy(..) => return None,
            };
            *posted = Posted::Nothing;
            Some(arrival)
        })
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
}
