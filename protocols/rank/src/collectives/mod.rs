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

pub(crate) mod active;

use crate::collectives::active::Active;
use crate::communicators::groups::Group;
use crate::messages::entries::{Arrival, Posting};
use crate::messages::state::{End, State, inner, owner};
use crate::rank::Rank;
use crate::{Collective, Failure, Sink, Status, UsageError, Work};
use alloc::vec::Vec;
use carrousel_collective::{Message, Schedule, Shape, What};
use carrousel_matching::{Communicator, Context, Handle, Pattern, RankId, Source, Tag, TagSelector};
use carrousel_rendezvous::{Hint, Memory, Outgoing, Packet, Protocol, Route, SendSide};

/// Collectives of a communicator that are under way at once; further ones wait for these. Divides 2^32.
pub const LANES: u32 = 8;

impl<P: Protocol> Rank<P> {
    /// What a collective would do here: above all, how much scratch it needs.
    ///
    /// # Errors
    /// The usage errors of the call.
    pub fn schedule(&self, call: &Collective) -> Result<Schedule, UsageError> {
        let Collective { kind, communicator, root, len, element, .. } = *call;
        let group = self.group(communicator).ok_or(UsageError::NoSuchCommunicator(communicator))?;
        let (members, me) = (group.len(), group.me());
        Ok(Schedule::new(&Shape { kind, members, me, root, len, element })?)
    }

    /// Apart from eager messages, which need none of its registers and stack.
    #[inline(never)]
    pub(crate) fn collective(
        &mut self,
        call: &Collective,
        out: &mut impl Sink,
    ) -> Result<Handle, UsageError> {
        let schedule = self.schedule(call)?;
        let Collective { communicator, source, target, scratch, .. } = *call;
        let number = self.group_mut(communicator).map_or(0, Group::enter);
        let own = self.requests.open(State::Collective);
        if let Some(peer) = self.lost_member(communicator) {
            self.fail(own, Failure::PeerLost(peer), out);
            return Ok(own);
        }
        let tag = Tag(u64::from(number % LANES));
        let deferred = self.requests.active().iter().any(|active| active.is_of(communicator, tag));
        self.requests.activate(Active {
            own,
            communicator,
            schedule,
            buffers: [source, target, scratch],
            tag,
            deferred,
            round: 0,
            open: 0,
            send: None,
            receive: None,
            failed: None,
        });
        if !deferred {
            self.go_on(own, out);
        }
        Ok(own)
    }

    /// Begins the present round of a collective, and the next ones if nothing has to be waited for.
    fn go_on(&mut self, mut own: Handle, out: &mut impl Sink) {
        while let Some(active) = self.requests.active_mut(own) {
            if active.round == active.schedule.rounds() || active.is_given_up() {
                match self.end_of_collective(own, out) {
                    Some(next) => own = next,
                    None => return,
                }
                continue;
            }
            let round = active.schedule.round(active.round);
            active.open = 1;
            if let Some(message) = round.send {
                self.send_of_round(own, message, out);
            }
            if let Some(message) = round.receive {
                self.receive_of_round(own, message, out);
            }
            if !self.round_is_over(own, out) {
                return;
            }
        }
    }

    /// One message less is open in the present round; if it was the last one, what follows the messages is done.
    fn round_is_over(&mut self, own: Handle, out: &mut impl Sink) -> bool {
        let Some(active) = self.requests.active_mut(own) else { return false };
        active.open -= 1;
        if active.open > 0 {
            return false;
        }
        if active.is_given_up() {
            return true;
        }
        let round = active.schedule.round(active.round);
        active.round += 1;
        for local in round.then.into_iter().flatten() {
            let (from, into, len) = (active.memory(local.from), active.memory(local.into), local.len);
            out.work(match local.what {
                What::Copy => Work::Copy { from, into, len },
                What::Combine => Work::Combine { request: own, from, into, len },
            });
        }
        true
    }

    /// Completes a collective after its last round; returns the one that has waited for it.
    fn end_of_collective(&mut self, own: Handle, out: &mut impl Sink) -> Option<Handle> {
        let Active { communicator, tag, failed, .. } = self.requests.deactivate(own)?;
        let well = Status::without_message(0, None);
        self.complete(own, failed.map_or(well, |failed| Status { message: None, data: None, ..failed }), out);
        let next = self.requests.active_of(communicator, tag)?;
        next.deferred = false;
        Some(next.own)
    }

    fn send_of_round(&mut self, own: Handle, message: Message, out: &mut impl Sink) {
        let Message { peer, at, len } = message;
        let adaptation = self.adaptation();
        let Some(active) = self.requests.active_mut(own) else { return };
        let (communicator, tag, memory) = (active.communicator, active.tag, active.memory(at));
        let Some(to) = self.group(communicator).map(|group| group.rank(peer)) else { return };
        let (context, send) = (communicator.collectives(), inner(own, End::Send));
        let flow = self.flows.with(to, context);
        if len <= self.options.eager_threshold && flow.admits(len, self.options.eager_window) {
            flow.sender.eager(tag, send);
            flow.eager_sent.sent(len);
            let packet = Packet::Eager { tag, data: None, len };
            out.work(Work::Send { to, context, packet, data: Some(memory) });
            return;
        }
        // Nothing is announced in this context, so there is nothing to agree to.
        let outgoing = Outgoing { tag, len, send };
        let hint = match flow.sender.rendezvous(&outgoing, adaptation, || false) {
            Route::Rts(hint) => hint,
            Route::Write(_) => Hint::None,
        };
        if let Some(active) = self.requests.active_mut(own) {
            active.send = Some(State::Offered { to, context, len, memory });
            active.open += 1;
        }
        out.work(Work::Send {
            to,
            context,
            packet: Packet::Rts { tag, data: None, len, send, memory, hint },
            data: None,
        });
    }

    fn receive_of_round(&mut self, own: Handle, message: Message, out: &mut impl Sink) {
        let Message { peer, at, len } = message;
        let Some(active) = self.requests.active_mut(own) else { return };
        let (communicator, tag, memory) = (active.communicator, active.tag, active.memory(at));
        active.receive = Some(State::Posted { asked: None });
        active.open += 1;
        let Some(from) = self.group(communicator).map(|group| group.rank(peer)) else { return };
        let context = communicator.collectives();
        let pattern = Pattern { source: Source::Rank(from), tag: TagSelector::exact(tag), context };
        let request = inner(own, End::Receive);
        match self.unexpected.take_first(pattern) {
            Some((envelope, arrival)) => {
                self.receive_arrived((request, len, memory, false), envelope, &arrival, out);
            }
            None => {
                self.posted.post(pattern, Posting { request, len, memory, candidate: false, line: None });
            }
        }
    }

    /// An eager message has met a receive of a round.
    #[inline(never)]
    pub(crate) fn eager_of_round(
        &mut self,
        request: Handle,
        into: Memory,
        room: u64,
        sent: u64,
        out: &mut impl Sink,
    ) {
        let (len, failure) = (sent.min(room), (sent > room).then_some(Failure::Truncated { sent }));
        if sent > 0 {
            out.work(Work::Place { into, len, request });
        }
        self.over(request, Status::without_message(len, failure), out);
    }

    /// A request is over: one of the application's is complete, one of a round ends with it.
    pub(crate) fn over(&mut self, request: Handle, status: Status, out: &mut impl Sink) {
        let Some((own, end)) = owner(request) else { return self.complete(request, status, out) };
        let Some(active) = self.requests.active_mut(own) else { return };
        if active.request_mut(end).take().is_none() {
            return;
        }
        active.failed = active.failed.or(status.failure.and(Some(status)));
        // A round that is being started is not over: who starts it goes on.
        if self.round_is_over(own, out) {
            self.go_on(own, out);
        }
    }

    /// Gives up the collectives of all communicators that a lost peer is a member of.
    pub(crate) fn give_up_collectives(&mut self, peer: RankId, out: &mut impl Sink) {
        let of_peer =
            |active: &&Active| self.group(active.communicator).is_some_and(|group| group.contains(peer));
        let concerned: Vec<Handle> =
            self.requests.active().iter().filter(of_peer).map(|active| active.own).collect();
        for own in concerned {
            self.give_up(own, peer, out);
        }
        let communicators = self.groups.iter().filter(|group| group.contains(peer));
        for communicator in communicators.map(Group::communicator).collect::<Vec<_>>() {
            self.decline_offers(communicator, out);
        }
    }

    /// Gives up a collective: ends what waits for messages, and what is under way with the lost peer.
    fn give_up(&mut self, own: Handle, peer: RankId, out: &mut impl Sink) {
        // A deferred collective has ended with the one before it.
        let Some(active) = self.requests.active_mut(own) else { return };
        if !active.is_given_up() {
            active.failed = Some(Status::without_message(0, Some(Failure::PeerLost(peer))));
        }
        if active.deferred {
            return;
        }
        let is_of_peer = |state: &State| match state {
            State::Offered { to, .. } | State::Writing { to, .. } => *to == peer,
            State::Reading { from, .. } | State::Filling { from, .. } => *from == peer,
            State::Posted { .. } => true,
            State::Claimed(_) | State::Collective | State::Complete(_) => false,
        };
        let before = active.open;
        for end in [&mut active.send, &mut active.receive] {
            active.open -= u8::from(end.take_if(|state| is_of_peer(state)).is_some());
        }
        let has_ended = active.open < before && active.open == 0;
        self.posted.take(inner(own, End::Receive));
        if has_ended {
            self.go_on(own, out);
        }
    }

    /// Answers the offers of messages of collectives that this rank will not enter any more, or go on with.
    pub(crate) fn decline_offers(&mut self, communicator: Communicator, out: &mut impl Sink) {
        let context = communicator.collectives();
        let mut offers = Vec::new();
        self.unexpected.retain(|envelope, arrival| match arrival {
            Arrival::Rts { send, .. } if envelope.context == context => {
                offers.push((envelope.source, *send));
                false
            }
            _ => true,
        });
        for (to, send) in offers {
            out.work(Work::Send { to, context, packet: Packet::Done { send }, data: None });
        }
    }

    /// Whether an offer in this context will not be taken, as a member is lost.
    pub(crate) fn declines(&self, context: Context) -> bool {
        !self.lost.is_empty() && context.is_collective() && self.lost_member(context.communicator()).is_some()
    }

    pub(crate) fn lost_member(&self, communicator: Communicator) -> Option<RankId> {
        let group = self.group(communicator)?;
        self.lost.iter().copied().find(|peer| group.contains(*peer))
    }
}
