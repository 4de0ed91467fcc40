//! Closing epochs, and the Done that each target gets as soon as it is finished.

use super::lists::List;
use super::state::Window;
use crate::calls::{Order, Output, Packet, Returned};
use crate::epoch::Closed;
use crate::errors::EpochUsageError;
use crate::kinds::EpochKind;
use crate::names::RequestId;
use crate::peers::Link;
use crate::rules::EpochRules;
use carrousel_wire::RankId;

impl<R: EpochRules> Window<R> {
    /// Closes the open epoch of a kind; of several lock epochs, that of this target.
    pub(super) fn close(
        &mut self,
        kind: EpochKind,
        target: Option<RankId>,
        out: &mut impl Extend<Output>,
    ) -> Result<Returned, EpochUsageError> {
        let open = &mut self.open;
        let slot = match kind {
            EpochKind::Access => open.access.take(),
            EpochKind::Exposure => open.exposure.take(),
            EpochKind::LockAll => open.lock_all.take(),
            EpochKind::Fence => open.fence.take(),
            EpochKind::Lock => target.and_then(|target| open.locks.remove(&target)),
        };
        let slot = slot.ok_or(EpochUsageError::NoneToClose(kind))?;
        let request = self.new_request();
        self.close_slot(slot, Some(request), out);
        Ok(Returned::Request(request))
    }

    /// Closes the exposure epoch if all of its origins are done.
    pub(super) fn test(&mut self, out: &mut impl Extend<Output>) -> Result<Returned, EpochUsageError> {
        let slot = self.open.exposure.ok_or(EpochUsageError::NoneToClose(EpochKind::Exposure))?;
        let is_over =
            |slot| self.epochs.get(slot).is_some_and(|epoch| epoch.is_active && epoch.origins_left == 0);
        if is_over(slot) { self.close(EpochKind::Exposure, None, out) } else { Ok(Returned::Nothing) }
    }

    /// Closes an epoch that the program has no longer open.
    pub(super) fn close_slot(
        &mut self,
        slot: u32,
        request: Option<RequestId>,
        out: &mut impl Extend<Output>,
    ) {
        let closed = Closed { before: self.next_epoch, flush: self.next_flush };
        let Some(epoch) = self.epochs.get_mut(slot) else { return };
        epoch.closed = Some(closed);
        epoch.request = request;
        if epoch.is_active {
            self.closing[epoch.kind as usize] += 1;
            self.finish_targets(slot, out);
            self.end_if_complete(slot, out);
        }
    }

    /// Finishes every target for which no transfer is to come.
    pub(super) fn finish_targets(&mut self, slot: u32, out: &mut impl Extend<Output>) {
        let targets = self.epochs.get(slot).map_or(0, |epoch| epoch.targets.len() as u32);
        for at in 0..targets {
            self.finish_target(Link { slot, at }, out);
        }
    }

    /// Posts Done, or LockRelease, if the epoch is closed and its last transfer to this target has begun.
    ///
    /// nonblocking-rma-epochs VII-D 3 posts it when the last transfer is fulfilled, for which the origin has to make
    /// progress. Posted behind the data, it arrives without the origin.
    pub(super) fn finish_target(&mut self, link: Link, out: &mut impl Extend<Output>) {
        let Some(epoch) = self.epochs.get_mut(link.slot) else { return };
        let kind = epoch.kind;
        let has_ended_inside = epoch.enclosed == 0 || !R::fence_ends_in_order();
        let Some(target) = epoch.targets.get_mut(link.at as usize) else { return };
        let is_granted = target.is_granted || !(R::done_waits_for_grant() || target.is_used || kind.locks());
        let has_begun = target.staged == 0 || !R::done_after_staged();
        if epoch.closed.is_none() || !has_ended_inside || target.is_finished || !is_granted || !has_begun {
            return;
        }
        target.is_finished = true;
        epoch.targets_left -= 1;
        let (to, access, was_granted) = (target.rank, target.access, target.is_granted);
        let order = match (R::done_behind_data(), R::fenced_behind_reads() && target.reads > 0) {
            (false, _) => Order::Free,
            (true, false) => Order::Lane,
            (true, true) => Order::Fenced,
        };
        let packet = if kind.locks() { Packet::LockRelease { access } } else { Packet::Done { access } };
        if !was_granted {
            let list = List::Awaiting(Self::word(kind));
            if let Some((before, link)) = self.find(list, to, |_, at| at == link) {
                self.unlink(list, to, before, link);
            }
        }
        out.extend([Output::Post { to, packet, order }]);
    }
}
