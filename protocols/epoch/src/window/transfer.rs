//! Operations: the epoch that each belongs to, and its way from the call to its end.

use super::state::{Operation, Window};
use crate::calls::{Failure, Output, Returned, Transfer};
use crate::epoch::{Epoch, Target};
use crate::errors::EpochUsageError;
use crate::rules::EpochRules;

impl<R: EpochRules> Window<R> {
    /// The program accesses a target.
    pub(super) fn transfer(
        &mut self,
        transfer: Transfer,
        with_request: bool,
        out: &mut impl Extend<Output>,
    ) -> Result<Returned, EpochUsageError> {
        let slot = self.epoch_of(transfer)?;
        self.age += 1;
        let request = with_request.then(|| self.new_request());
        let operation = Operation {
            age: self.age,
            transfer,
            epoch: slot,
            target: 0,
            is_issued: false,
            is_local: false,
            request,
        };
        let at = self.operations.insert(operation);
        let is_dead = self.dead.contains(&transfer.target);
        let Some(epoch) = self.epochs.get_mut(slot) else { return Ok(Returned::Nothing) };
        epoch.has_operations = true;
        epoch.incomplete.remote += 1;
        epoch.incomplete.local += 1;
        if epoch.is_active {
            self.dispatch(at, out);
        } else if is_dead {
            self.end_operation(at, Err(Failure::PeerDied(transfer.target)), out);
        } else {
            epoch.recorded.push(at);
        }
        Ok(request.map_or(Returned::Nothing, Returned::Request))
    }

    /// The open epoch that an operation belongs to.
    fn epoch_of(&self, Transfer { target, .. }: Transfer) -> Result<u32, EpochUsageError> {
        let open = &self.open;
        let any_lock = || open.locks.values().next().copied();
        if let Some(slot) = open.locks.get(&target).copied().or(open.lock_all) {
            return Ok(slot);
        }
        let slot =
            open.access.or_else(any_lock).or(open.fence).ok_or(EpochUsageError::NoAccess { target })?;
        let Some(epoch) = self.epochs.get(slot) else { return Err(EpochUsageError::NoAccess { target }) };
        if epoch.is_enclosing {
            return Err(EpochUsageError::Enclosing { open: epoch.name() });
        }
        match epoch.group.position(target) {
            Some(_) => Ok(slot),
            None => Err(EpochUsageError::NotATarget { target, open: epoch.name() }),
        }
    }

    /// Issues an operation of an active epoch, or queues it until its target grants the access.
    pub(super) fn dispatch(&mut self, at: u32, out: &mut impl Extend<Output>) {
        let Some(Operation { epoch: slot, transfer, .. }) = self.operations.get(at).cloned() else { return };
        let (rank, is_staged) = (transfer.target, self.is_staged(transfer));
        let Some(epoch) = self.epochs.get_mut(slot) else { return };
        let position = epoch.group.position(rank).unwrap_or(0);
        if let Some(operation) = self.operations.get_mut(at) {
            operation.target = position;
        }
        let Some(target) = epoch.targets.get_mut(position as usize) else { return };
        target.is_used = true;
        target.incomplete.remote += 1;
        target.incomplete.local += 1;
        if target.is_finished {
            // It can only be that the target is dead: operations end with the close.
            self.end_operation(at, Err(Failure::PeerDied(rank)), out);
        } else if target.is_granted || (!R::stages_granted() && is_staged) {
            self.issue(at, out);
        } else {
            target.queued.push(at);
        }
    }

    /// Ends an operation at this rank: its local buffers can be used again.
    pub(super) fn end_locally(
        &mut self,
        at: u32,
        result: Result<(), Failure>,
        out: &mut impl Extend<Output>,
    ) {
        let Some(operation) = self.operations.get_mut(at).filter(|operation| !operation.is_local) else {
            return;
        };
        operation.is_local = true;
        let request = operation.request.take();
        let (slot, target, age, rank) =
            (operation.epoch, operation.target, operation.age, operation.transfer.target);
        if let Some(epoch) = self.epochs.get_mut(slot) {
            epoch.incomplete.local -= 1;
            if let Some(target) = active_target(epoch, target) {
                target.incomplete.local -= 1;
            }
        }
        if let Some(request) = request {
            out.extend([Output::Complete { request, result }]);
        }
        self.count_for_flushes(slot, rank, age, true, result, out);
    }

    /// Ends an operation. Returns its epoch, which may be complete now.
    pub(super) fn end_operation(
        &mut self,
        at: u32,
        result: Result<(), Failure>,
        out: &mut impl Extend<Output>,
    ) -> u32 {
        self.end_locally(at, result, out);
        let Some(operation) = self.operations.remove(at) else { return u32::MAX };
        let slot = operation.epoch;
        if let Some(epoch) = self.epochs.get_mut(slot) {
            epoch.incomplete.remote -= 1;
            epoch.failure = epoch.failure.or(result.err());
            let is_read = operation.is_issued && operation.transfer.kind.reads();
            if let Some(target) = active_target(epoch, operation.target) {
                target.incomplete.remote -= 1;
                target.reads -= u32::from(is_read);
            }
        }
        self.count_for_flushes(slot, operation.transfer.target, operation.age, false, result, out);
        slot
    }
}

fn active_target(epoch: &mut Epoch, at: u32) -> Option<&mut Target> {
    epoch.targets.get_mut(at as usize).filter(|_| epoch.is_active)
}
