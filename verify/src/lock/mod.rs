//! The lock of a window: models of origins, packets and shared words around [`carrousel_lock`].
//!
//! The machines that are explored are those that run in production. Each origin has a short program of locks. Under an
//! exclusive lock it reads two words of the memory, and then writes to each a number greater by one; under a shared lock
//! it reads one word after the other. So memory that is half written, or an update that is lost, is seen.
//!
//! **The queue.** Origins send requests, data and releases to the host, each in its own order, and the host stores grants
//! that are seen at any later time. A host takes packets one by one, or in batches, in order of rank, as a progress engine
//! does. Origins die at any moment: part of what they have sent arrives, and then the host is told. Some send requests
//! and releases that cannot be.
//!
//! **Tickets.** Origins of the host's node access shared words, one access a step; those of other nodes send packets to the
//! host, which takes tickets for them. Origins die between any two accesses. One that waits may inspect whether a dead
//! process blocks it. Tickets begin just below the wrap of their counters.
//!
//! **The promises.** An exclusive holder is alone (`exclusion`), and none is granted before a request that came before it
//! and that it would exclude (`first-in-first-out`): a request comes when the host takes it, or takes its ticket. What is
//! read is whole, and no update is lost (`whole`). The queue grants each request that nothing is in the way of (`prompt`).
//! If holders release, all that wait are granted, except those behind a holder that has died (`never-stuck`). The host
//! tells what a death means (`death-is-told`). On a node, an origin that a dead process blocks finds it
//! (`death-is-noticed`), and takes no process for dead that does not block it (`reports-are-true`). An impossible packet is
//! refused and changes nothing (`misuse`), and no origin takes the words for corrupt (`words`).
//!
//! **Not modelled.** The death of the host, whose memory is gone with it; memory orders, which loom explores.

mod arrivals;
mod bounds;
mod data;
mod exploration;
mod node;
mod queue;
mod reached;
mod remote;
mod tickets;
mod violation;

use crate::bounds::Bounds;
use crate::explore::Limits;
use crate::machine;
use crate::outcome::Outcome;
use crate::rules::{RuleSet, Rules};
pub use bounds::{LockBounds, QueueBounds, TicketBounds};
use queue::QueueModel;
pub use reached::LockCoverPoint;
use tickets::TicketModel;

impl Bounds for LockBounds {
    const SET: RuleSet = RuleSet::Lock;

    fn explore_under<R: Rules>(self, limits: &Limits<'_>) -> Outcome {
        match self {
            Self::Queue(bounds) => {
                machine::explore(QueueModel::<R::Lock>::new::<R::Environment>(bounds), limits)
            }
            Self::Tickets(bounds) => {
                machine::explore(TicketModel::<R::Ticket>::new::<R::Environment>(bounds), limits)
            }
        }
    }
}
