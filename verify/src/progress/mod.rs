//! Initial progress: the arrivals that a driver has to feed to a rank before it makes a call, and what that achieves.
//!
//! In the other models an arrival may be fed at any time, before or after a call, and each order is safe. But data
//! moves while both ranks compute only if the later of the two calls finds the packet of the earlier one
//! (speculative-rendezvous 4.2.1). So this model distinguishes packets on their way from those that have arrived and
//! were not fed. Its driver has the obligation of the real one: it asks
//! [`carrousel_rank::Rank::needs_initial_progress`], as the engine does.
//!
//! One rank sends, the other receives, each a list of messages, without waiting for any; packets and completions arrive
//! at any time. *Promise:* a call whose partner's RTS or RTR had arrived when it was made posts the transfer
//! (`overlaps`), so that nothing is left to do for either rank but to wait.
//!
//! With room for a few eager messages only (`eager_window`), the same calls show flow control. *Promises:* no more
//! eager data is on its way or without a receive than there is room for (`bounded`); when all messages were taken and
//! all packets have arrived, the sender may send eagerly again (`room-returns`).
//!
//! **Not modelled.** Messages of several senders, and receives from any source, which are not announced.

mod bounds;
mod pair;
mod state;
mod tell;

use crate::bounds::Bounds;
use crate::explore::Limits;
use crate::machine;
use crate::outcome::Outcome;
use crate::rules::{RuleSet, Rules};
use crate::situations::Situation;
pub use bounds::ProgressBounds;
use carrousel_rank::Mirror;
use pair::{PairCoverPoint, PairModel};

impl Bounds for ProgressBounds {
    const SET: RuleSet = RuleSet::Progress;

    fn explore_under<R: Rules>(self, limits: &Limits<'_>) -> Outcome {
        machine::explore(PairModel::<Mirror<R::Mirror>>::new::<R::Environment>(self), limits)
    }
}

impl ProgressBounds {
    /// The situations that an exploration within these bounds has to cover.
    pub(crate) fn must_reach(&self) -> Vec<&'static str> {
        let can = |what: &PairCoverPoint| match what {
            // One message cannot be behind another.
            PairCoverPoint::BehindOthers => self.sends > 1,
            PairCoverPoint::NoRoom => self.window.is_some(),
            PairCoverPoint::Written | PairCoverPoint::Read | PairCoverPoint::Crossed => true,
        };
        let within = PairCoverPoint::ALL.iter().copied().filter(can);
        within.map(PairCoverPoint::name).collect()
    }
}
