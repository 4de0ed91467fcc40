//! The death of a peer: what waited for it ends with an error, and nothing is freed silently.

use super::lists::List;
use super::state::Window;
use crate::calls::{Failure, GrantWord, Output, Report};
use crate::rules::EpochRules;
use alloc::vec::Vec;
use carrousel_wire::RankId;

impl<R: EpochRules> Window<R> {
    /// A peer has died. A second report changes nothing.
    pub(super) fn died(&mut self, peer: RankId, out: &mut impl Extend<Output>) {
        if !self.dead.insert(peer) {
            return;
        }
        let failure = Failure::PeerDied(peer);
        for list in [List::Awaiting(GrantWord::Exposures), List::Awaiting(GrantWord::Locks), List::Exposed] {
            self.forget(list, peer);
        }
        let to_peer = self.operations.iter().filter(|(_, operation)| operation.transfer.target == peer);
        let to_peer: Vec<u32> = to_peer.map(|(at, _)| at).collect();
        let slots: Vec<u32> = self.epochs.iter().map(|(slot, _)| slot).collect();
        for slot in &slots {
            let Some(epoch) = self.epochs.get_mut(*slot) else { continue };
            epoch.recorded.retain(|at| !to_peer.contains(at));
            let Some(position) = epoch.group.position(peer).map(|at| at as usize) else { continue };
            if let Some(target) = epoch.targets.get_mut(position) {
                target.queued.clear();
                target.is_granted = true;
                if !core::mem::replace(&mut target.is_finished, true) {
                    epoch.targets_left -= 1;
                    epoch.failure = Some(failure);
                }
            }
            if let Some(origin) = epoch.origins.get_mut(position)
                && !core::mem::replace(&mut origin.is_done, true)
            {
                epoch.origins_left -= 1;
                epoch.failure = Some(failure);
            }
        }
        self.staged.remove(&peer);
        if let Some(next) = self.staging.died(peer) {
            self.grant_buffer(next, out);
        }
        for at in to_peer {
            self.end_operation(at, Err(failure), out);
        }
        self.held_back.retain(|(origin, _)| *origin != peer);
        let mut grants = Vec::new();
        if let Ok(death) = self.lock.died(peer, &mut grants) {
            if let Some(mode) = death.held {
                out.extend([Output::Report(Report::HolderDied { origin: peer, mode })]);
            }
            self.store_lock_grants(&grants, out);
        }
        for slot in slots {
            self.end_if_complete(slot, out);
        }
    }
}
