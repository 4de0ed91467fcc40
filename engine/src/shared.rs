//! The rank that communicators and requests of a process share.

use crate::Status;
use crate::endpoint::Endpoint;
use carrousel_rank::mpi;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// The rank of this process. A thread's own: whoever has it is in the thread that started it.
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

    /// Calls the library. Of the application it calls nothing but the operation of a reduction, which must not call the
    /// library: that would panic.
    #[inline]
    pub(crate) fn with<T>(&self, call: impl FnOnce(&mut Endpoint) -> T) -> T {
        call(&mut self.0.borrow_mut())
    }
}

/// What a request got, if it is a receive that got a message.
#[inline]
pub(crate) fn received(status: &carrousel_rank::Status) -> Option<Status> {
    status.message.map(|(source, tag)| Status { source: source.0, tag: mpi::number(tag), bytes: status.len })
}
