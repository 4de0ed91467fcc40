//! libfabric's constants in the types in which the provider uses them, and its errors.

use crate::bindings as b;
use carrousel_engine::Error;

macro_rules! flags {
    ($($name:ident = $of:ident),* $(,)?) => { $(pub(crate) const $name: u64 = b::$of as u64;)* };
}

flags! {
    MSG = FI_MSG, RMA = FI_RMA, TAGGED = FI_TAGGED, ATOMIC = FI_ATOMIC,
    READ = FI_READ, WRITE = FI_WRITE, RECV = FI_RECV, SEND = FI_SEND,
    REMOTE_READ = FI_REMOTE_READ, REMOTE_WRITE = FI_REMOTE_WRITE,
    MULTI_RECV = FI_MULTI_RECV, REMOTE_CQ_DATA = FI_REMOTE_CQ_DATA, MORE = FI_MORE, PEEK = FI_PEEK,
    FENCE = FI_FENCE, COMPLETION = FI_COMPLETION, INJECT = FI_INJECT, INJECT_COMPLETE = FI_INJECT_COMPLETE,
    TRANSMIT_COMPLETE = FI_TRANSMIT_COMPLETE, DELIVERY_COMPLETE = FI_DELIVERY_COMPLETE,
    MATCH_COMPLETE = FI_MATCH_COMPLETE,
    TAGGED_DIRECTED_RECV = FI_TAGGED_DIRECTED_RECV, LOCAL_COMM = FI_LOCAL_COMM, REMOTE_COMM = FI_REMOTE_COMM,
    SOURCE = FI_SOURCE, RMA_EVENT = FI_RMA_EVENT, DIRECTED_RECV = FI_DIRECTED_RECV,
    EVENT = FI_EVENT,
    CLAIM = FI_CLAIM, DISCARD = FI_DISCARD, SELECTIVE_COMPLETION = FI_SELECTIVE_COMPLETION,
    ORDER_SAS = FI_ORDER_SAS, ORDER_RAR = FI_ORDER_RAR, ORDER_RAW = FI_ORDER_RAW, ORDER_WAR = FI_ORDER_WAR,
    ORDER_WAW = FI_ORDER_WAW, ORDER_RMA_RAR = FI_ORDER_RMA_RAR, ORDER_RMA_RAW = FI_ORDER_RMA_RAW,
    ORDER_RMA_WAR = FI_ORDER_RMA_WAR, ORDER_RMA_WAW = FI_ORDER_RMA_WAW, ORDER_ATOMIC_RAR = FI_ORDER_ATOMIC_RAR,
    ORDER_ATOMIC_RAW = FI_ORDER_ATOMIC_RAW, ORDER_ATOMIC_WAR = FI_ORDER_ATOMIC_WAR,
    ORDER_ATOMIC_WAW = FI_ORDER_ATOMIC_WAW,
}

/// An address that is none: any source, or nobody that is known (`FI_ADDR_UNSPEC`, `FI_ADDR_NOTAVAIL`).
pub(crate) const NO_ADDRESS: u64 = u64::MAX;

/// A version of the interface.
pub(crate) const fn version(major: u32, minor: u32) -> u32 {
    major << 16 | minor
}

/// A positive number of an error (fi_errno(3)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

macro_rules! errors {
    ($($name:ident = $of:ident),* $(,)?) => {
        impl Errno { $(pub(crate) const $name: Self = Self(b::$of as i32);)* }
    };
}

errors! {
    AGAIN = FI_EAGAIN, INVALID = FI_EINVAL, NO_DATA = FI_ENODATA, NOT_SUPPORTED = FI_ENOSYS, BUSY = FI_EBUSY,
    NO_MEMORY = FI_ENOMEM, AVAILABLE = FI_EAVAIL, TRUNCATED = FI_ETRUNC, CANCELED = FI_ECANCELED,
    NO_MESSAGE = FI_ENOMSG, NOT_OPERATION = FI_EOPNOTSUPP, NO_KEY = FI_ENOKEY, NO_OPTION = FI_ENOPROTOOPT, OTHER = FI_EOTHER,
    TOO_LONG = FI_EMSGSIZE, TOO_SMALL = FI_ETOOSMALL, NO_QUEUE = FI_ENOCQ, NO_VECTOR = FI_ENOAV,
    OP_STATE = FI_EOPBADSTATE, ADDRESS = FI_EADDRNOTAVAIL, RESET = FI_ECONNRESET,
    UNREACHABLE = FI_EHOSTUNREACH, REFUSED = FI_ECONNREFUSED, FLAGS = FI_EBADFLAGS,
    TIMEOUT = FI_ETIMEDOUT, NOT_FOUND = FI_ENOENT, BAD_MEMORY = FI_EACCES,
}

impl Errno {
    /// What a call returns.
    pub(crate) const fn code(self) -> i32 {
        -self.0
    }
}

impl From<&Error> for Errno {
    fn from(error: &Error) -> Self {
        match error {
            Error::Truncated { .. } => Self::TRUNCATED,
            Error::PeerLost { .. } => Self::RESET,
            Error::Connect { .. } => Self::REFUSED,
            Error::Unreachable { .. } => Self::UNREACHABLE,
            Error::Memory(_) => Self::NO_MEMORY,
            Error::Usage { .. } | Error::Option(_) => Self::INVALID,
            _ => Self::OTHER,
        }
    }
}

/// What a call that returns an `int` or a `ssize_t` returns.
pub(crate) trait Returned {
    /// Zero, a count, or a negative error.
    fn returned(self) -> i32;
}

impl Returned for Result<(), Errno> {
    #[inline]
    fn returned(self) -> i32 {
        self.map_or_else(Errno::code, |()| 0)
    }
}

impl Returned for Result<usize, Errno> {
    #[inline]
    fn returned(self) -> i32 {
        self.map_or_else(Errno::code, |count| i32::try_from(count).unwrap_or(i32::MAX))
    }
}
