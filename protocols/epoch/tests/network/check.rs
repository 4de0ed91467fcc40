//! The properties that every execution keeps.

use super::program::Program;
use super::rank::{EpochInfo, Rank, Stands};
use super::{OpName, State};
use carrousel_epoch::*;

fn unless(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

impl<R: EpochRules> State<R> {
    /// S2: no transfer whose access is not granted.
    pub(super) fn check_issue(&self, me: usize, epoch: u64, transfer: Transfer) -> Result<(), String> {
        let rank = &self.ranks[me];
        let access = rank.access_of(epoch, transfer.target);
        let is_granted = access.is_some_and(|(word, access)| {
            rank.window.counts(transfer.target, word).is_some_and(|counts| access <= counts.granted)
        });
        unless(is_granted, || {
            format!("granted-first: rank {me} accesses {} by access {access:?}", transfer.target)
        })
    }

    /// S3: a transfer acts while the exposure of its id is active, and of its kind, or while its lock is held.
    pub(super) fn act(&mut self, name: OpName) -> Result<(), String> {
        let op = self.op(name);
        let host = &self.ranks[op.target].window;
        let kind = self.ranks[name.origin].epochs[op.epoch as usize].kind;
        let origin = super::id(name.origin);
        let is_allowed = if kind.locks() {
            host.lock().holders().any(|holder| holder.origin == origin)
        } else {
            let is_it = |of: OriginView| {
                of.rank == origin && Some(of.exposure) == op.access.map(|(_, id)| id) && !of.is_done
            };
            let matching = if kind == EpochKind::Fence { EpochKind::Fence } else { EpochKind::Exposure };
            host.epochs()
                .any(|epoch| epoch.is_active() && epoch.name().kind == matching && epoch.origins().any(is_it))
        };
        unless(is_allowed, || {
            format!("exposed: {op:?} of rank {} acts on memory that is not exposed to it", name.origin)
        })?;
        self.ranks[name.origin].ops[name.at].has_acted = true;
        Ok(())
    }

    /// S4: one Done or LockRelease for each target of an epoch, after its close.
    pub(super) fn check_post(&mut self, me: usize, to: usize, packet: Packet) -> Result<(), String> {
        let Some((word, access)) = word_of::<R>(packet) else { return Ok(()) };
        let is_first = self.finished.insert((me, to, word, access));
        unless(is_first, || format!("one-done: rank {me} posts {packet:?} to rank {to} twice"))?;
        let is_its =
            |info: &&EpochInfo| Rank::<R>::word(info.kind) == word && info.targets.get(&to) == Some(&access);
        let epoch = self.ranks[me].epochs.iter().find(is_its);
        let is_closed = epoch.is_none_or(|info| !info.is_open);
        unless(is_closed, || {
            format!("one-done: rank {me} posts {packet:?} to rank {to} before it closes the epoch")
        })
    }

    /// S4: when it arrives, every transfer of the epoch to this target has acted.
    pub(super) fn check_finished(&self, from: usize, to: usize, packet: Packet) -> Result<(), String> {
        let Some(access) = word_of::<R>(packet) else { return Ok(()) };
        let is_late = |op: &super::rank::Op| op.target == to && op.access == Some(access) && !op.has_acted;
        let late = self.ranks[from].ops.iter().find(|op| is_late(op));
        unless(late.is_none(), || format!("done-is-last: {packet:?} of rank {from} overtakes {late:?}"))
    }

    /// S5, S9, S10, S11: a request is complete once, and not too early.
    pub(super) fn check_complete(
        &mut self,
        me: usize,
        request: RequestId,
        result: Result<(), Failure>,
    ) -> Result<(), String> {
        unless(result.is_ok(), || format!("success: {request} of rank {me} fails"))?;
        let stands = self.ranks[me].requests.remove(&request);
        let Some(stands) = stands else {
            return Err(format!("once: {request} of rank {me} is not open"));
        };
        let rank = &self.ranks[me];
        match stands {
            Stands::Close(number) => {
                let info = &rank.epochs[number as usize];
                if info.kind == EpochKind::Fence {
                    let late = self.ranks.iter().position(|other| other.fences < info.fences);
                    unless(late.is_none(), || {
                        format!("fence-is-barrier: rank {me} leaves before rank {late:?} calls")
                    })?;
                }
                for (origin, exposure) in &info.origins {
                    let is_its = |op: &&super::rank::Op| {
                        let same = op.access == Some((GrantWord::Exposures, *exposure));
                        op.target == me && same && !self.ranks[*origin].epochs[op.epoch as usize].kind.locks()
                    };
                    let late = self.ranks[*origin].ops.iter().filter(is_its).find(|op| !op.has_acted);
                    unless(late.is_none(), || {
                        format!("data-is-there: exposure {exposure} ends before {late:?}")
                    })?;
                }
                let of_epoch = rank.ops.iter().filter(|op| op.epoch == number);
                let incomplete = of_epoch.filter(|op| !op.is_complete).count();
                unless(incomplete == 0, || {
                    format!("close-completes: rank {me}: {incomplete} operations are left")
                })
            }
            Stands::Flush(ops, is_local) => {
                let is_done =
                    |at: &usize| if is_local { rank.ops[*at].is_local } else { rank.ops[*at].is_complete };
                unless(ops.iter().all(is_done), || format!("flush: rank {me} is told too early"))
            }
            Stands::Operation(at) => {
                unless(rank.ops[at].is_local, || format!("own-request: rank {me} is told too early"))
            }
        }
    }

    /// What holds in every state.
    pub(super) fn check(&self, program: &Program) -> Result<(), String> {
        for (me, rank) in self.ranks.iter().enumerate() {
            self.check_counts(me)?;
            check_table(me, rank, program.flags)?;
            check_flushes(me, rank)?;
            let lock = rank.window.lock();
            let holders: Vec<_> = lock.holders().collect();
            let is_exclusive = holders.iter().any(|holder| holder.mode == Mode::Exclusive);
            unless(!is_exclusive || holders.len() == 1, || format!("exclusion: at rank {me}: {holders:?}"))?;
            let is_exposed =
                rank.window.epochs().any(|view| view.is_active() && view.name().kind == EpochKind::Exposure);
            unless(!is_exposed || holders.is_empty(), || {
                format!("locked-or-exposed: rank {me} is both: {holders:?}")
            })?;
            // The holder has left a fence epoch whose data may be on its way.
            let has_left = |origin: OriginView| {
                origin.is_done && holders.iter().any(|holder| holder.origin == origin.rank)
            };
            let fences =
                rank.window.epochs().filter(|view| view.is_active() && view.name().kind == EpochKind::Fence);
            let is_left = fences.flat_map(|view| view.origins()).any(has_left);
            unless(!is_left, || {
                format!("locked-or-exposed: rank {me} is locked in a fence epoch: {holders:?}")
            })?;
            // S15: with blocking closes, nothing is deferred while the program runs.
            let runs = rank.is_free() && program.is_blocking();
            let deferred = rank.window.deferred();
            // An exposure may wait for the release of a lock that was given back before.
            let waits_for_lock = !lock.is_free();
            unless(!runs || deferred == 0 || waits_for_lock, || {
                format!("blocking-is-immediate: rank {me}: {deferred} deferred")
            })?;
        }
        Ok(())
    }

    /// S1: g is a late copy of the peer's e.
    fn check_counts(&self, me: usize) -> Result<(), String> {
        for (other, peer) in self.ranks.iter().enumerate() {
            for word in [GrantWord::Exposures, GrantWord::Locks] {
                let granted =
                    self.ranks[me].window.counts(super::id(other), word).map_or(0, |counts| counts.granted);
                let given = peer.window.counts(super::id(me), word).map_or(0, |counts| counts.given);
                unless(granted <= given, || {
                    format!("late-copy: rank {me} has {granted} of {given} grants of rank {other}")
                })?;
            }
        }
        Ok(())
    }

    /// At the end nothing is left: what was requested was given, and is known.
    pub(super) fn check_quiet(&self, _: &Program) -> Result<(), String> {
        for (me, rank) in self.ranks.iter().enumerate() {
            for (other, peer) in self.ranks.iter().enumerate() {
                for word in [GrantWord::Exposures, GrantWord::Locks] {
                    let counts = rank.window.counts(super::id(other), word).unwrap_or_default();
                    let given = peer.window.counts(super::id(me), word).map_or(0, |counts| counts.given);
                    let is_quiet = counts.requested == given && counts.granted == given;
                    unless(is_quiet, || {
                        format!("quiet: rank {me} and rank {other}: {counts:?}, and {given} given")
                    })?;
                }
            }
            let left = rank.window.epochs().filter(|view| view.is_closed()).count();
            unless(left == 0, || format!("quiet: rank {me} has {left} closed epochs"))?;
            unless(rank.requests.is_empty(), || format!("quiet: rank {me} has requests"))?;
        }
        Ok(())
    }

    pub(super) fn stuck(&self, program: &Program) -> String {
        let ranks = self
            .ranks
            .iter()
            .enumerate()
            .filter(|(me, rank)| rank.at < program.ranks[*me].len() || rank.waits_for.is_some());
        ranks.map(|(me, rank)| format!("rank {me} at step {}", rank.at)).collect::<Vec<_>>().join(", ")
    }
}

/// The access that a packet ends.
fn word_of<R: EpochRules>(packet: Packet) -> Option<(GrantWord, u64)> {
    match packet {
        Packet::Done { access } => Some((GrantWord::Exposures, access)),
        Packet::LockRelease { access } => Some((Rank::<R>::word(EpochKind::Lock), access)),
        Packet::LockRequest { .. } | Packet::StagingRequest | Packet::StagingGrant => None,
    }
}

/// S6, S7: epochs are active in opening order, and beside those only that the table allows.
fn check_table<R: EpochRules>(me: usize, rank: &Rank<R>, flags: Flags) -> Result<(), String> {
    let active: Vec<_> = rank.window.epochs().filter(EpochView::is_active).collect();
    let newest = active.iter().map(|view| view.name().number).max();
    let deferred = rank.window.epochs().filter(|view| !view.is_active()).map(|view| view.name().number).min();
    let in_order = newest.zip(deferred).is_none_or(|(active, deferred)| active < deferred);
    unless(in_order, || format!("opening-order: rank {me} skips epoch {deferred:?}"))?;
    for earlier in &active {
        for later in &active {
            let (early, late) = (earlier.name(), later.name());
            if early.number >= late.number {
                continue;
            }
            let (one, other) =
                (&rank.epochs.get(early.number as usize), &rank.epochs.get(late.number as usize));
            let (Some(one), Some(other)) = (one, other) else { continue };
            let relation = Relation {
                is_nested: other.inside.contains(&early.number),
                is_inert: !earlier.has_operations(),
                has_common_target: one.targets.keys().any(|target| other.targets.contains_key(target)),
            };
            let may = may_overlap::<AllEpochRules>(early.kind, late.kind, flags, relation);
            unless(may, || format!("table: rank {me}: {late} is active beside {early}"))?;
        }
    }
    Ok(())
}

/// S10: a flush is complete as soon as what it covers is.
fn check_flushes<R: EpochRules>(me: usize, rank: &Rank<R>) -> Result<(), String> {
    for (request, stands) in &rank.requests {
        if let Stands::Flush(ops, is_local) = stands {
            let is_done =
                |at: &usize| if *is_local { rank.ops[*at].is_local } else { rank.ops[*at].is_complete };
            unless(!ops.iter().all(is_done), || format!("flush: {request} of rank {me} is never complete"))?;
        }
    }
    Ok(())
}
