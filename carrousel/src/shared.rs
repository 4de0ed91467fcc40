//! The endpoint that communicators and requests of a process share.

use carrousel_engine::Endpoint;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// The endpoint of this process, in its thread: an application that declares one thread (`MPI_THREAD_SINGLE`) pays for no
/// lock.
#[derive(Clone)]
pub(crate) struct Shared(Rc<RefCell<Endpoint>>);

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

impl Shared {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self(Rc::new(RefCell::new(endpoint)))
    }

    /// Calls the endpoint, which calls nothing of the application but the operation of a reduction: that must not call the
    /// library, and would panic.
    #[inline]
    pub(crate) fn with<T>(&self, call: impl FnOnce(&mut Endpoint) -> T) -> T {
        call(&mut self.0.borrow_mut())
    }
}
