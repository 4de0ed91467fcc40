//! The queue at the host: origins, packets, and a host that takes them.

use super::arrivals::{Arrivals, Way};
use super::bounds::{LockProgram, QueueBounds, programs};
use super::data::LockedData;
use super::reached::LockCoverPoint;
use super::remote::{LockPacket, RemoteOrigin};
use super::violation::LockViolation;
use crate::machine::{Machine, promises};
use crate::rules::{EnvironmentRules, RuleType};
use crate::situations::Situations;
use carrousel_lock::{Death, Grant, LockManager, LockRules, Mode};
use carrousel_rank::RankId;
use stateright::{Model, Property};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The host, its memory, and the origins.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct QueueState<R> {
    /// Which program.
    program: u32,
    host: LockManager<R>,
    arrivals: Arrivals,
    data: LockedData,
    origins: Vec<RemoteOrigin>,
    /// By origin: packets that have arrived, and that the host has not taken. Empty without batches.
    backlog: Vec<VecDeque<LockPacket>>,
    deaths: u8,
    strays: u8,
    violation: Option<LockViolation>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueAction {
    /// An origin requests its next lock.
    Request(u8),
    /// An origin takes its next step under the lock.
    Act(u8),
    /// An item on its way from an origin arrives.
    Arrive(u8, usize),
    /// The host takes everything that has arrived.
    Progress,
    /// An origin sends a packet that cannot be.
    Stray(u8, LockPacket),
    /// An origin dies.
    Die(u8),
    /// The host is told that an origin has died.
    Tell(u8),
}

/// The host under the rules `R`.
pub(super) struct QueueModel<R> {
    bounds: QueueBounds,
    programs: Vec<Vec<LockProgram>>,
    release_behind_data: bool,
    counts: Arc<Situations<LockCoverPoint>>,
    rules: PhantomData<R>,
}

impl<R: LockRules> QueueModel<R> {
    pub(super) fn new<E: EnvironmentRules>(bounds: QueueBounds) -> Self {
        Self {
            bounds,
            programs: programs(bounds.origins, bounds.locks),
            release_behind_data: E::release_behind_data(),
            counts: Arc::default(),
            rules: PhantomData,
        }
    }

    fn mode(&self, state: &QueueState<R>, rank: u8) -> Option<Mode> {
        let program = &self.programs[state.program as usize][usize::from(rank)];
        state.origins[usize::from(rank)].mode(program)
    }

    /// The host takes a packet.
    fn take(&self, state: &mut QueueState<R>, rank: u8, packet: LockPacket) {
        let before = state.host.clone();
        let (origin, mut grants) = (RankId(rank.into()), Vec::new());
        let own = state.arrivals.of(rank).copied();
        let (is_possible, taken) = match packet {
            LockPacket::Request(mode) => (own.is_none(), state.host.request(origin, mode, &mut grants)),
            LockPacket::Release => {
                (own.is_some_and(|own| own.is_granted), state.host.release(origin, &mut grants))
            }
        };
        if taken.is_err() {
            self.counts.note(LockCoverPoint::Refused);
            if is_possible || before != state.host || !grants.is_empty() {
                state.violation = Some(LockViolation::Misuse(rank));
            }
            return;
        }
        match packet {
            LockPacket::Request(_) if !is_possible => state.violation = Some(LockViolation::Misuse(rank)),
            LockPacket::Request(mode) => {
                state.arrivals.situation_of(mode).into_iter().for_each(|what| self.counts.note(what));
                state.arrivals.came(rank, mode);
            }
            LockPacket::Release if is_possible => state.arrivals.gone(rank),
            // That it was taken is not all: the grants show what it has done.
            LockPacket::Release => {}
        }
        self.grant(state, &grants);
    }

    fn grant(&self, state: &mut QueueState<R>, grants: &[Grant]) {
        if grants.len() > 1 {
            self.counts.note(LockCoverPoint::Batch);
        }
        for Grant { origin, .. } in grants {
            let rank = origin.0 as u8;
            state.violation = state.violation.or(state.arrivals.granted(rank));
            state.origins[usize::from(rank)].granted();
        }
        state.violation = state.violation.or(state.arrivals.delayed().map(LockViolation::Delayed));
        if state.arrivals.holders().count() > 1 {
            self.counts.note(LockCoverPoint::SideBySide);
        }
        if (0..self.bounds.origins).any(|rank| self.is_blocked(state, rank)) {
            self.counts.note(LockCoverPoint::Blocked);
        }
    }

    /// The host is told of a death.
    fn tell(&self, state: &mut QueueState<R>, rank: u8) {
        let expected = match state.arrivals.of(rank).copied() {
            None => Death::default(),
            Some(own) if own.is_granted => Death { held: Some(own.mode), waited: None },
            Some(own) => Death { held: None, waited: Some(own.mode) },
        };
        if expected.held.is_some() {
            self.counts.note(LockCoverPoint::HolderDied);
        }
        if expected.waited.is_some() {
            self.counts.note(LockCoverPoint::WaiterDied);
            state.arrivals.gone(rank);
        }
        state.origins[usize::from(rank)].told();
        state.backlog[usize::from(rank)].clear();
        let mut grants = Vec::new();
        if state.host.died(RankId(rank.into()), &mut grants) != Ok(expected) {
            state.violation = Some(LockViolation::Untold(rank));
        }
        if !grants.is_empty() {
            self.counts.note(LockCoverPoint::LetInByDeath);
        }
        self.grant(state, &grants);
    }

    fn is_blocked(&self, state: &QueueState<R>, rank: u8) -> bool {
        let is_dead = |rank: u8| state.origins[usize::from(rank)].is_told;
        state.arrivals.is_blocked(rank, Way::Queue, is_dead)
    }
}

impl<R: LockRules + RuleType> Model for QueueModel<R> {
    type State = QueueState<R>;
    type Action = QueueAction;

    fn init_states(&self) -> Vec<QueueState<R>> {
        let origins = usize::from(self.bounds.origins);
        let state = |program| QueueState {
            program,
            host: LockManager::new(self.bounds.origins.into()),
            arrivals: Arrivals::default(),
            data: LockedData::default(),
            origins: vec![RemoteOrigin::new(); origins],
            backlog: vec![VecDeque::new(); origins],
            deaths: self.bounds.deaths,
            strays: self.bounds.strays,
            violation: None,
        };
        (0..self.programs.len() as u32).map(state).collect()
    }

    fn actions(&self, state: &QueueState<R>, actions: &mut Vec<QueueAction>) {
        if self.counts.is_stopped() || state.violation.is_some() {
            return;
        }
        for (rank, origin) in (0..).zip(&state.origins) {
            let has_next = origin.is_ready() && self.mode(state, rank).is_some();
            actions.extend(has_next.then_some(QueueAction::Request(rank)));
            actions.extend(origin.can_act().then_some(QueueAction::Act(rank)));
            actions
                .extend(origin.arriving(!self.release_behind_data).map(|at| QueueAction::Arrive(rank, at)));
            let stray = origin.stray().filter(|_| state.strays > 0);
            actions.extend(stray.map(|packet| QueueAction::Stray(rank, packet)));
            actions.extend((origin.is_alive && state.deaths > 0).then_some(QueueAction::Die(rank)));
            actions.extend((!origin.is_alive && !origin.is_told).then_some(QueueAction::Tell(rank)));
        }
        let has_backlog = state.backlog.iter().any(|packets| !packets.is_empty());
        actions.extend(has_backlog.then_some(QueueAction::Progress));
    }

    fn next_state(&self, state: &QueueState<R>, action: QueueAction) -> Option<QueueState<R>> {
        let mut next = state.clone();
        match action {
            QueueAction::Request(rank) => {
                next.origins[usize::from(rank)].request(self.mode(state, rank)?);
            }
            QueueAction::Act(rank) => {
                let mode = self.mode(state, rank)?;
                if !next.origins[usize::from(rank)].act(mode, next.data) {
                    next.violation = Some(LockViolation::Torn(rank));
                }
            }
            QueueAction::Arrive(rank, at) => {
                match next.origins[usize::from(rank)].arrive(rank, at, &mut next.data) {
                    Ok(Some(packet)) if self.bounds.batches => {
                        next.backlog[usize::from(rank)].push_back(packet);
                    }
                    Ok(Some(packet)) => self.take(&mut next, rank, packet),
                    Ok(None) => {}
                    Err(violation) => next.violation = Some(violation),
                }
            }
            QueueAction::Progress => {
                let backlog = std::mem::replace(&mut next.backlog, vec![VecDeque::new(); next.origins.len()]);
                if backlog.iter().map(VecDeque::len).sum::<usize>() > 1 {
                    self.counts.note(LockCoverPoint::SeveralPackets);
                }
                for (rank, packets) in (0..).zip(backlog) {
                    packets.into_iter().for_each(|packet| self.take(&mut next, rank, packet));
                }
            }
            QueueAction::Stray(rank, packet) => {
                next.strays -= 1;
                next.origins[usize::from(rank)].send(packet);
            }
            QueueAction::Die(rank) => {
                next.deaths -= 1;
                next.origins[usize::from(rank)].is_alive = false;
            }
            QueueAction::Tell(rank) => self.tell(&mut next, rank),
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises()
    }
}

impl<R: LockRules + RuleType> Machine for QueueModel<R> {
    fn broken(&self, state: &QueueState<R>) -> Option<String> {
        state.violation.map(|violation| violation.to_string())
    }

    /// All programs are over, but those behind a dead holder, and the host knows of all deaths.
    fn is_done(&self, state: &QueueState<R>) -> bool {
        let is_done = |(rank, origin): (u8, &RemoteOrigin)| match origin.is_alive {
            true => self.mode(state, rank).is_none() || self.is_blocked(state, rank),
            false => origin.is_told,
        };
        let is_empty = state.origins.iter().all(|origin| origin.lane.is_empty())
            && state.backlog.iter().all(VecDeque::is_empty);
        is_empty && (0..).zip(&state.origins).all(is_done)
    }

    fn is_owed(&self, action: QueueAction) -> bool {
        !matches!(action, QueueAction::Stray(..) | QueueAction::Die(_))
    }

    fn line(&self, before: &QueueState<R>, action: QueueAction, after: &QueueState<R>) -> String {
        let granted = granted_in_words(&before.arrivals, &after.arrivals);
        match action {
            QueueAction::Request(rank) => {
                let mode = self.mode(before, rank).map_or(String::new(), |mode| mode.to_string());
                format!("rank {rank} sends its {mode} request")
            }
            QueueAction::Act(rank) => {
                let mode = self.mode(before, rank).unwrap_or(Mode::Shared);
                before.origins[usize::from(rank)].act_in_words(rank, mode)
            }
            QueueAction::Arrive(rank, at) => {
                let item = before.origins[usize::from(rank)].lane.get(at);
                let item = item.map_or(String::new(), |item| item.to_string());
                format!("rank {rank}'s {item} arrives{granted}")
            }
            QueueAction::Progress => format!("the host takes what has arrived{granted}"),
            QueueAction::Stray(rank, packet) => format!("rank {rank} sends a {packet} that cannot be"),
            QueueAction::Die(rank) => format!("rank {rank} dies"),
            QueueAction::Tell(rank) => format!("the host is told that rank {rank} has died{granted}"),
        }
    }

    fn met(&self) -> Vec<(&'static str, u64)> {
        self.counts.met()
    }

    fn stop(&self) -> &AtomicBool {
        &self.counts.stop
    }

    fn stuck(&self, state: &QueueState<R>) -> String {
        let waiting = state.host.waiting().map(|request| format!("{} ({})", request.origin, request.mode));
        let waiting: Vec<String> = waiting.collect();
        format!("never-stuck: nothing helps, and these wait: {}", waiting.join(", "))
    }
}

/// The grants of a step, in words.
pub(super) fn granted_in_words(before: &Arrivals, after: &Arrivals) -> String {
    let is_new = |origin: u8| !before.of(origin).is_some_and(|arrival| arrival.is_granted);
    let granted = after.holders().filter(|holder| is_new(holder.origin));
    let granted: Vec<String> = granted.map(|it| format!("rank {} ({})", it.origin, it.mode)).collect();
    if granted.is_empty() {
        String::new()
    } else {
        format!("; the lock is granted to {}", granted.join(", "))
    }
}
