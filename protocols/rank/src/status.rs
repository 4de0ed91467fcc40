//! How requests end.

use carrousel_matching::{RankId, Tag};

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Status {
    /// Of a receive: whose message it got. `None` for sends, collectives, and receives without a message.
    pub message: Option<(RankId, Tag)>,
    /// Bytes received or sent; 0 for a collective, unless a message of it was truncated.
    pub len: u64,
    /// What went wrong, if something did.
    pub failure: Option<Failure>,
}

/// Why a request ended without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
