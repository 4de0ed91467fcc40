//! How requests end.

use carrousel_matching::{Envelope, RankId, Tag};

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Status {
    /// Of a receive: whose message it got. `None` for sends, collectives, and receives without a message.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub message: Option<(RankId, Tag)>,
    /// Of a receive: the 8 bytes that came with its message ([`Send::data`](crate::Send::data)).
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub data: Option<u64>,
    /// Bytes received or sent; 0 for a collective, unless a message of it was truncated.
    pub len: u64,
    /// What went wrong, if something did.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub failure: Option<Failure>,
}

impl Status {
    /// Of a request that is no receive, or has got no message.
    #[inline]
    pub(crate) const fn without_message(len: u64, failure: Option<Failure>) -> Self {
        Self { message: None, data: None, len, failure }
    }
}

/// A message that has arrived and has no receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arrived {
    /// Its source, tag and context.
    pub envelope: Envelope,
    /// The 8 bytes that came with it ([`Send::data`](crate::Send::data)).
    pub data: Option<u64>,
    /// Its bytes.
    pub len: u64,
}

/// Why a request ended without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum Failure {
    /// `MPI_ERR_TRUNCATE`: the message has `sent` bytes, more than the receive; nothing was written past its end.
    Truncated {
        /// Length of the message.
        sent: u64,
    },
    /// The receive was cancelled.
    Cancelled,
    /// The connection to the peer is lost.
    PeerLost(RankId),
}
