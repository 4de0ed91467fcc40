//! libibverbs in safe words: each type owns one object of the library, keeps alive what that needs, and
//! destroys it.
//!
//! All that calls the library is here. What makes it safe: the adapter touches no byte but through a key
//! of registered memory, or through a slot of ours; so the promise about memory is made once, where it is
//! registered ([`Region::register`]), and posting a work request with a wrong key is an error of that request.

mod datagrams;
mod device;
mod memory;
mod on_demand;
mod pair;
mod queues;

pub(crate) use self::datagrams::Datagrams;
pub(crate) use self::datagrams::LARGEST as DATAGRAM_MAX;
pub use self::device::Device;
pub(crate) use self::device::{DeviceEvent, Limits};
pub(crate) use self::memory::{BounceBuffers, Sge};
pub use self::memory::{Region, Trial};
pub(crate) use self::pair::{Ends, NO_WORD, Operation, Parts, QueuePair, Request, Shape};
pub(crate) use self::queues::{Completion, Completions, Failure, ReceiveBuffers, ReceiveQueue};

use crate::VerbsError;
use std::io;

/// The error of a call of the library that has returned 0, or an error number.
fn checked(what: &'static str, result: i32) -> Result<(), VerbsError> {
    match result {
        0 => Ok(()),
        // Some calls return -1 and set `errno`, others return the number.
        -1 => Err(last(what)),
        number => Err(VerbsError::System { what, why: io::Error::from_raw_os_error(number.abs()) }),
    }
}

/// The error of a call that has returned no object.
fn last(what: &'static str) -> VerbsError {
    VerbsError::System { what, why: io::Error::last_os_error() }
}

/// An object that a call of the library has made.
fn made<T>(what: &'static str, object: *mut T) -> Result<*mut T, VerbsError> {
    if object.is_null() { Err(last(what)) } else { Ok(object) }
}
