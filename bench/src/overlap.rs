//! Overlap in the pattern of plain programs: a barrier; irecv at one rank and isend at the other; both compute; both
//! wait. What is measured is each of these calls: where data moves while both compute, the waits take next to nothing.
//!
//! Between the call that starts a request and the wait for it, neither rank enters the library: no token, no probe, no
//! test, which would let the library make progress that a plain program does not give it. The ranks of a node begin by a
//! clock that they share (CLOCK_MONOTONIC), the late one [`DELAY`] after the early one; ranks of two nodes begin by the
//! barrier. xtask/peers/pt2pt.c has the same for other libraries: who changes one changes both.

use crate::batches::Batches;
use crate::calls::{DATA, Part};
use crate::error::Error;
use crate::statistics::Summary;
use crate::{Budget, Measured, Step};
use carrousel::ScopedRequest;
use rustix::time::{ClockId, clock_gettime};
use serde::{Serialize, Serializer};
use std::time::{Duration, Instant};

/// By how much later than the other rank the late one begins.
pub(crate) const DELAY: Duration = Duration::from_micros(50);
/// Both ranks compute for so many times what the transfer alone takes, within these bounds.
const TRANSFERS_COMPUTED: f64 = 4.0;
const COMPUTE_MIN: Duration = Duration::from_millis(1);
const COMPUTE_MAX: Duration = Duration::from_millis(500);
/// Exchanges without computation, which warm up and say what the transfer takes.
const ALONE: u32 = 5;
/// The most messages of a case.
const MESSAGES_MAX: usize = 2;

/// Who begins, and with how many messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    /// The receive is posted before its message is sent.
    ReceiverEarly,
    /// The same with two receives, one right after the other, and two sends.
    ReceiverEarlyTwo,
    /// The message is sent before its receive is posted.
    SenderEarly,
    /// The same with two sends, one right after the other, and two receives.
    SenderEarlyTwo,
}

impl Case {
    /// In the order in which they are measured.
    pub const ALL: [Self; 4] =
        [Self::ReceiverEarly, Self::ReceiverEarlyTwo, Self::SenderEarly, Self::SenderEarlyTwo];

    /// What it is called, in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReceiverEarly => "receiver_early",
            Self::ReceiverEarlyTwo => "receiver_early_two",
            Self::SenderEarly => "sender_early",
            Self::SenderEarlyTwo => "sender_early_two",
        }
    }

    /// How many messages there are.
    pub fn messages(self) -> usize {
        match self {
            Self::ReceiverEarly | Self::SenderEarly => 1,
            Self::ReceiverEarlyTwo | Self::SenderEarlyTwo => MESSAGES_MAX,
        }
    }

    /// The calls that are measured, message by message.
    pub fn calls(self) -> impl Iterator<Item = Call> {
        (0..self.messages()).flat_map(|message| CallKind::ALL.map(|kind| Call { kind, message }))
    }

    /// Whether it is the sender that is late.
    pub fn receiver_is_early(self) -> bool {
        matches!(self, Self::ReceiverEarly | Self::ReceiverEarlyTwo)
    }
}

/// A call of an overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// Which.
    pub kind: CallKind,
    /// Of which message, from 0.
    pub message: usize,
}

/// The calls of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallKind {
    /// The receiver's first call.
    Irecv,
    /// Its wait, after it has computed.
    RecvWait,
    /// The sender's first call.
    Isend,
    /// Its wait, after it has computed.
    SendWait,
}

impl CallKind {
    /// The receiver's, then the sender's.
    pub const ALL: [Self; 4] = [Self::Irecv, Self::RecvWait, Self::Isend, Self::SendWait];

    /// Whether it is the sender's.
    pub fn is_sender(self) -> bool {
        matches!(self, Self::Isend | Self::SendWait)
    }

    /// Whether it ends a request.
    pub fn is_wait(self) -> bool {
        matches!(self, Self::RecvWait | Self::SendWait)
    }
}

impl Call {
    /// What it is called, in results: `irecv`, `recv_wait`, `isend`, `send_wait`; of the second message with a `2`.
    pub fn name(self) -> &'static str {
        match (self.kind, self.message) {
            (CallKind::Irecv, 0) => "irecv",
            (CallKind::RecvWait, 0) => "recv_wait",
            (CallKind::Isend, 0) => "isend",
            (CallKind::SendWait, 0) => "send_wait",
            (CallKind::Irecv, _) => "irecv2",
            (CallKind::RecvWait, _) => "recv_wait2",
            (CallKind::Isend, _) => "isend2",
            (CallKind::SendWait, _) => "send_wait2",
        }
    }
}

impl Serialize for Call {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// What a value of an overlap is about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overlapped {
    /// Who begins.
    pub case: Case,
    /// Which call the value is the time of.
    pub call: Call,
    /// How long both ranks compute.
    pub compute_us: u64,
    /// Exchanges in which the late rank began before the early one's first calls had returned, because the system had
    /// stopped that one: their times are among the others.
    pub out_of_order: usize,
}

/// The times of one rank in one exchange, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Took {
    /// When it began, and when its first calls had returned, by the clock of its node.
    began: f64,
    started: f64,
    /// What its first calls and its waits took, message by message.
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
    fn seconds(self) -> f64 {
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
    fn of(&self, Call { kind, message }: Call) -> f64 {
        match kind {
            CallKind::Irecv => self.receiver.calls[message],
            CallKind::RecvWait => self.receiver.waits[message],
            CallKind::Isend => self.sender.calls[message],
            CallKind::SendWait => self.sender.waits[message],
        }
    }

    fn is_in_order(&self, case: Case) -> bool {
        let Self { sender, receiver } = self;
        let (early, late) = if case.receiver_is_early() { (receiver, sender) } else { (sender, receiver) };
        early.started <= late.began
    }
}

/// Measures a case at a size: a result for each of its calls. At rank 0; what the other gets says nothing.
pub(crate) fn measure(
    batches: &mut Batches<'_>,
    step: Step,
    case: Case,
    budget: Budget,
) -> Result<Vec<Measured>, Error> {
    // The first one connects.
    batches.exchange(case)?;
    let alone = batches.exchanges(case, Budget { repetitions: Some(ALONE), ..budget })?;
    // The early rank waits for the late one as well, so this is rather too long.
    let longer = |exchange: &Exchange| exchange.sender.seconds().max(exchange.receiver.seconds());
    let mut transfers: Vec<f64> = alone.iter().map(longer).collect();
    let transfer = Summary::of(&mut transfers).unwrap_or(Summary::NONE).median;
    let compute = Duration::try_from_secs_f64(TRANSFERS_COMPUTED * transfer).unwrap_or(COMPUTE_MAX);
    let compute_us = batches.agree(compute.clamp(COMPUTE_MIN, COMPUTE_MAX).as_micros() as u32)?.into();
    batches.part.compute = Duration::from_micros(compute_us);
    let exchanges = batches.exchanges(case, budget)?;
    let out_of_order = exchanges.iter().filter(|exchange| !exchange.is_in_order(case)).count();
    let measured = case.calls().map(|call| {
        let mut times: Vec<f64> = exchanges.iter().map(|exchange| exchange.of(call) * 1e6).collect();
        let overlapped = Overlapped { case, call, compute_us, out_of_order };
        Measured::of_call(step, Summary::of(&mut times).unwrap_or(Summary::NONE), overlapped)
    });
    Ok(measured.collect())
}

impl Part<'_> {
    /// This rank's part in one exchange. The early rank begins at `start`, or at once if there is none.
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

/// Computes without entering the library, by the clock: what interrupts it makes it no longer.
pub(crate) fn compute(time: Duration) {
    if time.is_zero() {
        return;
    }
    let began = Instant::now();
    while began.elapsed() < time {}
}

/// The clock that all processes of a node share.
pub(crate) fn monotonic() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    // It begins at 0 and only goes forward.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_call_of_each_message_has_a_name_of_its_own() {
        for case in Case::ALL {
            let names: BTreeSet<&str> = case.calls().map(Call::name).collect();
            assert_eq!(names.len(), 4 * case.messages(), "{names:?}");
            assert_eq!(serde_json::to_value(case).expect("it is text"), case.name());
        }
        let waits = Case::SenderEarlyTwo.calls().filter(|call| call.kind.is_wait());
        let names: Vec<&str> = waits.map(Call::name).collect();
        assert_eq!(names, ["recv_wait", "send_wait", "recv_wait2", "send_wait2"]);
    }

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

    #[test]
    fn the_clock_of_the_node_goes_forward() {
        let before = monotonic();
        compute(Duration::from_micros(10));
        assert!(monotonic() >= before + Duration::from_micros(10));
    }
}
