//! The situations that an exploration covers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A situation that an exploration has to cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkCoverPoint {
    /// Both ends have begun.
    BothBegan,
    /// A datagram was lost.
    Lost,
    /// A datagram has arrived, and another copy of it is on its way.
    Doubled,
    /// A datagram has come behind a later one.
    Overtaken,
    /// A packet showed an end that it is up, before any datagram did.
    UpByPacket,
    /// An end has given up.
    GivenUp,
    /// An end that was given up has sent a hello.
    LateHello,
    /// A packet has carried credits.
    Carried,
    /// Credits were given back alone.
    Alone,
    /// An end has spent all of its credits.
    Spent,
    /// All buffers were full, or not posted.
    Full,
    /// A frame has found no buffer, and waits.
    Waited,
    /// A frame was taken before one that was on its way by the other way.
    Passed,
    /// A packet has come before its turn.
    Early,
    /// Several packets of a lane wait for their turn.
    ManyEarly,
    /// A packet has to take the rail of a write.
    Bound,
    /// A packet was taken while one of the other lane waits for its turn.
    OtherLane,
}

impl LinkCoverPoint {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::BothBegan,
        Self::Lost,
        Self::Doubled,
        Self::Overtaken,
        Self::UpByPacket,
        Self::GivenUp,
        Self::LateHello,
        Self::Carried,
        Self::Alone,
        Self::Spent,
        Self::Full,
        Self::Waited,
        Self::Passed,
        Self::Early,
        Self::ManyEarly,
        Self::Bound,
        Self::OtherLane,
    ];

    /// A column heading.
    pub fn name(self) -> &'static str {
        match self {
            Self::BothBegan => "both began",
            Self::Lost => "lost",
            Self::Doubled => "doubled",
            Self::Overtaken => "overtaken",
            Self::UpByPacket => "up by packet",
            Self::GivenUp => "given up",
            Self::LateHello => "late hello",
            Self::Carried => "carried",
            Self::Alone => "alone",
            Self::Spent => "all spent",
            Self::Full => "full",
            Self::Waited => "waited",
            Self::Passed => "passed",
            Self::Early => "early",
            Self::ManyEarly => "many early",
            Self::Bound => "behind a write",
            Self::OtherLane => "other lane",
        }
    }
}

/// How often each situation was met, and whether the search goes on.
#[derive(Default)]
pub(super) struct LinkCounts {
    met: [AtomicU64; LinkCoverPoint::ALL.len()],
    /// Explore no further.
    pub(super) stop: AtomicBool,
}

impl LinkCounts {
    pub(super) fn note(&self, what: LinkCoverPoint) {
        self.met[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the search has to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The situations that were met.
    pub(super) fn met(&self) -> Vec<(&'static str, u64)> {
        let counts = self.met.iter().map(|count| count.load(Ordering::Relaxed));
        LinkCoverPoint::ALL
            .map(LinkCoverPoint::name)
            .into_iter()
            .zip(counts)
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}
