//! Large accumulates: both sides of their way through a staging buffer at the target (nonblocking-rma-epochs VIII-A).
//!
//! A card cannot combine, so the target's processor applies what others accumulate. An operand that is too large for a
//! packet goes into memory of the target that this has to give first: a rendezvous, for which both processors have to be
//! in the library, and so without overlap. It begins when the access is granted, never before. Accumulates to one target
//! take place in program order (MPI-4.1 12.7.2), so the later ones wait at the origin behind one that waits for its buffer;
//! puts and gets do not. Within a node the origin's processor applies, and nothing is staged.

use super::state::Window;
use crate::calls::{Order, Output, Packet, Transfer, TransferKind};
use crate::errors::EpochEventError;
use crate::peers::Link;
use crate::rules::EpochRules;
use crate::staging::StagingError;
use carrousel_wire::RankId;

impl<R: EpochRules> Window<R> {
    /// Whether the operand of an operation goes through a staging buffer.
    pub(super) fn is_staged(&self, transfer: Transfer) -> bool {
        // The others are of one element.
        let combines = matches!(transfer.kind, TransferKind::Accumulate | TransferKind::GetAccumulate);
        combines && transfer.place.bytes() > self.setup.staging.threshold && !self.is_near(transfer.target)
    }

    /// Whether a rank shares this one's node.
    fn is_near(&self, rank: RankId) -> bool {
        rank == self.me || self.setup.neighbours.contains(rank)
    }

    /// Issues an operation whose target has granted the access: now, or when an accumulate before it has a buffer.
    pub(super) fn issue(&mut self, at: u32, out: &mut impl Extend<Output>) {
        let Some(operation) = self.operations.get(at) else { return };
        let (transfer, link) = (operation.transfer, Link { slot: operation.epoch, at: operation.target });
        let is_staged = self.is_staged(transfer);
        let follows = transfer.kind.accumulates() && R::behind_staged();
        if !(is_staged || follows && self.staged.contains_key(&transfer.target)) {
            return self.begin(at, false, out);
        }
        if let Some(target) = self.target_mut(link) {
            target.staged += 1;
        }
        let queue = self.staged.entry(transfer.target).or_default();
        queue.operations.push_back(at);
        if queue.operations.len() == 1 {
            self.ask_for_buffer(transfer.target, out);
        }
    }

    /// Behind what was posted before, so that a target has applied this rank's operand before it is asked again.
    fn ask_for_buffer(&self, to: RankId, out: &mut impl Extend<Output>) {
        out.extend([Output::Post { to, packet: Packet::StagingRequest, order: Order::Lane }]);
    }

    /// A target has a buffer for the first of the accumulates that wait.
    pub(super) fn staging_granted(
        &mut self,
        target: RankId,
        out: &mut impl Extend<Output>,
    ) -> Result<(), EpochEventError> {
        let queue = self.staged.get_mut(&target).filter(|queue| !queue.has_buffer);
        queue.ok_or(StagingError::NotAsked(target))?.has_buffer = true;
        self.begin_staged(target, out);
        Ok(())
    }

    /// Begins accumulates that have waited: the first, and those behind it up to the next that needs a buffer.
    pub(super) fn begin_staged(&mut self, target: RankId, out: &mut impl Extend<Output>) {
        while let Some(queue) = self.staged.get(&target) {
            let has_buffer = queue.has_buffer;
            let first = queue.operations.front().and_then(|at| Some((*at, self.operations.get(*at)?)));
            let Some((at, operation)) = first else {
                self.staged.remove(&target);
                return;
            };
            let (transfer, link) = (operation.transfer, Link { slot: operation.epoch, at: operation.target });
            let is_granted = |window: &mut Self| window.target_mut(link).is_some_and(|it| it.is_granted);
            let is_staged = self.is_staged(transfer);
            if (is_staged && !has_buffer) || !(R::stages_granted() || is_granted(self)) {
                return;
            }
            let next = self.staged.get_mut(&target).and_then(|queue| {
                queue.operations.pop_front();
                queue.has_buffer &= !is_staged;
                queue.operations.front().copied()
            });
            self.begin(at, is_staged, out);
            if let Some(of) = self.target_mut(link) {
                of.staged -= 1;
            }
            self.finish_target(link, out);
            let next = next.and_then(|at| self.operations.get(at));
            if next.is_some_and(|next| self.is_staged(next.transfer)) {
                return self.ask_for_buffer(target, out);
            }
        }
    }

    /// An origin asks for a buffer.
    pub(super) fn staging_requested(
        &mut self,
        origin: RankId,
        out: &mut impl Extend<Output>,
    ) -> Result<(), EpochEventError> {
        if self.staging.request(origin)? {
            self.grant_buffer(origin, out);
        }
        Ok(())
    }

    /// The operand of an origin was applied, and its buffer is free.
    pub(super) fn operand_applied(
        &mut self,
        origin: RankId,
        out: &mut impl Extend<Output>,
    ) -> Result<(), EpochEventError> {
        if let Some(next) = self.staging.applied(origin)? {
            self.grant_buffer(next, out);
        }
        Ok(())
    }

    pub(super) fn grant_buffer(&mut self, to: RankId, out: &mut impl Extend<Output>) {
        if !R::buffer_until_applied() {
            self.staging.give_again();
        }
        out.extend([Output::Post { to, packet: Packet::StagingGrant, order: Order::Lane }]);
    }
}
