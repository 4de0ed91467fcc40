//! The endpoint that communicators and requests of a process share.

use crate::Error;
use carrousel_engine::{self as engine, Endpoint};
use carrousel_system::inherited::{self, Inherited, OfThisProcess};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// The endpoint of this process, in its thread: an application that declares one thread (`MPI_THREAD_SINGLE`) pays for no
/// lock.
#[derive(Clone)]
pub(crate) struct Shared(Rc<RefCell<OfThisProcess<Endpoint>>>);

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

impl Shared {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self(Rc::new(RefCell::new(OfThisProcess::new(endpoint))))
    }

    /// Calls the endpoint, which calls nothing of the application but the operation of a reduction: that must not call the
    /// library, and would panic. A child that has inherited the endpoint does not call it.
    #[inline(always)]
    pub(crate) fn with<T: InChild>(&self, call: impl FnOnce(&mut Endpoint) -> T) -> T {
        if inherited::is_child() {
            return refuse();
        }
        self.with_own(call)
    }

    /// Refuses a call in a child that has inherited the endpoint: for calls that return errors of other kinds in the same
    /// way, to which this adds one comparison, and use [`Shared::with_own`] then.
    #[inline(always)]
    pub(crate) fn check(&self) -> Result<(), Error> {
        if inherited::is_child() { refuse() } else { Ok(()) }
    }

    /// As [`Shared::with`], behind [`Shared::check`].
    #[inline(always)]
    pub(crate) fn with_own<T>(&self, call: impl FnOnce(&mut Endpoint) -> T) -> T {
        call(&mut self.0.borrow_mut())
    }

    /// What the endpoint knows. A child has a copy of that.
    #[inline]
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Endpoint) -> T) -> T {
        read(&self.0.borrow())
    }
}

#[cold]
#[inline(never)]
fn refuse<T: InChild>() -> T {
    T::in_child(inherited::in_child())
}

/// What a call returns in a child that has inherited its parent's part in the job.
pub(crate) trait InChild {
    fn in_child(inherited: Inherited) -> Self;
}

impl<T, E: From<engine::Error>> InChild for Result<T, E> {
    fn in_child(inherited: Inherited) -> Self {
        Err(engine::Error::from(inherited).into())
    }
}

/// A request has ended, by an error.
impl<T, E: From<engine::Error>> InChild for Option<Result<T, E>> {
    fn in_child(inherited: Inherited) -> Self {
        Some(Result::in_child(inherited))
    }
}

/// Nothing is done.
impl InChild for () {
    fn in_child(_: Inherited) -> Self {}
}

/// Nothing has come.
impl<T> InChild for Vec<T> {
    fn in_child(_: Inherited) -> Self {
        Self::new()
    }
}

/// Nothing is on its way any more.
impl InChild for bool {
    fn in_child(_: Inherited) -> Self {
        true
    }
}
