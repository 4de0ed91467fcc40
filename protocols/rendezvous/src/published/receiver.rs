//! The receiving end: it knows which envelopes are stopped.

use super::{PublishedRules, Resume};
use crate::{Candidate, Fate, Hint, Matched, ReceiveSide, Unmark, Usage};
use alloc::vec::Vec;
use carrousel_matching::Tag;
use core::marker::PhantomData;

/// The receiving end of a flow under the published rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PublishedReceiver<R> {
    /// Envelopes whose sender said stop-RTR, sorted.
    stopped: Vec<Tag>,
    /// Announced receives without a message.
    outstanding: u16,
    /// RTRs that an eager message has left behind at the sender, by tag, sorted: they fill its store until
    /// a stop clears them (speculative-rendezvous 4.2.3, accumulation of RTR messages).
    left_behind: Vec<(Tag, u16)>,
    usage: Usage,
    rules: PhantomData<R>,
}

impl<R> Default for PublishedReceiver<R> {
    fn default() -> Self {
        Self {
            stopped: Vec::new(),
            outstanding: 0,
            left_behind: Vec::new(),
            usage: Usage::default(),
            rules: PhantomData,
        }
    }
}

impl<R: PublishedRules> ReceiveSide for PublishedReceiver<R> {
    fn has_room(&self, limit: u16) -> bool {
        let left_behind: u16 = self.left_behind.iter().map(|(_, count)| count).sum();
        self.outstanding + left_behind < limit && self.usage.speculates()
    }

    fn announce(&self, receive: &Candidate) -> Option<(u32, u16)> {
        let permitted = if receive.tag.is_exact() {
            self.stopped.binary_search(&receive.tag.tag()).is_err()
        } else {
            !R::exact_tags_only()
        };
        let blocked = receive.blockers.same_selector + receive.blockers.others > 0;
        let room = self.outstanding < receive.limit;
        (permitted && room && !(blocked && R::blocked_by_unannounced()) && self.usage.speculates())
            .then_some((0, 0))
    }

    fn announced(&mut self, receives: u16) {
        debug_assert!(receives > 0, "an RTR announces one receive at least");
        self.outstanding += receives;
    }

    fn arrived(&mut self, _: u32, _: u16) -> bool {
        false
    }

    fn hint(&mut self, tag: Tag, hint: Hint) -> Unmark {
        match (hint, self.stopped.binary_search(&tag)) {
            (Hint::StopRtr, Err(at)) => self.stopped.insert(at, tag),
            (Hint::ResumeRtr, Ok(at)) => {
                self.stopped.remove(at);
            }
            (Hint::Unused, _) => self.usage.silence(),
            _ => {}
        }
        if hint == Hint::StopRtr {
            self.left_behind.retain(|(of, _)| *of != tag);
        }
        if hint == Hint::StopRtr && R::resume() == Resume::ReceivesUnmarked {
            Unmark::Envelope
        } else {
            Unmark::Keep
        }
    }

    fn matched(&mut self, receive: &Matched) -> bool {
        let Matched { tag, fate, announced, exempt } = *receive;
        receive.check(self.outstanding);
        self.outstanding -= u16::from(announced);
        if announced && fate == Fate::Mispredicted {
            match self.left_behind.binary_search_by_key(&tag, |(of, _)| *of) {
                Ok(at) => self.left_behind[at].1 += 1,
                Err(at) => self.left_behind.insert(at, (tag, 1)),
            }
        }
        fate == Fate::Dropped && !announced && R::ack_rts() && (R::ack_from_every_receive() || !exempt)
    }

    fn withdrawn(&mut self) {
        debug_assert!(self.outstanding > 0, "no receive is announced");
        self.outstanding -= 1;
    }

    fn usage(&mut self) -> &mut Usage {
        &mut self.usage
    }
}
