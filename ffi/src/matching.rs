//! Matching alone: the two queues of an MPI library.

use crate::border::carrousel_allocator;
use crate::error::carrousel_error;
use crate::names::{carrousel_envelope, carrousel_handle, carrousel_pattern};
use crate::object::{self, Kind};
use crate::outputs::tell;
use ::carrousel_matching::{Handle, Posted, Requested, Unexpected};
use core::mem::MaybeUninit;

/// Receives that wait for their message, in the order in which they were posted, and messages that wait for
/// their receive, in the order in which they arrived. A receive is a handle of the host's choice, a message a
/// number.
pub struct carrousel_matching {
    posted: Posted<Receive>,
    unexpected: Unexpected<u64>,
}

impl Kind for carrousel_matching {
    const MARK: u32 = 0x4341_5203;
    /// A queue that becomes long is kept in another way.
    const GROWTH: usize = 6;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Receive(Handle);

impl Requested for Receive {
    fn request(&self) -> Handle {
        self.0
    }
}

/// Makes two empty queues.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_matching_create(
    abi: u32,
    allocator: Option<&carrousel_allocator>,
    matching: Option<&mut MaybeUninit<*mut carrousel_matching>>,
) -> carrousel_error {
    object::create(abi, allocator, 0, matching, || {
        Ok(carrousel_matching { posted: Posted::new(), unexpected: Unexpected::new() })
    })
}

/// Frees the queues, and sets the pointer to null.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_matching_free(matching: Option<&mut *mut carrousel_matching>) -> carrousel_error {
    object::free(matching)
}

/// A receive takes the first message that it matches, which is `message` then; or, with `EMPTY`, it is posted
/// under its name, which no other one may have that is posted (`IN_USE`).
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_matching_receive(
    matching: *mut carrousel_matching,
    pattern: Option<&carrousel_pattern>,
    request: carrousel_handle,
    envelope: Option<&mut MaybeUninit<carrousel_envelope>>,
    message: Option<&mut MaybeUninit<u64>>,
) -> carrousel_error {
    object::enter(matching, |queues| {
        let pattern = (*pattern.ok_or(carrousel_error::NullPointer)?).into();
        let (Some(envelope), Some(message)) = (envelope, message) else {
            return Err(carrousel_error::NullPointer.into());
        };
        let request = Handle::from(request);
        if queues.posted.get(request).is_some() {
            return Err(carrousel_error::InUse.into());
        }
        let Some((its, number)) = queues.unexpected.take_first(pattern) else {
            queues.posted.post(pattern, Receive(request));
            return Err(carrousel_error::Empty.into());
        };
        envelope.write(its.into());
        message.write(number);
        Ok(())
    })
}

/// A message takes the first receive that it matches, whose name `request` gets; or, with `EMPTY`, it waits
/// as `message`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_matching_arrive(
    matching: *mut carrousel_matching,
    envelope: Option<&carrousel_envelope>,
    message: u64,
    request: Option<&mut MaybeUninit<carrousel_handle>>,
) -> carrousel_error {
    object::enter(matching, |queues| {
        let envelope = (*envelope.ok_or(carrousel_error::NullPointer)?).into();
        let request = request.ok_or(carrousel_error::NullPointer)?;
        let Some(Receive(its)) = queues.posted.take_first(&envelope) else {
            queues.unexpected.arrive(envelope, message);
            return Err(carrousel_error::Empty.into());
        };
        request.write(its.into());
        Ok(())
    })
}

/// Takes a receive back that has no message.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_matching_cancel(
    matching: *mut carrousel_matching,
    request: carrousel_handle,
) -> carrousel_error {
    object::enter(matching, |queues| match queues.posted.take(request.into()) {
        Some(_) => Ok(()),
        None => Err(carrousel_error::NoSuchRequest.into()),
    })
}

/// The first message that a receive like this would take now, which stays; or `EMPTY`.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_matching_probe(
    matching: *mut carrousel_matching,
    pattern: Option<&carrousel_pattern>,
    envelope: Option<&mut MaybeUninit<carrousel_envelope>>,
    message: Option<&mut MaybeUninit<u64>>,
) -> carrousel_error {
    object::enter(matching, |queues| {
        let pattern = (*pattern.ok_or(carrousel_error::NullPointer)?).into();
        let first = queues.unexpected.first(&pattern);
        tell(first.map(|(_, number)| *number), message)?;
        tell(first.map(|(its, _)| (*its).into()), envelope)
    })
}

/// How many receives and how many messages wait.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_matching_len(
    matching: *mut carrousel_matching,
    receives: Option<&mut MaybeUninit<usize>>,
    messages: Option<&mut MaybeUninit<usize>>,
) -> carrousel_error {
    object::enter(matching, |queues| {
        tell(Some(queues.posted.len()), receives)?;
        tell(Some(queues.unexpected.iter().count()), messages)
    })
}
