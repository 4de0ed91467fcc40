//! The receiving end: it counts its announced receives.

use super::MirrorRules;
use crate::{Candidate, Hint, Matched, ReceiveSide, Unmark, Usage};
use carrousel_matching::Tag;
use core::marker::PhantomData;

/// The receiving end of a flow under the mirror rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MirrorReceiver<R> {
    /// Announced receives without a message.
    outstanding: u16,
    usage: Usage,
    rules: PhantomData<R>,
}

impl<R> Default for MirrorReceiver<R> {
    fn default() -> Self {
        Self { outstanding: 0, usage: Usage::default(), rules: PhantomData }
    }
}

impl<R: MirrorRules> ReceiveSide for MirrorReceiver<R> {
    fn has_room(&self, limit: u16) -> bool {
        self.outstanding < limit && self.usage.speculates()
    }

    fn announce(&self, receive: &Candidate) -> Option<(u32, u16)> {
        let Candidate { processed, blockers, limit, .. } = receive;
        let ahead = blockers.same_selector;
        let room = u32::from(self.outstanding) + u32::from(ahead) < u32::from(*limit);
        (room && self.has_room(*limit) && !(blockers.others > 0 && R::blocked_by_unannounced()))
            .then_some((*processed, ahead))
    }

    fn announced(&mut self, receives: u16) {
        debug_assert!(receives > 0, "an RTR announces one receive at least");
        self.outstanding += receives;
    }

    fn arrived(&mut self, number: u32, credit_every: u16) -> bool {
        number.is_multiple_of(u32::from(credit_every.max(1)))
    }

    fn hint(&mut self, _: Tag, hint: Hint) -> Unmark {
        if hint == Hint::Unused {
            self.usage.silence();
        }
        Unmark::Keep
    }

    fn matched(&mut self, receive: &Matched) -> bool {
        receive.check(self.outstanding);
        self.outstanding -= u16::from(receive.announced);
        false
    }

    fn withdrawn(&mut self) {
        debug_assert!(self.outstanding > 0, "no receive is announced");
        self.outstanding -= 1;
    }

    fn usage(&mut self) -> &mut Usage {
        &mut self.usage
    }
}
