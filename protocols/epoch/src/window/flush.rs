//! Flushes, by the ages of operations (nonblocking-rma-epochs VII-C).

use super::state::{OpenFlush, Window};
use crate::calls::{Failure, Flush, Output, Returned};
use crate::epoch::{Epoch, Incomplete};
use crate::errors::EpochUsageError;
use crate::kinds::EpochKind;
use crate::names::FlushPoint;
use crate::rules::EpochRules;
use carrousel_wire::RankId;

impl<R: EpochRules> Window<R> {
    /// A blocking flush: it is no request, but a condition of the state ([`Window::is_flushed`]).
    pub(super) fn flush(&mut self, flush: Flush) -> Result<Returned, EpochUsageError> {
        self.check_flush(flush)?;
        Ok(Returned::Flush(flush.into()))
    }

    /// A flush with a request, which later operations do not delay.
    pub(super) fn flush_with_request(
        &mut self,
        flush: Flush,
        out: &mut impl Extend<Output>,
    ) -> Result<Returned, EpochUsageError> {
        self.check_flush(flush)?;
        let request = self.new_request();
        let number = self.next_flush;
        self.next_flush += 1;
        let left = self.left(flush, R::flush_counts_unissued());
        if left == 0 {
            let result = self.failure_of(flush).map_or(Ok(()), Err);
            out.extend([Output::Complete { request, result }]);
        } else {
            let (stamp, opened) = (self.age, self.next_epoch);
            self.flushes.push(OpenFlush { request, flush, stamp, number, opened, left, failure: None });
        }
        Ok(Returned::Request(request))
    }

    /// Whether a blocking flush may return: no operation that it covers is incomplete. It covers what was called before;
    /// operations that other threads have called meanwhile count, too.
    ///
    /// # Errors
    /// If a target has died, so that some of the operations have failed.
    pub fn is_flushed(&self, FlushPoint { target, is_local }: FlushPoint) -> Result<bool, Failure> {
        let flush = Flush { target, is_local };
        let is_flushed = self.left(flush, true) == 0;
        self.failure_of(flush).filter(|_| is_flushed).map_or(Ok(is_flushed), Err)
    }

    /// Flushes are for epochs with locks (MPI-4.1 12.5.4).
    fn check_flush(&self, Flush { target, .. }: Flush) -> Result<(), EpochUsageError> {
        let locks = &self.open.locks;
        let is_locked = target.map_or(!locks.is_empty(), |target| locks.contains_key(&target));
        if is_locked || self.open.lock_all.is_some() {
            return Ok(());
        }
        Err(EpochUsageError::NoneToFlush { target })
    }

    /// The open epochs that a flush covers.
    fn flushed_epochs(&self, target: Option<RankId>) -> impl Iterator<Item = &Epoch> {
        let locks = self.open.locks.iter().filter(move |(of, _)| target.is_none_or(|target| **of == target));
        locks.map(|(_, slot)| *slot).chain(self.open.lock_all).filter_map(|slot| self.epochs.get(slot))
    }

    fn failure_of(&self, Flush { target, .. }: Flush) -> Option<Failure> {
        match target {
            Some(target) => self.dead.contains(&target).then_some(Failure::PeerDied(target)),
            None => self.flushed_epochs(None).find_map(|epoch| epoch.failure),
        }
    }

    /// Operations that a flush waits for.
    fn left(&self, Flush { target, is_local }: Flush, with_unissued: bool) -> u64 {
        let count =
            |incomplete: Incomplete| u64::from(if is_local { incomplete.local } else { incomplete.remote });
        let is_covered = |rank: RankId| target.is_none_or(|target| rank == target);
        let epochs = self.flushed_epochs(target).map(|epoch| {
            let unissued = |operations: &[u32]| {
                let operations = operations.iter().filter_map(|at| self.operations.get(*at));
                operations.filter(|operation| is_covered(operation.transfer.target)).count() as u64
            };
            let all =
                match target.and_then(|target| epoch.targets.get(epoch.group.position(target)? as usize)) {
                    Some(target) if epoch.is_active => count(target.incomplete),
                    _ if target.is_none() || epoch.kind == EpochKind::Lock => count(epoch.incomplete),
                    // A deferred lock_all epoch does not count by target yet.
                    _ => unissued(&epoch.recorded),
                };
            if with_unissued {
                return all;
            }
            let queued = epoch.targets.iter().map(|target| unissued(&target.queued)).sum::<u64>();
            all - queued - unissued(&epoch.recorded)
        });
        epochs.sum()
    }

    /// An operation has completed, at this rank or at its target: flushes that cover it have one less to wait for.
    pub(super) fn count_for_flushes(
        &mut self,
        slot: u32,
        target: RankId,
        age: u64,
        is_local: bool,
        result: Result<(), Failure>,
        out: &mut impl Extend<Output>,
    ) {
        if self.flushes.is_empty() {
            return;
        }
        let Some(epoch) = self.epochs.get(slot).filter(|epoch| epoch.kind.locks()) else { return };
        for open in &mut self.flushes {
            let is_its = open.flush.is_local == is_local
                && open.flush.target.is_none_or(|of| of == target)
                && epoch.was_open_at_flush(open.number, open.opened)
                && R::flush_covers().covers(age, open.stamp);
            if is_its {
                open.left = open.left.saturating_sub(1);
                open.failure = open.failure.or(result.err());
            }
        }
        self.flushes.retain(|open| {
            if open.left > 0 {
                return true;
            }
            let result = open.failure.map_or(Ok(()), Err);
            out.extend([Output::Complete { request: open.request, result }]);
            false
        });
    }
}
