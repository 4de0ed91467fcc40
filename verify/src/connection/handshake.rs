//! Two handshakes, the datagrams between them, and the connection that they make.

use super::bounds::HandshakeBounds;
use super::reached::LinkCoverPoint;
use crate::machine::{Machine, promises};
use crate::rules::{EnvironmentRules, RuleType};
use crate::situations::Situations;
use carrousel_connection::{FOR_EVER, Handshake, HandshakeRules, Hello, Progress};
use stateright::{Model, Property};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What one end has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum EndState<R> {
    /// No connection is wanted, and no peer has asked for one.
    Idle,
    /// A connection is being made, or is up.
    Made {
        handshake: Handshake<R>,
        /// The peer's queue pair that its own is connected to.
        connected: Option<u8>,
    },
    /// The peer was given up; the queue pair has gone.
    Gone,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct HandshakeEnd<R> {
    state: EndState<R>,
    /// The number of its queue pair, counted from 1: more than 1 if it has made several.
    pair: u8,
    /// Packets that it may still send.
    packets: u8,
    /// Packets on their way to it.
    coming: u8,
    /// A packet of the peer has come.
    has_received: bool,
}

/// A hello: its receiver, its content, and the number of the sender's queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Datagram {
    to: u8,
    pair: u8,
    hello: Hello,
}

/// A broken promise, and at which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum HandshakeViolation {
    ConnectedTwice(u8),
    GivenUp(u8),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct HandshakeState<R> {
    ends: [HandshakeEnd<R>; 2],
    /// Datagrams on their way. A set: a datagram that is delivered and stays is a copy.
    told: BTreeSet<Datagram>,
    /// Datagrams that may still be lost.
    losses: Option<u8>,
    violation: Option<HandshakeViolation>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandshakeAction {
    /// An end wants a connection.
    Begin(u8),
    /// Time passes at an end.
    Tick(u8),
    /// A datagram arrives.
    Deliver(Datagram),
    /// A datagram arrives, and another copy of it may.
    Double(Datagram),
    /// A datagram, with all of its copies, is lost.
    Lose(Datagram),
    /// An end that is up sends a packet over the connection.
    Send(u8),
    /// A packet arrives at this end.
    Receive(u8),
}

/// Two ends under the rules `R`.
pub(super) struct HandshakeModel<R> {
    bounds: HandshakeBounds,
    /// Whether a peer that was given up stays so.
    given_up_stays: bool,
    counts: Arc<Situations<LinkCoverPoint>>,
    rules: PhantomData<R>,
}

fn other(end: u8) -> usize {
    usize::from(1 - end)
}

impl<R> HandshakeEnd<R> {
    fn is_up(&self) -> bool
    where
        R: HandshakeRules,
    {
        matches!(&self.state, EndState::Made { handshake, .. } if handshake.is_up())
    }

    /// The peer's queue pair that its own is connected to.
    fn connected(&self) -> Option<u8> {
        if let EndState::Made { connected, .. } = &self.state { *connected } else { None }
    }
}

impl<R: HandshakeRules + RuleType> HandshakeModel<R> {
    pub(super) fn new<E: EnvironmentRules>(bounds: HandshakeBounds) -> Self {
        Self { bounds, given_up_stays: E::given_up_stays(), counts: Arc::default(), rules: PhantomData }
    }

    fn patience(&self) -> u16 {
        self.bounds.patience.unwrap_or(FOR_EVER)
    }

    /// Performs what a handshake asks for, as the driver does.
    fn proceed(&self, state: &mut HandshakeState<R>, end: u8, progress: Progress, teller: Option<u8>) {
        let this = &mut state.ends[usize::from(end)];
        if let (true, Some(pair), EndState::Made { connected, .. }) =
            (progress.connect, teller, &mut this.state)
            && connected.replace(pair).is_some()
        {
            state.violation = state.violation.or(Some(HandshakeViolation::ConnectedTwice(end)));
        }
        let pair = this.pair;
        if progress.give_up {
            self.counts.note(LinkCoverPoint::GivenUp);
            if self.bounds.answers_in_time() || this.has_received {
                state.violation = state.violation.or(Some(HandshakeViolation::GivenUp(end)));
            }
            this.state = EndState::Gone;
            return;
        }
        state.told.extend(progress.tell.map(|hello| Datagram { to: 1 - end, pair, hello }));
    }

    fn hear(&self, state: &mut HandshakeState<R>, Datagram { to, pair, hello }: Datagram) {
        let this = &mut state.ends[usize::from(to)];
        let is_late = matches!(this.state, EndState::Gone);
        if is_late {
            self.counts.note(LinkCoverPoint::LateHello);
        }
        if matches!(this.state, EndState::Idle) || is_late && !self.given_up_stays {
            this.pair += 1;
            let handshake = Handshake::asked(self.patience());
            this.state = EndState::Made { handshake, connected: None };
        }
        let EndState::Made { handshake, .. } = &mut this.state else { return };
        if handshake.is_up() && !hello.heard {
            self.counts.note(LinkCoverPoint::Overtaken);
        }
        let progress = handshake.told(hello);
        self.proceed(state, to, progress, Some(pair));
    }

    fn begin(&self, state: &mut HandshakeState<R>, end: u8) {
        let (handshake, progress) = Handshake::begin(self.patience());
        let this = &mut state.ends[usize::from(end)];
        this.pair += 1;
        this.state = EndState::Made { handshake, connected: None };
        // The peer has not been asked: it has begun itself.
        if matches!(state.ends[other(end)].state, EndState::Made { .. }) {
            self.counts.note(LinkCoverPoint::BothBegan);
        }
        self.proceed(state, end, progress, None);
    }

    fn receive(&self, state: &mut HandshakeState<R>, end: u8) {
        let this = &mut state.ends[usize::from(end)];
        this.coming -= 1;
        let EndState::Made { handshake, .. } = &mut this.state else { return };
        this.has_received = true;
        let progress = handshake.received();
        if progress.up {
            self.counts.note(LinkCoverPoint::UpByPacket);
        }
        self.proceed(state, end, progress, None);
    }

    /// An end that is up, though the peer's adapter would drop its packets.
    fn up_alone(state: &HandshakeState<R>) -> Option<u8> {
        (0..2).find(|end| {
            let (this, peer) = (&state.ends[usize::from(*end)], &state.ends[other(*end)]);
            // A peer that has given up this end has broken no promise to it.
            let are_connected = peer.connected() == Some(this.pair) && this.connected() == Some(peer.pair);
            this.is_up() && !matches!(peer.state, EndState::Gone) && !are_connected
        })
    }

    /// An end that sends another hello though both are up.
    fn not_silent(state: &HandshakeState<R>) -> Option<u8> {
        let both = state.ends.iter().all(HandshakeEnd::is_up);
        (0..2).find(|end| {
            let EndState::Made { handshake, .. } = &state.ends[usize::from(*end)].state else { return false };
            let mut later = handshake.clone();
            both && state.told.is_empty() && (later.tick() != Progress::default() || later != *handshake)
        })
    }
}

impl<R: HandshakeRules + RuleType> Model for HandshakeModel<R> {
    type State = HandshakeState<R>;
    type Action = HandshakeAction;

    fn init_states(&self) -> Vec<HandshakeState<R>> {
        let end = || HandshakeEnd {
            state: EndState::Idle,
            pair: 0,
            packets: self.bounds.packets,
            coming: 0,
            has_received: false,
        };
        let (told, losses) = (BTreeSet::new(), self.bounds.losses);
        vec![HandshakeState { ends: [end(), end()], told, losses, violation: None }]
    }

    fn actions(&self, state: &HandshakeState<R>, actions: &mut Vec<HandshakeAction>) {
        if self.counts.is_stopped() || self.broken(state).is_some() {
            return;
        }
        for (at, end) in (0..).zip(&state.ends) {
            match &end.state {
                EndState::Idle => actions.push(HandshakeAction::Begin(at)),
                EndState::Made { handshake, .. } if !handshake.is_up() => {
                    let is_quiet = state.told.is_empty() && state.ends.iter().all(|end| end.coming == 0);
                    actions.extend((!self.bounds.prompt || is_quiet).then_some(HandshakeAction::Tick(at)));
                }
                EndState::Made { .. } => {
                    actions.extend((end.packets > 0).then_some(HandshakeAction::Send(at)))
                }
                EndState::Gone => {}
            }
            actions.extend((end.coming > 0).then_some(HandshakeAction::Receive(at)));
        }
        for datagram in &state.told {
            actions.push(HandshakeAction::Deliver(*datagram));
            actions.extend(self.bounds.doubles.then_some(HandshakeAction::Double(*datagram)));
            actions.extend((state.losses != Some(0)).then_some(HandshakeAction::Lose(*datagram)));
        }
    }

    fn next_state(&self, state: &HandshakeState<R>, action: HandshakeAction) -> Option<HandshakeState<R>> {
        let mut next = state.clone();
        match action {
            HandshakeAction::Begin(end) => self.begin(&mut next, end),
            HandshakeAction::Tick(end) => {
                if let EndState::Made { handshake, .. } = &mut next.ends[usize::from(end)].state {
                    let progress = handshake.tick();
                    self.proceed(&mut next, end, progress, None);
                }
            }
            HandshakeAction::Deliver(datagram) => {
                next.told.remove(&datagram);
                self.hear(&mut next, datagram);
            }
            HandshakeAction::Double(datagram) => {
                self.counts.note(LinkCoverPoint::Doubled);
                self.hear(&mut next, datagram);
            }
            HandshakeAction::Lose(datagram) => {
                self.counts.note(LinkCoverPoint::Lost);
                next.told.remove(&datagram);
                next.losses = next.losses.map(|losses| losses - 1);
            }
            HandshakeAction::Send(end) => {
                next.ends[usize::from(end)].packets -= 1;
                next.ends[other(end)].coming += 1;
            }
            HandshakeAction::Receive(end) => self.receive(&mut next, end),
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises()
    }
}

fn name(end: u8) -> &'static str {
    if end == 0 { "A" } else { "B" }
}

impl<R: HandshakeRules + RuleType> Machine for HandshakeModel<R> {
    fn broken(&self, state: &HandshakeState<R>) -> Option<String> {
        match state.violation {
            Some(HandshakeViolation::ConnectedTwice(end)) => {
                return Some(format!("connected-once: {}'s queue pair is connected again", name(end)));
            }
            Some(HandshakeViolation::GivenUp(end)) => {
                return Some(format!("not-given-up: {} gives up a peer that answers", name(end)));
            }
            None => {}
        }
        if let Some(end) = Self::up_alone(state) {
            let (this, peer) = (name(end), name(1 - end));
            return Some(format!(
                "up-is-connected: {this} is up, and {peer}'s queue pair is not connected to its own"
            ));
        }
        Self::not_silent(state).map(|end| format!("silence: both are up, and {} still tells", name(end)))
    }

    fn is_done(&self, state: &HandshakeState<R>) -> bool {
        let is_done = |end: &HandshakeEnd<R>| !matches!(end.state, EndState::Made { .. }) || end.is_up();
        state.ends.iter().all(is_done)
    }

    fn is_owed(&self, action: HandshakeAction) -> bool {
        matches!(action, HandshakeAction::Tick(_) | HandshakeAction::Deliver(_) | HandshakeAction::Receive(_))
    }

    fn line(&self, before: &HandshakeState<R>, action: HandshakeAction, after: &HandshakeState<R>) -> String {
        let (mut text, end) = match action {
            HandshakeAction::Begin(end) => (format!("{} wants a connection", name(end)), end),
            HandshakeAction::Tick(end) => (format!("time passes at {}", name(end)), end),
            HandshakeAction::Deliver(told) => {
                (format!("{} arrives at {}", hello(told), name(told.to)), told.to)
            }
            HandshakeAction::Double(told) => {
                (format!("{} arrives at {}, and is on its way again", hello(told), name(told.to)), told.to)
            }
            HandshakeAction::Lose(told) => return format!("{} to {} is lost", hello(told), name(told.to)),
            HandshakeAction::Send(end) => return format!("{} sends a packet over the connection", name(end)),
            HandshakeAction::Receive(end) => (format!("the packet arrives at {}", name(end)), end),
        };
        let (was, is) = (&before.ends[usize::from(end)], &after.ends[usize::from(end)]);
        if let (None, Some(pair)) = (was.connected(), is.connected()) {
            let _ = write!(text, "; its queue pair {} is connected to {pair}", is.pair);
        }
        if !was.is_up() && is.is_up() {
            text += "; it is up";
        }
        if !matches!(was.state, EndState::Gone) && matches!(is.state, EndState::Gone) {
            text += "; it gives up";
        }
        for told in after.told.difference(&before.told) {
            let _ = write!(text, "; it tells {}", hello(*told));
        }
        text
    }

    fn met(&self) -> Vec<(&'static str, u64)> {
        self.counts.met()
    }

    fn stop(&self) -> &AtomicBool {
        &self.counts.stop
    }

    fn stuck(&self, state: &HandshakeState<R>) -> String {
        let waits = |end: &u8| {
            let this = &state.ends[usize::from(*end)];
            matches!(this.state, EndState::Made { .. }) && !this.is_up()
        };
        let who: Vec<&str> = (0..2).filter(waits).map(name).collect();
        format!("never-stuck: {} can never be up", who.join(" and "))
    }
}

/// What is told.
fn hello(Datagram { pair, hello: Hello { heard, sure }, .. }: Datagram) -> String {
    let what = match (heard, sure) {
        (false, _) => "",
        (true, false) => ", heard",
        (true, true) => ", heard and sure",
    };
    format!("\"queue pair {pair}{what}\"")
}
