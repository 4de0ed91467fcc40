//! One exchange of an overlap: each rank's calls, and what they take.
//!
//! The ranks of a node begin by a clock that they share (CLOCK_MONOTONIC), the late one [`DELAY`] after the early one;
//! ranks of two nodes begin by the barrier. xtask/peers/pt2pt.c has the same for other libraries: a change of one
//! changes both.

use crate::benchmark::DATA;
use crate::calls::RankInMeasurement;
use crate::case::{Call, CallKind, Case, MESSAGES_MAX};
use crate::clock::{compute, monotonic};
use carrousel::ScopedRequest;
use std::time::{Duration, Instant};

/// By how much later than the other rank the late one begins.
pub(crate) const DELAY: Duration = Duration::from_micros(50);
/// The times of one rank in one exchange, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Took {
    /// When it began, and when its first calls had returned, by the clock of its node.
    began: f64,
    started: f64,
    /// The durations of its first calls and its waits, message by message.
    calls: [f64; MESSAGES_MAX],
    waits: [f64; MESSAGES_MAX],
}

impl Took {
    /// As it travels.
    pub(crate) fn to_array(self) -> [f64; 6] {
        let Self { began, started, calls: [first, second], waits: [one, other] } = self;
        [began, started, first, second, one, other]
    }

    pub(crate) fn from_array([began, started, first, second, one, other]: [f64; 6]) -> Self {
        Self { began, started, calls: [first, second], waits: [one, other] }
    }

    /// In the library.
    pub(crate) fn seconds(self) -> f64 {
        self.calls.iter().chain(&self.waits).sum()
    }
}

/// The times of both ranks in one exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exchange {
    pub(crate) sender: Took,
    pub(crate) receiver: Took,
}

impl Exchange {
    /// The duration of a call.
    pub(crate) fn of(&self, Call { kind, message }: Call) -> f64 {
        match kind {
            CallKind::Irecv => self.receiver.calls[message],
            CallKind::RecvWait => self.receiver.waits[message],
            CallKind::Isend => self.sender.calls[message],
            CallKind::SendWait => self.sender.waits[message],
        }
    }

    /// Whether the early rank had started before the late one began.
    pub(crate) fn is_in_order(&self, case: Case) -> bool {
        let Self { sender, receiver } = self;
        let (early, late) = if case.receiver_is_early() { (receiver, sender) } else { (sender, receiver) };
        early.started <= late.began
    }
}

impl RankInMeasurement<'_> {
    /// Carries out this rank's part in one exchange. The early rank begins at `start`; without a `start`, at once.
    pub(crate) fn exchange(&mut self, case: Case, start: Option<Duration>) -> Result<Took, carrousel::Error> {
        let Self { world, leads, size, peer, compute, .. } = *self;
        let Some(peer) = peer else { return Ok(Took::default()) };
        let (outgoing, incoming) = (self.outgoing.bytes(), self.incoming.bytes_mut());
        let late = leads == case.receiver_is_early();
        let start = start.unwrap_or_else(monotonic) + if late { DELAY } else { Duration::ZERO };
        world.scope(|scope| {
            let mut left = outgoing;
            let send = || {
                let (place, rest) = left.split_at_checked(size).unwrap_or_default();
                left = rest;
                scope.isend(place, peer, DATA)
            };
            let mut room = incoming;
            let receive = || {
                let (place, rest) = std::mem::take(&mut room).split_at_mut_checked(size).unwrap_or_default();
                room = rest;
                scope.irecv(place, peer, DATA)
            };
            while monotonic() < start {}
            if leads { overlapped(case, compute, send) } else { overlapped(case, compute, receive) }
        })
    }
}

/// Starts the requests of a case, computes, and waits for them.
fn overlapped<'scope>(
    case: Case,
    computing: Duration,
    mut start: impl FnMut() -> Result<ScopedRequest<'scope>, carrousel::Error>,
) -> Result<Took, carrousel::Error> {
    let mut took = Took { began: monotonic().as_secs_f64(), ..Took::default() };
    let mut requests = [const { None }; MESSAGES_MAX];
    for (request, took) in requests.iter_mut().zip(&mut took.calls).take(case.messages()) {
        let began = Instant::now();
        *request = Some(start()?);
        *took = began.elapsed().as_secs_f64();
    }
    took.started = monotonic().as_secs_f64();
    compute(computing);
    for (request, took) in requests.into_iter().flatten().zip(&mut took.waits) {
        let began = Instant::now();
        request.wait()?;
        *took = began.elapsed().as_secs_f64();
    }
    Ok(took)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_rank_and_the_message_that_they_are_named_after() {
        let sender = Took { calls: [1.0, 2.0], waits: [3.0, 4.0], ..Took::default() };
        let receiver = Took::from_array(Took { calls: [5.0, 6.0], waits: [7.0, 8.0], ..sender }.to_array());
        let exchange = Exchange { sender, receiver };
        let times: Vec<(&str, f64)> =
            Case::ReceiverEarlyTwo.calls().map(|call| (call.name(), exchange.of(call))).collect();
        let first = [("irecv", 5.0), ("recv_wait", 7.0), ("isend", 1.0), ("send_wait", 3.0)];
        let second = [("irecv2", 6.0), ("recv_wait2", 8.0), ("isend2", 2.0), ("send_wait2", 4.0)];
        assert_eq!(times, [first, second].concat());
    }

    #[test]
    fn an_exchange_is_in_order_if_the_early_rank_has_started_before_the_late_one_begins() {
        let took = |began, started| Took { began, started, ..Took::default() };
        let exchange = Exchange { sender: took(1.0, 2.0), receiver: took(3.0, 4.0) };
        assert!(exchange.is_in_order(Case::SenderEarly));
        assert!(!exchange.is_in_order(Case::ReceiverEarlyTwo));
        let stopped = Exchange { sender: took(1.0, 3.5), ..exchange };
        assert!(!stopped.is_in_order(Case::SenderEarly));
    }
}
