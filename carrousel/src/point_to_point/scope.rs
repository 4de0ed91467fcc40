//! Requests on borrowed buffers, all of which have ended when their scope does.
#![allow(unsafe_code, reason = "memory cannot be lent without")]

use super::completable::{Completable, Stage};
use super::rank_or_tag::RankOrTag;
use super::status::{Source, Status};
use super::tags::Tag;
use crate::shared::Shared;
use crate::uninterrupted::uninterrupted;
use crate::{Communicator, Element, Error};
use carrousel_engine::{BoxedError, CallSite, SendKind};
use carrousel_rank::{Handle, UsageError};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::marker::PhantomData;
use zerocopy::IntoBytes;

/// Requests of a scope that need no allocation.
const FEW: usize = 8;
/// The number of further requests for which the first allocation has room.
const WINDOW: usize = 64;

/// A scope whose requests may borrow their buffers, see [`Communicator::scope`]. A buffer is the caller's again when the scope
/// ends, not when its request does:
///
/// ```
/// let sums = carrousel::threads(4, |world| {
///     let (me, ranks) = (world.rank(), world.size());
///     let (own, mut left, mut right) = ([f64::from(me); 8], [0.0; 8], [0.0; 8]);
///     let (before, behind) = ((me + ranks - 1) % ranks, (me + 1) % ranks);
///     let first = world.scope(|scope| {
///         let from_left = scope.irecv(&mut left, before, 0)?;
///         scope.irecv(&mut right, behind, 1)?;
///         scope.isend(&own, behind, 0)?;
///         scope.isend(&own, before, 1)?;
///         // Here something else can be computed. Then the first message is waited for, and all others by the scope.
///         from_left.wait()
///     })?;
///     assert_eq!(first.map(|status| status.source), Some(before));
///     Ok::<_, carrousel::Error>(left[0] + own[0] + right[0])
/// })?;
/// assert_eq!(sums, [Ok(4.0), Ok(3.0), Ok(6.0), Ok(5.0)]);
/// # Ok::<(), carrousel::Error>(())
/// ```
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    communicator: &'scope Communicator,
    /// The call site of the scope, which waits at its end.
    site: CallSite,
    /// The requests that were not complete when they were started, and whether each is a receive. Some may have ended since.
    open: RefCell<SmallVec<[(Handle, bool); FEW]>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// A message on its way in a [`Scope`].
#[derive(Debug)]
pub struct ScopedRequest<'scope> {
    communicator: &'scope Communicator,
    stage: Stage,
    receives: bool,
}

impl Communicator {
    /// Calls `body`, which may start requests on borrowed buffers, and then waits for those that `body` has not waited for.
    ///
    /// ```no_run
    /// # let job = carrousel::init()?;
    /// # let world = job.world();
    /// let (here, mut there) = ([1.0f64; 1000], [0.0f64; 1000]);
    /// let peer = 1 - world.rank();
    /// world.scope(|scope| {
    ///     scope.irecv(&mut there, peer, 0)?;
    ///     scope.isend(&here, peer, 0)?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), carrousel::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error that `body` returns, or else the first error of a request that it has not waited for.
    ///
    /// # Panics
    /// When `body` does. Messages may be on their way into buffers that the unwinding frees, so the process is aborted if they
    /// cannot be stopped.
    #[track_caller]
    pub fn scope<'env, T>(
        &self,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let scope = Scope {
            communicator: self,
            site: self.site(),
            open: RefCell::new(SmallVec::new()),
            scope: PhantomData,
            env: PhantomData,
        };
        let guard = Guard { scope: &scope };
        let result = body(&scope);
        let ended = guard.end();
        result.and_then(|value| ended.map(|()| value))
    }
}

/// Ends all requests of the scope, however it is left.
struct Guard<'a, 'scope, 'env> {
    scope: &'a Scope<'scope, 'env>,
}

impl Guard<'_, '_, '_> {
    fn end(self) -> Result<(), Error> {
        let Scope { communicator, site, open, .. } = self.scope;
        let mut failed: Option<BoxedError> = None;
        // All of them, even if one fails. Each stays in the list until it has ended, so that a panic leaves it to `drop`.
        loop {
            let last = open.borrow().last().copied();
            let Some((handle, _)) = last else { return failed.map_or(Ok(()), |error| Err(error.into())) };
            let ended = communicator.shared.with(|endpoint| endpoint.wait(handle, *site, |_| ()));
            open.borrow_mut().pop();
            if let Err(error) = ended {
                note(&mut failed, error);
            }
        }
    }
}

/// Keeps the first error. A request that has been waited for before is not an error.
#[cold]
fn note(first: &mut Option<BoxedError>, error: BoxedError) {
    use carrousel_engine::Error::Usage;
    if !matches!(*error, Usage { mistake: UsageError::NoSuchRequest(_), .. }) {
        first.get_or_insert(error);
    }
}

impl Drop for Guard<'_, '_, '_> {
    fn drop(&mut self) {
        // Something is left only if `body` panicked.
        let mut open = self.scope.open.borrow_mut();
        while let Some((handle, receives)) = open.pop() {
            let ended = self.scope.communicator.shared.with(|endpoint| {
                if receives {
                    endpoint.cancel(handle, self.scope.site);
                }
                endpoint.finish(handle, |_| ()).is_some()
            });
            if !ended {
                eprintln!("carrousel: a panic while messages are on their way: their buffers cannot be kept");
                std::process::abort();
            }
        }
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a standard send (`MPI_Isend`).
    ///
    /// # Errors
    /// When there is no such rank or tag; of a small message, when the peer is gone.
    #[track_caller]
    pub fn isend<T: Element>(
        &'scope self,
        data: &'env [T],
        to: impl Into<RankOrTag>,
        tag: impl Into<RankOrTag>,
    ) -> Result<ScopedRequest<'scope>, Error> {
        self.send(data, to, tag, false)
    }

    /// Starts a synchronous send (`MPI_Issend`): complete once its receive has begun.
    ///
    /// # Errors
    /// When there is no such rank or tag.
    #[track_caller]
    pub fn issend<T: Element>(
        &'scope self,
        data: &'env [T],
        to: impl Into<RankOrTag>,
        tag: impl Into<RankOrTag>,
    ) -> Result<ScopedRequest<'scope>, Error> {
        self.send(data, to, tag, true)
    }

    #[track_caller]
    fn send<T: Element>(
        &'scope self,
        data: &'env [T],
        to: impl Into<RankOrTag>,
        tag: impl Into<RankOrTag>,
        synchronous: bool,
    ) -> Result<ScopedRequest<'scope>, Error> {
        let (caller, kind) = (self.communicator.caller(), SendKind::of_request(synchronous));
        let envelope = self.communicator.envelope(caller, kind, to, tag)?;
        let bytes = data.as_bytes();
        let handle = self.communicator.shared.with(|endpoint| {
            // SAFETY: `data` is borrowed for `'env`, which outlasts the scope, and every way out of that has
            // ended all of its requests, see `Guard`. A scope cannot be leaked: the caller has it by reference.
            uninterrupted(|| unsafe { endpoint.send(bytes, caller, envelope, kind) })
        })?;
        Ok(match handle {
            Some(handle) => self.opened(handle, false),
            None => ScopedRequest { communicator: self.communicator, stage: Stage::Sent, receives: false },
        })
    }

    /// Starts a receive (`MPI_Irecv`).
    ///
    /// # Errors
    /// When there is no such rank or tag.
    #[track_caller]
    pub fn irecv<T: Element>(
        &'scope self,
        buffer: &'env mut [T],
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<ScopedRequest<'scope>, Error> {
        let caller = self.communicator.caller();
        let (from, tag) = self.communicator.wanted(caller, "receive", from, tag)?;
        let bytes = buffer.as_mut_bytes();
        // SAFETY: as in `send`; borrowed mutably, so nobody else uses it.
        let handle = self
            .communicator
            .shared
            .with(|endpoint| uninterrupted(|| unsafe { endpoint.receive(bytes, caller, from, tag) }))?;
        Ok(self.opened(handle, true))
    }

    fn opened(&'scope self, handle: Handle, receives: bool) -> ScopedRequest<'scope> {
        let open = &mut *self.open.borrow_mut();
        if open.len() == open.capacity() {
            self.make_room(open);
        }
        open.push((handle, receives));
        ScopedRequest { communicator: self.communicator, stage: Stage::Open(handle), receives }
    }

    /// Removes the requests that have ended, and doubles the room, so that this is rarely repeated.
    #[cold]
    fn make_room(&self, open: &mut SmallVec<[(Handle, bool); FEW]>) {
        self.communicator.shared.with(|endpoint| open.retain(|(handle, _)| endpoint.is_open(*handle)));
        open.reserve(open.len().max(WINDOW));
    }
}

impl ScopedRequest<'_> {
    /// Whether it is complete (`MPI_Test`). Makes progress.
    pub fn test(&mut self) -> bool {
        self.is_complete()
    }

    /// Waits until it is complete (`MPI_Wait`), and returns the status, if this is a receive that got a message. The buffer is
    /// the application's again when the scope ends.
    ///
    /// # Errors
    /// When the message was too long for the buffer, or the peer is gone.
    #[track_caller]
    pub fn wait(self) -> Result<Option<Status>, Error> {
        let site = self.communicator.site();
        self.wait_and_end(site)
    }

    /// Asks for a receive to be cancelled (`MPI_Cancel`): it is complete soon, with a message or without. A send is not
    /// changed.
    #[track_caller]
    pub fn cancel(&mut self) {
        let site = self.communicator.site();
        if let (true, Stage::Open(handle)) = (self.receives, self.stage) {
            self.communicator.shared.with(|endpoint| endpoint.cancel(handle, site));
        }
    }
}

impl Completable for ScopedRequest<'_> {
    type Outcome = Option<Status>;

    fn shared(&self) -> &Shared {
        &self.communicator.shared
    }

    fn stage(&mut self) -> &mut Stage {
        &mut self.stage
    }

    fn outcome(&mut self, got: Option<Status>) -> Self::Outcome {
        got.map(|status| self.communicator.with_comm_rank(status))
    }
}
