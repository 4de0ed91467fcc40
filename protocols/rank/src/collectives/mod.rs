//! Collectives: the rounds of [`carrousel_collective`], whose messages are sends and receives like all others.
//!
//! They travel in the communicator's context of its own, through the same queues and flows as those of the
//! application. Two requests are enough for a collective, as a round sends and receives one message at most;
//! they are named after it ([`crate::collective_of`]), so that no name depends on when the network delivered what.
//!
//! Its messages have the collective's number among those of its communicator as their tag, modulo [`LANES`]:
//! collectives that are open at once stay apart, and what a flow keeps for each tag stays small. One that
//! finds its tag in use waits with its first round until the earlier one is over, at every member alike.
//!
//! Once a member is lost, a collective goes no further. It is over when what it has under way with living members is: these
//! write into its memory, or read from it, and what they would read later would be something else. A member that will not
//! take part any more answers offers as if it had taken them, so that nobody waits for it.
//!
//! Receives of a round are not announced: both ends come at the same time, and the answer of a rendezvous
//! finds its receive posted.

mod active;

use self::active::Active;
use crate::communicators::Communicators;
use crate::messages::{End, Messages, inner};
use crate::{Collective, Failure, Sink, Status, UsageError, Work};
use alloc::vec::Vec;
use carrousel_collective::{Schedule, Shape, What};
use carrousel_matching::{Communicator, Handle, RankId, Tag};
use carrousel_rendezvous::Protocol;

/// Collectives of a communicator that are under way at once; further ones wait for these. Divides 2^32.
pub const LANES: u32 = 8;

/// The collectives of a rank that are not over, in the order in which they were called.
///
/// Invariants, which [`Collectives::check_invariants`] asserts:
/// - of those that have a communicator and a tag in common, the first is under way, and all others wait for it;
/// - one that is under way has one or two messages open in its present round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Collectives {
    active: Vec<Active>,
}

/// What a collective would do, see [`crate::Rank::schedule`].
pub(crate) fn schedule(call: &Collective, communicators: &Communicators) -> Result<Schedule, UsageError> {
    let Collective { kind, communicator, root, len, element, .. } = *call;
    let members = communicators.members_and_me(communicator);
    let (members, me) = members.ok_or(UsageError::NoSuchCommunicator(communicator))?;
    Ok(Schedule::new(&Shape { kind, members, me, root, len, element })?)
}

impl Collectives {
    /// Apart from eager messages, which need none of its registers and stack.
    #[inline(never)]
    pub(crate) fn enter<P: Protocol>(
        &mut self,
        call: &Collective,
        messages: &mut Messages<P>,
        communicators: &mut Communicators,
        out: &mut impl Sink,
    ) -> Result<Handle, UsageError> {
        let schedule = schedule(call, communicators)?;
        let Collective { communicator, source, target, scratch, .. } = *call;
        let number = communicators.enter(communicator);
        let own = messages.open_collective();
        if let Some(peer) = communicators.lost_member(communicator) {
            messages.fail(own, Failure::PeerLost(peer), out);
            return Ok(own);
        }
        let tag = Tag(u64::from(number % LANES));
        let deferred = self.active.iter().any(|active| active.is_of(communicator, tag));
        self.active.push(Active {
            own,
            communicator,
            schedule,
            buffers: [source, target, scratch],
            tag,
            deferred,
            round: 0,
            open: 0,
            failed: None,
        });
        if !deferred {
            self.go_on(own, messages, communicators, out);
        }
        Ok(own)
    }

    /// Whether a collective of this communicator is not over.
    pub(crate) fn use_communicator(&self, communicator: Communicator) -> bool {
        self.active.iter().any(|active| active.communicator == communicator)
    }

    /// Goes on with the collective whose message has ended, if one has. Apart from eager messages, as the call is.
    #[inline(never)]
    pub(crate) fn go_on_with_ended<P: Protocol>(
        &mut self,
        messages: &mut Messages<P>,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) {
        if let Some(ended) = messages.take_ended()
            && self.is_round_over(ended.own, ended.failed.as_ref(), out)
        {
            self.go_on(ended.own, messages, communicators, out);
        }
    }

    /// Begins the present round of a collective, and the next ones if nothing has to be waited for.
    fn go_on<P: Protocol>(
        &mut self,
        mut own: Handle,
        messages: &mut Messages<P>,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) {
        while let Some(active) = self.get_mut(own) {
            if active.round == active.schedule.rounds() || active.is_given_up() {
                match self.end(own, messages, out) {
                    Some(next) => own = next,
                    None => return,
                }
                continue;
            }
            let round = active.schedule.round(active.round);
            // One more than there are messages, while the round is being started.
            active.open = 1;
            if let Some(message) = round.send.and_then(|message| active.message(message, communicators)) {
                active.open += u8::from(messages.send_of_round(message, out));
            }
            if let Some(message) = round.receive.and_then(|message| active.message(message, communicators)) {
                active.open += 1;
                messages.receive_of_round(message, out);
                if let Some(ended) = messages.take_ended() {
                    let goes_on = self.is_round_over(ended.own, ended.failed.as_ref(), out);
                    debug_assert!(!goes_on, "a round that is being started is not over");
                }
            }
            if !self.is_round_over(own, None, out) {
                return;
            }
        }
    }

    /// One message less is open in the present round; if it was the last one, what follows the messages is done.
    fn is_round_over(&mut self, own: Handle, failed: Option<&Status>, out: &mut impl Sink) -> bool {
        let Some(active) = self.get_mut(own) else { return false };
        if let (Some(failed), None) = (failed, &active.failed) {
            active.failed = Some(*failed);
        }
        active.open -= 1;
        if active.open > 0 {
            return false;
        }
        if active.is_given_up() {
            return true;
        }
        let then = active.schedule.then(active.round);
        active.round += 1;
        for local in then.into_iter().flatten() {
            let (from, into, len) = (active.memory(local.from), active.memory(local.into), local.len);
            out.work(match local.what {
                What::Copy => Work::Copy { from, into, len },
                What::Combine => Work::Combine { request: own, from, into, len },
            });
        }
        true
    }

    /// Completes a collective after its last round; returns the one that has waited for it.
    fn end<P: Protocol>(
        &mut self,
        own: Handle,
        messages: &mut Messages<P>,
        out: &mut impl Sink,
    ) -> Option<Handle> {
        let at = self.active.iter().position(|active| active.own == own)?;
        let Active { communicator, tag, failed, .. } = self.active.remove(at);
        let well = Status::without_message(0, None);
        let status = failed.map_or(well, |failed| Status { message: None, data: None, ..failed });
        messages.complete(own, status, out);
        let next = self.active.iter_mut().find(|active| active.is_of(communicator, tag))?;
        next.deferred = false;
        Some(next.own)
    }

    fn get_mut(&mut self, own: Handle) -> Option<&mut Active> {
        self.active.iter_mut().find(|active| active.own == own)
    }

    /// Gives up the collectives of all communicators that a lost peer is a member of.
    pub(crate) fn give_up_with<P: Protocol>(
        &mut self,
        peer: RankId,
        messages: &mut Messages<P>,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) {
        let of_peer = |active: &&Active| communicators.is_member(peer, active.communicator);
        let concerned: Vec<Handle> = self.active.iter().filter(of_peer).map(|active| active.own).collect();
        for own in concerned {
            self.give_up(own, peer, messages, communicators, out);
        }
        for communicator in communicators.with_member(peer) {
            messages.decline_offers(communicator.collectives(), out);
        }
    }

    /// Gives up a collective: ends what waits for messages, and what is under way with the lost peer.
    fn give_up<P: Protocol>(
        &mut self,
        own: Handle,
        peer: RankId,
        messages: &mut Messages<P>,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) {
        // A deferred collective has ended with the one before it.
        let Some(active) = self.get_mut(own) else { return };
        if !active.is_given_up() {
            active.failed = Some(Status::without_message(0, Some(Failure::PeerLost(peer))));
        }
        if active.deferred {
            return;
        }
        let before = active.open;
        for end in [End::Send, End::Receive] {
            active.open -= u8::from(messages.give_up(inner(own, end), peer));
        }
        if active.open < before && active.open == 0 {
            self.go_on(own, messages, communicators, out);
        }
    }

    /// Asserts the invariants, in debug builds.
    pub(crate) fn check_invariants(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        for (at, active) in self.active.iter().enumerate() {
            let mut earlier = self.active[..at].iter();
            let waits = earlier.any(|earlier| earlier.is_of(active.communicator, active.tag));
            debug_assert_eq!(active.deferred, waits);
            let open = if waits { 0..=0 } else { 1..=2 };
            debug_assert!(open.contains(&active.open), "{} messages are open", active.open);
        }
    }
}
