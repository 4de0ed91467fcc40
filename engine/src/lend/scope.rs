//! Requests on borrowed buffers, all of which have ended when their scope does.

use super::several::Open;
use crate::shared::{Shared, received};
use crate::{Communicator, Element, Error, Source, Status, Tag};
use carrousel_rank::Handle;
use std::cell::RefCell;
use std::marker::PhantomData;
use zerocopy::IntoBytes;

/// Where requests may borrow their buffers, see [`Communicator::scope`].
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    communicator: &'scope Communicator,
    /// Requests that have not ended, and whether each receives.
    open: RefCell<Vec<(Handle, bool)>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// A message on its way in a [`Scope`].
#[derive(Debug)]
pub struct ScopedRequest<'scope> {
    communicator: &'scope Communicator,
    handle: Handle,
    open: &'scope RefCell<Vec<(Handle, bool)>>,
}

impl Communicator {
    /// Calls `body`, which may start requests on buffers of its surroundings, and waits for those that it
    /// has not waited for itself.
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
    /// What `body` returns, or else the first error of a request that it has not waited for.
    ///
    /// # Panics
    /// When `body` does. Messages may be on their way into buffers that are about to vanish then, so if
    /// they cannot be stopped the process is aborted.
    pub fn scope<'env, T>(
        &self,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let scope = Scope {
            communicator: self,
            open: RefCell::new(Vec::new()),
            scope: PhantomData,
            env: PhantomData,
        };
        let guard = Guard { scope: &scope };
        let result = body(&scope);
        let ended = guard.end();
        result.and_then(|value| ended.map(|()| value))
    }
}

/// Sees to it that no request outlives the scope, whichever way that ends.
struct Guard<'a, 'scope, 'env> {
    scope: &'a Scope<'scope, 'env>,
}

impl Guard<'_, '_, '_> {
    fn end(self) -> Result<(), Error> {
        let Scope { communicator, open, .. } = self.scope;
        let mut result = Ok(());
        // All of them, whatever becomes of the first. Each stays in the list until it has ended: a panic
        // meanwhile leaves it to `drop`.
        loop {
            let last = open.borrow().last().copied();
            let Some((handle, _)) = last else { return result };
            let ended = communicator.shared.with(|core| core.wait(handle)).map(|_| ());
            open.borrow_mut().pop();
            result = result.and(ended);
        }
    }
}

impl Drop for Guard<'_, '_, '_> {
    fn drop(&mut self) {
        let open = std::mem::take(&mut *self.scope.open.borrow_mut());
        // Something is left only if `body` panicked.
        for (handle, receives) in open {
            let ended = self.scope.communicator.shared.with(|core| {
                if receives {
                    core.cancel(handle);
                }
                core.finish(handle).is_some()
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
    /// When there is no such rank or tag.
    pub fn isend<T: Element>(
        &'scope self,
        data: &'env [T],
        to: u32,
        tag: u32,
    ) -> Result<ScopedRequest<'scope>, Error> {
        self.send(data, to, tag, false)
    }

    /// Starts a synchronous send (`MPI_Issend`): complete once its receive has begun.
    ///
    /// # Errors
    /// When there is no such rank or tag.
    pub fn issend<T: Element>(
        &'scope self,
        data: &'env [T],
        to: u32,
        tag: u32,
    ) -> Result<ScopedRequest<'scope>, Error> {
        self.send(data, to, tag, true)
    }

    fn send<T: Element>(
        &'scope self,
        data: &'env [T],
        to: u32,
        tag: u32,
        synchronous: bool,
    ) -> Result<ScopedRequest<'scope>, Error> {
        let to = self.communicator.group.rank(to)?;
        let (bytes, id) = (data.as_bytes(), self.communicator.id);
        if !synchronous
            && let Some(handle) =
                self.communicator.shared.with(|core| core.start_eagerly(bytes, id, to, tag))?
        {
            return Ok(self.opened(handle, false));
        }
        let (start, len) = (bytes.as_ptr(), bytes.len());
        // SAFETY: `data` is borrowed for `'env`, which outlasts the scope, and every way out of that has
        // ended all of its requests, see `Guard`. A scope cannot be leaked: the caller has it by reference.
        let handle = self
            .communicator
            .shared
            .with(|core| unsafe { core.lend(start, len, id, to, tag, synchronous) })?;
        Ok(self.opened(handle, false))
    }

    /// Starts a receive (`MPI_Irecv`).
    ///
    /// # Errors
    /// When there is no such rank or tag.
    pub fn irecv<T: Element>(
        &'scope self,
        buffer: &'env mut [T],
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<ScopedRequest<'scope>, Error> {
        let (from, tag) = (self.communicator.source(from)?, tag.into().0);
        let bytes = buffer.as_mut_bytes();
        let (start, len) = (bytes.as_mut_ptr(), bytes.len());
        // SAFETY: as in `send`; borrowed mutably, so nobody else uses it.
        let handle = self
            .communicator
            .shared
            .with(|core| unsafe { core.lend_mut(start, len, self.communicator.id, from, tag) })?;
        Ok(self.opened(handle, true))
    }

    fn opened(&'scope self, handle: Handle, receives: bool) -> ScopedRequest<'scope> {
        self.open.borrow_mut().push((handle, receives));
        ScopedRequest { communicator: self.communicator, handle, open: &self.open }
    }
}

impl ScopedRequest<'_> {
    /// Whether it is complete. Lets messages move.
    pub fn test(&mut self) -> bool {
        self.communicator.shared.with(|core| core.test(self.handle))
    }

    /// Waits until it is complete, and returns what has been received, if this is a receive that got a
    /// message. The buffer is the application's again when the scope ends.
    ///
    /// # Errors
    /// When the message was too long for the buffer, or the peer is gone.
    pub fn wait(self) -> Result<Option<Status>, Error> {
        self.wait_and_end()
    }

    /// Asks for a receive to be cancelled: it is complete soon, with a message or without. Nothing happens to
    /// a send.
    pub fn cancel(&mut self) {
        if self.open.borrow().contains(&(self.handle, true)) {
            self.communicator.shared.with(|core| core.cancel(self.handle));
        }
    }
}

impl Open for ScopedRequest<'_> {
    type Outcome = Option<Status>;

    fn shared(&self) -> &Shared {
        &self.communicator.shared
    }

    fn handle(&self) -> Handle {
        self.handle
    }

    fn is_open(&self) -> bool {
        self.open.borrow().iter().any(|(handle, _)| *handle == self.handle)
    }

    /// The scope need not end it any more.
    fn ended(&mut self, status: Result<carrousel_rank::Status, Error>) -> Result<Self::Outcome, Error> {
        self.open.borrow_mut().retain(|(handle, _)| *handle != self.handle);
        Ok(received(&status?).map(|status| self.communicator.placed(status)))
    }
}
