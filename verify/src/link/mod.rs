//! A connection: models of two ends and the network between them around [`carrousel_link`].
//!
//! The machines that are explored are those that run in production.
//!
//! **The handshake.** Either end begins, or both do. The datagrams of a direction are a set: any of them arrives, is
//! lost, or is doubled, at any time and in any order, so that the model has every number of copies. Time passes
//! at any moment, or, where it matters who is given up, only when nothing is on its way. *Promises:* who is up has
//! a peer whose queue pair is connected to its own (`up-is-connected`); a queue pair is connected once
//! (`connected-once`); a peer that answers is not given up (`not-given-up`); from every state, deliveries and ticks
//! alone lead to an end (`never-stuck`), behind which nothing is told any more (`silence`).
//!
//! **Credits.** Each end has some messages to send, and sends, takes and gives back whenever it may. What is sent
//! arrives in order, or in that of each of two ways, as soon as there is a buffer for it. A buffer is posted again some time after the credit for it
//! may have been given back: what follows from a packet carries its credit, and buffers are posted in batches.
//! *Promises:* with the buffers that [`carrousel_link::Credits::buffers`] asks for, and those that wait to be posted,
//! each frame finds one (`no-overrun`); with fewer, the adapter has the sender wait, and still all messages arrive
//! (`never-stuck`); no end is given back more than it has spent (`honest-credits`).
//!
//! **Order.** One end sends packets of two lanes by two ways, whichever it likes, each of which keeps its own order.
//! *Promises:* those of a lane are taken in the order in which they were sent (`in-order`); none is further ahead of
//! its turn than the window (`window-kept`); a write that was posted before a packet of its lane has arrived when that is
//! taken (`behind-write`); all are taken (`never-stuck`).
//!
//! **Not modelled.** A queue pair that fails, a peer that dies, buffers that several peers share, and datagrams that
//! no peer has sent.

mod bounds;
mod credits;
mod handshake;
mod order;
mod reached;
mod rules;

pub use bounds::{Buffers, CreditBounds, HandshakeBounds, LinkBounds, OrderBounds};
pub use reached::LinkCoverPoint;
pub use rules::{RULES, SET, explore, explore_without};
