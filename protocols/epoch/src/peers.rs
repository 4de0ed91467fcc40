//! What a window knows of one peer: the matching triples (nonblocking-rma-epochs VII-B).

use crate::calls::GrantWord;

/// The place of a peer's entry in an epoch that is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Link {
    /// The epoch.
    pub(crate) slot: u32,
    /// The entry's position among the targets, or the origins, of the epoch.
    pub(crate) at: u32,
}

impl Link {
    pub(crate) const NONE: Self = Self { slot: u32::MAX, at: u32::MAX };

    pub(crate) fn is_none(self) -> bool {
        self == Self::NONE
    }
}

/// The matching history with one peer: three numbers, however many epochs are pending.
///
/// Access A may transfer when A <= g; it belongs to exposure X at the peer if A == X.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Triple {
    /// a: accesses that this rank has requested from the peer.
    pub(crate) requested: u64,
    /// e: accesses that this rank has granted to the peer.
    pub(crate) given: u64,
    /// g: accesses that the peer has granted to this rank, as far as this rank knows.
    pub(crate) granted: u64,
    /// The newest of the accesses that wait for their grant; each names the next newer one, and the newest the oldest.
    pub(crate) awaiting: Link,
}

impl Triple {
    const NEW: Self = Self { requested: 0, given: 0, granted: 0, awaiting: Link::NONE };

    /// The id of one more access.
    pub(crate) fn request(&mut self) -> u64 {
        self.requested += 1;
        self.requested
    }

    /// The id of one more exposure, or lock: the value to store at the peer.
    pub(crate) fn give(&mut self) -> u64 {
        self.given += 1;
        self.given
    }

    pub(crate) const fn counts(&self) -> Counts {
        Counts { requested: self.requested, given: self.given, granted: self.granted }
    }
}

/// A matching triple, as the checker and reports see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    /// Accesses that this rank has requested from the peer.
    pub requested: u64,
    /// Accesses that this rank has granted to the peer.
    pub given: u64,
    /// Accesses that the peer has granted to this rank.
    pub granted: u64,
}

/// One peer: ten words, whatever is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Peer {
    exposures: Triple,
    locks: Triple,
    /// The newest of the exposures that wait for Done, linked as those of [`Triple::awaiting`].
    pub(crate) exposed: Link,
    /// Access epochs that are active and have this target, fences and locks apart.
    pub(crate) accesses: u32,
    /// Lock epochs that are active and have this target.
    pub(crate) locked: u32,
}

impl Peer {
    pub(crate) const NEW: Self =
        Self { exposures: Triple::NEW, locks: Triple::NEW, exposed: Link::NONE, accesses: 0, locked: 0 };

    pub(crate) const fn triple(&self, word: GrantWord) -> &Triple {
        match word {
            GrantWord::Exposures => &self.exposures,
            GrantWord::Locks => &self.locks,
        }
    }

    pub(crate) const fn triple_mut(&mut self, word: GrantWord) -> &mut Triple {
        match word {
            GrantWord::Exposures => &mut self.exposures,
            GrantWord::Locks => &mut self.locks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_ten_words_whatever_is_pending() {
        assert_eq!(size_of::<Peer>(), 10 * size_of::<u64>());
    }
}
