//! The first errors that belong to no request: the reason why a peer is lost, reported by the first request that
//! fails because of it.

use crate::Error;
use carrousel_rank::RankId;
use std::collections::BTreeMap;

/// The first error with each peer, and the first one that concerns none.
#[derive(Debug, Default)]
pub(super) struct FirstErrors {
    peers: BTreeMap<RankId, Error>,
    other: Option<Error>,
}

impl FirstErrors {
    /// An error with a peer, which is given up.
    pub(super) fn with(&mut self, peer: RankId, error: Error) {
        self.peers.entry(peer).or_insert(error);
    }

    /// Whether an error with a peer has not been reported.
    #[inline]
    pub(super) fn are_left(&self) -> bool {
        !self.peers.is_empty()
    }

    /// The error with this peer, if there is one that has not been reported.
    pub(super) fn with_only(&mut self, peer: RankId) -> Option<Error> {
        self.peers.remove(&peer)
    }

    /// An error that concerns no peer.
    pub(super) fn without(&mut self, error: Error) {
        self.other.get_or_insert(error);
    }

    /// The reason why a peer is lost, as far as this rank knows: the error with it, or else the error that concerns
    /// no peer. Each is reported once.
    pub(super) fn of(&mut self, peer: RankId) -> Option<Error> {
        self.peers.remove(&peer).or_else(|| self.other.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_peer_has_its_own_reason() {
        let error = |rank| Error::PeerLost { rank, why: None };
        let mut errors = FirstErrors::default();
        errors.with(RankId(5), error(5));
        errors.with(RankId(5), error(6));
        let of = |errors: &mut FirstErrors, rank| errors.of(RankId(rank)).map(|error| error.to_string());
        assert_eq!(of(&mut errors, 3), None);
        errors.without(error(9));
        assert_eq!(of(&mut errors, 5), Some(error(5).to_string()));
        assert_eq!(of(&mut errors, 3), Some(error(9).to_string()));
        assert_eq!(of(&mut errors, 3), None);
    }
}
