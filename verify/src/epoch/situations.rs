//! The situations that an exploration covers.

use crate::situations::situations;

situations! {
    /// A situation that an exploration has to cover.
    pub enum EpochCoverPoint {
        /// An epoch was deferred.
        Deferred = "deferred",
        /// Operations that were recorded were issued.
        Replayed = "replayed",
        /// A grant was seen before its access was requested.
        EarlyGrant = "early grant",
        /// Several epochs were active, one opened inside the other.
        Nested = "nested",
        /// Several epochs were active by a flag.
        Flagged = "by a flag",
        /// An epoch has ended before one that was opened earlier.
        EndedFirst = "ended first",
        /// A packet has waited for reads.
        Fenced = "fenced",
        /// A fence epoch has enclosed another one.
        Enclosed = "enclosed",
        /// A lock request has waited for another holder.
        Queued = "queued",
        /// A lock request has waited for an exposure.
        HeldBack = "held back",
        /// A lock request has met an open exposure, and was reported.
        LockedWhileExposed = "locked while exposed",
        /// An exposure has waited for the release of a lock.
        ExposureWaits = "exposure waits",
        /// A flush has waited.
        Flushed = "flushed",
        /// An operation was called behind a flush that was under way.
        BehindFlush = "behind a flush",
        /// An accumulate has asked for a staging buffer.
        Staged = "staged",
        /// An origin has waited for the staging buffer that another has.
        NoBuffer = "no buffer",
        /// An accumulate has waited behind one that is staged.
        BehindStaged = "behind staged",
        /// A program got stuck that may.
        Stuck = "stuck",
    }
}
