//! What transports report, taken apart for the rank. Most of it are EAGERs, which need no place in memory for that.

use super::driver::Driver;
use super::transports::Transports;
use super::work_executor::{Data, WorkExecutor};
use crate::Error;
use carrousel_rank::wire::{self, Decoded, WireError};
use carrousel_rank::{Envelope, Event, Packet, RankId, Receive, Status, Tag};
use carrousel_transport::{Arrival, BODY_MAX, Payload};

/// An eager message without 8 bytes beside its own.
struct Eager<'a, D: ?Sized> {
    envelope: Envelope,
    len: u64,
    data: Data<'a, D>,
}

impl<'a, D: Payload + ?Sized> Eager<'a, D> {
    /// That of an arrival, if it is one.
    #[inline(always)]
    fn of(arrival: Arrival, payload: &'a D) -> Option<Self> {
        let Arrival::Packet { from: source, context, packet: header } = arrival else { return None };
        if !wire::is_eager(header) {
            return None;
        }
        let ([tag], at) = (payload.first_words()?, size_of::<u64>());
        let tag = Tag(tag);
        let envelope = Envelope { source, tag, context };
        Some(Self { envelope, len: (payload.len() - at) as u64, data: Data { payload, at } })
    }
}

impl Driver {
    /// Receives a message that arrives just now into these bytes, see `Rank::receive_next`. `None` of any other arrival, too.
    #[inline(always)]
    pub(super) fn receive_next(
        &mut self,
        receive: &Receive,
        room: &mut [u8],
        arrival: Arrival,
        payload: &(impl Payload + ?Sized),
        transports: &mut Transports<'_>,
    ) -> Option<Status> {
        let Eager { envelope, len, data } = Eager::of(arrival, payload)?;
        let Self { rank, resources, .. } = self;
        rank.receive_next(
            receive,
            envelope,
            len,
            &mut WorkExecutor { resources, transports, data, lent: &[], room },
        )
    }

    /// Takes an arrival of a transport.
    #[inline]
    pub(super) fn arrival(
        &mut self,
        arrival: Arrival,
        payload: &(impl Payload + ?Sized),
        transports: &mut Transports<'_>,
    ) {
        // Most packets are EAGERs, and need not be taken apart in memory.
        if let Some(Eager { envelope, len, data }) = Eager::of(arrival, payload) {
            let Envelope { source: from, tag, context } = envelope;
            let packet = Packet::Eager { tag, data: None, len };
            return self.event(Event::Packet { from, context, packet }, data, transports);
        }
        if let Arrival::Packet { from, context, packet: header } = arrival
            && wire::is_eager_beside(header)
            && let Some(body @ [tag, beside]) = payload.first_words()
        {
            let at = size_of_val(&body);
            let packet =
                Packet::Eager { tag: Tag(tag), data: Some(beside), len: (payload.len() - at) as u64 };
            return self.event(Event::Packet { from, context, packet }, Data { payload, at }, transports);
        }
        self.other_arrival(arrival, payload, transports);
    }

    /// Takes an arrival other than most EAGERs.
    #[inline(never)]
    fn other_arrival(
        &mut self,
        arrival: Arrival,
        payload: &(impl Payload + ?Sized),
        transports: &mut Transports<'_>,
    ) {
        let mut at = 0;
        let event = arrival.decoded(|header| {
            let mut room = [0; BODY_MAX];
            let Decoded { packet, body } =
                wire::decode_body(header, payload.first(&mut room), payload.len())?;
            at = body;
            Ok(packet)
        });
        match event {
            Ok(event) => self.event(event, Data { payload, at }, transports),
            Err((peer, why)) => self.malformed(peer, why, transports),
        }
    }

    /// A peer has sent bytes that are no packet: nothing that it sends can be trusted.
    #[cold]
    fn malformed(&mut self, peer: RankId, why: WireError, transports: &mut Transports<'_>) {
        self.resources.errors.with(peer, Error::Malformed { rank: peer.0, why });
        transports.abandon(peer);
    }
}
