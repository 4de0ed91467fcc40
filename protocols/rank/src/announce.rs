//! Announcing posted receives to their senders.

use crate::rank::{Posting, Rank};
use crate::{Sink, Work};
use carrousel_matching::{Context, Pattern, RankId, Source};
use carrousel_rendezvous::{Announcement, Blockers, LineId, Packet, Protocol, ReceiveSide, Rtr};

/// A receive that may be announced now.
struct Next {
    /// Its position in the queue.
    at: usize,
    from: RankId,
    seen: u32,
    ahead: u16,
}

impl<P: Protocol> Rank<P> {
    /// Whether [`crate::Event::Announce`] would announce a receive. Drivers that speculate ask after
    /// every call and event; not announcing, or later, is safe.
    pub fn may_announce(&self) -> bool {
        self.candidates > 0 && self.next_to_announce().is_some()
    }

    fn next_to_announce(&self) -> Option<Next> {
        self.posted.iter().enumerate().find_map(|(at, (pattern, posting))| {
            let Source::Rank(from) = pattern.source else { return None };
            if !posting.candidate || posting.line.is_some() || self.requests.is_cancelling(posting.request) {
                return None;
            }
            let announcement = Announcement {
                tag: pattern.tag,
                len: posting.len,
                blockers: self.blockers(at, pattern),
                limit: self.options.rtr_limit,
            };
            let fresh = P::Receiver::default();
            let flow = self.flows.get(from, pattern.context);
            let receiver = flow.map_or(&fresh, |flow| &flow.receiver);
            receiver.announce(&announcement).map(|(seen, ahead)| Next { at, from, seen, ahead })
        })
    }

    /// The pending receives before position `at` that could take the same messages and are not announced.
    fn blockers(&self, at: usize, receive: &Pattern) -> Blockers {
        let mut blockers = Blockers::default();
        for (pattern, posting) in self.posted.iter().take(at) {
            if posting.line.is_none() && pattern.overlaps(receive) {
                if pattern == receive && pattern.is_exact() {
                    blockers.same_envelope = blockers.same_envelope.saturating_add(1);
                } else {
                    blockers.others = blockers.others.saturating_add(1);
                }
            }
        }
        blockers
    }

    pub(crate) fn announce(&mut self, out: &mut impl Sink) {
        let Some(Next { at, from, seen, ahead }) = self.next_to_announce() else { return };
        let Some((pattern, posting)) = self.posted.iter().nth(at) else { return };
        let pattern = *pattern;
        let Posting { request: receive, len, memory, .. } = *posting;
        let mut index = 0;
        for (earlier, posting) in self.posted.iter_mut().take(at + 1) {
            // The `ahead` receives of the same envelope, then the receive itself.
            if posting.line.is_none() && *earlier == pattern && (ahead > 0 || posting.request == receive) {
                posting.line = Some(LineId { receive, index });
                self.candidates -= u32::from(posting.candidate);
                index += 1;
            }
        }
        debug_assert_eq!(index, ahead + 1);
        self.flows.with(from, pattern.context).receiver.announced(index);
        let packet = Packet::Rtr(Rtr { tag: pattern.tag, seen, ahead, receive, len, memory });
        out.work(Work::Send { to: from, context: Context::MESSAGES, packet, data: None });
    }
}
