//! What locks are compared to: a list of all requests in the order in which they came.

use super::reached::LockCoverPoint;
use super::violation::LockViolation;
use carrousel_lock::Mode;

/// A request, from when it comes until it is out of the way of all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Arrival {
    pub(super) origin: u8,
    pub(super) mode: Mode,
    /// The lock is granted.
    pub(super) is_granted: bool,
    /// The holder releases, or the host passes its turn on: it excludes nobody any more.
    pub(super) leaves: bool,
    /// It has let the shared requests behind it pass (tickets only).
    pub(super) admits: bool,
}

impl Arrival {
    fn excludes(&self, other: Mode) -> bool {
        !self.leaves && self.mode.excludes(other)
    }
}

/// How long a request is in the way of those behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// A holder keeps out those that it excludes.
    Queue,
    /// A ticket is in the way of exclusive ones until its release is counted, and of shared ones until it lets them pass.
    Tickets,
}

/// All requests that are not out of the way, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Arrivals(Vec<Arrival>);

impl Arrivals {
    pub(super) fn of(&self, origin: u8) -> Option<&Arrival> {
        self.0.iter().find(|arrival| arrival.origin == origin)
    }

    pub(super) fn holders(&self) -> impl Iterator<Item = &Arrival> {
        self.0.iter().filter(|arrival| arrival.is_granted && !arrival.leaves)
    }

    pub(super) fn has_waiting(&self, mode: Mode) -> bool {
        self.0.iter().any(|arrival| arrival.mode == mode && !arrival.is_granted && !arrival.leaves)
    }

    /// The situation that a request of this mode meets, if it is one.
    pub(super) fn situation_of(&self, mode: Mode) -> Option<LockCoverPoint> {
        if !self.holders().any(|holder| holder.mode == Mode::Shared) {
            return None;
        }
        match mode {
            Mode::Exclusive => Some(LockCoverPoint::BehindShared),
            Mode::Shared => self.has_waiting(Mode::Exclusive).then_some(LockCoverPoint::NotOvertaken),
        }
    }

    pub(super) fn came(&mut self, origin: u8, mode: Mode) {
        self.0.push(Arrival { origin, mode, is_granted: false, leaves: false, admits: false });
    }

    /// The lock is granted. Returns the promise that this breaks, if it breaks one.
    pub(super) fn granted(&mut self, origin: u8) -> Option<LockViolation> {
        let Some(at) = self.0.iter().position(|arrival| arrival.origin == origin) else {
            return Some(LockViolation::Unasked(origin));
        };
        let own = self.0[at];
        if own.is_granted {
            return Some(LockViolation::Unasked(origin));
        }
        self.0[at].is_granted = true;
        let told = |arrival: &Arrival| (arrival.origin, arrival.mode);
        if let Some(holder) = self.holders().find(|it| it.origin != origin && it.excludes(own.mode)) {
            return Some(LockViolation::Together(told(&own), told(holder)));
        }
        let waiting = self.0[..at].iter().find(|it| !it.is_granted && it.excludes(own.mode))?;
        Some(LockViolation::Overtakes(told(&own), told(waiting)))
    }

    /// A request that waits though nothing before it excludes it.
    pub(super) fn delayed(&self) -> Option<u8> {
        let is_free = |at: &usize| {
            let own = &self.0[*at];
            !own.is_granted && !self.0[..*at].iter().any(|before| before.excludes(own.mode))
        };
        (0..self.0.len()).find(is_free).map(|at| self.0[at].origin)
    }

    /// The holder begins to release, or the host to pass its turn on.
    pub(super) fn leaves(&mut self, origin: u8) {
        self.change(origin, |arrival| arrival.leaves = true);
    }

    /// Shared requests behind it may pass.
    pub(super) fn admits(&mut self, origin: u8) {
        self.change(origin, |arrival| arrival.admits = true);
    }

    /// The request is out of the way.
    pub(super) fn gone(&mut self, origin: u8) {
        self.0.retain(|arrival| arrival.origin != origin);
    }

    fn change(&mut self, origin: u8, change: impl FnMut(&mut Arrival)) {
        self.0.iter_mut().filter(|arrival| arrival.origin == origin).for_each(change);
    }

    /// Whether the request of an origin waits behind a dead process that nobody takes out of the way.
    pub(super) fn is_blocked(&self, origin: u8, way: Way, is_dead: impl Fn(u8) -> bool) -> bool {
        let mut stays: Vec<bool> = Vec::with_capacity(self.0.len());
        for (at, arrival) in self.0.iter().enumerate() {
            let is_in_way = |before: &Arrival| match (way, arrival.mode) {
                (Way::Queue, mode) => before.excludes(mode),
                (Way::Tickets, Mode::Exclusive) => true,
                (Way::Tickets, Mode::Shared) => !before.admits,
            };
            let is_blocked = !arrival.is_granted
                && self.0[..at].iter().zip(&stays).any(|(before, stays)| *stays && is_in_way(before));
            if arrival.origin == origin {
                return is_blocked;
            }
            stays.push(is_blocked || is_dead(arrival.origin));
        }
        false
    }
}
