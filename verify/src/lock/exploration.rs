//! The exploration of tickets: what is possible in a state, where it ends, and each step in words.

use super::arrivals::Arrivals;
use super::data::LockedData;
use super::node::{FIRST, NearOrigin, access_in_words};
use super::queue::granted_in_words;
use super::reached::LockCoverPoint;
use super::remote::{LockItem, RemoteOrigin};
use super::tickets::{TicketAction, TicketModel, TicketState};
use super::violation::LockViolation;
use crate::machine::{Machine, promises};
use crate::rules::RuleType;
use carrousel_lock::Inspection;
use carrousel_lock::{Access, HostTickets, Mode, TicketRules, TicketWords};
use carrousel_rank::RankId;
use stateright::{Model, Property};
use std::sync::atomic::AtomicBool;

impl<R: TicketRules + RuleType> Model for TicketModel<R> {
    type State = TicketState<R>;
    type Action = TicketAction;

    fn init_states(&self) -> Vec<TicketState<R>> {
        let ranks = self.ranks().into();
        let state = |near, far| TicketState {
            programs: [near, far],
            words: TicketWords::starting_at(FIRST, ranks),
            host: HostTickets::new(ranks),
            arrivals: Arrivals::default(),
            data: LockedData::default(),
            near: (0..self.bounds.near).map(NearOrigin::new).collect(),
            far: vec![RemoteOrigin::new(); self.bounds.far.into()],
            deaths: self.bounds.deaths,
            strays: self.bounds.strays,
            inspections: self.bounds.inspections,
            violation: None,
        };
        let [near, far] = [0, 1].map(|side: usize| self.programs[side].len() as u32);
        (0..near)
            .flat_map(|near| (0..far).map(move |far| (near, far)))
            .map(|(near, far)| state(near, far))
            .collect()
    }

    fn actions(&self, state: &TicketState<R>, actions: &mut Vec<TicketAction>) {
        if self.counts.is_stopped() || state.violation.is_some() {
            return;
        }
        for (rank, near) in (0..).zip(&state.near).filter(|(_, near)| near.is_alive) {
            actions.extend(self.can_step(state, rank).then_some(TicketAction::Step(rank)));
            let may_inspect = state.inspections > 0 && near.only_waits();
            actions.extend(may_inspect.then_some(TicketAction::Inspect(rank)));
            actions.extend((state.deaths > 0).then_some(TicketAction::Die(rank)));
        }
        // The driver's law: what is due is carried out before anything else comes in.
        let takes = state.host.next().is_none();
        for (rank, far) in (self.bounds.near..).zip(&state.far) {
            let has_next = far.is_ready() && self.mode(state, rank).is_some();
            actions.extend(has_next.then_some(TicketAction::Request(rank)));
            actions.extend(far.can_act().then_some(TicketAction::Act(rank)));
            // Data goes into the memory without the host.
            let is_taken = |at: &usize| takes || matches!(far.lane[*at], LockItem::Write(..));
            let arriving = far.arriving(!self.release_behind_data).filter(is_taken);
            actions.extend(arriving.map(|at| TicketAction::Arrive(rank, at)));
            actions.extend((takes && !far.is_alive && !far.is_told).then_some(TicketAction::Tell(rank)));
            let stray = far.stray().filter(|_| state.strays > 0);
            actions.extend(stray.map(|packet| TicketAction::Stray(rank, packet)));
            actions.extend((far.is_alive && state.deaths > 0).then_some(TicketAction::Die(rank)));
        }
        actions.extend(self.can_host_step(state).then_some(TicketAction::Host));
    }

    fn next_state(&self, state: &TicketState<R>, action: TicketAction) -> Option<TicketState<R>> {
        let mut next = state.clone();
        let far = |rank: u8| self.far(rank).unwrap_or_default();
        let result = match action {
            TicketAction::Step(rank) => self.step(&mut next, rank),
            TicketAction::Inspect(rank) => {
                let near = &mut next.near[usize::from(rank)];
                let ticket = near.lock.waiting_ticket()?;
                near.inspection = Some(Inspection::new(RankId(rank.into()), ticket, self.ranks().into()));
                next.inspections -= 1;
                Ok(())
            }
            TicketAction::Request(rank) => {
                next.far[far(rank)].request(self.mode(state, rank)?);
                Ok(())
            }
            TicketAction::Act(rank) => {
                let is_whole = next.far[far(rank)].act(self.mode(state, rank)?, next.data);
                if is_whole { Ok(()) } else { Err(LockViolation::Torn(rank)) }
            }
            TicketAction::Arrive(rank, at) => {
                let arrived = next.far[far(rank)].arrive(rank, at, &mut next.data);
                arrived.and_then(|packet| packet.map_or(Ok(()), |packet| self.take(&mut next, rank, packet)))
            }
            TicketAction::Host => self.host(&mut next),
            TicketAction::Stray(rank, packet) => {
                next.strays -= 1;
                next.far[far(rank)].send(packet);
                Ok(())
            }
            TicketAction::Die(rank) => {
                next.deaths -= 1;
                match self.far(rank) {
                    Some(at) => next.far[at].is_alive = false,
                    None => {
                        self.note_death(&next, rank);
                        next.near[usize::from(rank)].is_alive = false;
                        // What it was about to do does not matter any more.
                        next.near[usize::from(rank)].inspection = None;
                    }
                }
                Ok(())
            }
            TicketAction::Tell(rank) => self.tell(&mut next, rank),
        };
        next.violation = next.violation.or(result.err());
        if next.deaths < self.bounds.deaths && (0..self.ranks()).any(|rank| self.is_blocked(&next, rank)) {
            self.counts.note(LockCoverPoint::Blocked);
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises()
    }
}

impl<R: TicketRules + RuleType> Machine for TicketModel<R> {
    fn broken(&self, state: &TicketState<R>) -> Option<String> {
        let violation = state.violation.or_else(|| {
            // Only deaths block; where nothing else happens any more, each origin that waits finds out why.
            if state.deaths == self.bounds.deaths || !self.is_done(state) {
                return None;
            }
            let alive = (0..self.bounds.near).filter(|rank| state.near[usize::from(*rank)].is_alive);
            alive.into_iter().find(|rank| self.does_not_notice(state, *rank)).map(LockViolation::Unnoticed)
        });
        violation.map(|violation| violation.to_string())
    }

    /// All programs are over, but those behind a dead process, and the host knows of all deaths.
    fn is_done(&self, state: &TicketState<R>) -> bool {
        let near = |(rank, near): (u8, &NearOrigin<R>)| {
            let is_over = near.lock.is_idle() && self.mode(state, rank).is_none();
            !near.is_alive || is_over || near.only_waits() && self.is_blocked(state, rank)
        };
        let far = |(rank, far): (u8, &RemoteOrigin)| {
            let is_over = if far.is_alive { self.mode(state, rank).is_none() } else { far.is_told };
            far.lane.is_empty() && (is_over || far.is_alive && self.is_blocked(state, rank))
        };
        state.host.next().is_none()
            && (0..).zip(&state.near).all(near)
            && (self.bounds.near..).zip(&state.far).all(far)
    }

    fn is_owed(&self, action: TicketAction) -> bool {
        !matches!(action, TicketAction::Inspect(_) | TicketAction::Stray(..) | TicketAction::Die(_))
    }

    fn line(&self, before: &TicketState<R>, action: TicketAction, after: &TicketState<R>) -> String {
        let granted = granted_in_words(&before.arrivals, &after.arrivals);
        let far = |rank: u8| &before.far[self.far(rank).unwrap_or_default()];
        let answer = |access: Access| before.words.clone().carry_out(access).unwrap_or_default();
        match action {
            TicketAction::Step(rank) => {
                let mut near = before.near[usize::from(rank)].clone();
                if let Some(inspection) = &near.inspection {
                    return match inspection.access() {
                        (_, Some(of)) => format!("rank {rank} inspects the word of {of}"),
                        (access, None) => {
                            format!("rank {rank}, inspecting, {}", access_in_words(access, answer(access)))
                        }
                    };
                }
                if near.has_data_step() {
                    return format!("rank {rank} {}", near.data_in_words());
                }
                let _ = near.prepare(self.mode(before, rank));
                let what = near.due.map(|access| access_in_words(access, answer(access)));
                format!("rank {rank} {}{granted}", what.unwrap_or_default())
            }
            TicketAction::Inspect(rank) => format!("rank {rank} begins to inspect who blocks it"),
            TicketAction::Request(rank) => {
                let mode = self.mode(before, rank).map_or(String::new(), |mode| mode.to_string());
                format!("rank {rank} sends its {mode} request")
            }
            TicketAction::Act(rank) => {
                far(rank).act_in_words(rank, self.mode(before, rank).unwrap_or(Mode::Shared))
            }
            TicketAction::Arrive(rank, at) => {
                let item = far(rank).lane.get(at).map_or(String::new(), |item| item.to_string());
                format!("rank {rank}'s {item} arrives")
            }
            TicketAction::Host => {
                let mut host = before.host.clone();
                if host.next().is_none() {
                    host.poll();
                }
                let Some((origin, access)) = host.next() else { return "the host looks".to_owned() };
                format!("the host, for {origin}, {}{granted}", access_in_words(access, answer(access)))
            }
            TicketAction::Stray(rank, packet) => format!("rank {rank} sends a {packet} that cannot be"),
            TicketAction::Die(rank) => format!("rank {rank} dies"),
            TicketAction::Tell(rank) => format!("the host is told that rank {rank} has died"),
        }
    }

    fn met(&self) -> Vec<(&'static str, u64)> {
        self.counts.met()
    }

    fn stop(&self) -> &AtomicBool {
        &self.counts.stop
    }

    fn stuck(&self, state: &TicketState<R>) -> String {
        let waits = |rank: &u8| match self.far(*rank) {
            Some(at) => state.far[at].is_under_way(),
            None => state.near[usize::from(*rank)].only_waits(),
        };
        let waiting: Vec<String> =
            (0..self.ranks()).filter(waits).map(|rank| format!("rank {rank}")).collect();
        format!("never-stuck: nothing helps, and these wait: {}", waiting.join(", "))
    }
}
