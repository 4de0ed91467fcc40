//! Inputs: calls of the program, and events.

use super::state::Window;
use crate::calls::{Call, Event, Output, Packet, Returned};
use crate::epoch::Group;
use crate::errors::{EpochEventError, EpochUsageError};
use crate::kinds::EpochKind;
use crate::rules::EpochRules;
use carrousel_lock::Mode;
use carrousel_wire::RankId;

impl<R: EpochRules> Window<R> {
    /// The program calls. What follows comes into `out`.
    ///
    /// # Errors
    /// If the call is not allowed now. Nothing has changed then.
    pub fn call(
        &mut self,
        call: Call<'_>,
        out: &mut impl Extend<Output>,
    ) -> Result<Returned, EpochUsageError> {
        let returned = match call {
            Call::Post(origins) => {
                let group = self.group(origins)?;
                self.open(EpochKind::Exposure, Mode::Shared, group, out)?
            }
            Call::Start(targets) => {
                let group = self.group(targets)?;
                self.open(EpochKind::Access, Mode::Shared, group, out)?
            }
            Call::Lock { target, mode } => {
                self.check_rank(target)?;
                self.open(EpochKind::Lock, mode, Group::One(target), out)?
            }
            Call::LockAll => self.open(EpochKind::LockAll, Mode::Shared, Group::All, out)?,
            Call::Fence => self.fence(out)?,
            Call::Wait => self.close(EpochKind::Exposure, None, out)?,
            Call::Test => self.test(out)?,
            Call::Complete => self.close(EpochKind::Access, None, out)?,
            Call::Unlock(target) => {
                self.check_rank(target)?;
                self.close(EpochKind::Lock, Some(target), out)?
            }
            Call::UnlockAll => self.close(EpochKind::LockAll, None, out)?,
            Call::Transfer { transfer, with_request } => {
                self.check_rank(transfer.target)?;
                self.transfer(transfer, with_request, out)?
            }
            Call::Flush(flush) => {
                flush.target.map_or(Ok(()), |target| self.check_rank(target))?;
                self.flush(flush)?
            }
            Call::FlushWithRequest(flush) => {
                flush.target.map_or(Ok(()), |target| self.check_rank(target))?;
                self.flush_with_request(flush, out)?
            }
        };
        self.activate_deferred(out);
        Ok(returned)
    }

    /// Something has happened outside. What follows comes into `out`.
    ///
    /// # Errors
    /// If no correct peer or driver causes the event. Nothing has changed then.
    pub fn event(&mut self, event: Event, out: &mut impl Extend<Output>) -> Result<(), EpochEventError> {
        match event {
            Event::Packet { from: peer, .. }
            | Event::Granted { from: peer, .. }
            | Event::Applied { origin: peer }
            | Event::Died(peer)
                if !self.is_known(peer) =>
            {
                return Err(EpochEventError::NoSuchPeer { peer, ranks: self.ranks() });
            }
            // What a peer has sent before it died may be read after its death is known.
            Event::Packet { from: peer, .. }
            | Event::Granted { from: peer, .. }
            | Event::Applied { origin: peer }
                if self.dead.contains(&peer) =>
            {
                return Ok(());
            }
            Event::Packet { from, packet: Packet::Done { access } } => self.done(from, access, out)?,
            Event::Packet { from, packet: Packet::LockRequest { mode, access } } => {
                self.lock_requested(from, mode, access, out)?;
            }
            Event::Packet { from, packet: Packet::LockRelease { access } } => {
                self.lock_released(from, access, out)?;
            }
            Event::Packet { from, packet: Packet::StagingRequest } => self.staging_requested(from, out)?,
            Event::Packet { from, packet: Packet::StagingGrant } => self.staging_granted(from, out)?,
            Event::Applied { origin } => self.operand_applied(origin, out)?,
            Event::Granted { from, word, value } => self.granted(from, word, value, out)?,
            Event::LocallyComplete(operation) => self.locally_complete(operation, out)?,
            Event::Complete(operation) => self.complete_operation(operation, out)?,
            Event::Died(peer) => self.died(peer, out),
        }
        if R::activates_after_completion() {
            self.activate_deferred(out);
        }
        Ok(())
    }

    fn check_rank(&self, rank: RankId) -> Result<(), EpochUsageError> {
        if self.is_known(rank) {
            return Ok(());
        }
        Err(EpochUsageError::NoSuchRank { rank, ranks: self.ranks() })
    }

    fn group(&self, members: &[RankId]) -> Result<Group, EpochUsageError> {
        members.iter().try_for_each(|member| self.check_rank(*member))?;
        if let [only] = members {
            return Ok(Group::One(*only));
        }
        let mut sorted: alloc::boxed::Box<[RankId]> = members.into();
        sorted.sort_unstable();
        match sorted.array_windows().find(|[one, other]| one == other) {
            Some([twice, _]) => Err(EpochUsageError::RankTwice(*twice)),
            None => Ok(Group::Members(sorted)),
        }
    }
}
