//! Receives that are complete when they return, and have no request.
//!
//! A call that waits for its receive needs no name of it if the message is here already, or is the next one that comes.
//! Then nothing is posted, completed and released: a third of what a small message takes. Each leaves the rank as the
//! call, the event and the release would, to the last bit, so the checker, which explores these, explores this.

use super::Messages;
use super::entries::{Arrival, Posting};
use super::packets::place;
use crate::communicators::Communicators;
use crate::{Receive, Sink, Status};
use carrousel_matching::{Envelope, Pattern};
use carrousel_rendezvous::{Memory, Protocol};

impl<P: Protocol> Messages<P> {
    /// See [`crate::Rank::receive_kept`].
    #[inline(always)]
    pub(crate) fn receive_kept(&mut self, receive: &Receive, out: &mut impl Sink) -> Option<Status> {
        if !self.has_unexpected() {
            return None;
        }
        let status = self.take_kept(&receive.pattern(), receive.len, receive.memory, out)?;
        self.requests.skip();
        Some(status)
    }

    /// Apart from receives that come before their message.
    #[inline(never)]
    fn take_kept(
        &mut self,
        pattern: &Pattern,
        room: u64,
        into: Memory,
        out: &mut impl Sink,
    ) -> Option<Status> {
        let is_kept = |arrival: &Arrival| matches!(arrival, Arrival::Kept { .. });
        let taken = self.unexpected.take_first_if(pattern, is_kept);
        let Some((envelope, Arrival::Kept { kept, data, len })) = taken else { return None };
        Some(self.take_data(self.requests.next(), (room, into), envelope, (kept, data, len), out))
    }

    /// See [`crate::Rank::receive_next`].
    #[inline(always)]
    pub(crate) fn receive_next(
        &mut self,
        receive: &Receive,
        envelope: Envelope,
        len: u64,
        communicators: &Communicators,
        out: &mut impl Sink,
    ) -> Option<Status> {
        let Receive { len: room, memory, .. } = *receive;
        // What was there before comes first, and a large receive is announced.
        if self.has_unexpected()
            || self.has_posted()
            || communicators.has_lost_any()
            || room > self.options.eager_threshold
            || !receive.pattern().matches(&envelope)
        {
            return None;
        }
        let request = self.requests.next();
        let posting = Posting { request, len: room, memory, candidate: false, rtr: None };
        let (adaptation, window) = (self.adaptation(), self.options.eager_window);
        let flow = self.arrived(&envelope, out);
        flow.meet_eager(&posting, &envelope, len, adaptation, window, out);
        let status = place(&posting, envelope, None, len, out);
        self.requests.skip();
        Some(status)
    }
}
