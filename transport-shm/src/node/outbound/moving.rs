//! Moving to a second ring: most pairs of ranks exchange little, and begin with a small one.

use super::Out;
use super::connecting::open_peer;
use crate::node::connect::ConnectError;
use crate::node::peer::SecondRing;
use crate::{Producer, PushError};

impl Out {
    /// Moves to the second ring of a peer, as the first had no room for a frame. Returns whether there is another ring now, which
    /// may have. A frame that is only too late for the first waits there; without a ring that is large enough for a frame, the
    /// peer is lost.
    #[cold]
    pub(super) fn moves(&mut self, local_rank: usize, why: PushError) -> bool {
        let is_large = matches!(why, PushError::TooLarge { .. });
        let moved = match why {
            PushError::Corrupt(_) => Ok(false),
            PushError::Full if self.is_spared(local_rank) => return false,
            PushError::Full | PushError::TooLarge { .. } => self.move_to_second(local_rank),
        };
        match moved {
            Ok(true) => return true,
            // Its end is noticed elsewhere, when the frames that it had sent have been taken.
            Err(ConnectError::ProcessEnded(_)) => {}
            Err(why) if is_large => self.lose_because(local_rank, why),
            Err(_) => self.spare(local_rank),
            Ok(false) if why == PushError::Full => {}
            Ok(false) => self.lose(local_rank),
        }
        false
    }

    fn is_spared(&self, local_rank: usize) -> bool {
        let second = self.peers[local_rank].as_ref().and_then(|peer| peer.second);
        second.is_some_and(|second| second.is_spared)
    }

    fn spare(&mut self, local_rank: usize) {
        if let Some(second) = self.peers[local_rank].as_mut().and_then(|peer| peer.second.as_mut()) {
            second.is_spared = true;
        }
    }

    fn move_to_second(&mut self, local_rank: usize) -> Result<bool, ConnectError> {
        let rank = self.local_ranks.ranks[local_rank];
        let second = self.peers[local_rank].as_ref().and_then(|peer| peer.second);
        let Some(SecondRing { address, place, .. }) = second else { return Ok(false) };
        self.budget.take(self.segment.layout().ring_bytes() as u64)?;
        let identity = self.identity(rank, &address)?;
        let (_, segment) = open_peer(rank, identity, &address)?;
        let refused = |why| ConnectError::Segment { rank, why };
        let Some(memory) = segment.second_ring(place).map_err(refused)? else { return Ok(false) };
        let Ok(second) = Producer::new(memory) else { return Ok(false) };
        let Some(peer) = &mut self.peers[local_rank] else { return Ok(false) };
        peer.second = None;
        Ok(peer.ring.move_to(second))
    }
}
