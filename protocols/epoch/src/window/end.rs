//! The end of epochs, and of operations.

use super::lists::List;
use super::state::Window;
use crate::calls::Output;
use crate::errors::EpochEventError;
use crate::kinds::EpochKind;
use crate::names::OperationId;
use crate::peers::Link;
use crate::rules::EpochRules;
use alloc::vec::Vec;

impl<R: EpochRules> Window<R> {
    /// Ends an epoch if it is closed and nothing is left to be done.
    pub(super) fn end_if_complete(&mut self, slot: u32, out: &mut impl Extend<Output>) {
        let Some(epoch) = self.epochs.get(slot) else { return };
        let is_exposed =
            epoch.origins_left > 0 && (R::fence_waits_for_all_done() || epoch.kind != EpochKind::Fence);
        let has_enclosed = epoch.enclosed > 0 && R::fence_ends_in_order();
        let is_open = epoch.closed.is_none() || !epoch.is_active;
        if is_open || epoch.targets_left > 0 || epoch.incomplete.remote > 0 || is_exposed || has_enclosed {
            return;
        }
        self.unlink_origins(slot);
        let Some(epoch) = self.epochs.remove(slot) else { return };
        let list = &mut self.active[epoch.kind as usize];
        list.swap_remove(epoch.place as usize);
        if let Some(moved) = list.get(epoch.place as usize).and_then(|moved| self.epochs.get_mut(*moved)) {
            moved.place = epoch.place;
        }
        self.closing[epoch.kind as usize] -= 1;
        for target in &epoch.targets {
            let Some(peer) = self.peers.get_mut(target.rank.0 as usize) else { continue };
            match epoch.kind {
                EpochKind::Access => peer.accesses -= 1,
                EpochKind::Lock => peer.locked -= 1,
                EpochKind::Fence | EpochKind::LockAll | EpochKind::Exposure => {}
            }
        }
        if let Some(request) = epoch.request {
            let result = epoch.failure.map_or(Ok(()), Err);
            out.extend([Output::Complete { request, result }]);
        }
        if let Some(fence) = epoch.inside {
            self.ended_inside(fence, out);
        }
        if epoch.kind.exposes() {
            self.admit_held_back(out);
        }
    }

    /// An epoch has ended that was opened inside this fence epoch.
    fn ended_inside(&mut self, fence: u32, out: &mut impl Extend<Output>) {
        // Without E18 the fence epoch may have ended before, and another one have its place.
        let Some(epoch) = self.epochs.get_mut(fence).filter(|epoch| epoch.enclosed > 0) else { return };
        epoch.enclosed -= 1;
        if epoch.enclosed == 0 && epoch.is_active && epoch.closed.is_some() {
            self.finish_targets(fence, out);
            self.end_if_complete(fence, out);
        }
    }

    /// Origins that are not done, of an epoch that does not wait for them: without E16.
    fn unlink_origins(&mut self, slot: u32) {
        let Some(epoch) = self.epochs.get(slot).filter(|epoch| epoch.origins_left > 0) else { return };
        let not_done = (0..).zip(&epoch.origins).filter(|(_, origin)| !origin.is_done);
        let not_done: Vec<_> = not_done.map(|(at, origin)| (origin.rank, Link { slot, at })).collect();
        for (peer, link) in not_done {
            if let Some((before, link)) = self.find(List::Exposed, peer, |_, at| at == link) {
                self.unlink(List::Exposed, peer, before, link);
            }
        }
    }

    /// The local buffers of an operation can be used again.
    pub(super) fn locally_complete(
        &mut self,
        OperationId { age, at }: OperationId,
        out: &mut impl Extend<Output>,
    ) -> Result<(), EpochEventError> {
        let operation = self.operations.get(at);
        let known = operation.filter(|known| known.age == age && known.is_issued && !known.is_local);
        if known.is_none() {
            return Err(EpochEventError::NoSuchOperation(OperationId { age, at }));
        }
        self.end_locally(at, Ok(()), out);
        Ok(())
    }

    /// An operation is complete.
    pub(super) fn complete_operation(
        &mut self,
        OperationId { age, at }: OperationId,
        out: &mut impl Extend<Output>,
    ) -> Result<(), EpochEventError> {
        let operation = self.operations.get(at);
        if operation.filter(|known| known.age == age && known.is_issued).is_none() {
            return Err(EpochEventError::NoSuchOperation(OperationId { age, at }));
        }
        let slot = self.end_operation(at, Ok(()), out);
        self.end_if_complete(slot, out);
        Ok(())
    }
}
