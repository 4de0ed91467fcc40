//! Messages that are claimed: taken out of the queue before their receive is known.
//!
//! A claimed message (`MPI_Mprobe`, libfabric's `FI_CLAIM`) is matched: no other receive gets it, and the next one of its
//! sender is the first now. Its name is that of the request that receives it later, or discards it. Until then its data
//! stays where it is: of an eager message in the library's memory, which the sender has not got back, of a rendezvous with
//! the sender.

use super::Messages;
use super::entries::{Arrival, Claimed, Offer, Posting};
use super::state::State;
use crate::communicators::Communicators;
use crate::{Arrived, Failure, ReceiveClaimed, Sink, Status, UsageError, Work};
use carrousel_matching::{Envelope, Handle, Pattern, Source};
use carrousel_rendezvous::{Memory, Packet, Protocol};

impl<P: Protocol> Messages<P> {
    /// See [`crate::Rank::claim`].
    pub(crate) fn claim(&mut self, pattern: Pattern, out: &mut impl Sink) -> Option<(Handle, Arrived)> {
        let (envelope, arrival) = if P::claim_takes() {
            self.unexpected.take_first(pattern)?
        } else {
            self.unexpected.first(&pattern).map(|(envelope, arrival)| (*envelope, arrival.clone()))?
        };
        let arrived = arrival.arrived(envelope);
        let offered = if let Arrival::Rts { send, .. } = arrival { Some(send) } else { None };
        let request = self.requests.open(State::Claimed(Claimed { envelope, arrival }));
        if let Some(send) = offered {
            let nowhere = Memory { address: 0, key: 0 };
            // As a receive that could not have been announced.
            let posting = Posting { request, len: 0, memory: nowhere, candidate: false, rtr: None };
            self.match_offer(&posting, &envelope, send, false, out);
        }
        Some((request, arrived))
    }

    /// Whether a request has claimed a message that is neither received nor discarded.
    #[cfg(feature = "checker")]
    pub(crate) fn is_claimed(&self, request: Handle) -> bool {
        matches!(self.requests.get(request), Some(State::Claimed(_)))
    }

    /// The message that a request has claimed, of which nobody has said yet where it goes.
    fn claimed(&self, request: Handle) -> Result<Claimed, UsageError> {
        match self.requests.get(request) {
            Some(State::Claimed(claimed)) => Ok(claimed.clone()),
            Some(_) => Err(UsageError::NotClaimed(request)),
            None => Err(UsageError::NoSuchRequest(request)),
        }
    }

    /// Receives a claimed message.
    #[inline(never)]
    pub(crate) fn receive_claimed(
        &mut self,
        receive: &ReceiveClaimed,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) -> Result<Handle, UsageError> {
        let ReceiveClaimed { message: request, len, memory } = *receive;
        let Claimed { envelope, arrival } = self.claimed(request)?;
        let communicator = envelope.context.communicator();
        match (arrival, communicators.lost_for(Source::Rank(envelope.source), communicator)) {
            // Its data is out of reach; that of an eager message is here.
            (Arrival::Rts { .. }, Some(lost)) => self.fail(request, Failure::PeerLost(lost), out),
            (Arrival::Rts { send, data, len: sent, memory: from }, None) => {
                let posting = Posting { request, len, memory, candidate: false, rtr: None };
                let offer = Offer { send, data, len: sent, memory: from };
                self.transfer(&posting, envelope, &offer, out);
            }
            (arrival @ Arrival::Kept { .. }, _) => {
                self.receive_arrived((request, len, memory, false), envelope, &arrival, out);
            }
        }
        Ok(request)
    }

    /// Discards a claimed message: its sender is told what it would be of a receive.
    #[inline(never)]
    pub(crate) fn discard(
        &mut self,
        request: Handle,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) -> Result<Handle, UsageError> {
        let Claimed { envelope, arrival } = self.claimed(request)?;
        let Envelope { source: to, context, tag } = envelope;
        let data = match arrival {
            Arrival::Kept { kept, data, len } => {
                out.work(Work::Take { kept, into: Memory { address: 0, key: 0 }, len: 0, request });
                self.flows.with(to, context).take_eager(&envelope, len, self.options.eager_window, out);
                data
            }
            Arrival::Rts { send, data, .. } => {
                if communicators.lost_for(Source::Rank(to), context.communicator()).is_none() {
                    out.work(Work::Send { to, context, packet: Packet::Ats { send }, data: None });
                }
                data
            }
        };
        self.complete(request, Status { message: Some((to, tag)), data, len: 0, failure: None }, out);
        Ok(request)
    }
}
