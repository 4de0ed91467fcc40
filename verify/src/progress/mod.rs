//! Initial progress: which arrivals a driver has to have fed to a rank before it makes a call, and what that is for.
//!
//! The other models feed what has come at any time, or never before a call: each is safe. But data moves while both ranks
//! compute only if the later of the two calls finds what the earlier one has sent (speculative-rendezvous 4.2.1). So this
//! model tells packets that are on their way from those that have arrived and were not fed, and has the driver's
//! obligation, [`carrousel_rank::Rank::needs_initial_progress`], the same function that the engine asks.
//!
//! One rank sends, the other receives, each a list of messages, without waiting for any; packets and completions arrive
//! at any time. *Promise:* a call whose partner's RTS or RTR had arrived when it was made posts the transfer
//! (`overlaps`), so that nothing is left to do for either rank but to wait.
//!
//! With room for a few eager messages only (`eager_window`), the same calls show flow control. *Promises:* no more eager
//! data is on its way or without a receive than there is room for (`bounded`); a sender whose messages were all taken, and
//! that has heard all that was said, may send eagerly again (`room-returns`).
//!
//! **Not modelled.** Messages of several senders, and receives from any source, which are not announced.

mod bounds;
mod pair;
mod rules;
mod tell;
mod world;

pub use bounds::Bounds;
pub use rules::{RULES, SET, explore, explore_without};
