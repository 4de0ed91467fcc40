//! What open requests are doing.

use super::entries::Claimed;
use crate::Status;
use carrousel_matching::{Context, Handle, RankId, Tag};
use carrousel_rendezvous::{Memory, RtrId};

/// What a request is doing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// A message whose RTS is out: waits for ATS or CTS.
    Offered { to: RankId, context: Context, len: u64, memory: Memory },
    /// A message that is being written; `then` is what to tell the receiver afterwards.
    Writing { to: RankId, context: Context, len: u64, then: Option<Then> },
    /// A receive without a message; `asked` while its cancellation is.
    Posted { asked: Option<RtrId> },
    /// A message that was claimed, of which nobody has said yet where it goes.
    Claimed(Claimed),
    /// A receive whose data is being read; `then` is the peer's request that is to be told of afterwards.
    Reading { from: RankId, context: Context, then: Option<Handle>, status: Status },
    /// A receive whose data is being written by its peer.
    Filling { from: RankId, status: Status },
    /// A collective; how far it is stands with those that are active.
    Collective,
    /// An epoch that was closed, a flush or an operation of a window, which knows the rest.
    OfWindow,
    /// Over; the application has not released it.
    Complete(Status),
}

impl State {
    /// Whether it needs a peer to go on, that is known.
    pub(super) fn is_of(&self, peer: RankId) -> bool {
        match self {
            Self::Offered { to, .. } | Self::Writing { to, .. } => *to == peer,
            Self::Reading { from, .. } | Self::Filling { from, .. } => *from == peer,
            Self::Posted { .. }
            | Self::Claimed(_)
            | Self::Collective
            | Self::OfWindow
            | Self::Complete(_) => false,
        }
    }
}

/// What a sender tells the receiver once a write is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Then {
    /// The data is there (published rules).
    Atp(Handle),
    /// FIN, too late to be sound.
    Fin { rtr: RtrId, tag: Tag, data: Option<u64> },
}

/// The end of a message that a request of a collective's round is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It is sent.
    Send,
    /// It is received.
    Receive,
}

/// In the position of a request of a round, beside the position of its collective; no table has as many.
const OF_ROUND: u32 = 1 << 31;
const RECEIVES: u32 = 1 << 30;

/// The name of a request of a round of the collective `own`.
pub(crate) fn inner(own: Handle, end: End) -> Handle {
    let end = if end == End::Receive { RECEIVES } else { 0 };
    Handle { index: own.index | OF_ROUND | end, ..own }
}

/// The collective that a request of a round belongs to; `None` for the application's own.
pub(super) fn owner(request: Handle) -> Option<(Handle, End)> {
    let end = if request.index & RECEIVES == 0 { End::Send } else { End::Receive };
    let own = Handle { index: request.index & !(OF_ROUND | RECEIVES), ..request };
    (request.index & OF_ROUND != 0).then_some((own, end))
}

/// The collective on whose behalf a rank opened `request`; `None` for those that the application opened, which
/// alone can be asked about and released.
pub fn collective_of(request: Handle) -> Option<Handle> {
    owner(request).map(|(own, _)| own)
}
