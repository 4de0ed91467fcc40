//! The lock of this rank's memory: requests and releases of origins.

use super::state::Window;
use crate::calls::{Output, Report};
use crate::errors::EpochEventError;
use crate::kinds::EpochKind;
use crate::rules::EpochRules;
use alloc::vec::Vec;
use carrousel_lock::{Grant, LockError, Mode, Standing};
use carrousel_wire::RankId;

impl<R: EpochRules> Window<R> {
    /// An origin requests the lock.
    pub(super) fn lock_requested(
        &mut self,
        origin: RankId,
        mode: Mode,
        access: u64,
        out: &mut impl Extend<Output>,
    ) -> Result<(), EpochEventError> {
        if let Some((_, mode)) = self.held_back.iter().find(|(waiting, _)| *waiting == origin) {
            return Err(LockError::AlreadyWaits { origin, mode: *mode }.into());
        }
        match self.lock.standing(origin) {
            Some(Standing::Waits(mode)) => return Err(LockError::AlreadyWaits { origin, mode }.into()),
            Some(Standing::Holds(mode)) => return Err(LockError::AlreadyHolds { origin, mode }.into()),
            _ => {}
        }
        self.check_turn(origin, access, 1)?;
        if !self.is_to_be_held_back(origin) {
            return self.request_lock(origin, mode, out);
        }
        // MPI-4.1 12.5.3: no rank may lock memory between its owner's post and wait.
        if let Some(open) = self.open.exposure.and_then(|slot| self.epochs.get(slot)) {
            let exposure = open.kind;
            out.extend([Output::Report(Report::LockedWhileExposed { origin, mode, exposure })]);
        }
        self.held_back.push_back((origin, mode));
        Ok(())
    }

    /// An origin releases the lock.
    pub(super) fn lock_released(
        &mut self,
        origin: RankId,
        access: u64,
        out: &mut impl Extend<Output>,
    ) -> Result<(), EpochEventError> {
        self.check_turn(origin, access, 0)?;
        let mut grants = Vec::new();
        self.lock.release(origin, &mut grants)?;
        self.store_lock_grants(&grants, out);
        Ok(())
    }

    /// Requests that an exposure has held back are made now, in their order, if it has ended.
    pub(super) fn admit_held_back(&mut self, out: &mut impl Extend<Output>) {
        for _ in 0..self.held_back.len() {
            let Some((origin, mode)) = self.held_back.pop_front() else { return };
            if self.is_to_be_held_back(origin) || self.request_lock(origin, mode, out).is_err() {
                self.held_back.push_back((origin, mode));
            }
        }
    }

    /// The id of a request is the next, and that of a release the last, of the locks granted to this origin.
    fn check_turn(&self, peer: RankId, access: u64, ahead: u64) -> Result<(), EpochEventError> {
        let triple = self.peers.get(peer.0 as usize).map(|peer| peer.triple(Self::word(EpochKind::Lock)));
        let due = triple.map_or(0, |triple| triple.given) + ahead;
        if access == due || !R::locks_count_apart() {
            return Ok(());
        }
        Err(EpochEventError::LockOutOfTurn { peer, access, due })
    }

    /// Whether an exposure of this memory holds back the request of an origin.
    ///
    /// An origin that is not done with the fence epoch that is active here requests its lock inside that epoch, so that
    /// the epoch cannot end before the lock is granted. An origin that is done has left it, and all others will.
    fn is_to_be_held_back(&self, origin: RankId) -> bool {
        if !R::lock_waits_for_exposure() {
            return false;
        }
        let is_done = |slot: &u32| {
            let fence = self.epochs.get(*slot);
            fence.and_then(|fence| fence.origins.get(origin.0 as usize)).is_some_and(|origin| origin.is_done)
        };
        !self.active[EpochKind::Exposure as usize].is_empty()
            || self.active[EpochKind::Fence as usize].iter().any(is_done)
    }

    fn request_lock(
        &mut self,
        origin: RankId,
        mode: Mode,
        out: &mut impl Extend<Output>,
    ) -> Result<(), EpochEventError> {
        let mut grants = Vec::new();
        self.lock.request(origin, mode, &mut grants)?;
        self.store_lock_grants(&grants, out);
        Ok(())
    }

    /// nonblocking-rma-epochs VII-B: the host of a lock counts a grant, and writes the count one-sidedly.
    pub(super) fn store_lock_grants(&mut self, grants: &[Grant], out: &mut impl Extend<Output>) {
        let word = Self::word(EpochKind::Lock);
        for Grant { origin, .. } in grants {
            if let Some(peer) = self.peers.get_mut(origin.0 as usize) {
                let value = peer.triple_mut(word).give();
                out.extend([Output::Store { to: *origin, word, value }]);
            }
        }
    }
}
