//! Opening epochs: what the program may open beside what, and the fence, which closes one and opens the next.

use super::state::Window;
use crate::calls::{Output, Returned};
use crate::epoch::{Epoch, Group};
use crate::errors::{EpochName, EpochUsageError};
use crate::kinds::EpochKind;
use crate::rules::EpochRules;
use carrousel_lock::Mode;

impl<R: EpochRules> Window<R> {
    /// Opens an epoch. It is deferred until it is activated, at the earliest at the end of this call.
    pub(super) fn open(
        &mut self,
        kind: EpochKind,
        mode: Mode,
        group: Group,
        out: &mut impl Extend<Output>,
    ) -> Result<Returned, EpochUsageError> {
        if let Some(open) = self.in_the_way(kind, &group) {
            return Err(EpochUsageError::InTheWay { opened: kind, open });
        }
        let mut epoch = Epoch::new(self.next_epoch, kind, mode, group);
        self.next_epoch += 1;
        epoch.inside = self.open.fence.filter(|_| kind != EpochKind::Fence);
        if let Some(fence) = epoch.inside.and_then(|fence| self.epochs.get_mut(fence)) {
            fence.is_enclosing = true;
            fence.enclosed += 1;
        }
        let target = epoch.group.member(0);
        let slot = self.epochs.insert(epoch);
        match kind {
            EpochKind::Access => self.open.access = Some(slot),
            EpochKind::Exposure => self.open.exposure = Some(slot),
            EpochKind::Fence => self.open.fence = Some(slot),
            EpochKind::LockAll => self.open.lock_all = Some(slot),
            EpochKind::Lock => {
                self.open.locks.insert(target, slot);
            }
        }
        if !R::exposures_count_at_activation() && kind.exposes() {
            self.expose(slot, out);
        }
        self.deferred.push_back(slot);
        Ok(Returned::Nothing)
    }

    /// The open epoch that does not admit one of this kind.
    fn in_the_way(&self, kind: EpochKind, group: &Group) -> Option<EpochName> {
        let open = &self.open;
        let any_lock = || open.locks.values().next().copied();
        // MPI-4.1 12.5.3: a window is not locked and exposed at once, and this rank's own lock is one.
        let own_lock = || open.locks.get(&self.me).copied();
        let is_own = matches!(group, Group::One(target) if *target == self.me);
        let others = match kind {
            EpochKind::Exposure => open.exposure.or_else(own_lock),
            EpochKind::Access => open.access.or_else(any_lock),
            EpochKind::Lock => open
                .access
                .or_else(|| open.locks.get(&group.member(0)).copied())
                .or(open.exposure.filter(|_| is_own)),
            EpochKind::LockAll => open.access.or(open.exposure).or_else(any_lock),
            EpochKind::Fence => open.access.or(open.exposure).or_else(any_lock),
        };
        let is_used = |fence: &u32| self.epochs.get(*fence).is_some_and(|fence| fence.has_operations);
        let fence = open.fence.filter(|fence| kind != EpochKind::Fence && is_used(fence));
        let slot = open.lock_all.or(fence).or(others)?;
        self.epochs.get(slot).map(Epoch::name)
    }

    /// Closes the fence epoch that is open, if one is, and opens the next.
    pub(super) fn fence(&mut self, out: &mut impl Extend<Output>) -> Result<Returned, EpochUsageError> {
        if let Some(open) = self.in_the_way(EpochKind::Fence, &Group::All) {
            return Err(EpochUsageError::InTheWay { opened: EpochKind::Fence, open });
        }
        let returned = match self.open.fence.take() {
            Some(slot) => {
                let request = self.new_request();
                self.close_slot(slot, Some(request), out);
                Returned::Request(request)
            }
            None => Returned::Nothing,
        };
        self.open(EpochKind::Fence, Mode::Shared, Group::All, out)?;
        Ok(returned)
    }
}
