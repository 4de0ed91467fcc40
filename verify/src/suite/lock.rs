//! The lock suite: locks of windows, with all that origins, host and network can do within some bounds.

use super::bounded::{BoundedFamily, bounded};
use super::{SuiteReport, SuiteSettings};
use crate::lock::{LockBounds, LockCoverPoint, QueueBounds, TicketBounds};
use crate::situations::names;

use LockCoverPoint::{
    Batch, BehindShared, Blocked, FoundAlive, FoundDead, HolderDied, LetInByDeath, NearAndFar, NotOvertaken,
    PassedOn, Refused, SeveralPackets, SideBySide, WaiterDied, Wrapped,
};

/// What every exploration of the queue has to meet, and those of batches, impossible packets, and deaths.
const QUEUED: &[LockCoverPoint] = &[SideBySide, Batch, BehindShared, NotOvertaken];
const BATCHED: &[LockCoverPoint] = &[SideBySide, Batch, BehindShared, NotOvertaken, SeveralPackets];
const STRAYED: &[LockCoverPoint] = &[SideBySide, Batch, BehindShared, NotOvertaken, Refused];
const DIED: &[LockCoverPoint] =
    &[SideBySide, Batch, NotOvertaken, HolderDied, WaiterDied, LetInByDeath, Blocked];
const DIED_IN_BATCHES: &[LockCoverPoint] =
    &[SideBySide, Batch, NotOvertaken, SeveralPackets, HolderDied, WaiterDied, LetInByDeath, Blocked];

/// The same for tickets of one node and of several, with deaths, impossible packets, and inspections.
const NEAR: &[LockCoverPoint] = &[SideBySide, BehindShared, NotOvertaken, Wrapped];
const NEAR_DIED: &[LockCoverPoint] =
    &[SideBySide, NotOvertaken, HolderDied, WaiterDied, Blocked, FoundDead, FoundAlive];
const FAR: &[LockCoverPoint] = &[SideBySide, BehindShared, NotOvertaken, Wrapped, NearAndFar];
const FAR_DIED: &[LockCoverPoint] =
    &[NotOvertaken, NearAndFar, HolderDied, WaiterDied, Blocked, PassedOn, FoundDead, FoundAlive];
const FAR_DIED_UNINSPECTED: &[LockCoverPoint] =
    &[NotOvertaken, NearAndFar, HolderDied, WaiterDied, Blocked, PassedOn];
const FAR_STRAYED: &[LockCoverPoint] =
    &[NotOvertaken, NearAndFar, HolderDied, WaiterDied, Blocked, PassedOn, Refused];

/// The bounds, each with what its exploration has to meet.
fn families(full: bool) -> Vec<(LockBounds, &'static [LockCoverPoint])> {
    const QUEUE: QueueBounds = QueueBounds { origins: 3, locks: 2, batches: false, deaths: 0, strays: 0 };
    const NODE: TicketBounds =
        TicketBounds { near: 3, far: 0, locks: 1, deaths: 0, strays: 0, inspections: 0 };
    let mut queues = vec![
        (QUEUE, QUEUED),
        (QueueBounds { batches: true, ..QUEUE }, BATCHED),
        (QueueBounds { locks: 1, strays: 2, ..QUEUE }, STRAYED),
        (QueueBounds { deaths: 1, ..QUEUE }, DIED),
        (QueueBounds { origins: 4, locks: 1, ..QUEUE }, QUEUED),
        (QueueBounds { origins: 4, locks: 1, batches: true, deaths: 1, ..QUEUE }, DIED_IN_BATCHES),
    ];
    let mut tickets = vec![
        (TicketBounds { locks: 2, ..NODE }, NEAR),
        (TicketBounds { near: 4, ..NODE }, NEAR),
        (TicketBounds { deaths: 1, inspections: 1, ..NODE }, NEAR_DIED),
        (TicketBounds { near: 2, far: 2, ..NODE }, FAR),
        (TicketBounds { near: 2, far: 1, deaths: 1, inspections: 1, ..NODE }, FAR_DIED),
        (TicketBounds { near: 1, far: 2, deaths: 1, strays: 1, ..NODE }, FAR_STRAYED),
    ];
    if full {
        queues.push((QueueBounds { origins: 4, ..QUEUE }, QUEUED));
        queues.push((QueueBounds { batches: true, deaths: 1, ..QUEUE }, DIED_IN_BATCHES));
        queues.push((QueueBounds { batches: true, strays: 1, ..QUEUE }, STRAYED));
        queues.push((QueueBounds { origins: 4, locks: 1, deaths: 3, ..QUEUE }, DIED));
        tickets.push((TicketBounds { deaths: 2, inspections: 2, ..NODE }, NEAR_DIED));
        tickets.push((TicketBounds { near: 1, far: 2, locks: 2, ..NODE }, FAR));
        tickets.push((TicketBounds { near: 2, far: 2, deaths: 1, ..NODE }, FAR_DIED_UNINSPECTED));
        tickets.push((TicketBounds { near: 2, far: 1, deaths: 2, inspections: 2, ..NODE }, FAR_DIED));
    }
    let queues = queues.into_iter().map(|(bounds, reached)| (LockBounds::Queue(bounds), reached));
    let tickets = tickets.into_iter().map(|(bounds, reached)| (LockBounds::Tickets(bounds), reached));
    queues.chain(tickets).collect()
}

/// Explores locks with every rule on.
pub fn lock(settings: &SuiteSettings<'_>) -> SuiteReport {
    let families = families(settings.full).into_iter().map(|(bounds, must_reach)| BoundedFamily {
        name: bounds.name(),
        bounds,
        must_reach: names(must_reach),
    });
    bounded("lock", &families.collect::<Vec<_>>(), settings)
}
