//! Names, envelopes and how requests end, as C has them.

use crate::error::carrousel_error;
use ::carrousel_rank::{
    Arrived, Communicator, Context, Envelope, Failure, Handle, Memory, Pattern, RankId, Source, Status, Tag,
    TagSelector,
};

/// A receive from any source (`MPI_ANY_SOURCE`).
pub const CARROUSEL_ANY_SOURCE: u32 = u32::MAX;
/// The communicator of all ranks of the job.
pub const CARROUSEL_WORLD: u32 = 0;

/// A request of a rank. It is the host's until it is released; a released one is known to be that.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_handle {
    /// Position in the table of requests.
    pub index: u32,
    /// How many requests have used the position before.
    pub generation: u32,
}

impl From<Handle> for carrousel_handle {
    #[inline]
    fn from(Handle { index, generation }: Handle) -> Self {
        Self { index, generation }
    }
}

impl From<carrousel_handle> for Handle {
    #[inline]
    fn from(carrousel_handle { index, generation }: carrousel_handle) -> Self {
        Self { index, generation }
    }
}

/// Memory of a process, as its host names it. The library touches no memory: it hands these names on.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_memory {
    /// The first byte, in the address space of its process.
    pub address: u64,
    /// The key under which an adapter knows it, or any other number that the host gives it.
    pub key: u32,
}

impl From<Memory> for carrousel_memory {
    #[inline]
    fn from(Memory { address, key }: Memory) -> Self {
        Self { address, key }
    }
}

impl From<carrousel_memory> for Memory {
    #[inline]
    fn from(carrousel_memory { address, key }: carrousel_memory) -> Self {
        Self { address, key }
    }
}

/// What a receive or a probe asks for.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_pattern {
    /// A rank, or `CARROUSEL_ANY_SOURCE`.
    pub source: u32,
    /// The context: twice the number of the communicator, for messages of the application.
    pub context: u16,
    /// The tag.
    pub tag: u64,
    /// The bits of the tag that do not matter. `MPI_ANY_TAG` ignores the lowest 31.
    pub ignore: u64,
}

/// Where a message comes from, and what it is.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_envelope {
    /// The sender.
    pub source: u32,
    /// The context: twice the number of the communicator, for messages of the application.
    pub context: u16,
    /// The tag.
    pub tag: u64,
}

impl From<Envelope> for carrousel_envelope {
    #[inline]
    fn from(Envelope { source, tag, context }: Envelope) -> Self {
        Self { source: source.0, context: context.0, tag: tag.0 }
    }
}

impl From<carrousel_envelope> for Envelope {
    #[inline]
    fn from(carrousel_envelope { source, context, tag }: carrousel_envelope) -> Self {
        Self { source: RankId(source), tag: Tag(tag), context: Context(context) }
    }
}

impl From<carrousel_pattern> for Pattern {
    #[inline]
    fn from(carrousel_pattern { source, context, tag, ignore }: carrousel_pattern) -> Self {
        Self { source: of_source(source), tag: TagSelector::new(Tag(tag), ignore), context: Context(context) }
    }
}

/// A message that has arrived and has no receive.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_arrived {
    /// Its envelope.
    pub envelope: carrousel_envelope,
    /// Its bytes.
    pub len: u64,
    /// 1 if 8 bytes came with it.
    pub has_data: u32,
    /// These.
    pub data: u64,
}

impl From<Arrived> for carrousel_arrived {
    fn from(Arrived { envelope, data, len }: Arrived) -> Self {
        Self {
            envelope: envelope.into(),
            len,
            has_data: data.is_some().into(),
            data: data.unwrap_or_default(),
        }
    }
}

/// Why a request ended without success.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum carrousel_failure {
    /// It did not.
    None = 0,
    /// The message is longer than its receive (`MPI_ERR_TRUNCATE`): `failure_value` has its bytes.
    Truncated = 1,
    /// The receive was cancelled.
    Cancelled = 2,
    /// The connection to the rank `failure_value` is lost.
    PeerLost = 3,
}

/// How a request ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct carrousel_status {
    /// 1 if a receive got a message: then `source` and `tag` are its.
    pub has_message: u32,
    /// The sender.
    pub source: u32,
    /// The tag.
    pub tag: u64,
    /// Bytes received or sent.
    pub len: u64,
    /// 1 if 8 bytes came with the message.
    pub has_data: u32,
    /// A `carrousel_failure`.
    pub failure: u32,
    /// The 8 bytes.
    pub data: u64,
    /// See `carrousel_failure`.
    pub failure_value: u64,
}

impl From<Status> for carrousel_status {
    #[inline]
    fn from(Status { message, data, len, failure }: Status) -> Self {
        let (failure, failure_value) = match failure {
            None => (carrousel_failure::None, 0),
            Some(Failure::Truncated { sent }) => (carrousel_failure::Truncated, sent),
            Some(Failure::Cancelled) => (carrousel_failure::Cancelled, 0),
            Some(Failure::PeerLost(peer)) => (carrousel_failure::PeerLost, peer.0.into()),
        };
        Self {
            has_message: message.is_some().into(),
            source: message.map_or(0, |(source, _)| source.0),
            tag: message.map_or(0, |(_, tag)| tag.0),
            len,
            has_data: data.is_some().into(),
            failure: failure as u32,
            data: data.unwrap_or_default(),
            failure_value,
        }
    }
}

#[inline]
pub(crate) fn of_source(source: u32) -> Source {
    if source == CARROUSEL_ANY_SOURCE { Source::Any } else { Source::Rank(RankId(source)) }
}

/// A communicator by its number.
#[inline]
pub(crate) fn communicator(number: u32) -> Result<Communicator, carrousel_error> {
    let number = u16::try_from(number).ok().and_then(Communicator::new);
    number.ok_or(carrousel_error::NoSuchCommunicator)
}

/// A field that is 0 or 1.
#[inline]
pub(crate) fn flag(value: u32) -> Result<bool, carrousel_error> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(carrousel_error::UnknownValue),
    }
}

/// 8 bytes that may be there.
#[inline]
pub(crate) fn data(has_data: u32, data: u64) -> Result<Option<u64>, carrousel_error> {
    Ok(flag(has_data)?.then_some(data))
}

/// For each enumeration that a host gives as a number: which variant that is.
macro_rules! numbered {
    ($kind:ident: $($variant:ident),* $(,)?) => {
        impl $kind {
            #[inline]
            pub(crate) fn of(number: u32) -> Result<Self, $crate::error::carrousel_error> {
                $(if number == Self::$variant as u32 {
                    return Ok(Self::$variant);
                })*
                Err($crate::error::carrousel_error::UnknownValue)
            }
        }
    };
}
pub(crate) use numbered;
