//! The credits of two ends, their receive buffers, and the frames between them.

use super::bounds::{Buffers, CreditBounds};
use super::reached::LinkCoverPoint;
use crate::machine::{Machine, promises};
use crate::rules::{EnvironmentRules, RuleType};
use crate::situations::Situations;
use carrousel_connection::{CreditRules, Credits};
use stateright::{Model, Property};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The most rails. Two keep no order between them.
const WAYS: usize = 2;

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum FrameKind {
    /// A message; takes a credit.
    Packet,
    /// Nothing but credits.
    Credits,
    /// The last frame by a rail, of an end that has sent all of its messages. Takes no credit.
    Goodbye,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    kind: FrameKind,
    /// Credits that the frame gives back.
    gives: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CreditEnd<R> {
    credits: Credits<R>,
    /// Messages that it has not sent.
    to_send: u8,
    /// By rail: whether it has said goodbye.
    finished: [bool; WAYS],
    /// By rail: frames on their way to it. Each is in a buffer as soon as there is one. A later arrival would change
    /// nothing but when it could be taken.
    coming: [VecDeque<Frame>; WAYS],
    /// Buffers that were read, and are not posted again yet.
    read: u16,
}

impl<R> CreditEnd<R> {
    fn is_coming(&self) -> usize {
        self.coming.iter().map(VecDeque::len).sum()
    }
}

/// A broken promise, and at which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CreditViolation {
    Overrun(u8),
    CreditError(u8),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CreditState<R> {
    ends: [CreditEnd<R>; 2],
    violation: Option<CreditViolation>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CreditAction {
    /// An end sends a frame by a rail.
    Send(u8, FrameKind, u8),
    /// An end takes the oldest frame of a rail.
    Take(u8, u8),
    /// An end posts all buffers that it has read again.
    Post(u8),
}

/// Two ends under the rules `R`.
pub(super) struct CreditModel<R> {
    bounds: CreditBounds,
    /// Whether an idle end posts all buffers again, and not only whole batches.
    idle_posts_all: bool,
    counts: Arc<Situations<LinkCoverPoint>>,
    rules: PhantomData<R>,
}

impl<R: CreditRules> CreditModel<R> {
    pub(super) fn new<E: EnvironmentRules>(bounds: CreditBounds) -> Self {
        Self { bounds, idle_posts_all: E::idle_posts_all(), counts: Arc::default(), rules: PhantomData }
    }

    fn buffers(&self) -> u32 {
        // A second rail brings a second goodbye.
        let enough = Credits::<R>::buffers(self.bounds.window)
            + u32::from(self.bounds.batch)
            + u32::from(self.bounds.two_ways);
        match self.bounds.buffers {
            Buffers::Enough => enough,
            Buffers::Less(less) => enough.saturating_sub(less),
            Buffers::Few(few) => few,
        }
    }

    fn send(&self, state: &mut CreditState<R>, end: u8, kind: FrameKind, way: u8) {
        let this = &mut state.ends[usize::from(end)];
        match kind {
            FrameKind::Packet => {
                // There is a credit: otherwise the step is not possible.
                this.credits.spend();
                this.to_send -= 1;
                if this.credits.left() == 0 {
                    self.counts.note(LinkCoverPoint::Spent);
                }
            }
            FrameKind::Credits => self.counts.note(LinkCoverPoint::Alone),
            FrameKind::Goodbye => this.finished[usize::from(way)] = true,
        }
        let gives = this.credits.give();
        if kind == FrameKind::Packet && gives > 0 {
            self.counts.note(LinkCoverPoint::Carried);
        }
        let peer = &mut state.ends[usize::from(1 - end)];
        peer.coming[usize::from(way)].push_back(Frame { kind, gives });
        let used = peer.is_coming() as u32 + u32::from(peer.read);
        if used == self.buffers() {
            self.counts.note(LinkCoverPoint::Full);
        }
        if used > self.buffers() {
            if matches!(self.bounds.buffers, Buffers::Few(_)) {
                self.counts.note(LinkCoverPoint::Waited);
            } else {
                state.violation = state.violation.or(Some(CreditViolation::Overrun(1 - end)));
            }
        }
    }

    /// As the driver does: the credit can be given back while the packet is handled, and the buffer is posted again
    /// behind that.
    fn take(&self, state: &mut CreditState<R>, end: u8, way: u8) {
        let this = &mut state.ends[usize::from(end)];
        let Some(frame) = this.coming[usize::from(way)].pop_front() else { return };
        if way > 0 && !this.coming[0].is_empty() {
            self.counts.note(LinkCoverPoint::Passed);
        }
        this.read += 1;
        if frame.kind == FrameKind::Packet {
            this.credits.took();
        }
        if this.credits.given(frame.gives).is_err() {
            state.violation = state.violation.or(Some(CreditViolation::CreditError(end)));
        }
    }
}

impl<R: CreditRules + RuleType> Model for CreditModel<R> {
    type State = CreditState<R>;
    type Action = CreditAction;

    /// The two ends are alike: what one has less to send than the other is the same the other way round.
    fn init_states(&self) -> Vec<CreditState<R>> {
        let end = |to_send| CreditEnd {
            credits: Credits::new(self.bounds.window),
            to_send,
            finished: [false; WAYS],
            coming: [const { VecDeque::new() }; WAYS],
            read: 0,
        };
        let most = self.bounds.messages;
        let pairs = (0..=most).flat_map(|more| (0..=more).map(move |less| (more, less)));
        pairs.map(|(more, less)| CreditState { ends: [end(more), end(less)], violation: None }).collect()
    }

    fn actions(&self, state: &CreditState<R>, actions: &mut Vec<CreditAction>) {
        if self.counts.is_stopped() || state.violation.is_some() {
            return;
        }
        let last = u8::from(self.bounds.two_ways);
        for (at, end) in (0..).zip(&state.ends) {
            if end.to_send > 0 && end.credits.clone().spend() {
                actions.extend((0..=last).map(|way| CreditAction::Send(at, FrameKind::Packet, way)));
            }
            // They are what the second way is for.
            actions.extend(end.credits.owes().then_some(CreditAction::Send(at, FrameKind::Credits, last)));
            if end.to_send == 0 {
                let ways = (0..=last).filter(|way| !end.finished[usize::from(*way)]);
                actions.extend(ways.map(|way| CreditAction::Send(at, FrameKind::Goodbye, way)));
            }
            // The oldest frame is in a buffer if one is posted; it is read when the last batch is posted again.
            let has_buffer = u32::from(end.read) < self.buffers() && end.read < self.bounds.batch;
            let coming = (0..=last).filter(|way| has_buffer && !end.coming[usize::from(*way)].is_empty());
            actions.extend(coming.map(|way| CreditAction::Take(at, way)));
            let may_post = if self.idle_posts_all { end.read > 0 } else { end.read == self.bounds.batch };
            actions.extend(may_post.then_some(CreditAction::Post(at)));
        }
    }

    fn next_state(&self, state: &CreditState<R>, action: CreditAction) -> Option<CreditState<R>> {
        let mut next = state.clone();
        match action {
            CreditAction::Send(end, kind, way) => self.send(&mut next, end, kind, way),
            CreditAction::Take(end, way) => self.take(&mut next, end, way),
            CreditAction::Post(end) => next.ends[usize::from(end)].read = 0,
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

impl<R: CreditRules + RuleType> Machine for CreditModel<R> {
    fn broken(&self, state: &CreditState<R>) -> Option<String> {
        Some(match state.violation? {
            CreditViolation::Overrun(end) => {
                format!("no-overrun: a frame finds none of {}'s {} buffers", name(end), self.buffers())
            }
            CreditViolation::CreditError(end) => {
                format!("honest-credits: {} is given back more than it has spent", name(end))
            }
        })
    }

    fn is_done(&self, state: &CreditState<R>) -> bool {
        state.ends.iter().all(|end| end.to_send == 0 && end.is_coming() == 0)
    }

    /// The application sends all of its messages, and the driver does the rest.
    fn is_owed(&self, _: CreditAction) -> bool {
        true
    }

    fn line(&self, before: &CreditState<R>, action: CreditAction, after: &CreditState<R>) -> String {
        match action {
            CreditAction::Send(end, kind, way) => {
                let peer = &after.ends[usize::from(1 - end)];
                let gives = peer.coming[usize::from(way)].back().map_or(0, |frame| frame.gives);
                let what = match kind {
                    FrameKind::Packet => "a packet",
                    FrameKind::Credits => "credits alone",
                    FrameKind::Goodbye => "its goodbye",
                };
                let left = after.ends[usize::from(end)].credits.left();
                let given = if gives > 0 { format!(", giving {gives} back") } else { String::new() };
                format!("{} sends {what}{given}; it has {left} credits left", name(end))
            }
            CreditAction::Take(end, way) => {
                let frame = before.ends[usize::from(end)].coming[usize::from(way)].front();
                let what = match frame.map(|frame| frame.kind) {
                    Some(FrameKind::Packet) | None => "a packet",
                    Some(FrameKind::Credits) => "credits",
                    Some(FrameKind::Goodbye) => "a goodbye",
                };
                let left = after.ends[usize::from(end)].credits.left();
                format!("{} takes {what}; it has {left} credits left", name(end))
            }
            CreditAction::Post(end) => {
                format!("{} posts {} buffers again", name(end), before.ends[usize::from(end)].read)
            }
        }
    }

    fn met(&self) -> Vec<(&'static str, u64)> {
        self.counts.met()
    }

    fn stop(&self) -> &AtomicBool {
        &self.counts.stop
    }

    fn stuck(&self, state: &CreditState<R>) -> String {
        let left: Vec<String> = (0..2)
            .map(|end| (name(end), &state.ends[usize::from(end)]))
            .filter(|(_, end)| end.to_send > 0 || end.is_coming() > 0)
            .map(|(name, end)| format!("{name} has {} to send and {} to take", end.to_send, end.is_coming()))
            .collect();
        format!("never-stuck: nothing helps, and {}", left.join(", "))
    }
}
