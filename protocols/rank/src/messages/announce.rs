//! Announcing posted receives to their senders.

use super::Messages;
use super::entries::Posting;
use crate::{Sink, Work};
use carrousel_matching::{Context, Handle, Pattern, RankId, Source};
use carrousel_rendezvous::{Blockers, Candidate, Packet, Protocol, ReceiveSide, Rtr, RtrId};

/// Only so many of the oldest receives are announced, however many are posted: those behind them get their turn
/// before their messages are due, and a rank that has posted a hundred thousand does not look at all of them again and again.
pub const ANNOUNCED_FROM: usize = 64;

/// A receive that may be announced now.
struct NextRtr {
    request: Handle,
    /// Its position in the queue.
    at: usize,
    from: RankId,
    seen: u32,
    ahead: u16,
}

impl<P: Protocol> Messages<P> {
    /// See [`crate::Rank::may_announce`].
    #[inline]
    pub(crate) fn may_announce(&self) -> Option<Handle> {
        if self.candidates == 0 { None } else { self.first_announceable() }
    }

    /// Apart from messages that have nothing to do with it.
    #[inline(never)]
    fn first_announceable(&self) -> Option<Handle> {
        // A window of receives from a peer to which nothing may be announced is not looked at one by one.
        let (pattern, _) =
            self.posted.iter().take(ANNOUNCED_FROM).find(|(_, posting)| posting.is_unannounced())?;
        if let Source::Rank(from) = pattern.source
            && let Some(flow) = self.flows.get(from, pattern.context)
            && flow.candidates == self.candidates
            && !flow.receiver.has_room(self.options.rtr_limit)
        {
            return None;
        }
        self.announcement_candidates().next().map(|candidate| candidate.request)
    }

    /// A receive from `from` has been posted that could be announced.
    pub(super) fn count_candidate(&mut self, from: RankId, context: Context) {
        self.flows.with(from, context).candidates += 1;
        self.candidates += 1;
    }

    /// A receive from `from` is not posted any more.
    #[inline]
    pub(super) fn uncount_candidate(&mut self, from: RankId, context: Context, posting: &Posting) {
        if posting.is_unannounced() {
            self.flows.with(from, context).candidates -= 1;
            self.candidates -= 1;
        }
    }

    /// All receives among the oldest ones that may be announced now, oldest first, and whom to. Announcing one may change
    /// whether the others may be.
    #[cfg(feature = "checker")]
    pub(crate) fn announceable(&self) -> impl Iterator<Item = Handle> {
        self.announcement_candidates().map(|candidate| candidate.request)
    }

    fn announcement_candidates(&self) -> impl Iterator<Item = NextRtr> {
        let posted = if self.candidates > 0 { ANNOUNCED_FROM } else { 0 };
        self.posted.iter().take(posted).enumerate().filter_map(|(at, (pattern, posting))| {
            let Source::Rank(from) = pattern.source else { return None };
            let request = posting.request;
            if !posting.is_unannounced() || self.requests.is_cancelling(request) {
                return None;
            }
            let fresh = P::Receiver::default();
            let flow = self.flows.get(from, pattern.context);
            let receiver = flow.map_or(&fresh, |flow| &flow.receiver);
            let limit = self.options.rtr_limit;
            if !receiver.has_room(limit) {
                return None;
            }
            let candidate = Candidate {
                tag: pattern.tag,
                len: posting.len,
                processed: flow.map_or(0, |flow| flow.processed),
                blockers: self.blockers(at, &pattern),
                limit,
            };
            receiver.announce(&candidate).map(|(seen, ahead)| NextRtr { request, at, from, seen, ahead })
        })
    }

    /// The pending receives before position `at` that could take the same messages and are not announced. The receive
    /// itself names its source, so that those equal to it do.
    fn blockers(&self, at: usize, receive: &Pattern) -> Blockers {
        let mut blockers = Blockers::default();
        for (pattern, posting) in self.posted.iter().take(at) {
            // R3 without masks: as with one tag and any, one of the two accepts all that the other does.
            let (own, other) = (receive.tag.ignore(), pattern.tag.ignore());
            let is_seen = P::masks_overlap() || [own, other].contains(&(own & other));
            if posting.rtr.is_none() && pattern.overlaps(receive) && is_seen {
                if pattern == *receive {
                    blockers.same_selector = blockers.same_selector.saturating_add(1);
                } else {
                    blockers.others = blockers.others.saturating_add(1);
                }
            }
        }
        blockers
    }

    /// Announces `request` if that is permitted, and does nothing if not.
    pub(crate) fn announce(&mut self, request: Handle, out: &mut impl Sink) {
        let found = self.announcement_candidates().find(|candidate| candidate.request == request);
        let Some(NextRtr { at, from, seen, ahead, .. }) = found else { return };
        let Some((pattern, posting)) = self.posted.iter().nth(at) else { return };
        let Posting { request: receive, len, memory, .. } = *posting;
        let (mut index, mut candidates) = (0, 0);
        self.posted.change(at + 1, |earlier, posting| {
            // The `ahead` receives of the same tags, then the receive itself.
            if posting.rtr.is_none() && *earlier == pattern && (ahead > 0 || posting.request == receive) {
                posting.rtr = Some(RtrId { receive, index });
                candidates += u32::from(posting.candidate);
                index += 1;
            }
        });
        debug_assert_eq!(index, ahead + 1);
        let flow = self.flows.with(from, pattern.context);
        flow.receiver.announced(index);
        flow.candidates -= candidates;
        self.candidates -= candidates;
        let packet = Packet::Rtr(Rtr { tag: pattern.tag, seen, ahead, receive, len, memory });
        out.work(Work::Send { to: from, context: pattern.context, packet, data: None });
    }
}
