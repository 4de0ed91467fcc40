//! The situations that an exploration covers.

use crate::situations::situations;

situations! {
    /// A situation that an exploration has to cover.
    pub enum LinkCoverPoint {
        /// Both ends have begun.
        BothBegan = "both began",
        /// A datagram was lost.
        Lost = "lost",
        /// A datagram has arrived, and another copy of it is on its way.
        Doubled = "doubled",
        /// A datagram has come behind a later one.
        Overtaken = "overtaken",
        /// A packet showed an end that it is up, before any datagram did.
        UpByPacket = "up by packet",
        /// An end has given up.
        GivenUp = "given up",
        /// An end that was given up has sent a hello.
        LateHello = "late hello",
        /// A packet has carried credits.
        Carried = "carried",
        /// Credits were given back alone.
        Alone = "alone",
        /// An end has spent all of its credits.
        Spent = "all spent",
        /// All buffers were full, or not posted.
        Full = "full",
        /// A frame has found no buffer, and waits.
        Waited = "waited",
        /// A frame was taken before one that was on its way by the other way.
        Passed = "passed",
        /// A packet has come before its turn.
        Early = "early",
        /// Several packets of a lane wait for their turn.
        ManyEarly = "many early",
        /// A packet has to take the rail of a write.
        Bound = "behind a write",
        /// A packet was taken while one of the other lane waits for its turn.
        OtherLane = "other lane",
    }
}
