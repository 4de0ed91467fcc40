//! Errors as C has them: a code for each kind, and the text of the last one.

use ::carrousel_lock::{LockError, TicketError};
use ::carrousel_rank::wire::WireError;
use ::carrousel_rank::{ProtocolError, UsageError, WindowError};
use ::carrousel_registration::RegionError;
use carrousel_epoch::{EpochEventError, EpochUsageError};
use carrousel_rendezvous::Violation;
use core::ffi::{CStr, c_char};
use core::fmt;

/// The result of a call. Unless it is `NONE`, `EMPTY` or `FAILED`, the call has changed nothing.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_error {
    /// The call is done.
    None = 0,
    /// There is nothing to be told: no work is left, no message matches, no receive may be announced.
    Empty = 1,
    /// A pointer that has to point to something is null.
    NullPointer = 2,
    /// The host was built with the header of another version.
    WrongAbi = 3,
    /// The pointer is not of an object of this kind, or of one that was freed.
    WrongObject = 4,
    /// The object is in use: the host calls it from its own allocator, or from another thread.
    Busy = 5,
    /// A mistake of this library: the object must not be used any more, only freed.
    Failed = 6,
    /// The host's allocator gives no memory.
    OutOfMemory = 7,
    /// The work of the call or event before is not taken yet: all of it comes before the next input.
    WorkLeft = 8,
    /// A field has a value that means nothing.
    UnknownValue = 9,
    /// An array or a text has an impossible length, or does not fit.
    WrongLength = 10,
    /// There is no such rank in the job (`MPI_ERR_RANK`).
    NoSuchRank = 11,
    /// A request is not open: it never was, or was released (`MPI_ERR_REQUEST`).
    NoSuchRequest = 12,
    /// Only receives can be cancelled.
    NotAReceive = 13,
    /// The request has no claimed message, or it was received or discarded.
    NotClaimed = 14,
    /// The communicator is not defined (`MPI_ERR_COMM`).
    NoSuchCommunicator = 15,
    /// The communicator is defined already.
    AlreadyDefined = 16,
    /// The communicator is in use.
    InUse = 17,
    /// This rank is no member of the communicator that it defines (`MPI_ERR_GROUP`).
    NotAMember = 18,
    /// A rank is a member twice.
    MemberTwice = 19,
    /// The collective contradicts itself (`MPI_ERR_ROOT`, `MPI_ERR_COUNT`).
    WrongCollective = 20,
    /// There is no such window (`MPI_ERR_WIN`).
    NoSuchWindow = 21,
    /// The open epochs do not admit the call (`MPI_ERR_RMA_SYNC`).
    WrongEpoch = 22,
    /// The request is not complete yet.
    Incomplete = 23,
    /// An event that no correct peer or driver causes: a packet or a completion that cannot be.
    ImpossibleEvent = 24,
    /// Bytes of a peer that are no packet.
    NoPacket = 25,
    /// A request or release that the lock refuses.
    WrongLock = 26,
    /// The registration does not exist, is not held, or was not asked for.
    WrongRegion = 27,
    /// The end of a flow is not in a state that admits the call.
    WrongState = 28,
    /// A peer of the epoch, operation or flush has died.
    PeerLost = 29,
}

use carrousel_error as E;

impl carrousel_error {
    const ALL: [(Self, &'static CStr); 30] = [
        (E::None, c"the call is done"),
        (E::Empty, c"there is nothing to be told"),
        (E::NullPointer, c"a pointer that has to point to something is null"),
        (E::WrongAbi, c"the host was built with the header of another version"),
        (E::WrongObject, c"the pointer is not of an object of this kind, or of a freed one"),
        (E::Busy, c"the object is in use already"),
        (E::Failed, c"a mistake of the library: the object can only be freed"),
        (E::OutOfMemory, c"the allocator gives no memory"),
        (E::WorkLeft, c"work of the input before is left: take it before the next input"),
        (E::UnknownValue, c"a field has a value that means nothing"),
        (E::WrongLength, c"an array or a text has an impossible length, or does not fit"),
        (E::NoSuchRank, c"there is no such rank in the job"),
        (E::NoSuchRequest, c"the request is not open"),
        (E::NotAReceive, c"only receives can be cancelled"),
        (E::NotClaimed, c"the request has no claimed message"),
        (E::NoSuchCommunicator, c"the communicator is not defined"),
        (E::AlreadyDefined, c"the communicator is defined already"),
        (E::InUse, c"the communicator is in use"),
        (E::NotAMember, c"this rank is no member of the communicator"),
        (E::MemberTwice, c"a rank is a member twice"),
        (E::WrongCollective, c"the collective contradicts itself"),
        (E::NoSuchWindow, c"there is no such window"),
        (E::WrongEpoch, c"the open epochs do not admit the call"),
        (E::Incomplete, c"the request is not complete yet"),
        (E::ImpossibleEvent, c"no correct peer or driver causes this event"),
        (E::NoPacket, c"the bytes are no packet"),
        (E::WrongLock, c"the lock refuses this request or release"),
        (E::WrongRegion, c"the registration does not exist, is not held, or was not asked for"),
        (E::WrongState, c"the end of the flow does not admit this call now"),
        (E::PeerLost, c"a peer has died"),
    ];
}

/// What an error means, in one sentence that lives for ever. Of a number that is no error, that.
#[unsafe(no_mangle)]
pub extern "C" fn carrousel_error_text(error: u32) -> *const c_char {
    let known = carrousel_error::ALL.iter().find(|(known, _)| *known as u32 == error);
    known.map_or(c"no error of this library", |(_, text)| text).as_ptr()
}

/// An error with all that is known of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Detail {
    Usage(UsageError),
    Protocol(ProtocolError),
    Window(WindowError),
    EpochUsage(EpochUsageError),
    EpochEvent(EpochEventError),
    Lock(LockError),
    Ticket(TicketError),
    Region(RegionError),
    Violation(Violation),
    Wire(WireError),
}

impl Detail {
    fn code(&self) -> carrousel_error {
        match self {
            Self::Usage(error) => of_usage(error),
            Self::Window(WindowError::NoSuchWindow(_)) => E::NoSuchWindow,
            Self::EpochUsage(error) => of_epoch(error),
            Self::Protocol(_) | Self::Window(_) | Self::EpochEvent(_) | Self::Violation(_) => {
                E::ImpossibleEvent
            }
            Self::Lock(LockError::NoSuchOrigin { .. }) => E::NoSuchRank,
            Self::Lock(_) | Self::Ticket(_) => E::WrongLock,
            Self::Region(_) => E::WrongRegion,
            Self::Wire(_) => E::NoPacket,
        }
    }
}

fn of_usage(error: &UsageError) -> carrousel_error {
    match error {
        UsageError::NoSuchRank { .. } => E::NoSuchRank,
        UsageError::NoSuchRequest(_) => E::NoSuchRequest,
        UsageError::NotAReceive(_) => E::NotAReceive,
        UsageError::NotClaimed(_) => E::NotClaimed,
        UsageError::NoSuchCommunicator(_) => E::NoSuchCommunicator,
        UsageError::AlreadyDefined(_) => E::AlreadyDefined,
        UsageError::InUse(_) => E::InUse,
        UsageError::NotAMember(_) => E::NotAMember,
        UsageError::MemberTwice(_) => E::MemberTwice,
        UsageError::Collective(_) => E::WrongCollective,
        UsageError::NoSuchWindow(_) => E::NoSuchWindow,
        UsageError::Window(error) => of_epoch(error),
        // A tag, or an error of a later version.
        _ => E::UnknownValue,
    }
}

fn of_epoch(error: &EpochUsageError) -> carrousel_error {
    match error {
        EpochUsageError::NoSuchRank { .. } => E::NoSuchRank,
        EpochUsageError::RankTwice(_) => E::MemberTwice,
        _ => E::WrongEpoch,
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(error) => error.fmt(f),
            Self::Protocol(error) => error.fmt(f),
            Self::Window(error) => error.fmt(f),
            Self::EpochUsage(error) => error.fmt(f),
            Self::EpochEvent(error) => error.fmt(f),
            Self::Lock(error) => error.fmt(f),
            Self::Ticket(error) => error.fmt(f),
            Self::Region(error) => error.fmt(f),
            Self::Violation(error) => error.fmt(f),
            Self::Wire(error) => error.fmt(f),
        }
    }
}

/// Why a call is refused.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Code(carrousel_error),
    Detail(Detail),
}

impl Fault {
    pub(crate) fn code(&self) -> carrousel_error {
        match self {
            Self::Code(code) => *code,
            Self::Detail(detail) => detail.code(),
        }
    }
}

impl From<carrousel_error> for Fault {
    fn from(code: carrousel_error) -> Self {
        Self::Code(code)
    }
}

macro_rules! details {
    ($($kind:ident($error:ty)),* $(,)?) => {
        $(impl From<$error> for Fault {
            fn from(error: $error) -> Self {
                Self::Detail(Detail::$kind(error))
            }
        })*
    };
}

details! {
    Usage(UsageError),
    Protocol(ProtocolError),
    Window(WindowError),
    EpochUsage(EpochUsageError),
    EpochEvent(EpochEventError),
    Lock(LockError),
    Ticket(TicketError),
    Region(RegionError),
    Violation(Violation),
    Wire(WireError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_text_and_its_own_number() {
        for (number, (error, text)) in carrousel_error::ALL.iter().enumerate() {
            assert_eq!(*error as usize, number);
            assert_eq!(carrousel_error_text(number as u32), text.as_ptr());
        }
        let beyond = carrousel_error_text(carrousel_error::ALL.len() as u32);
        assert_ne!(beyond, carrousel_error::ALL[0].1.as_ptr());
    }
}
