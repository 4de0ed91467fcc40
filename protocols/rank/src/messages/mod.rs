//! Messages between two ranks: requests, the two queues, and a flow for each peer and communicator.

mod announce;
mod at_once;
mod claims;
mod entries;
mod flows;
mod packets;
mod places;
mod receiving;
mod requests;
mod sending;
mod state;

pub use announce::ANNOUNCED_FROM;
pub(crate) use sending::OfRound;
pub use state::collective_of;
pub(crate) use state::{End, inner};

use self::entries::{Arrival, Posting};
use self::flows::Flows;
use self::requests::Requests;
use self::state::{State, owner};
use crate::communicators::Communicators;
use crate::{
    Arrived, Failure, Options, PacketError, ProtocolError, Sink, Speculation, Status, UsageError, Work,
};
use alloc::vec::Vec;
use carrousel_matching::{
    Communicator, Context, Envelope, Handle, Pattern, Posted, RankId, Source, Unexpected,
};
use carrousel_rendezvous::{Adaptation, Packet, Protocol};

/// The messages of a rank, those of its collectives included.
///
/// Invariants, which [`Messages::check_invariants`] asserts:
/// - a receive stands in the queue exactly as long as its request is posted;
/// - `candidates` counts the posted receives that are worth an announcement and have none; so does each flow, for its peer;
/// - that a request of a round has ended is taken by the collective before the next input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Messages<P: Protocol> {
    options: Options,
    requests: Requests,
    posted: Posted<Posting>,
    unexpected: Unexpected<Arrival>,
    flows: Flows<P>,
    /// Posted receives that could be announced but for the rules and the adaptation: the sum over the flows.
    candidates: u32,
    ended: Option<Ended>,
}

/// A request of a collective's round has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ended {
    /// The collective.
    pub(crate) own: Handle,
    /// How it failed, if it did.
    pub(crate) failed: Option<Status>,
}

impl<P: Protocol> Messages<P> {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            options: *options,
            requests: Requests::default(),
            posted: Posted::new(),
            unexpected: Unexpected::new(),
            flows: Flows::new(),
            candidates: 0,
            ended: None,
        }
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    #[inline(always)]
    pub(crate) fn status(&self, request: Handle) -> Result<Option<&Status>, UsageError> {
        match self.requests.get(request) {
            Some(State::Complete(status)) => Ok(Some(status)),
            Some(_) => Ok(None),
            None => Err(UsageError::NoSuchRequest(request)),
        }
    }

    #[inline(always)]
    pub(crate) fn release(&mut self, request: Handle) -> Result<Option<Status>, UsageError> {
        self.requests.release(request)
    }

    #[inline(always)]
    pub(crate) fn release_if<T>(
        &mut self,
        request: Handle,
        read: impl FnOnce(&Status) -> Option<T>,
    ) -> Option<T> {
        self.requests.release_if(request, read)
    }

    pub(crate) fn probe(&self, pattern: &Pattern) -> Option<Arrived> {
        self.unexpected.first(pattern).map(|(envelope, arrival)| arrival.arrived(*envelope))
    }

    #[inline]
    pub(crate) fn has_unexpected(&self) -> bool {
        !self.unexpected.is_empty()
    }

    #[inline]
    pub(crate) fn has_posted(&self) -> bool {
        !self.posted.is_empty()
    }

    #[cfg(feature = "checker")]
    pub(crate) fn has_no_receives_or_messages(&self) -> bool {
        self.posted.is_empty() && self.unexpected.is_empty()
    }

    /// Of a request that is complete, nothing is left but that it is.
    #[cfg(feature = "checker")]
    pub(crate) fn forget_message(&mut self, request: Handle) {
        if let Some(State::Complete(_)) = self.requests.get(request) {
            self.requests.set(request, State::Complete(Status::without_message(0, None)));
        }
    }

    #[cfg(feature = "checker")]
    pub(crate) fn sort_arrived_by_key<K: Ord>(&mut self, key: impl Fn(&Envelope) -> K) {
        self.unexpected.sort_by_key(key);
    }

    pub(crate) fn unexpected(&self) -> impl Iterator<Item = &Envelope> {
        self.unexpected.iter().map(|(envelope, _)| envelope)
    }

    pub(crate) fn pending(&self) -> impl Iterator<Item = Handle> {
        self.requests
            .iter()
            .filter(|(_, state)| !matches!(state, State::Complete(_)))
            .map(|(handle, _)| handle)
    }

    pub(crate) fn progress_of(&self, request: Handle) -> Option<&'static str> {
        Some(match self.requests.get(request)? {
            State::Offered { .. } => "offered to the receiver, which has not taken it",
            State::Writing { .. } => "being written into the receiver's buffer",
            State::Posted { asked: Some(_) } => "being cancelled",
            State::Posted { asked: None } => {
                match self.posted.get(request).and_then(|(_, posting)| posting.rtr) {
                    Some(_) => "posted, and announced to the sender",
                    None => "posted; no message has matched",
                }
            }
            State::Claimed(_) => "claimed; neither received nor discarded",
            State::Reading { .. } => "matched, and being read from the sender",
            State::Filling { .. } => "matched, and being written by the sender",
            State::Collective => "under way; other members have not come as far",
            State::OfWindow => "under way; its epoch waits for other ranks, or for data",
            State::Complete(_) => "complete",
        })
    }

    /// Whether a message of this communicator waits, or a peer may write into a receive of it.
    pub(crate) fn may_find(&self, communicator: Communicator) -> bool {
        self.unexpected().any(|message| message.context.communicator() == communicator)
            // Which communicator it is of, its sender knows.
            || self.requests.iter().any(|(_, state)| matches!(state, State::Filling { .. }))
    }

    /// Whether an open request is in this communicator, as far as this rank knows.
    pub(crate) fn use_communicator(&self, communicator: Communicator) -> bool {
        let own = |context: Context| context.communicator() == communicator;
        self.posted.iter().any(|(pattern, _)| own(pattern.context))
            || self.requests.iter().any(|(_, state)| match state {
                State::Offered { context, .. }
                | State::Writing { context, .. }
                | State::Reading { context, .. } => own(*context),
                State::Claimed(claimed) => own(claimed.envelope.context),
                State::Filling { .. }
                | State::Posted { .. }
                | State::Collective
                | State::OfWindow
                | State::Complete(_) => false,
            })
    }

    fn adaptation(&self) -> Adaptation {
        if self.options.speculation == Speculation::Adaptive {
            Adaptation::Counting
        } else {
            Adaptation::Fixed
        }
    }

    /// The request of a collective begins; how far that is, its owner knows.
    pub(crate) fn open_collective(&mut self) -> Handle {
        self.requests.open(State::Collective)
    }

    /// The request of a window begins; how far that is, the window knows.
    pub(crate) fn open_of_window(&mut self) -> Handle {
        self.requests.open(State::OfWindow)
    }

    #[inline(always)]
    pub(crate) fn complete(&mut self, request: Handle, status: Status, out: &mut impl Sink) {
        self.requests.set(request, State::Complete(status));
        out.work(Work::Complete { request, status });
    }

    #[inline(never)]
    pub(crate) fn fail(&mut self, request: Handle, failure: Failure, out: &mut impl Sink) {
        self.complete(request, Status::without_message(0, Some(failure)), out);
    }

    /// A request is over: one of the application's is complete, that of one of a round its collective has to be told.
    fn over(&mut self, request: Handle, status: Status, out: &mut impl Sink) {
        let Some((own, _)) = owner(request) else { return self.complete(request, status, out) };
        if self.requests.close_of_round(request) {
            debug_assert_eq!(self.ended, None, "one input ends one request of a round");
            self.ended = Some(Ended { own, failed: status.failure.and(Some(status)) });
        }
    }

    /// Whether a request of a round has ended, of which its collective has to be told.
    #[inline(always)]
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// The request of a round that has ended, if one has.
    pub(crate) fn take_ended(&mut self) -> Option<Ended> {
        self.ended.take()
    }

    /// A completion for a request that no longer waits: right only after its peer was lost.
    fn late_completion(request: Handle, communicators: &Communicators) -> Result<(), ProtocolError> {
        if communicators.has_lost_any() {
            Ok(())
        } else {
            Err(ProtocolError { peer: communicators.me(), wrong: PacketError::Request(request) })
        }
    }

    /// The data behind the offers of a lost peer is out of reach now; data that was kept is not.
    pub(crate) fn drop_offers_of(&mut self, peer: RankId) {
        self.unexpected
            .retain(|envelope, arrival| envelope.source != peer || !matches!(arrival, Arrival::Rts { .. }));
    }

    /// Fails the application's requests that need a lost peer.
    pub(crate) fn fail_with(&mut self, peer: RankId, communicators: &Communicators, out: &mut impl Sink) {
        // A receive from any source might have waited for this peer only (as MPI_ERR_PROC_FAILED_PENDING says).
        let concerned: Vec<Handle> = self
            .posted
            .iter()
            .filter(|(pattern, _)| match pattern.source {
                Source::Rank(source) => source == peer,
                Source::Any => communicators.may_be_member(peer, pattern.context.communicator()),
            })
            .map(|(_, posting)| posting.request)
            .collect();
        let mut failed = concerned.clone();
        self.posted.retain(|_, posting| !concerned.contains(&posting.request));
        self.candidates -= self.flows.forget_candidates(peer);
        failed
            .extend(self.requests.iter().filter(|(_, state)| state.is_of(peer)).map(|(request, _)| request));
        for request in failed {
            self.fail(request, Failure::PeerLost(peer), out);
        }
    }

    /// Gives up a request of a round that waits for a message, or for a lost peer. False if it does neither.
    pub(crate) fn give_up(&mut self, request: Handle, peer: RankId) -> bool {
        let gives_up = self
            .requests
            .get(request)
            .is_some_and(|state| matches!(state, State::Posted { .. }) || state.is_of(peer));
        if gives_up {
            self.requests.close_of_round(request);
            self.posted.take(request);
        }
        gives_up
    }

    /// Answers the offers in a context of collectives that this rank will not enter any more, or go on with.
    pub(crate) fn decline_offers(&mut self, context: Context, out: &mut impl Sink) {
        let mut offers = Vec::new();
        self.unexpected.retain(|envelope, arrival| match arrival {
            Arrival::Rts { send, .. } if envelope.context == context => {
                offers.push((envelope.source, *send));
                false
            }
            _ => true,
        });
        for (to, send) in offers {
            out.work(Work::Send { to, context, packet: Packet::Ats { send }, data: None });
        }
    }

    /// Asserts the invariants, in debug builds; not of many messages or flows, as all of them are looked at.
    pub(crate) fn check_invariants(&self) {
        const MANY: usize = 32;
        let most = self.posted.len().max(self.requests.len()).max(self.flows.len());
        if !cfg!(debug_assertions) || most > MANY {
            return;
        }
        self.requests.check_invariants();
        debug_assert_eq!(self.ended, None);
        let posted = |request| matches!(self.requests.get(request), Some(State::Posted { .. }));
        debug_assert!(self.posted.iter().all(|(_, posting)| posted(posting.request)));
        debug_assert_eq!(self.posted.len(), self.requests.posted());
        let unannounced = self.posted.iter().filter(|(_, posting)| posting.is_unannounced());
        debug_assert_eq!(self.candidates as usize, unannounced.count());
        debug_assert_eq!(self.candidates, self.flows.candidates());
    }
}
