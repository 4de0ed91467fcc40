//! The situations that an exploration covers.

use crate::situations::situations;

situations! {
    /// A situation that an exploration has to cover.
    pub enum LockCoverPoint {
        /// Two shared holders were there at once.
        SideBySide = "side by side",
        /// One release let several requests in.
        Batch = "batch",
        /// An exclusive request has come while there were shared holders.
        BehindShared = "behind shared",
        /// A shared request has come while there were shared holders, and an exclusive request waited.
        NotOvertaken = "not overtaken",
        /// A host has taken several packets at once.
        SeveralPackets = "several packets",
        /// An impossible packet was refused.
        Refused = "refused",
        /// A holder has died.
        HolderDied = "holder died",
        /// An origin has died whose request waits.
        WaiterDied = "waiter died",
        /// A death has let a request in.
        LetInByDeath = "let in by death",
        /// A request waits for ever behind a dead process.
        Blocked = "blocked",
        /// The counters of a lock have wrapped.
        Wrapped = "wrapped",
        /// Holders of the host's node and of another one were there at once.
        NearAndFar = "near and far",
        /// The host has passed on the turn of an origin that has died.
        PassedOn = "passed on",
        /// An inspection has found the dead process that blocks.
        FoundDead = "found dead",
        /// An inspection has found that no dead process blocks, although there was one.
        FoundAlive = "found alive",
    }
}
