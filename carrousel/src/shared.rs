//! The endpoint that communicators and requests of a process share.

use carrousel_engine::{self as engine, CallSite, Endpoint};
use carrousel_options::CheckUsage;
use carrousel_system::inherited::{self, Owned};
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

/// The endpoint of this process, in its thread: an application that declares one thread (`MPI_THREAD_SINGLE`) pays for no
/// lock.
#[derive(Clone)]
pub(crate) struct Shared(Rc<Owned<Place, Endpoint>>);

thread_local! {
    /// The rank that this thread is, once it is one; `Some(None)` if it is several.
    static THREAD: Cell<Option<Option<u32>>> = const { Cell::new(None) };
}

/// The rank that this thread is, for errors of values that have no communicator.
pub(crate) fn rank_of_thread() -> Option<u32> {
    THREAD.get().flatten()
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

/// What of an endpoint never changes. Children know it, too.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The rank, of the job.
    pub(crate) me: u32,
    /// How many there are.
    pub(crate) ranks: u32,
    /// The first rank of the same node.
    pub(crate) first_of_node: u32,
}

impl Shared {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        let place = Place {
            me: endpoint.me(),
            ranks: endpoint.ranks(),
            first_of_node: endpoint.neighbours().first().map_or(0, |rank| rank.0),
        };
        THREAD.with(|rank| {
            let several = rank.get().is_some_and(|rank| rank != Some(place.me));
            rank.set(Some(Some(place.me).filter(|_| !several)));
        });
        Self(Owned::new(place, endpoint))
    }

    /// Calls the endpoint, which calls nothing of the application but the operation of a reduction: that must not call the
    /// library, and would panic. In a child that has inherited the endpoint, it is not called.
    #[inline(always)]
    pub(crate) fn with<T: InChild>(&self, call: impl FnOnce(&mut Endpoint) -> T) -> T {
        match self.0.enter() {
            Some(mut endpoint) => call(&mut endpoint),
            None => T::in_child(),
        }
    }

    #[inline(always)]
    pub(crate) fn place(&self) -> &Place {
        self.0.known()
    }
}

/// What a call returns in a child that has inherited its parent's part in the job.
pub(crate) trait InChild {
    fn in_child() -> Self;
}

/// The error alone, and not all that a call returns: it joins the caller's other errors.
#[cold]
#[inline(never)]
fn refused<E: From<engine::Error>>() -> E {
    engine::Error::from(inherited::in_child()).into()
}

impl<T, E: From<engine::Error>> InChild for Result<T, E> {
    #[inline(always)]
    fn in_child() -> Self {
        Err(refused())
    }
}

/// A request has ended, by an error.
impl<T, E: From<engine::Error>> InChild for Option<Result<T, E>> {
    #[inline(always)]
    fn in_child() -> Self {
        Some(Err(refused()))
    }
}

/// Nothing is done.
impl InChild for () {
    fn in_child() -> Self {}
}

/// Nothing has come.
impl<T> InChild for Vec<T> {
    fn in_child() -> Self {
        Self::new()
    }
}

/// Nothing is on its way any more.
impl InChild for bool {
    fn in_child() -> Self {
        true
    }
}

/// Nothing is checked.
impl InChild for CheckUsage {
    fn in_child() -> Self {
        Self::Off
    }
}

/// Nothing is known.
impl InChild for Option<CallSite> {
    fn in_child() -> Self {
        None
    }
}
