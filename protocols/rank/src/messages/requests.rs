//! The table of open requests.

use crate::collectives::active::Active;
use crate::messages::places::Places;
use crate::messages::state::{State, owner};
use crate::{Status, UsageError};
use alloc::vec::Vec;
use carrousel_matching::{Communicator, Handle, Tag};

/// The first positions, which are all that most programs use, are searched one by one.
const LOW: usize = 8;

/// Requests by position; a freed position is used again, the lowest first, so that names depend on
/// the application's calls only and not on when the network delivered what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Requests {
    slots: Vec<Slot>,
    /// The lowest free position.
    free: usize,
    /// Of the positions from [`LOW`] on, counted from there.
    taken: Places,
    /// Collectives that are not over, in the order in which they were called.
    active: Vec<Active>,
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

    /// As if the request that would be opened next had been opened, completed and released.
    #[inline(always)]
    pub(crate) fn skip(&mut self) {
        match self.slots.get_mut(self.free) {
            Some(slot) => slot.generation = slot.generation.wrapping_add(1),
            None => self.skip_new(),
        }
    }

    #[cold]
    #[inline(never)]
    fn skip_new(&mut self) {
        let index = self.slots.len();
        self.slots.push(Slot { generation: 1, state: None });
        if index >= LOW {
            self.taken.take(index - LOW);
            self.set_free(index);
        }
    }

    // A state that is handed over in memory is copied there first, which takes longer than all the rest.
    #[inline(always)]
    pub(crate) fn open(&mut self, state: State) -> Handle {
        let index = self.free;
        if index == self.slots.len() {
            self.slots.push(Slot { generation: 0, state: None });
        }
        let slot = &mut self.slots[index];
        slot.state = Some(state);
        let generation = slot.generation;
        self.take_lowest(index);
        Handle { index: index as u32, generation }
    }

    /// Takes the lowest free position, and finds the next one.
    #[inline]
    fn take_lowest(&mut self, index: usize) {
        let mut next = index + 1;
        while next < LOW {
            if self.slots.get(next).is_none_or(|slot| slot.state.is_none()) {
                self.free = next;
                return;
            }
            next += 1;
        }
        self.take_higher(index);
    }

    #[inline(never)]
    fn take_higher(&mut self, index: usize) {
        if index >= LOW {
            self.taken.take(index - LOW);
        }
        self.free = LOW + self.taken.lowest();
    }

    #[inline(never)]
    fn set_free(&mut self, index: usize) {
        self.taken.free(index - LOW);
    }

    #[inline]
    pub(crate) fn get(&self, handle: Handle) -> Option<&State> {
        let Some(slot) = self.slots.get(handle.index as usize) else { return self.of_round(handle) };
        slot.state.as_ref().filter(|_| slot.generation == handle.generation)
    }

    #[cold]
    fn of_round(&self, handle: Handle) -> Option<&State> {
        let (own, end) = owner(handle)?;
        self.active.iter().find(|active| active.own == own)?.request(end)
    }

    /// Changes a request of the application.
    #[inline]
    pub(crate) fn set(&mut self, handle: Handle, state: State) {
        debug_assert!(self.get(handle).is_some(), "{handle} is not open");
        self.slots[handle.index as usize].state = Some(state);
    }

    /// Changes a request of the application or of a round.
    pub(crate) fn set_any(&mut self, handle: Handle, state: State) {
        let Some((own, end)) = owner(handle) else { return self.set(handle, state) };
        if let Some(active) = self.active_mut(own) {
            *active.request_mut(end) = Some(state);
        }
    }

    pub(crate) fn activate(&mut self, active: Active) {
        self.active.push(active);
    }

    pub(crate) fn deactivate(&mut self, own: Handle) -> Option<Active> {
        let at = self.active.iter().position(|active| active.own == own)?;
        Some(self.active.remove(at))
    }

    pub(crate) fn active(&self) -> &[Active] {
        &self.active
    }

    pub(crate) fn active_mut(&mut self, own: Handle) -> Option<&mut Active> {
        self.active.iter_mut().find(|active| active.own == own)
    }

    /// The first collective that has these messages.
    pub(crate) fn active_of(&mut self, communicator: Communicator, tag: Tag) -> Option<&mut Active> {
        self.active.iter_mut().find(|active| active.is_of(communicator, tag))
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
                if index >= LOW {
                    self.set_free(index);
                }
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
