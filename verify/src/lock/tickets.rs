//! Tickets in shared words: origins of the host's node, origins of other nodes, and the host that acts for these.

use super::arrivals::{Arrival, Arrivals, Way};
use super::bounds::{LockProgram, TicketBounds, programs};
use super::data::LockedData;
use super::node::{NearOrigin, Spoilt};
use super::reached::LockCoverPoint;
use super::remote::{LockPacket, RemoteOrigin};
use super::violation::LockViolation;
use crate::rules::EnvironmentRules;
use crate::situations::Situations;
use carrousel_lock::{
    Access, Death, HostTickets, Inspected, Inspection, Mode, Progress, TicketRules, TicketWords, Word,
};
use carrousel_rank::RankId;
use std::marker::PhantomData;
use std::sync::Arc;

/// The words, the memory, the host, and the origins: first those of its node, then the others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TicketState<R> {
    /// Which programs: of the near origins, and of the far ones.
    pub(super) programs: [u32; 2],
    pub(super) words: TicketWords,
    pub(super) host: HostTickets<R>,
    pub(super) arrivals: Arrivals,
    pub(super) data: LockedData,
    pub(super) near: Vec<NearOrigin<R>>,
    pub(super) far: Vec<RemoteOrigin>,
    pub(super) deaths: u8,
    pub(super) strays: u8,
    pub(super) inspections: u8,
    pub(super) violation: Option<LockViolation>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TicketAction {
    /// A near origin carries out its next access.
    Step(u8),
    /// A near origin that waits begins to inspect whether a dead process blocks it.
    Inspect(u8),
    /// A far origin requests its next lock.
    Request(u8),
    /// A far origin takes its next step under the lock.
    Act(u8),
    /// An item on its way from a far origin arrives.
    Arrive(u8, usize),
    /// The host carries out its next access; if none is due, it looks again.
    Host,
    /// A far origin sends a packet that cannot be.
    Stray(u8, LockPacket),
    /// An origin dies.
    Die(u8),
    /// The host is told that a far origin has died.
    Tell(u8),
}

/// A node and the origins around it, under the rules `R`.
pub(super) struct TicketModel<R> {
    pub(super) bounds: TicketBounds,
    pub(super) programs: [Vec<Vec<LockProgram>>; 2],
    pub(super) release_behind_data: bool,
    pub(super) counts: Arc<Situations<LockCoverPoint>>,
    rules: PhantomData<R>,
}

impl<R: TicketRules> TicketModel<R> {
    pub(super) fn new<E: EnvironmentRules>(bounds: TicketBounds) -> Self {
        Self {
            bounds,
            programs: [bounds.near, bounds.far].map(|origins| programs(origins, bounds.locks)),
            release_behind_data: E::release_behind_data(),
            counts: Arc::default(),
            rules: PhantomData,
        }
    }

    /// Where a rank is among the far origins; nothing if it is near.
    pub(super) fn far(&self, rank: u8) -> Option<usize> {
        rank.checked_sub(self.bounds.near).map(usize::from)
    }

    /// How a rank requests its next lock, or has requested the present one.
    pub(super) fn mode(&self, state: &TicketState<R>, rank: u8) -> Option<Mode> {
        let program = |side: usize, at: usize| &self.programs[side][state.programs[side] as usize][at];
        match self.far(rank) {
            Some(at) => state.far[at].mode(program(1, at)),
            None => {
                let at = usize::from(rank);
                program(0, at).get(usize::from(state.near[at].done)).copied()
            }
        }
    }

    /// Carries out an access for the ticket of a rank.
    pub(super) fn carry_out(&self, state: &mut TicketState<R>, rank: u8, access: Access) -> u64 {
        let value = state.words.carry_out(access).unwrap_or_default();
        match access {
            Access::Increment(Word::Next) => {
                if let Some(mode) = self.mode(state, rank) {
                    state.arrivals.situation_of(mode).into_iter().for_each(|what| self.counts.note(what));
                    state.arrivals.came(rank, mode);
                }
                if value == 0 {
                    self.counts.note(LockCoverPoint::Wrapped);
                }
            }
            Access::Increment(Word::ReadServing) => state.arrivals.admits(rank),
            Access::Increment(Word::WriteServing) | Access::Store(Word::WriteServing, _) => {
                if state.arrivals.of(rank).is_some_and(|arrival| !arrival.is_granted) {
                    self.counts.note(LockCoverPoint::PassedOn);
                }
                state.arrivals.gone(rank);
            }
            Access::Load(_) | Access::Store(..) | Access::Increment(Word::Owner(_)) => {}
        }
        value
    }

    fn granted(&self, state: &mut TicketState<R>, rank: u8) {
        state.violation = state.violation.or(state.arrivals.granted(rank));
        let is_far = |rank: u8| self.far(rank).is_some();
        if state.arrivals.holders().any(|holder| holder.origin != rank) {
            self.counts.note(LockCoverPoint::SideBySide);
        }
        if state.arrivals.holders().any(|holder| is_far(holder.origin) != is_far(rank)) {
            self.counts.note(LockCoverPoint::NearAndFar);
        }
    }

    pub(super) fn step(&self, state: &mut TicketState<R>, rank: u8) -> Result<(), LockViolation> {
        let (at, mode) = (usize::from(rank), self.mode(state, rank));
        if state.near[at].inspection.is_some() {
            return self.inspect(state, rank);
        }
        if state.near[at].has_data_step() {
            return state.near[at].step_data(&mut state.data).map_err(|spoilt| match spoilt {
                Spoilt::Torn => LockViolation::Torn(rank),
                Spoilt::Lost => LockViolation::Lost(rank),
            });
        }
        // No call is refused to an origin that makes it when it may.
        let corrupt = |_| LockViolation::Corrupt(rank);
        if state.near[at].prepare(mode).map_err(corrupt)? {
            state.arrivals.leaves(rank);
        }
        let Some(access) = state.near[at].due.take() else { return Ok(()) };
        let value = self.carry_out(state, rank, access);
        match state.near[at].lock.answer(value).map_err(corrupt)? {
            Progress::Access(next) => state.near[at].due = Some(next),
            Progress::Granted => self.granted(state, rank),
            Progress::Waits | Progress::Released | Progress::Lost => {}
        }
        Ok(())
    }

    /// The next access of an inspection.
    fn inspect(&self, state: &mut TicketState<R>, rank: u8) -> Result<(), LockViolation> {
        let at = usize::from(rank);
        let Some(mut inspection) = state.near[at].inspection.take() else { return Ok(()) };
        let untrue = LockViolation::Untrue(rank);
        match self.inspected(state, &mut inspection).map_err(|()| untrue)? {
            Inspected::Next => state.near[at].inspection = Some(inspection),
            Inspected::Lives => {
                if state.near.iter().any(|origin| !origin.is_alive) {
                    self.counts.note(LockCoverPoint::FoundAlive);
                }
            }
            Inspected::Blocked(dead) => {
                self.counts.note(LockCoverPoint::FoundDead);
                if !self.is_dead(state, dead.origin.0 as u8) || !self.is_blocked(state, rank) {
                    return Err(untrue);
                }
            }
        }
        Ok(())
    }

    fn inspected(&self, state: &TicketState<R>, inspection: &mut Inspection<R>) -> Result<Inspected, ()> {
        let (access, rank) = inspection.access();
        // The ticket of a far origin is its host's, which is alive.
        let is_alive = rank.and_then(|rank| state.near.get(rank.0 as usize)).is_none_or(|near| near.is_alive);
        let value = state.words.clone().carry_out(access).unwrap_or_default();
        inspection.answer(value, is_alive).map_err(|_| ())
    }

    /// Whether an origin that is blocked does not find it, when nothing else happens.
    pub(super) fn does_not_notice(&self, state: &TicketState<R>, rank: u8) -> bool {
        let Some(ticket) = state.near[usize::from(rank)].lock.waiting_ticket() else { return false };
        let mut inspection = Inspection::<R>::new(RankId(rank.into()), ticket, self.ranks().into());
        loop {
            match self.inspected(state, &mut inspection) {
                Ok(Inspected::Next) => {}
                Ok(Inspected::Blocked(dead)) => return !self.is_dead(state, dead.origin.0 as u8),
                Ok(Inspected::Lives) | Err(()) => return true,
            }
        }
    }

    /// The host carries out the access that is due, or looks again.
    pub(super) fn host(&self, state: &mut TicketState<R>) -> Result<(), LockViolation> {
        if state.host.next().is_none() {
            state.host.poll();
        }
        let Some((origin, access)) = state.host.next() else { return Ok(()) };
        let value = self.carry_out(state, origin.0 as u8, access);
        let mut grants = Vec::new();
        state.host.answer(value, &mut grants).map_err(|_| LockViolation::Corrupt(origin.0 as u8))?;
        for grant in grants {
            let rank = grant.origin.0 as u8;
            self.granted(state, rank);
            if let Some(at) = self.far(rank) {
                state.far[at].granted();
            }
        }
        Ok(())
    }

    /// The host takes a packet. Nothing else is due.
    pub(super) fn take(
        &self,
        state: &mut TicketState<R>,
        rank: u8,
        packet: LockPacket,
    ) -> Result<(), LockViolation> {
        let (before, origin) = (state.host.clone(), RankId(rank.into()));
        let own = state.arrivals.of(rank);
        let (is_possible, taken) = match packet {
            LockPacket::Request(mode) => (own.is_none(), state.host.request(origin, mode)),
            LockPacket::Release => (own.is_some_and(|own| own.is_granted), state.host.release(origin)),
        };
        if !is_possible {
            self.counts.note(LockCoverPoint::Refused);
        } else if packet == LockPacket::Release {
            state.arrivals.leaves(rank);
        }
        let is_right = taken.is_ok() == is_possible && (is_possible || before == state.host);
        if is_right { Ok(()) } else { Err(LockViolation::Misuse(rank)) }
    }

    /// The host is told of a death.
    pub(super) fn tell(&self, state: &mut TicketState<R>, rank: u8) -> Result<(), LockViolation> {
        let expected = match state.arrivals.of(rank).copied() {
            Some(own) if own.leaves => Death::default(),
            Some(own) if own.is_granted => Death { held: Some(own.mode), waited: None },
            Some(own) => Death { held: None, waited: Some(own.mode) },
            None => Death::default(),
        };
        self.note_death(state, rank);
        if expected.waited.is_some() {
            state.arrivals.leaves(rank);
        }
        if let Some(at) = self.far(rank) {
            state.far[at].told();
        }
        let death = state.host.died(RankId(rank.into()));
        if death == Ok(expected) { Ok(()) } else { Err(LockViolation::Untold(rank)) }
    }

    pub(super) fn note_death(&self, state: &TicketState<R>, rank: u8) {
        match state.arrivals.of(rank) {
            Some(own) if own.is_granted => self.counts.note(LockCoverPoint::HolderDied),
            Some(_) => self.counts.note(LockCoverPoint::WaiterDied),
            None => {}
        }
    }

    pub(super) fn ranks(&self) -> u8 {
        self.bounds.near + self.bounds.far
    }

    /// Whether the ticket of a rank is never taken out of the way any more.
    pub(super) fn is_dead(&self, state: &TicketState<R>, rank: u8) -> bool {
        match self.far(rank) {
            None => !state.near[usize::from(rank)].is_alive,
            Some(at) => {
                let holds = |own: &Arrival| own.is_granted && !own.leaves;
                state.far[at].is_told && state.arrivals.of(rank).is_some_and(holds)
            }
        }
    }

    pub(super) fn is_blocked(&self, state: &TicketState<R>, rank: u8) -> bool {
        state.arrivals.is_blocked(rank, Way::Tickets, |rank| self.is_dead(state, rank))
    }

    /// Whether a near origin has a next step. A look that finds nothing new does not count as one.
    pub(super) fn can_step(&self, state: &TicketState<R>, rank: u8) -> bool {
        let near = &state.near[usize::from(rank)];
        let has_next = !near.lock.is_idle() || self.mode(state, rank).is_some();
        near.is_alive && has_next && !near.looks_in_vain(&state.words)
    }

    /// Whether the host has a next step, in the same sense.
    pub(super) fn can_host_step(&self, state: &TicketState<R>) -> bool {
        let mut host = state.host.clone();
        if host.next().is_some() {
            return true;
        }
        host.poll();
        let Some((_, access)) = host.next() else { return false };
        let answer = state.words.clone().carry_out(access).unwrap_or_default();
        let looked = host.answer(answer, &mut Vec::new());
        looked.is_err() || host != state.host
    }
}
