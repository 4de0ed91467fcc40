//! Requests that own their buffer.
#![allow(unsafe_code, reason = "memory cannot be lent without")]

use super::completable::{Completable, Stage};
use super::rank_or_tag::RankOrTag;
use super::status::{Source, Status};
use super::tags::Tag;
use crate::collectives::{Agreement, end_agreement};
use crate::shared::Shared;
use crate::uninterrupted::uninterrupted;
use crate::{Communicator, Element, Error};
use carrousel_engine::{Awaited, BoxedError, CallSite, SendKind, WaitStrategy};
use carrousel_rank::Handle;
use std::task::{Context, Poll};
use zerocopy::IntoBytes;

/// A message on its way, and its buffer, which comes back from [`Request::wait`], or from awaiting it.
///
/// ```
/// let got = carrousel::threads(2, |world| {
///     let peer = 1 - world.rank();
///     let receive = world.irecv(vec![0u32; 4], peer, 0)?;
///     let send = world.isend(vec![world.rank(); 3], peer, 0)?;
///     // Here something else can be computed.
///     let (mut buffer, status) = receive.wait()?;
///     buffer.truncate(status.map_or(Ok(0), |status| status.count::<u32>())?);
///     send.wait()?;
///     Ok::<_, carrousel::Error>(buffer)
/// })?;
/// assert_eq!(got, [Ok(vec![1, 1, 1]), Ok(vec![0, 0, 0])]);
/// # Ok::<(), carrousel::Error>(())
/// ```
///
/// A request that is dropped before that waits; a receive without a message is cancelled first. A request that is leaked
/// leaks its buffer, so that the library never writes to memory that has another owner.
#[derive(Debug)]
#[must_use = "a request that is dropped waits for its message: keep it, and wait when there is nothing else to do"]
pub struct Request<T: Element> {
    communicator: Communicator,
    stage: Stage,
    receives: bool,
    /// Empty once the request has ended.
    buffer: Vec<T>,
    /// The wait strategy, once it is awaited.
    strategy: Option<WaitStrategy>,
    /// Finds out whether all ranks have called the same, if `check_usage` asks for it.
    agreement: Option<Box<Agreement>>,
}

impl Communicator {
    /// Starts a standard send of `data` (`MPI_Isend`), which comes back from [`Request::wait`].
    ///
    /// # Errors
    /// When there is no such rank or tag; of a small message, when the peer is gone.
    #[track_caller]
    pub fn isend<T: Element>(
        &self,
        data: Vec<T>,
        to: impl Into<RankOrTag>,
        tag: impl Into<RankOrTag>,
    ) -> Result<Request<T>, Error> {
        self.start_send(data, to, tag, false)
    }

    /// Starts a synchronous send of `data` (`MPI_Issend`): complete only once its receive has begun.
    ///
    /// # Errors
    /// When there is no such rank or tag.
    #[track_caller]
    pub fn issend<T: Element>(
        &self,
        data: Vec<T>,
        to: impl Into<RankOrTag>,
        tag: impl Into<RankOrTag>,
    ) -> Result<Request<T>, Error> {
        self.start_send(data, to, tag, true)
    }

    #[track_caller]
    fn start_send<T: Element>(
        &self,
        data: Vec<T>,
        to: impl Into<RankOrTag>,
        tag: impl Into<RankOrTag>,
        synchronous: bool,
    ) -> Result<Request<T>, Error> {
        let (caller, kind) = (self.caller(), SendKind::of_request(synchronous));
        let envelope = self.envelope(caller, kind, to, tag)?;
        let bytes = data.as_slice().as_bytes();
        let request = |stage, data| Request {
            communicator: self.of_request(),
            stage,
            receives: false,
            buffer: data,
            strategy: None,
            agreement: None,
        };
        let handle = self.shared.with(|endpoint| {
            // SAFETY: the bytes are on the heap and stay where they are when `data` moves into the request,
            // which uses it no more and drops it only after the library has ended the request; if the
            // request is leaked, so are the bytes. Noticed by: tests/messages.rs, under AddressSanitizer.
            uninterrupted(|| unsafe { endpoint.send(bytes, caller, envelope, kind) })
        })?;
        Ok(request(handle.map_or(Stage::Sent, Stage::Open), data))
    }

    /// Starts a receive into `buffer` (`MPI_Irecv`), which comes back from [`Request::wait`].
    ///
    /// # Errors
    /// When there is no such rank or tag.
    #[track_caller]
    pub fn irecv<T: Element>(
        &self,
        mut buffer: Vec<T>,
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Request<T>, Error> {
        let bytes: *mut [u8] = buffer.as_mut_slice().as_mut_bytes();
        let caller = self.caller();
        let (from, tag) = self.wanted(caller, "receive", from, tag)?;
        // SAFETY: as in `start_send`; and nobody else has the buffer.
        let handle = self
            .shared
            .with(|endpoint| uninterrupted(|| unsafe { endpoint.receive(bytes, caller, from, tag) }))?;
        Ok(self.receives(handle, buffer))
    }

    /// Starts the receive of a message that was claimed.
    #[track_caller]
    pub(super) fn receive_claimed<T: Element>(
        &self,
        mut buffer: Vec<T>,
        message: Handle,
    ) -> Result<Request<T>, Error> {
        let (bytes, caller): (*mut [u8], _) = (buffer.as_mut_slice().as_mut_bytes(), self.caller());
        // SAFETY: as in `irecv`.
        let handle = self
            .shared
            .with(|endpoint| uninterrupted(|| unsafe { endpoint.receive_claimed(bytes, caller, message) }))?;
        Ok(self.receives(handle, buffer))
    }

    /// The request of a receive that has begun.
    fn receives<T: Element>(&self, handle: Handle, buffer: Vec<T>) -> Request<T> {
        let (communicator, stage) = (self.of_request(), Stage::Open(handle));
        Request { communicator, stage, receives: true, buffer, strategy: None, agreement: None }
    }
}

impl<T: Element> Request<T> {
    /// Whether it is complete (`MPI_Test`). Makes progress.
    pub fn test(&mut self) -> bool {
        self.is_complete()
    }

    /// Waits until the request is complete (`MPI_Wait`), and returns its buffer; with the status, if this is a receive that
    /// got a message. A receive that was cancelled got none.
    ///
    /// # Errors
    /// When the message was too long for the buffer, or the peer is gone; the buffer is gone then, too.
    #[track_caller]
    pub fn wait(self) -> Result<(Vec<T>, Option<Status>), Error> {
        self.wait_at(CallSite::caller())
    }

    /// As [`Request::wait`], on behalf of `site`, see [`Communicator::at`].
    ///
    /// # Errors
    /// As [`Request::wait`].
    pub fn wait_at(self, site: CallSite) -> Result<(Vec<T>, Option<Status>), Error> {
        self.wait_and_end(site)
    }

    /// Makes progress, and returns the result if it is complete: one poll of awaiting it, on behalf of `site`, see
    /// [`Communicator::at`].
    pub fn poll_at(&mut self, context: &mut Context<'_>, site: CallSite) -> Poll<<Self as Future>::Output> {
        if let Some(ended) = self.finish() {
            return Poll::Ready(ended);
        }
        self.look(site);
        match self.finish() {
            Some(ended) => Poll::Ready(ended),
            None => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }

    /// Fails if not all ranks have called the same, once it has ended.
    fn agreed(&mut self) -> Result<(), Error> {
        let agreement = self.agreement.take();
        agreement.map_or(Ok(()), |agreement| {
            self.communicator.shared.with(|endpoint| end_agreement(endpoint, &agreement))
        })
    }

    /// Makes progress for a task that awaits it.
    fn look(&mut self, site: CallSite) {
        let Self { communicator, stage, strategy, .. } = self;
        let awaited = if let Stage::Open(handle) = stage { Awaited::Request(*handle) } else { Awaited::Any };
        communicator.shared.with(|endpoint| {
            let strategy = strategy.get_or_insert_with(|| endpoint.strategy());
            endpoint.poll_or_block(strategy, awaited, site);
        });
    }

    /// Asks for a receive to be cancelled (`MPI_Cancel`): it is complete soon, with a message or without. A send is not
    /// changed.
    #[track_caller]
    pub fn cancel(&mut self) {
        self.cancel_at(CallSite::caller());
    }

    /// As [`Request::cancel`], on behalf of `site`, see [`Communicator::at`].
    pub fn cancel_at(&mut self, site: CallSite) {
        if let (true, Stage::Open(handle)) = (self.receives, self.stage) {
            self.communicator.shared.with(|endpoint| endpoint.cancel(handle, site));
        }
    }
}

impl<T: Element> Completable for Request<T> {
    type Outcome = (Vec<T>, Option<Status>);

    fn shared(&self) -> &Shared {
        &self.communicator.shared
    }

    fn stage(&mut self) -> &mut Stage {
        &mut self.stage
    }

    fn ended(&mut self, got: Result<Option<Status>, BoxedError>) -> Result<Self::Outcome, Error> {
        self.stage = Stage::Ended;
        let agreed = self.agreed();
        let got = got?;
        agreed.map(|()| self.outcome(got))
    }

    /// Gives the buffer back to the application.
    fn outcome(&mut self, got: Option<Status>) -> Self::Outcome {
        (std::mem::take(&mut self.buffer), got.map(|status| self.communicator.with_comm_rank(status)))
    }
}

impl Request<u8> {
    /// A request without a buffer.
    pub(crate) fn of_nothing(
        communicator: Communicator,
        handle: Handle,
        agreement: Option<Box<Agreement>>,
    ) -> Self {
        let stage = Stage::Open(handle);
        Self { communicator, stage, receives: false, buffer: Vec::new(), strategy: None, agreement }
    }
}

impl<T: Element> Drop for Request<T> {
    fn drop(&mut self) {
        if let Stage::Open(handle) = self.stage {
            // A drop has no call site of its own, so reports name the one that started the request.
            let started = self.communicator.shared.with(|endpoint| Some(endpoint.started_at(handle)));
            let Some(site) = started else { return };
            self.cancel_at(site);
            // There is nobody to return an error to.
            let _ = self.communicator.shared.with(|endpoint| endpoint.wait(handle, site, |_| ()));
            let _ = self.agreed();
        }
    }
}
