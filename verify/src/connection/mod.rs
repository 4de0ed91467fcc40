//! A connection: models of two ends and the network between them around [`carrousel_connection`].
//!
//! The machines that are explored are those that run in production.
//!
//! **The handshake.** Either end begins, or both do. The datagrams of a direction are a set: any of them arrives, is
//! lost, or is doubled, at any time and in any order, so that the model has every number of copies. Time passes at
//! any moment, or, if ends can give up, only when nothing is on its way. *Promises:* an end that is up has a peer
//! whose queue pair is connected to its own (`up-is-connected`); a queue pair is connected once (`connected-once`); a
//! peer that answers is not given up (`not-given-up`); from every state, deliveries and ticks alone lead to a final
//! state (`never-stuck`), after which no more datagrams are sent (`silence`).
//!
//! **Credits.** Each end has some messages to send. It sends, takes frames and gives credits back whenever it may.
//! Frames arrive in order, or in the order of each of two rails, as soon as there is a buffer. A buffer may be posted
//! again after its credit was given back: the answer to a packet carries its credit, and buffers are posted in
//! batches. *Promises:* with as many buffers as [`carrousel_connection::Credits::buffers`] asks for, and those that wait to
//! be posted again, each frame finds one (`no-overrun`); with fewer, the adapter lets the sender wait, and still all
//! messages arrive (`never-stuck`); no end gets back more credits than it has spent (`honest-credits`).
//!
//! **Order.** One end sends packets of two lanes, each by either of two rails, which keep order only within
//! themselves. *Promises:* packets of a lane are taken in the order in which they were sent (`in-order`); none is
//! further ahead of its turn than the window (`window-kept`); when a packet is taken, the writes that were posted
//! before it in its lane have arrived (`behind-write`); all packets are taken (`never-stuck`).
//!
//! **Not modelled.** A queue pair that fails, a peer that dies, buffers that several peers share, and datagrams that
//! no peer has sent.

mod bounds;
mod credits;
mod handshake;
mod order;
mod reached;

use crate::bounds::Bounds;
use crate::explore::Limits;
use crate::machine;
use crate::outcome::Outcome;
use crate::rules::{RuleSet, Rules};
pub use bounds::{Buffers, ConnectionBounds, CreditBounds, HandshakeBounds, OrderBounds};
use credits::CreditModel;
use handshake::HandshakeModel;
use order::OrderModel;
pub use reached::LinkCoverPoint;

impl Bounds for ConnectionBounds {
    const SET: RuleSet = RuleSet::Connection;

    fn explore_under<R: Rules>(self, limits: &Limits<'_>) -> Outcome {
        match self {
            Self::Handshake(bounds) => {
                machine::explore(HandshakeModel::<R::Handshake>::new::<R::Environment>(bounds), limits)
            }
            Self::Credits(bounds) => {
                machine::explore(CreditModel::<R::Credits>::new::<R::Environment>(bounds), limits)
            }
            Self::Order(bounds) => {
                machine::explore(OrderModel::<R::Order>::new::<R::Environment>(bounds), limits)
            }
        }
    }
}
