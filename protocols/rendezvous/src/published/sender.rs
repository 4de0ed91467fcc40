//! The sending end: stored RTRs, unanswered messages, Eager-flags.

use super::{PublishedRules, Resume};
use crate::under_way::{Sent, UnderWay};
use crate::{Adaptation, Hint, Outgoing, Route, Rtr, RtrId, SendSide, Target, Violation};
use alloc::vec::Vec;
use carrousel_matching::{Handle, Tag, TagSelector};
use core::marker::PhantomData;

/// A message announced by RTS whose transfer is not over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Announced {
    tag: Tag,
    send: Handle,
    /// An RTR or RTS-ACK for it is still to come.
    awaits_answer: bool,
}

/// An RTR that arrived before its message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Stored {
    tag: TagSelector,
    target: Target,
}

/// The state of an envelope since its last eager message. Without an entry, all RTRs are trusted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Flag {
    /// An eager message may have left an RTR behind.
    Eager,
    /// The RTS of this request told the receiver to stop; RTRs from before may still arrive.
    Stopping(Handle),
    /// No RTR from before the stop can arrive any more.
    Stopped,
}

/// Counts the fates of RTRs; a stored RTR may still be used (speculative-rendezvous 4.2.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct RtrCount {
    resolved: u16,
    used: u16,
}

impl RtrCount {
    /// The number of RTRs before a decision, and the least share of used ones in percent.
    const WINDOW: u16 = 16;
    const THRESHOLD: u32 = 80;

    /// Whether the receiver has to be told to stop. Starts a new window when one is full.
    fn too_few_used(&mut self) -> bool {
        if self.resolved < Self::WINDOW {
            return false;
        }
        let few = u32::from(self.used) * 100 < u32::from(self.resolved) * Self::THRESHOLD;
        *self = Self::default();
        few
    }

    fn resolve(&mut self, adaptation: Adaptation, rtrs: usize, used: bool) {
        if adaptation == Adaptation::Counting {
            let rtrs = u16::try_from(rtrs).unwrap_or(u16::MAX);
            self.resolved = self.resolved.saturating_add(rtrs);
            self.used = self.used.saturating_add(if used { rtrs } else { 0 });
        }
    }
}

/// The sending end of a flow under the published rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PublishedSender<R> {
    announced: Vec<Announced>,
    stored: Vec<Stored>,
    flags: Vec<(Tag, Flag)>,
    count: RtrCount,
    under_way: UnderWay,
    rules: PhantomData<R>,
}

impl<R> Default for PublishedSender<R> {
    fn default() -> Self {
        Self {
            announced: Vec::new(),
            stored: Vec::new(),
            flags: Vec::new(),
            count: RtrCount::default(),
            under_way: UnderWay::default(),
            rules: PhantomData,
        }
    }
}

impl<R: PublishedRules> PublishedSender<R> {
    fn flag(&self, tag: Tag) -> Option<&Flag> {
        self.flags.iter().find(|(flagged, _)| *flagged == tag).map(|(_, flag)| flag)
    }

    fn set_flag(&mut self, tag: Tag, flag: Option<Flag>) {
        // Sorted by tag, so that equal flags are an equal state.
        match (self.flags.binary_search_by_key(&tag, |(flagged, _)| *flagged), flag) {
            (Ok(at), Some(flag)) => self.flags[at].1 = flag,
            (Ok(at), None) => {
                self.flags.remove(at);
            }
            (Err(at), Some(flag)) => self.flags.insert(at, (tag, flag)),
            (Err(_), None) => {}
        }
    }

    /// The receiver has processed the RTS of `send`. If that RTS said stop, no RTR from before can follow.
    fn stop_arrived(&mut self, send: Handle) {
        if let Some(at) = self.flags.iter().position(|(_, flag)| *flag == Flag::Stopping(send)) {
            self.flags[at].1 = Flag::Stopped;
        }
    }

    fn delete_stored(&mut self, tag: Tag, adaptation: Adaptation) {
        let before = self.stored.len();
        self.stored.retain(|rtr| !rtr.tag.matches(tag));
        self.count.resolve(adaptation, before - self.stored.len(), false);
    }

    fn stored_for(&self, tag: Tag) -> Option<usize> {
        self.stored.iter().position(|rtr| rtr.tag.matches(tag))
    }

    fn fits(len: u64, rtr: &Stored) -> bool {
        !R::length_test() || len <= rtr.target.len
    }

    fn rts(&mut self, message: &Outgoing, awaits_answer: bool, hint: Hint) -> Route {
        self.under_way.begin(message.send, Sent::Offered);
        self.announced.push(Announced { tag: message.tag, send: message.send, awaits_answer });
        Route::Rts(hint)
    }

    /// P10, P11: a rendezvous under a flag goes by RTS, whichever RTRs are stored.
    fn send_flagged(&mut self, message: &Outgoing, flag: &Flag, adaptation: Adaptation) -> Route {
        let tag = message.tag;
        // Sound reading: the receive of a flagged message always answers RTS-ACK, and RTRs mean nothing. Literal
        // readings: the message may be answered by an RTR.
        let literal = R::resume() != Resume::ReceivesUnmarked || !R::await_stop();
        match flag {
            Flag::Eager => {
                if R::resume() == Resume::ReceivesUnmarked {
                    self.delete_stored(tag, adaptation);
                }
                let stopping = R::await_stop().then_some(Flag::Stopping(message.send));
                self.set_flag(tag, stopping);
                self.rts(message, literal, Hint::StopRtr)
            }
            Flag::Stopping(_) => self.rts(message, literal, Hint::None),
            Flag::Stopped => match R::resume() {
                Resume::ReceivesUnmarked => {
                    self.set_flag(tag, None);
                    self.rts(message, false, Hint::ResumeRtr)
                }
                Resume::DeleteAllAndResume => {
                    self.delete_stored(tag, adaptation);
                    self.set_flag(tag, None);
                    self.rts(message, true, Hint::ResumeRtr)
                }
                Resume::DeleteAllResumeLater if self.stored_for(tag).is_some() => {
                    self.delete_stored(tag, adaptation);
                    self.rts(message, true, Hint::None)
                }
                Resume::DeleteOneUncounted if self.stored_for(tag).is_some() => {
                    let at = self.stored_for(tag).unwrap_or_default();
                    self.stored.remove(at);
                    self.rts(message, true, Hint::None)
                }
                Resume::DeleteAllResumeLater | Resume::DeleteOneUncounted => {
                    self.set_flag(tag, None);
                    self.rts(message, true, Hint::ResumeRtr)
                }
            },
        }
    }
}

impl<R: PublishedRules> SendSide for PublishedSender<R> {
    #[inline(always)]
    fn eager(&mut self, tag: Tag, send: Handle) {
        self.under_way.check_free(send);
        // P9. Under a stop the flag need not be set: RTRs from before it are dropped anyway.
        if R::eager_flag() && self.flag(tag).is_none() {
            self.set_flag(tag, Some(Flag::Eager));
        }
    }

    fn rendezvous(
        &mut self,
        message: &Outgoing,
        adaptation: Adaptation,
        agree: impl FnOnce() -> bool,
    ) -> Route {
        let tag = message.tag;
        self.under_way.check_free(message.send);
        if let Some(flag) = self.flag(tag).cloned() {
            return self.send_flagged(message, &flag, adaptation);
        }
        if let Some(at) = self.stored_for(tag) {
            if Self::fits(message.len, &self.stored[at]) && agree() {
                self.count.resolve(adaptation, 1, true);
                self.under_way.begin(message.send, Sent::Written);
                return Route::Write(self.stored.remove(at).target);
            }
            // The receive of a declined RTR is this message's: it sends no other answer.
            if !R::decline_takes_one() {
                self.delete_stored(tag, adaptation);
            } else if R::declined_rtr_goes() {
                self.count.resolve(adaptation, 1, false);
                self.stored.remove(at);
            }
            return self.rts(message, false, Hint::None);
        }
        let unused = adaptation == Adaptation::Counting && self.count.too_few_used();
        self.rts(message, true, if unused { Hint::Unused } else { Hint::None })
    }

    fn could_write(&self, tag: Tag, len: u64) -> bool {
        self.flag(tag).is_none() && self.stored_for(tag).is_some_and(|at| Self::fits(len, &self.stored[at]))
    }

    fn rtr(&mut self, rtr: &Rtr, adaptation: Adaptation) -> Result<(), Violation> {
        let id = RtrId { receive: rtr.receive, index: 0 };
        if self.stored.iter().any(|stored| stored.target.rtr == id) {
            return Err(Violation::AnnouncedTwice { receive: rtr.receive });
        }
        if R::rtr_answers_rts()
            && let Some(message) = self
                .announced
                .iter_mut()
                .find(|message| message.awaits_answer && rtr.tag.matches(message.tag))
        {
            message.awaits_answer = false;
            self.count.resolve(adaptation, 1, false);
            return Ok(());
        }
        let dropped = R::resume() == Resume::ReceivesUnmarked
            && self
                .flags
                .iter()
                .any(|(tag, flag)| rtr.tag.matches(*tag) && matches!(flag, Flag::Stopping(_)));
        if dropped {
            self.count.resolve(adaptation, 1, false);
        } else {
            let target = Target { rtr: id, len: rtr.len, memory: rtr.memory };
            self.stored.push(Stored { tag: rtr.tag, target });
        }
        Ok(())
    }

    fn answered(&mut self, send: Handle) {
        self.under_way.check_offered(send);
        if let Some(message) = self.announced.iter_mut().find(|message| message.send == send) {
            message.awaits_answer = false;
        }
        self.stop_arrived(send);
    }

    fn finished(&mut self, send: Handle) {
        self.under_way.end(send);
        self.announced.retain(|message| message.send != send);
        self.stop_arrived(send);
    }

    fn seen(&mut self, _: u32) -> Result<(), Violation> {
        Ok(())
    }

    fn cancel(&mut self, rtr: RtrId) {
        self.stored.retain(|stored| stored.target.rtr != rtr);
    }

    fn announcements(&self) -> usize {
        self.stored.len()
    }
}
