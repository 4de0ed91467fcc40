//! The steps that are possible in a state, and what each does.

use super::check;
use super::program::{EpochProgram, EpochStep};
use super::rank::{id, index};
use super::situations::EpochCoverPoint;
use super::state::{EpochState, LaneItem, OperationName, insert_sorted, word_index};
use crate::situations::Situations;
use carrousel_epoch::{EpochKind, Event, GrantWord, Order, Output, Packet, Report, TransferKind};

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EpochAction {
    /// A rank does the next step of its program.
    Program(u8),
    /// An item of a lane arrives: from, to, and its place.
    Arrive(u8, u8, u8),
    /// A read acts, and its origin knows.
    Act(OperationName),
    /// The origin of a write or an atomic learns that it has acted.
    Report(OperationName),
    /// The local buffers of a write can be used again.
    CompleteLocally(OperationName),
    /// A rank sees the newest value of a grant word: host, origin, and word.
    See(u8, u8, GrantWord),
}

/// Appends the steps that are possible.
pub(super) fn actions(program: &EpochProgram, state: &EpochState, actions: &mut Vec<EpochAction>) {
    if !program.is_self_late {
        // What a rank sends to itself arrives before anything else happens there, in an order that makes no difference.
        let own = (0..state.ranks.len()).find_map(|me| to_self(state, me));
        if let Some(action) = own {
            actions.push(action);
            return;
        }
    }
    for (me, (rank, steps)) in (0u8..).zip(state.ranks.iter().zip(&program.ranks)) {
        let can_go = match rank.next_step(steps) {
            Some(EpochStep::Receive(from)) => state.messages[state.pair(from, me.into())] > 0,
            Some(EpochStep::WaitAll) => rank.requests.is_empty(),
            Some(_) => true,
            None => false,
        };
        if can_go && rank.is_free() {
            actions.push(EpochAction::Program(me));
        }
    }
    for from in 0..state.ranks.len() {
        for to in 0..state.ranks.len() {
            let lane = &state.lanes[state.pair(from, to)];
            for (at, item) in lane.iter().enumerate() {
                let may_arrive = match item {
                    LaneItem::Packet(_, Order::Free) => true,
                    LaneItem::Packet(_, Order::Fenced) => at == 0 && !is_reading(state, from, to),
                    LaneItem::Packet(_, Order::Lane) | LaneItem::Data(_) => at == 0,
                };
                if may_arrive {
                    actions.push(EpochAction::Arrive(from as u8, to as u8, at as u8));
                }
            }
        }
    }
    actions.extend(state.reading.iter().map(|name| EpochAction::Act(*name)));
    actions.extend(state.unreported.iter().map(|name| EpochAction::Report(*name)));
    for host in 0..state.ranks.len() {
        for origin in 0..state.ranks.len() {
            for word in [GrantWord::Exposures, GrantWord::Locks] {
                let value = state.words[state.pair(host, origin)][word_index(word)];
                if value.stored != value.seen {
                    actions.push(EpochAction::See(host as u8, origin as u8, word));
                }
            }
        }
    }
    if program.tells_local {
        for (origin, rank) in state.ranks.iter().enumerate() {
            for (at, operation) in rank.operations.iter().enumerate() {
                if operation.name.is_some() && !operation.is_local && !operation.kind.reads() {
                    actions.push(EpochAction::CompleteLocally(OperationName { origin, at }));
                }
            }
        }
    }
}

/// What a rank has sent to itself and not taken. A packet that is fenced behind reads of its own may have to wait.
fn to_self(state: &EpochState, me: usize) -> Option<EpochAction> {
    let (pair, rank) = (state.pair(me, me), me as u8);
    let unseen = |word: &GrantWord| {
        let value = state.words[pair][word_index(*word)];
        value.stored != value.seen
    };
    if let Some(word) = [GrantWord::Exposures, GrantWord::Locks].into_iter().find(unseen) {
        return Some(EpochAction::See(rank, rank, word));
    }
    if let Some(name) =
        state.reading.iter().find(|name| name.origin == me && state.operation(**name).target == me)
    {
        return Some(EpochAction::Act(*name));
    }
    state.lanes[pair].front().map(|_| EpochAction::Arrive(rank, rank, 0))
}

/// Whether a fenced packet has to wait.
fn is_reading(state: &EpochState, from: usize, to: usize) -> bool {
    let mut fetching = state.reading.iter().chain(&state.unreported);
    fetching.any(|name| {
        let operation = state.operation(*name);
        name.origin == from && operation.target == to && operation.kind.reads()
    })
}

/// The state after a step.
pub(super) fn after(
    program: &EpochProgram,
    state: &EpochState,
    action: EpochAction,
    situations: &Situations<EpochCoverPoint>,
) -> EpochState {
    let mut next = state.clone();
    let result = Stepping { state: &mut next, situations }.step(program, action);
    let result = result.and_then(|()| check::state(&next, program));
    next.violation = result.err();
    if next.violation.is_none() {
        note(state, &next, program, situations);
    }
    next
}

/// Counts what the new state is an example of.
fn note(
    before: &EpochState,
    after: &EpochState,
    program: &EpochProgram,
    situations: &Situations<EpochCoverPoint>,
) {
    for (old, rank) in before.ranks.iter().zip(&after.ranks) {
        if rank.window.deferred() > old.window.deferred() {
            situations.note(EpochCoverPoint::Deferred);
        }
        let active = || rank.window.epochs().filter(|view| view.is_active()).map(|view| view.name().number);
        if active().count() > 1
            && active().count() > old.window.epochs().filter(|view| view.is_active()).count()
        {
            let newest = active().max().unwrap_or_default();
            let inside = rank.epochs.get(newest as usize).map_or(0, |epoch| epoch.inside);
            let is_nested = active().any(|number| inside & 1 << number != 0);
            situations.note(if is_nested { EpochCoverPoint::Nested } else { EpochCoverPoint::Flagged });
            let encloses = active().any(|number| {
                rank.epochs.get(number as usize).is_some_and(|epoch| epoch.kind == EpochKind::Fence)
            });
            if encloses {
                situations.note(EpochCoverPoint::Enclosed);
            }
        }
        if rank.window.held_back() > old.window.held_back() {
            situations.note(EpochCoverPoint::HeldBack);
        }
        if rank.window.lock().waiting().count() > old.window.lock().waiting().count() {
            situations.note(EpochCoverPoint::Queued);
        }
        let first_deferred = rank
            .window
            .epochs()
            .filter(|view| !view.is_active())
            .map(|view| view.name())
            .min_by_key(|name| name.number);
        if !rank.window.lock().is_free()
            && first_deferred.is_some_and(|name| name.kind == EpochKind::Exposure)
        {
            situations.note(EpochCoverPoint::ExposureWaits);
        }
        let ended = (0..)
            .zip(&rank.epochs)
            .filter(|(at, epoch)| epoch.has_ended && old.epochs.get(*at).is_some_and(|old| !old.has_ended));
        for (at, _) in ended {
            if rank.epochs[..at].iter().any(|epoch| !epoch.has_ended) {
                situations.note(EpochCoverPoint::EndedFirst);
            }
        }
    }
    if is_stuck(program, after) {
        situations.note(EpochCoverPoint::Stuck);
    }
}

/// Whether nothing can happen any more, and a rank has not ended.
pub(super) fn is_stuck(program: &EpochProgram, state: &EpochState) -> bool {
    let mut possible = Vec::new();
    actions(program, state, &mut possible);
    possible.is_empty() && !state.is_over(program)
}

struct Stepping<'a> {
    state: &'a mut EpochState,
    situations: &'a Situations<EpochCoverPoint>,
}

impl Stepping<'_> {
    fn step(&mut self, program: &EpochProgram, action: EpochAction) -> Result<(), String> {
        match action {
            EpochAction::Program(me) => self.program_step(program, usize::from(me)),
            EpochAction::Arrive(from, to, at) => self.arrive(from.into(), to.into(), at.into()),
            EpochAction::Act(name) => {
                self.state.reading.retain(|reading| *reading != name);
                check::act(self.state, name)?;
                self.state.ranks[name.origin].operations[name.at].has_acted = true;
                self.complete(name)
            }
            EpochAction::Report(name) => {
                self.state.unreported.retain(|unreported| *unreported != name);
                self.complete(name)
            }
            EpochAction::CompleteLocally(name) => {
                let operation = &mut self.state.ranks[name.origin].operations[name.at];
                operation.is_local = true;
                let Some(known) = operation.name else { return Ok(()) };
                self.event(name.origin, Event::LocallyComplete(known))
            }
            EpochAction::See(host, origin, word) => {
                let (host, origin) = (usize::from(host), usize::from(origin));
                let pair = self.state.pair(host, origin);
                let known = &mut self.state.words[pair][word_index(word)];
                known.seen = known.stored;
                let value = known.stored;
                let counts = self.state.ranks[origin].window.counts(id(host), word).unwrap_or_default();
                if value > counts.requested {
                    self.situations.note(EpochCoverPoint::EarlyGrant);
                }
                self.event(origin, Event::Granted { from: id(host), word, value })
            }
        }
    }

    fn arrive(&mut self, from: usize, to: usize, at: usize) -> Result<(), String> {
        let pair = self.state.pair(from, to);
        match self.state.lanes[pair].remove(at) {
            Some(LaneItem::Data(name)) if self.state.operation(name).kind == TransferKind::Get => {
                insert_sorted(&mut self.state.reading, name);
                Ok(())
            }
            Some(LaneItem::Data(name)) => {
                check::act(self.state, name)?;
                check::order(self.state, name)?;
                self.state.ranks[name.origin].operations[name.at].has_acted = true;
                insert_sorted(&mut self.state.unreported, name);
                if self.state.operation(name).is_staged {
                    self.state.given_buffers[to] = self.state.given_buffers[to].saturating_sub(1);
                    return self.event(to, Event::Applied { origin: id(from) });
                }
                Ok(())
            }
            Some(LaneItem::Packet(packet, order)) => {
                if order == Order::Fenced {
                    self.situations.note(EpochCoverPoint::Fenced);
                }
                check::finished(self.state, from, to, packet)?;
                let given = self.state.given_buffers[to];
                self.event(to, Event::Packet { from: id(from), packet })?;
                if packet == Packet::StagingRequest && self.state.given_buffers[to] == given {
                    self.situations.note(EpochCoverPoint::NoBuffer);
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn complete(&mut self, name: OperationName) -> Result<(), String> {
        let operation = &mut self.state.ranks[name.origin].operations[name.at];
        operation.is_local = true;
        operation.is_complete = true;
        let Some(known) = operation.name else { return Ok(()) };
        self.event(name.origin, Event::Complete(known))
    }

    fn event(&mut self, at: usize, event: Event) -> Result<(), String> {
        let mut out = Vec::new();
        let result = self.state.ranks[at].window.event(event, &mut out);
        result.map_err(|error| format!("honest-packets: rank {at} refuses what is right: {error}"))?;
        self.perform(at, out)
    }

    /// Carries out what a window asks for.
    fn perform(&mut self, me: usize, out: Vec<Output>) -> Result<(), String> {
        self.state.ranks[me].note_epochs();
        let mut has_begun_staged = false;
        for output in out {
            match output {
                Output::Issue { operation, epoch, transfer, is_staged } => {
                    if has_begun_staged {
                        self.situations.note(EpochCoverPoint::BehindStaged);
                    }
                    has_begun_staged |= is_staged;
                    let name = OperationName { origin: me, at: operation.age as usize - 1 };
                    check::issue(self.state, me, epoch, transfer)?;
                    let rank = &mut self.state.ranks[me];
                    let access = rank.access_of(epoch, transfer.target);
                    let is_open = rank.epochs.get(epoch as usize).is_some_and(|epoch| epoch.is_open);
                    if !is_open {
                        self.situations.note(EpochCoverPoint::Replayed);
                    }
                    let known = &mut rank.operations[name.at];
                    known.name = Some(operation);
                    known.access = access;
                    known.is_staged = is_staged;
                    let pair = self.state.pair(me, index(transfer.target));
                    self.state.lanes[pair].push_back(LaneItem::Data(name));
                }
                Output::Post { to, packet, order } => {
                    check::post(self.state, me, index(to), packet)?;
                    match packet {
                        Packet::StagingRequest => self.situations.note(EpochCoverPoint::Staged),
                        Packet::StagingGrant => self.state.given_buffers[me] += 1,
                        _ => {}
                    }
                    check::buffers(self.state, me)?;
                    let pair = self.state.pair(me, index(to));
                    self.state.lanes[pair].push_back(LaneItem::Packet(packet, order));
                }
                Output::Store { to, word, value } => {
                    let pair = self.state.pair(me, index(to));
                    let known = &mut self.state.words[pair][word_index(word)];
                    check::store(*known, me, index(to), value)?;
                    known.stored = value;
                }
                Output::Complete { request, result } => check::complete(self.state, me, request, result)?,
                Output::Report(Report::LockedWhileExposed { .. }) => {
                    self.situations.note(EpochCoverPoint::LockedWhileExposed);
                }
                Output::Report(Report::HolderDied { .. }) => {}
            }
        }
        Ok(())
    }

    fn program_step(&mut self, program: &EpochProgram, me: usize) -> Result<(), String> {
        let rank = &mut self.state.ranks[me];
        let Some(step) = rank.next_step(&program.ranks[me]) else { return Ok(()) };
        rank.waits_for = None;
        rank.at += 1;
        match step {
            EpochStep::Send(to) => {
                let pair = self.state.pair(me, to);
                self.state.messages[pair] += 1;
            }
            EpochStep::Receive(from) => {
                let pair = self.state.pair(from, me);
                self.state.messages[pair] -= 1;
            }
            EpochStep::WaitAll => {}
            EpochStep::Call(call, blocking) => {
                let mut out = Vec::new();
                if matches!(call, carrousel_epoch::Call::Transfer { .. }) && check::is_flushing(rank) {
                    self.situations.note(EpochCoverPoint::BehindFlush);
                }
                rank.before_call(call);
                let returned = rank.window.call(call, &mut out);
                let returned = returned.map_err(|error| format!("usage: rank {me}: {error}"))?;
                check::returned(rank, call, returned)?;
                rank.after_call(call, returned, blocking);
                self.perform(me, out)?;
                if check::is_flushing(&self.state.ranks[me]) {
                    self.situations.note(EpochCoverPoint::Flushed);
                }
            }
        }
        Ok(())
    }
}
