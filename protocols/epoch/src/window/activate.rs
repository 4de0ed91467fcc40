//! Activation: deferred epochs become active in opening order, and what was recorded is replayed.

use super::lists::List;
use super::state::Window;
use crate::calls::{Failure, GrantWord, Order, Output, Packet};
use crate::epoch::{Epoch, Incomplete, Origin, Target};
use crate::kinds::{EpochKind, Relation, may_overlap};
use crate::peers::Link;
use crate::rules::EpochRules;
use alloc::vec::Vec;
use carrousel_lock::Mode;
use carrousel_wire::RankId;

impl<R: EpochRules> Window<R> {
    /// Activates the deferred epochs that may be, from the oldest on, up to the first that may not.
    pub(super) fn activate_deferred(&mut self, out: &mut impl Extend<Output>) {
        while let Some(at) = self.next_to_activate() {
            if let Some(slot) = self.deferred.remove(at) {
                self.activate(slot, out);
            }
        }
    }

    fn next_to_activate(&self) -> Option<usize> {
        // nonblocking-rma-epochs VI-A 4: epochs are not skipped.
        let scanned = if R::stops_at_first() { 1 } else { self.deferred.len() };
        let may = |slot: &u32| self.epochs.get(*slot).is_some_and(|epoch| self.may_activate(epoch));
        self.deferred.iter().take(scanned).position(may)
    }

    /// Whether an epoch may be active beside all that are.
    fn may_activate(&self, candidate: &Epoch) -> bool {
        if R::exposure_waits_for_lock() && candidate.kind == EpochKind::Exposure && self.is_locked() {
            return false;
        }
        EpochKind::ALL.into_iter().all(|kind| {
            let list = &self.active[kind as usize];
            let relation = Relation {
                is_nested: false,
                is_inert: false,
                has_common_target: !list.is_empty() && self.has_common_target(kind, candidate),
            };
            let allows = |relation| may_overlap::<R>(kind, candidate.kind, self.setup.flags, relation);
            // With the flag, what is active need not be looked at one by one; nor if all of it is still open.
            if list.is_empty() || allows(relation) {
                return true;
            }
            if self.closing[kind as usize] == 0 && kind != EpochKind::Fence {
                return allows(Relation { is_nested: true, ..relation });
            }
            // At most one epoch of a kind is open at a time, locks excepted: so this ends at the first or second.
            list.iter().filter_map(|slot| self.epochs.get(*slot)).all(|active| {
                if !R::checks_all_active() && active.number + 1 != candidate.number {
                    return true;
                }
                allows(Relation {
                    is_nested: active.was_open_at(candidate.number),
                    is_inert: !active.has_operations,
                    ..relation
                })
            })
        })
    }

    /// Whether a lock on this rank's memory is held by a rank that lives.
    fn is_locked(&self) -> bool {
        // A dead holder never releases: the program was told, and what it exposes now is its decision.
        !self.lock.is_free()
            && (self.dead.is_empty() || self.lock.holders().any(|grant| !self.dead.contains(&grant.origin)))
    }

    fn has_common_target(&self, kind: EpochKind, candidate: &Epoch) -> bool {
        let is_taken = |rank: RankId| {
            self.peers.get(rank.0 as usize).is_some_and(|peer| match kind {
                EpochKind::Access => peer.accesses > 0,
                EpochKind::Lock => peer.locked > 0,
                EpochKind::Exposure | EpochKind::Fence | EpochKind::LockAll => false,
            })
        };
        match (kind, candidate.kind) {
            // Two access epochs may have targets in common: these are not looked for.
            (EpochKind::Access, EpochKind::Lock) | (EpochKind::Lock, EpochKind::Access | EpochKind::Lock) => {
                let len = candidate.group.len(self.ranks());
                (0..len).any(|at| is_taken(candidate.group.member(at)))
            }
            _ => false,
        }
    }

    fn activate(&mut self, slot: u32, out: &mut impl Extend<Output>) {
        let Some(epoch) = self.epochs.get_mut(slot) else { return };
        let (kind, is_closed) = (epoch.kind, epoch.closed.is_some());
        epoch.is_active = true;
        let list = &mut self.active[kind as usize];
        epoch.place = list.len() as u32;
        list.push(slot);
        self.closing[kind as usize] += u32::from(is_closed);
        if kind.exposes() && R::exposures_count_at_activation() {
            self.expose(slot, out);
        }
        if kind.accesses() {
            self.access(slot, out);
        }
        let recorded = self.epochs.get_mut(slot).map(|epoch| core::mem::take(&mut epoch.recorded));
        for operation in recorded.unwrap_or_default() {
            self.dispatch(operation, out);
        }
        if is_closed {
            self.finish_targets(slot, out);
            self.end_if_complete(slot, out);
        }
    }

    /// Requests access to every target.
    fn access(&mut self, slot: u32, out: &mut impl Extend<Output>) {
        let Some((kind, mode, members)) = self.members(slot) else { return };
        let word = Self::word(kind);
        let mut targets = Vec::with_capacity(members.len());
        let mut failure = None;
        for rank in members {
            let Some(peer) = self.peers.get_mut(rank.0 as usize) else { continue };
            match kind {
                EpochKind::Access => peer.accesses += 1,
                EpochKind::Lock => peer.locked += 1,
                EpochKind::Fence | EpochKind::LockAll | EpochKind::Exposure => {}
            }
            let triple = peer.triple_mut(word);
            let access = triple.request();
            let is_granted = access <= triple.granted || !R::waits_for_grant();
            let is_dead = self.dead.contains(&rank);
            if is_dead {
                failure = Some(Failure::PeerDied(rank));
            }
            targets.push(Target {
                rank,
                access,
                is_granted: is_granted || is_dead,
                is_finished: is_dead,
                is_used: false,
                reads: 0,
                staged: 0,
                incomplete: Incomplete::default(),
                queued: Vec::new(),
                next: Link::NONE,
            });
        }
        let waiting: Vec<(u32, RankId, u64)> = (0..)
            .zip(&targets)
            .filter(|(_, target)| !target.is_finished)
            .map(|(at, target)| (at, target.rank, target.access))
            .collect();
        let Some(epoch) = self.epochs.get_mut(slot) else { return };
        epoch.failure = epoch.failure.or(failure);
        epoch.targets_left = waiting.len() as u32;
        epoch.targets = targets;
        for (at, rank, access) in waiting {
            let link = Link { slot, at };
            if self.target_mut(link).is_some_and(|target| !target.is_granted) {
                self.link(List::Awaiting(word), rank, link);
            }
            if kind.locks() {
                let packet = Packet::LockRequest { mode, access };
                out.extend([Output::Post { to: rank, packet, order: Order::Lane }]);
            }
        }
    }

    /// Grants access to every origin.
    pub(super) fn expose(&mut self, slot: u32, out: &mut impl Extend<Output>) {
        let Some((_, _, members)) = self.members(slot) else { return };
        let mut origins = Vec::with_capacity(members.len());
        let mut failure = None;
        for rank in members {
            let Some(peer) = self.peers.get_mut(rank.0 as usize) else { continue };
            let exposure = peer.triple_mut(GrantWord::Exposures).give();
            let is_dead = self.dead.contains(&rank);
            if is_dead {
                failure = Some(Failure::PeerDied(rank));
            }
            origins.push(Origin { rank, exposure, is_done: is_dead, next: Link::NONE });
        }
        let waiting: Vec<(u32, RankId, u64)> = (0..)
            .zip(&origins)
            .filter(|(_, origin)| !origin.is_done)
            .map(|(at, origin)| (at, origin.rank, origin.exposure))
            .collect();
        let Some(epoch) = self.epochs.get_mut(slot) else { return };
        epoch.failure = epoch.failure.or(failure);
        epoch.origins_left = waiting.len() as u32;
        epoch.origins = origins;
        for (at, to, value) in waiting {
            self.link(List::Exposed, to, Link { slot, at });
            out.extend([Output::Store { to, word: GrantWord::Exposures, value }]);
        }
    }

    fn members(&self, slot: u32) -> Option<(EpochKind, Mode, Vec<RankId>)> {
        let epoch = self.epochs.get(slot)?;
        let members = (0..epoch.group.len(self.ranks())).map(|at| epoch.group.member(at)).collect();
        Some((epoch.kind, epoch.mode, members))
    }
}
