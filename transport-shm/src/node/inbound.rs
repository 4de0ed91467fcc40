//! The receiving half: the rings of connected peers, and what becomes of their frames.

use super::atomics::{ATOMIC_REPLY, ATOMIC_REQUEST};
use super::cooperative_copy;
use super::frames::{self, FRAGMENT, Fragment, GET_REQUEST, GetRequest, HELP_REQUEST, MOVED};
use super::introductions::FirstRing;
use super::outbound::Out;
use crate::{Consumer, Frame, Ring};
use carrousel_transport::{Arrival, Handler, Header, RankId, Regions};

/// The ring of a connected peer, from which its frames come.
#[derive(Debug)]
pub(super) struct Inbound {
    pub(super) ring: Consumer<Ring>,
    /// The memory of the first ring, for its control words.
    ring_memory: Ring,
    /// The place of the peer in this process's segment.
    place: usize,
    /// The positions of the rings before this one.
    pub(super) before: u64,
    pub(super) from: RankId,
    pub(super) local_rank: usize,
    pub(super) state: InboundState,
}

/// The state of an inbound ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InboundState {
    /// Frames are taken from it.
    Open,
    /// The peer has moved to its second ring, which is not taken from yet.
    Moved,
    /// The peer's process has ended: no frames follow those that are in the ring.
    Ending,
    /// The ring is damaged, or empty for good.
    Closed,
}

/// The most frames that are taken from one ring before the others get their turn.
const BATCH: usize = 16;

impl Inbound {
    /// The ring of the peer of this local rank.
    pub(super) fn new((ring, ring_memory, place): FirstRing, local_rank: usize, out: &Out) -> Self {
        let state = if out.is_lost(local_rank) { InboundState::Closed } else { InboundState::Open };
        let from = out.local_ranks.ranks[local_rank];
        Self { ring, ring_memory, place, before: 0, from, local_rank, state }
    }

    /// Takes up to [`BATCH`] frames.
    #[inline(always)]
    pub(super) fn take<H: Handler<Out>>(&mut self, handler: &mut H, out: &mut Out) -> usize {
        let (from, local_rank, ring_memory) = (self.from, self.local_rank, &self.ring_memory);
        for count in 0..BATCH {
            // A handler that got a frame of this peer or another one, or a loss, may have given this peer up.
            if out.is_lost(local_rank) {
                self.state = InboundState::Closed;
                return count;
            }
            match self.ring.take(|frame| handle_frame(&frame, (from, local_rank, ring_memory), handler, out))
            {
                Ok(None) => return count,
                // At least one of each peer, so that none is kept from being heard.
                Ok(Some(true)) if handler.has_enough() => return count + 1,
                Ok(Some(true)) => {}
                Ok(Some(false)) | Err(_) => {
                    return self.stop(out, count);
                }
            }
        }
        BATCH
    }

    /// Takes no frames from this ring any more: its peer has moved, or damaged it. Returns how many arrivals there were:
    /// who sleeps until something arrives has to look into the ring to which the peer has moved.
    #[cold]
    #[inline(never)]
    fn stop(&mut self, out: &mut Out, count: usize) -> usize {
        if out.has_moved.take() == Some(self.local_rank) {
            self.state = InboundState::Moved;
            return count + 1;
        }
        self.state = InboundState::Closed;
        out.lose(self.local_rank);
        count
    }

    /// Goes on with the second ring, to which the peer has moved.
    fn follow(&mut self, out: &mut Out) {
        let second = out.segment.second_ring(self.place);
        match second.map(|memory| memory.and_then(|memory| Consumer::new(memory).ok())) {
            Ok(Some(second)) if self.before == 0 => {
                self.before = self.ring.position();
                self.ring = second;
                self.state = InboundState::Open;
                return;
            }
            // There is none, or it has moved there before.
            Ok(_) => out.lose(self.local_rank),
            Err(why) => out.lose_because(self.local_rank, why),
        }
        self.state = InboundState::Closed;
    }

    /// Takes the frames that are left in a ring whose process has ended, and goes where its peer has moved.
    #[cold]
    pub(super) fn end<H: Handler<Out>>(&mut self, handler: &mut H, out: &mut Out) -> usize {
        match self.state {
            InboundState::Closed => return 0,
            InboundState::Moved => {
                self.follow(out);
                return 1;
            }
            InboundState::Open | InboundState::Ending => {}
        }
        let taken = self.take(handler, out);
        if taken == 0 {
            self.state = InboundState::Closed;
            out.handle_exit(self.local_rank);
        }
        taken
    }
}

/// Handles one frame. Returns false for a frame that no honest peer sends, and for one that says that the peer has moved.
#[inline]
fn handle_frame<H: Handler<Out>>(
    frame: &Frame<'_>,
    origin: (RankId, usize, &Ring),
    handler: &mut H,
    out: &mut Out,
) -> bool {
    if Header::is_transports_own(frame.tag()) {
        return handle_own_frame(frame, origin, handler, out);
    }
    let packet = Header::from_bits(frame.tag());
    handler.arrival(Arrival::Packet { from: origin.0, context: packet.context(), packet }, frame, out);
    true
}

/// Handles a frame that is no packet.
#[inline(never)]
fn handle_own_frame<H: Handler<Out>>(
    frame: &Frame<'_>,
    (_, local_rank, ring_memory): (RankId, usize, &Ring),
    handler: &mut H,
    out: &mut Out,
) -> bool {
    if frame.tag() != HELP_REQUEST {
        return handle_data_frame(frame, local_rank, handler, out);
    }
    let helped = cooperative_copy::help(frame, out.direct_to(local_rank), ring_memory, handler.regions());
    out.helped += helped.unwrap_or(0);
    helped.is_some()
}

/// Handles a frame that is part of a write, a read or an atomic.
#[cold]
fn handle_data_frame<H: Handler<Out>>(
    frame: &Frame<'_>,
    local_rank: usize,
    handler: &mut H,
    out: &mut Out,
) -> bool {
    match frame.tag() {
        FRAGMENT => {
            let Some(fragment) = frames::head::<Fragment>(frame) else { return false };
            let at = size_of::<Fragment>();
            let bytes = handler.regions().bytes_mut(fragment.target(), (frame.len() - at) as u64);
            let Some(bytes) = bytes else { return false };
            frame.copy_to(at, bytes);
            fragment.read().is_none_or(|read| out.get_completed(local_rank, read))
        }
        GET_REQUEST => {
            let Some(request) = frames::head::<GetRequest>(frame) else { return false };
            out.serve_get(local_rank, &request, handler.regions())
        }
        ATOMIC_REQUEST => out.serve_atomic(local_rank, frame, handler.regions()),
        ATOMIC_REPLY => out.atomic_answered(local_rank, frame),
        MOVED => {
            out.has_moved = Some(local_rank);
            false
        }
        _ => false,
    }
}
