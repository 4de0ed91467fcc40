//! What peers tell: grants, and that they are done.

use super::lists::List;
use super::state::Window;
use crate::calls::{GrantWord, Output};
use crate::errors::EpochEventError;
use crate::peers::Link;
use crate::rules::EpochRules;
use carrousel_wire::RankId;

impl<R: EpochRules> Window<R> {
    /// A peer has written a grant word: every access up to that id may transfer.
    pub(super) fn granted(
        &mut self,
        peer: RankId,
        word: GrantWord,
        value: u64,
        out: &mut impl Extend<Output>,
    ) -> Result<(), EpochEventError> {
        let Some(known) = self.peers.get_mut(peer.0 as usize) else { return Ok(()) };
        let triple = known.triple_mut(word);
        if value < triple.granted {
            let had = triple.granted;
            return Err(EpochEventError::GrantsWentBack { peer, word, had, found: value });
        }
        // An exposure may be granted long before its access is requested; a lock may not.
        if word == GrantWord::Locks && value > triple.requested {
            let requested = triple.requested;
            return Err(EpochEventError::NotRequested { peer, found: value, requested });
        }
        let (had, requested) = (triple.granted, triple.requested);
        triple.granted = value;
        let list = List::Awaiting(word);
        if !R::counts_not_bits() && value > had {
            // One bit says that the next access is granted.
            let next = self.oldest(list, peer).map_or(requested + 1, |oldest| self.access_of(oldest));
            if let Some(known) = self.peers.get_mut(peer.0 as usize) {
                known.triple_mut(word).granted = next.min(value);
            }
        }
        let granted = self.peers.get(peer.0 as usize).map_or(0, |peer| peer.triple(word).granted);
        while let Some(link) = self.oldest(list, peer).filter(|oldest| self.access_of(*oldest) <= granted) {
            self.unlink_oldest(list, peer);
            let queued = self.target_mut(link).map(|target| {
                target.is_granted = true;
                core::mem::take(&mut target.queued)
            });
            for operation in queued.unwrap_or_default() {
                self.issue(operation, out);
            }
            self.finish_target(link, out);
            self.end_if_complete(link.slot, out);
        }
        if !R::stages_granted() {
            self.begin_staged(peer, out);
        }
        Ok(())
    }

    fn access_of(&self, link: Link) -> u64 {
        let target = self.epochs.get(link.slot).and_then(|epoch| epoch.targets.get(link.at as usize));
        target.map_or(0, |target| target.access)
    }

    fn exposure_of(&self, link: Link) -> u64 {
        let origin = self.epochs.get(link.slot).and_then(|epoch| epoch.origins.get(link.at as usize));
        origin.map_or(0, |origin| origin.exposure)
    }

    /// An origin is done with the exposure that has the id of its access.
    pub(super) fn done(
        &mut self,
        peer: RankId,
        access: u64,
        out: &mut impl Extend<Output>,
    ) -> Result<(), EpochEventError> {
        let list = List::Exposed;
        let is_it = |window: &Self, link| window.exposure_of(link) == access;
        let Some((before, link)) = self.find(list, peer, is_it) else {
            let triple = self.peers.get(peer.0 as usize).map(|peer| peer.triple(GrantWord::Exposures));
            let exposures = triple.map_or(0, |triple| triple.given);
            return Err(EpochEventError::UnexpectedDone { peer, access, exposures });
        };
        if !R::done_by_equality() {
            while let Some(oldest) = self.oldest(list, peer).filter(|oldest| *oldest != link) {
                self.unlink_oldest(list, peer);
                self.done_with(oldest, out);
            }
            self.unlink_oldest(list, peer);
        } else {
            self.unlink(list, peer, before, link);
        }
        self.done_with(link, out);
        Ok(())
    }

    fn done_with(&mut self, link: Link, out: &mut impl Extend<Output>) {
        let Some(epoch) = self.epochs.get_mut(link.slot) else { return };
        let Some(origin) = epoch.origins.get_mut(link.at as usize) else { return };
        origin.is_done = true;
        epoch.origins_left -= 1;
        self.end_if_complete(link.slot, out);
    }
}
