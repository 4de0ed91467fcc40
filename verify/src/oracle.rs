//! The oracle: MPI's rules in their plainest form, and the comparison of what the library did with them.

use crate::context::StepContext;
use crate::model::Model;
use crate::network::{Data, Message};
use crate::program::{Act, Ordinal, Start};
use crate::search::CoverPoint;
use crate::state::{Open, Proc, State};
use crate::violation::{Violation, ViolationKind};
use carrousel_rank::{Explore, Failure, Handle, Protocol, RankId, Rtr, Status, mpi};
use carrousel_scenario::Check;
use std::sync::atomic::Ordering;

/// The match that MPI's rule expects of an input.
#[derive(Clone, Copy)]
pub(crate) enum Expectation {
    /// The input matches nothing.
    Nothing,
    /// The input matches this receive with this message, or leaves the one that it brings waiting.
    Match(Option<(Ordinal, Message)>),
}

/// In a state without successors: checks that all ranks have finished, and that no message is left.
pub(crate) fn check_end<P: Protocol>(model: &Model<P>, state: &mut State<P>) {
    if !state.network.is_empty() || state.violations.iter().any(Violation::is_last) {
        return;
    }
    let goes_on = |me: usize| model.can_step(state, me as u16) && !model.need_not_return(state, me as u16);
    if (0..state.procs.len()).any(goes_on) || model.facts(state.job).plan.owes_lock(state) {
        return;
    }
    let windows = &model.facts(state.job).windows;
    if let Some(kind) = windows.groups_differ.or(windows.fences_differ) {
        state.violations.push(Violation { check: Check::EpochUsage, kind });
    }
    let finished = |me: usize| model.is_finished(state, me as u16);
    let all_have = (0..state.procs.len()).all(finished);
    model.shared().ends.fetch_or(all_have, Ordering::Relaxed);
    if !all_have {
        let kind = match abandoned(model, state) {
            Some((at, request)) => ViolationKind::Abandoned { at, request },
            None => ViolationKind::Stuck,
        };
        state.violations.push(Violation { check: Check::DeadlockFreedom, kind });
        return;
    }
    let left =
        state.procs.iter().enumerate().find_map(|(at, proc)| Some((at as u16, *proc.arrived.first()?)));
    if let Some((at, message)) = left {
        state.violations.push(Violation {
            check: Check::UnmatchedMessage,
            kind: ViolationKind::Unmatched { at, message },
        });
        return;
    }
    let of_collective = state.ranks().find_map(|(at, proc)| {
        let mut unexpected = proc.rank.unexpected();
        let left = unexpected.find(|message| message.context.is_collective())?;
        let communicator = left.context.communicator();
        Some(ViolationKind::UnmatchedOfCollective { at, from: left.source.0 as u16, communicator })
    });
    if let Some(kind) = of_collective {
        state.violations.push(Violation { check: Check::UnmatchedMessage, kind });
    }
}

/// A request that a stuck rank waits for though it has its partner, by MPI's rule.
fn abandoned<P: Protocol>(model: &Model<P>, state: &State<P>) -> Option<(u16, Ordinal)> {
    (0..state.procs.len() as u16).find_map(|at| {
        let Some(Act::Wait(requests)) = model.next_act(state, at) else { return None };
        let proc = &state.procs[usize::from(at)];
        let lost =
            requests.iter().copied().filter(|request| !model.is_over(state, at, *request)).find(|request| {
                match model.start(state, at, *request) {
                    Start::Receive { .. } => !proc.waiting.contains(request),
                    // A claimed message waits for its receive, as one that has arrived does.
                    Start::Send { to, .. } => {
                        let (message, partner) =
                            (Message { from: at, send: *request }, &state.procs[to as usize]);
                        let claims = |open: &Open| {
                            open.message == Some(message)
                                && open.handle.is_some_and(|claim| partner.rank.is_claimed(claim))
                        };
                        !partner.arrived.contains(&message) && !partner.open.iter().any(claims)
                    }
                    Start::Synchronize(_) | Start::Access(_) | Start::Later(_) => false,
                    // It has its partners when all members have entered it, and agree on what it is.
                    start @ Start::Collective { communicator, .. } => {
                        let (facts, own) = (model.facts(state.job), model.program(state.job, at));
                        let number = facts.rank(at).number_of(communicator, *request);
                        let mut members =
                            (0..state.procs.len() as u16).filter(|rank| own.is_member(communicator, *rank));
                        members.all(|rank| {
                            let its = facts.rank(rank).collectives(communicator).get(number);
                            its.is_some_and(|(step, request)| {
                                *step < state.procs[usize::from(rank)].pc
                                    && model.program(state.job, rank).starts[usize::from(*request)] == start
                            })
                        })
                    }
                }
            });
        lost.map(|request| (at, request))
    })
}

impl<P: Protocol> StepContext<'_, P> {
    /// MPI's rule for a new receive: the first message in order of arrival that it matches.
    pub(crate) fn receive_by_rule(
        &mut self,
        proc: &mut Proc<P>,
        receive: Ordinal,
    ) -> Option<(Ordinal, Message)> {
        let pattern = self.pattern_of(receive).0;
        let at = proc.arrived.iter().position(|message| pattern.matches(&self.envelope_of(*message).0))?;
        let message = proc.arrived.remove(at);
        Some((receive, message))
    }

    /// MPI's rule for a message that arrives: the first receive in posting order that matches it.
    pub(crate) fn arrive_by_rule(
        &mut self,
        proc: &mut Proc<P>,
        message: Option<Message>,
    ) -> Option<(Ordinal, Message)> {
        let message = message?;
        let envelope = self.envelope_of(message).0;
        let at = proc.waiting.iter().position(|receive| self.pattern_of(*receive).0.matches(&envelope));
        let Some(at) = at else {
            proc.arrived.push(message);
            return None;
        };
        let receive = proc.waiting.remove(at);
        if let Some(open) = proc.by_ordinal(receive) {
            open.message = Some(message);
        }
        Some((receive, message))
    }

    /// Counts an RTR that meets a message of its receive's tag that is on its way by RTS.
    pub(crate) fn crossing(&mut self, proc: &Proc<P>, from: RankId, rtr: &Rtr) {
        let crosses = proc.open.iter().any(|open| {
            open.exposed
                && matches!(self.start_of(self.me, open.ordinal),
                    Start::Send { to, tag, .. } if to == from.0 && rtr.tag.matches(mpi::tag(tag)))
        });
        if crosses {
            self.reach(CoverPoint::Crossed);
        }
    }

    /// Data lands in memory of this rank, which must be that of the receive that the oracle gives the message.
    pub(crate) fn written(&mut self, proc: &mut Proc<P>, data: Data) {
        let Data { message, receive, len } = data;
        let envelope = self.envelope_of(message).0;
        let bound = proc.open.iter().find(|open| open.message == Some(message)).map(|open| open.ordinal);
        let first =
            || proc.waiting.iter().copied().find(|receive| self.pattern_of(*receive).0.matches(&envelope));
        let should = bound.or_else(first);
        let open = proc.by_handle(receive).copied();
        let got = open.map(|open| open.ordinal);
        let over = open.is_none_or(|open| proc.is_complete(&open));
        let at = self.me;
        if over {
            self.violates(Check::BufferSafety, ViolationKind::WrittenTooLate { at, message, receive: got });
        } else if should != got {
            self.violates(Check::MatchingOrder, ViolationKind::WrongReceive { at, message, should, got });
        } else if let Some(receive) = got
            && len > self.pattern_of(receive).1
        {
            self.violates(Check::BufferSafety, ViolationKind::WrittenPastEnd { at, message, receive });
        } else {
            self.reach(CoverPoint::Written);
        }
    }

    /// Compares the library's match with the expected one.
    pub(crate) fn compare(
        &mut self,
        got: Option<Ordinal>,
        taken: Option<Message>,
        expected: Option<(Ordinal, Message)>,
    ) {
        let at = self.me;
        let should = expected.map(|(receive, _)| receive);
        let message = expected.map_or(Message { from: at, send: 0 }, |(_, message)| message);
        if got != should || taken.is_some_and(|taken| taken != message) {
            self.violates(Check::MatchingOrder, ViolationKind::WrongReceive { at, message, should, got });
        } else if let Some(receive) = should {
            self.compare_with_other_executions(receive, message);
        }
    }

    fn compare_with_other_executions(&mut self, receive: Ordinal, message: Message) {
        let (pattern, _) = self.pattern_of(receive);
        if pattern.is_exact() {
            return;
        }
        if let Some(other) = self.model.other_match(self.state.job, self.me, receive, message) {
            let kind = ViolationKind::OtherMatch { at: self.me, receive, message, other };
            self.violates(Check::MatchDeterminism, kind);
        }
    }

    pub(crate) fn completed(
        &mut self,
        proc: &mut Proc<P>,
        request: Handle,
        status: &Status,
        got: &mut Option<Handle>,
    ) {
        let me = self.me;
        let Some(open) = proc.by_handle(request) else { return };
        let (ordinal, busy) = (open.ordinal, open.busy);
        match self.start_of(me, ordinal) {
            Start::Send { .. } => {
                let exposed = open.exposed;
                self.ended.push(request);
                if busy || exposed || self.is_being_read(request) {
                    self.violates(
                        Check::BufferSafety,
                        ViolationKind::CompleteTooEarly { at: me, request: ordinal },
                    );
                }
            }
            Start::Receive { .. } => {
                let message = open.message.take();
                open.exposed = false;
                if message.is_some() {
                    *got = Some(request);
                }
                if busy {
                    self.violates(
                        Check::BufferSafety,
                        ViolationKind::CompleteTooEarly { at: me, request: ordinal },
                    );
                }
                match (message, status.failure) {
                    (Some(message), Some(Failure::Truncated { .. })) => {
                        let kind = ViolationKind::TooLong { at: me, message, receive: ordinal };
                        self.violates(Check::BufferSafety, kind);
                    }
                    (None, Some(Failure::Cancelled)) => {
                        proc.waiting.retain(|waiting| *waiting != ordinal);
                        self.reach(CoverPoint::Cancelled);
                    }
                    (Some(message), None) => {
                        let (envelope, len) = self.envelope_of(message);
                        let data = self.data_of(message);
                        let is_it = status.message == Some((envelope.source, envelope.tag));
                        if !is_it || (status.data, status.len) != (data, len) {
                            let kind = ViolationKind::WrongReceive {
                                at: me,
                                message,
                                should: Some(ordinal),
                                got: None,
                            };
                            self.violates(Check::MatchingOrder, kind);
                        }
                    }
                    // The library gives the receive a message, and the oracle does not.
                    _ => self.violates(Check::MatchingOrder, ViolationKind::Impossible { at: me, from: me }),
                }
                let program = self.model.program(self.state.job, me);
                if self.model.is_reducing() && !program.keeps.contains_key(&ordinal) {
                    // No statement asks whose it is, so states that differ in nothing else are one.
                    proc.rank.forget_message(request);
                }
            }
            Start::Synchronize(_) | Start::Access(_) | Start::Later(_) => {}
            Start::Collective { .. } => {
                if let Some(Failure::Truncated { .. }) = status.failure {
                    let kind = ViolationKind::TooLongInCollective { at: me, request: ordinal };
                    self.violates(Check::BufferSafety, kind);
                }
            }
        }
    }
}
