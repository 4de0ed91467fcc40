//! The table of open requests.

use crate::UsageError;
use alloc::vec::Vec;
use carrousel_matching::{Context, Handle, RankId, Tag};
use carrousel_rendezvous::{LineId, Memory};

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Status {
    /// Of a receive: whose message it got. `None` for sends, barriers, and receives without a message.
    pub message: Option<(RankId, Tag)>,
    /// Bytes received or sent.
    pub len: u64,
    /// What went wrong, if something did.
    pub failure: Option<Failure>,
}

/// Why a request ended without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// `MPI_ERR_TRUNCATE`: the message has `sent` bytes, more than the receive; nothing was written past its end.
    Truncated {
        /// Length of the message.
        sent: u64,
    },
    /// The receive was cancelled.
    Cancelled,
    /// The connection to the peer is lost.
    PeerLost(RankId),
}

/// What a request is doing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum State {
    /// A message whose RTS is out: waits for DONE or CTS.
    Offered { to: RankId, context: Context, len: u64, memory: Memory },
    /// A message that is being written; `then` is what to tell the receiver afterwards.
    Writing { to: RankId, context: Context, len: u64, then: Option<Then> },
    /// A receive without a message; `asked` while its cancellation is.
    Posted { asked: Option<LineId> },
    /// A receive whose data is being read; `send` is the peer's request.
    Reading { from: RankId, context: Context, send: Handle, status: Status },
    /// A receive whose data is being written by its peer.
    Filling { from: RankId, status: Status },
    /// A barrier in its round `round`, counted from 0.
    Barrier { round: u32 },
    /// Over; the application has not released it.
    Complete(Status),
}

/// What a sender tells the receiver once a write is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Then {
    /// The data is there (published rules).
    Filled(Handle),
    /// FIN, too late to be sound.
    Fin { line: LineId, tag: Tag },
}

/// Requests by position; a freed position is used again, the lowest first, so that names depend on
/// the application's calls only and not on when the network delivered what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Requests {
    slots: Vec<Slot>,
    /// The lowest free position.
    free: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Slot {
    generation: u32,
    state: Option<State>,
}

impl Requests {
    /// The name of the request that is opened next.
    #[inline]
    pub(crate) fn next(&self) -> Handle {
        let generation = self.slots.get(self.free).map_or(0, |slot| slot.generation);
        Handle { index: self.free as u32, generation }
    }

    #[inline]
    pub(crate) fn open(&mut self, state: State) -> Handle {
        let index = self.free;
        if index == self.slots.len() {
            self.slots.push(Slot { generation: 0, state: None });
        }
        let slot = &mut self.slots[index];
        slot.state = Some(state);
        let generation = slot.generation;
        self.free += self.slots[index..].iter().take_while(|slot| slot.state.is_some()).count();
        Handle { index: index as u32, generation }
    }

    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> Option<&State> {
        let slot = self.slots.get(handle.index as usize)?;
        slot.state.as_ref().filter(|_| slot.generation == handle.generation)
    }

    #[inline]
    pub(crate) fn set(&mut self, handle: Handle, state: State) {
        debug_assert!(self.get(handle).is_some(), "{handle} is not open");
        self.slots[handle.index as usize].state = Some(state);
    }

    #[inline]
    pub(crate) fn release(&mut self, handle: Handle) -> Result<Option<Status>, UsageError> {
        let index = handle.index as usize;
        let slot = self.slots.get_mut(index).filter(|slot| slot.generation == handle.generation);
        let Some(slot) = slot else { return Err(UsageError::NoSuchRequest(handle)) };
        match slot.state {
            None => Err(UsageError::NoSuchRequest(handle)),
            Some(State::Complete(status)) => {
                slot.state = None;
                slot.generation = slot.generation.wrapping_add(1);
                self.free = self.free.min(index);
                Ok(Some(status))
            }
            Some(_) => Ok(None),
        }
    }

    /// Whether a receive is waiting to be cancelled.
    pub(crate) fn is_cancelling(&self, handle: Handle) -> bool {
        matches!(self.get(handle), Some(State::Posted { asked: Some(_) }))
    }

    /// Open requests, complete or not, in order of position.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Handle, &State)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let handle = Handle { index: index as u32, generation: slot.generation };
            slot.state.as_ref().map(|state| (handle, state))
        })
    }
}
