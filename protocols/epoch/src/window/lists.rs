//! The lists of entries that wait for a peer: circles through active epochs, of which the peer knows the newest.
//!
//! Each operation but [`Window::find`] takes the same time for any number of entries.

use super::state::Window;
use crate::calls::GrantWord;
use crate::peers::Link;
use crate::rules::EpochRules;
use carrousel_wire::RankId;

/// A list of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// Targets whose access is not granted, by the word that grants it.
    Awaiting(GrantWord),
    /// Origins that are not done.
    Exposed,
}

impl<R: EpochRules> Window<R> {
    /// Adds the newest entry.
    pub(super) fn link(&mut self, list: List, peer: RankId, link: Link) {
        let newest = self.newest(list, peer);
        if newest.is_none() {
            self.set_next(list, link, link);
        } else {
            let oldest = self.next(list, newest);
            self.set_next(list, link, oldest);
            self.set_next(list, newest, link);
        }
        self.set_newest(list, peer, link);
    }

    pub(super) fn oldest(&self, list: List, peer: RankId) -> Option<Link> {
        let newest = self.newest(list, peer);
        (!newest.is_none()).then(|| self.next(list, newest))
    }

    /// The oldest entry that is the one, and the entry before it in the circle.
    pub(super) fn find(
        &self,
        list: List,
        peer: RankId,
        is_it: impl Fn(&Self, Link) -> bool,
    ) -> Option<(Link, Link)> {
        let newest = self.newest(list, peer);
        let mut before = newest;
        while !before.is_none() {
            let link = self.next(list, before);
            if is_it(self, link) {
                return Some((before, link));
            }
            if link == newest {
                return None;
            }
            before = link;
        }
        None
    }

    /// Takes an entry out, given the one before it in the circle.
    pub(super) fn unlink(&mut self, list: List, peer: RankId, before: Link, link: Link) {
        let newest = self.newest(list, peer);
        if before == link {
            self.set_newest(list, peer, Link::NONE);
        } else {
            let next = self.next(list, link);
            self.set_next(list, before, next);
            if newest == link {
                self.set_newest(list, peer, before);
            }
        }
        self.set_next(list, link, Link::NONE);
    }

    /// Takes the oldest entry out.
    pub(super) fn unlink_oldest(&mut self, list: List, peer: RankId) {
        let newest = self.newest(list, peer);
        if let Some(oldest) = self.oldest(list, peer) {
            self.unlink(list, peer, newest, oldest);
        }
    }

    /// Forgets the entries of a peer that has died.
    pub(super) fn forget(&mut self, list: List, peer: RankId) {
        self.set_newest(list, peer, Link::NONE);
    }

    fn newest(&self, list: List, peer: RankId) -> Link {
        self.peers.get(peer.0 as usize).map_or(Link::NONE, |peer| match list {
            List::Awaiting(word) => peer.triple(word).awaiting,
            List::Exposed => peer.exposed,
        })
    }

    fn set_newest(&mut self, list: List, peer: RankId, link: Link) {
        if let Some(peer) = self.peers.get_mut(peer.0 as usize) {
            match list {
                List::Awaiting(word) => peer.triple_mut(word).awaiting = link,
                List::Exposed => peer.exposed = link,
            }
        }
    }

    fn next(&self, list: List, link: Link) -> Link {
        let epoch = self.epochs.get(link.slot);
        let next = match list {
            List::Awaiting(_) => {
                epoch.and_then(|epoch| epoch.targets.get(link.at as usize)).map(|target| target.next)
            }
            List::Exposed => {
                epoch.and_then(|epoch| epoch.origins.get(link.at as usize)).map(|origin| origin.next)
            }
        };
        next.unwrap_or(Link::NONE)
    }

    fn set_next(&mut self, list: List, link: Link, next: Link) {
        let Some(epoch) = self.epochs.get_mut(link.slot) else { return };
        match list {
            List::Awaiting(_) => {
                if let Some(target) = epoch.targets.get_mut(link.at as usize) {
                    target.next = next;
                }
            }
            List::Exposed => {
                if let Some(origin) = epoch.origins.get_mut(link.at as usize) {
                    origin.next = next;
                }
            }
        }
    }
}
