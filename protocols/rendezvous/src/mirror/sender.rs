//! The sending end: the copy of the receiver's queue.

use super::MirrorRules;
use crate::under_way::{Sent, UnderWay};
use crate::{Adaptation, Hint, Outgoing, Route, Rtr, RtrId, SendSide, Target, Violation};
use alloc::vec::Vec;
use carrousel_matching::{Handle, Keyed, Queue, Tag, TagSelector};
use core::marker::PhantomData;

/// An announced receive that has no message yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Announcement {
    tag: TagSelector,
    target: Target,
    /// False for a receive that was announced only by the count (`ahead`) of a later RTR: its buffer is not known.
    has_buffer: bool,
}

/// A message that found no announcement when it was sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Unseen {
    /// Its position among the flow's matching messages, counted from 1, modulo 2^32.
    number: u32,
    tag: Tag,
    /// The request of a rendezvous, by which its end is known. An eager message is over when it is sent: which request it
    /// had says only when that was, among all that the rank has sent to anybody.
    send: Option<Handle>,
}

/// The keys of an unseen message: its tag; one key that all have in common, for announcements that ignore bits of the
/// tag; and its request.
const BY_TAG: usize = 0;
const FOR_MASKS: usize = 1;
const BY_SEND: usize = 2;

/// A receiver reports now and then what it has seen, and leaves fewer messages unseen than this. They are appended
/// and pruned, and hardly ever searched.
const UNSEEN: usize = 256;

impl Keyed<3> for Unseen {
    fn keys(&self) -> [u64; 3] {
        [self.tag.0, 0, self.send.map_or(u64::MAX, Handle::to_bits)]
    }
}

/// The sending end of a flow under the mirror rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MirrorSender<R> {
    /// Matching messages sent so far, modulo 2^32.
    sent: u32,
    mirror: Vec<Announcement>,
    unseen: Queue<Unseen, 3, UNSEEN>,
    under_way: UnderWay,
    rules: PhantomData<R>,
}

impl<R> Default for MirrorSender<R> {
    fn default() -> Self {
        let (mirror, unseen, under_way) = (Vec::new(), Queue::new(), UnderWay::default());
        Self { sent: 0, mirror, unseen, under_way, rules: PhantomData }
    }
}

impl<R: MirrorRules> MirrorSender<R> {
    fn announcement_for(&self, tag: Tag) -> Option<usize> {
        self.mirror.iter().position(|announcement| announcement.tag.matches(tag))
    }

    /// The message that is being sent takes its announcement; a message that finds no announcement is unseen.
    #[inline(always)]
    fn take_announcement(&mut self, tag: Tag, send: Option<Handle>) -> Option<Announcement> {
        if let Some(at) = self.announcement_for(tag) {
            return Some(self.mirror.remove(at));
        }
        self.unseen.push(Unseen { number: self.sent, tag, send });
        None
    }

    fn fits(announcement: &Announcement, len: u64) -> bool {
        announcement.has_buffer && (!R::length_test() || len <= announcement.target.len)
    }

    /// R5: one announced receive, in the order of the receiver's queue.
    fn insert(&mut self, announcement: Announcement) {
        let key = || {
            let tag = announcement.tag.tag().0;
            [if announcement.tag.is_exact() { (BY_TAG, tag) } else { (FOR_MASKS, 0) }]
        };
        let takes = |message: &Unseen| announcement.tag.matches(message.tag);
        if !R::unseen_takes_announcement() || self.unseen.take_oldest(key, takes).is_none() {
            self.mirror.push(announcement);
        }
    }

    /// Whether count `a` is equal to or behind `b`, both modulo 2^32.
    fn at_or_behind(a: u32, b: u32) -> bool {
        b.wrapping_sub(a) < 1 << 31
    }
}

impl<R: MirrorRules> SendSide for MirrorSender<R> {
    #[inline(always)]
    fn eager(&mut self, tag: Tag, send: Handle) {
        self.under_way.check_free(send);
        // An eager message has no end that would remove it from the unseen ones; the receiver's ACK does that (R9).
        self.sent = self.sent.wrapping_add(1);
        if R::eager_takes_announcement() {
            self.take_announcement(tag, None);
        }
    }

    fn rendezvous(&mut self, message: &Outgoing, _: Adaptation, agree: impl FnOnce() -> bool) -> Route {
        let Outgoing { tag, len, send } = *message;
        self.under_way.check_free(send);
        self.sent = self.sent.wrapping_add(1);
        match self.take_announcement(tag, Some(send)) {
            Some(announcement) if Self::fits(&announcement, len) && agree() => {
                self.under_way.begin(send, Sent::Written);
                Route::Write(announcement.target)
            }
            _ => {
                self.under_way.begin(send, Sent::Offered);
                Route::Rts(Hint::None)
            }
        }
    }

    fn could_write(&self, tag: Tag, len: u64) -> bool {
        self.announcement_for(tag).is_some_and(|at| Self::fits(&self.mirror[at], len))
    }

    fn rtr(&mut self, rtr: &Rtr, _: Adaptation) -> Result<(), Violation> {
        if self.mirror.iter().any(|announcement| announcement.target.rtr.receive == rtr.receive) {
            return Err(Violation::AnnouncedTwice { receive: rtr.receive });
        }
        if R::seen_prunes() {
            self.seen(rtr.seen)?;
        }
        let ahead = if R::ahead_announcements() { rtr.ahead } else { 0 };
        for index in 0..=ahead {
            self.insert(Announcement {
                tag: rtr.tag,
                target: Target {
                    rtr: RtrId { receive: rtr.receive, index },
                    len: rtr.len,
                    memory: rtr.memory,
                },
                has_buffer: index == ahead,
            });
        }
        Ok(())
    }

    fn answered(&mut self, send: Handle) {
        self.under_way.check_offered(send);
    }

    fn finished(&mut self, send: Handle) {
        self.under_way.end(send);
        if R::ats_prunes() {
            self.unseen.take_oldest(|| [(BY_SEND, send.to_bits())], |message| message.send == Some(send));
        }
    }

    fn seen(&mut self, seen: u32) -> Result<(), Violation> {
        if !Self::at_or_behind(seen, self.sent) {
            return Err(Violation::SeenTooMuch { seen, sent: self.sent });
        }
        self.unseen.forget(|message| Self::at_or_behind(message.number, seen));
        Ok(())
    }

    fn cancel(&mut self, rtr: RtrId) {
        self.mirror.retain(|announced| announced.target.rtr != rtr);
    }

    fn announcements(&self) -> usize {
        self.mirror.len()
    }

    fn unseen(&self) -> usize {
        self.unseen.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::{AllMirrorRules, MirrorRules};

    /// R9 off. The checker has types of its own for the other rules.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum WithoutAtsPrunes {}
    impl MirrorRules for WithoutAtsPrunes {
        fn ats_prunes() -> bool {
            false
        }
    }

    fn send<R: MirrorRules>(sender: &mut MirrorSender<R>, rendezvous: bool, index: u32) -> Handle {
        let (tag, send) = (Tag(u64::from(index % 3)), Handle { index, generation: 0 });
        if rendezvous {
            let message = Outgoing { tag, len: 1 << 20, send };
            let route = sender.rendezvous(&message, Adaptation::Fixed, || true);
            assert_eq!(route, Route::Rts(Hint::None));
        } else {
            sender.eager(tag, send);
        }
        send
    }

    /// The most messages that are remembered while `n` rendezvous begin and finish, `at_once` at a time, and the
    /// receiver announces nothing.
    fn remembered_at_most<R: MirrorRules>(n: u32, at_once: u32) -> (usize, usize) {
        let mut sender = MirrorSender::<R>::default();
        let mut most = 0;
        for block in 0..n / at_once {
            let sends = (0..at_once).map(|index| send(&mut sender, true, block * at_once + index));
            let sends: Vec<Handle> = sends.collect();
            most = most.max(sender.unseen.len());
            // ATSs come in any order.
            sends.into_iter().rev().for_each(|send| sender.finished(send));
        }
        (most, sender.unseen.len())
    }

    #[test]
    fn a_finished_rendezvous_is_forgotten() {
        assert_eq!(remembered_at_most::<AllMirrorRules>(1000, 1), (1, 0));
        assert_eq!(remembered_at_most::<AllMirrorRules>(1000, 10), (10, 0));
    }

    #[test]
    fn without_the_rule_every_rendezvous_is_remembered() {
        assert_eq!(remembered_at_most::<WithoutAtsPrunes>(1000, 1), (1000, 1000));
        assert_eq!(remembered_at_most::<WithoutAtsPrunes>(1000, 10), (1000, 1000));
    }

    #[test]
    fn what_was_seen_is_forgotten_eager_messages_too() {
        let mut sender = MirrorSender::<AllMirrorRules>::default();
        for index in 0..1000 {
            send(&mut sender, index % 4 == 0, index);
            let sent = index + 1;
            if sent % 10 == 0 {
                assert_eq!(sender.unseen.len(), 10);
                assert_eq!(sender.seen(sent - 3), Ok(()));
                assert_eq!(sender.unseen.len(), 3, "the three that were not seen");
                assert_eq!(sender.seen(sent - 7), Ok(()), "an old count says nothing new");
                assert_eq!(sender.unseen.len(), 3);
                assert_eq!(sender.seen(sent), Ok(()));
                assert!(sender.unseen.is_empty());
            }
        }
        assert_eq!(sender.seen(1001), Err(Violation::SeenTooMuch { seen: 1001, sent: 1000 }));
    }

    /// A rank names its requests in the order of its calls, whoever they are for. An end that kept the name of an eager
    /// message would tell in which turn its peer was sent to.
    #[test]
    fn the_request_of_an_eager_message_leaves_nothing_behind() {
        let after = |requests: [u32; 2]| {
            let mut sender = MirrorSender::<AllMirrorRules>::default();
            for index in requests {
                sender.eager(Tag(0), Handle { index, generation: index });
            }
            sender
        };
        assert_eq!(after([0, 1]), after([7, 5]));
        assert_eq!(after([0, 1]).unseen.len(), 2);
    }

    #[test]
    fn counts_go_round() {
        let mut sender = MirrorSender::<AllMirrorRules> { sent: u32::MAX - 1, ..MirrorSender::default() };
        for index in 0..4 {
            send(&mut sender, false, index);
        }
        assert_eq!(sender.sent, 2);
        assert_eq!(sender.seen(3), Err(Violation::SeenTooMuch { seen: 3, sent: 2 }));
        assert_eq!(sender.seen(u32::MAX), Ok(()));
        assert_eq!(sender.unseen.len(), 3, "the first is forgotten");
        assert_eq!(sender.seen(1), Ok(()));
        assert_eq!(sender.unseen.len(), 1);
    }
}
