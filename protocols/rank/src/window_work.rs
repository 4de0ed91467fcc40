//! The names of windows, and their outputs.

use carrousel_epoch as epoch;
use carrousel_matching::RankId;

/// A window of a rank: all ranks of the job make the same windows in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowIndex(pub u32);

/// What a driver has to do for a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowWork {
    /// Begin an operation; [`epoch::Event::LocallyComplete`] and [`epoch::Event::Complete`] follow.
    Transfer {
        /// Its name in the events.
        operation: epoch::OperationId,
        /// The number of its epoch among those that the program has opened.
        epoch: u64,
        /// What is moved.
        transfer: epoch::Transfer,
        /// The operand goes into the staging buffer that its target has given for it. When the target's processor has
        /// applied it, the target is told by [`epoch::Event::Applied`].
        is_staged: bool,
    },
    /// Post a packet, to a peer that may be this rank.
    Post {
        /// To whom.
        to: RankId,
        /// What.
        packet: epoch::Packet,
        /// What it stands behind.
        order: epoch::Order,
    },
    /// Store a grant word in the memory of an origin, which may be this rank.
    Store {
        /// The origin.
        to: RankId,
        /// Which of its words for this rank.
        word: epoch::GrantWord,
        /// Its new value.
        value: u64,
    },
    /// Tell the program what only the host of the memory can see.
    Report(epoch::Report),
}
