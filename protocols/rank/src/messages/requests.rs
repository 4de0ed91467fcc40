//! The table of open requests.

use super::places::Places;
use super::state::{State, collective_of};
use crate::{Status, UsageError};
use alloc::vec::Vec;
use carrousel_matching::Handle;

/// The first positions, which are all that most programs use, are searched one by one.
const LOW: usize = 8;

/// Requests by position; a freed position is used again, the lowest first, so that names depend on
/// the application's calls only and not on when the network delivered what. Requests of a collective's round are named
/// after the collective, and have no position.
///
/// Invariants, which [`Requests::check_invariants`] asserts:
/// - `free` is the lowest position without a request;
/// - requests of rounds stand in order of their names, each once, and are not complete: they go when they are over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Requests {
    slots: Vec<Slot>,
    /// The lowest free position.
    free: usize,
    /// Of the positions from [`LOW`] on, counted from there.
    taken: Places,
    /// What the rounds of collectives have under way.
    of_rounds: Vec<(Handle, State)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Slot {
    generation: u32,
    state: Option<State>,
}

impl Requests {
    /// The name of the request that is opened next.
    #[inline]
    pub(super) fn next(&self) -> Handle {
        let generation = self.slots.get(self.free).map_or(0, |slot| slot.generation);
        Handle { index: self.free as u32, generation }
    }

    /// As if the request that would be opened next had been opened, completed and released.
    #[inline(always)]
    pub(super) fn skip(&mut self) {
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
    pub(super) fn open(&mut self, state: State) -> Handle {
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
    pub(super) fn get(&self, handle: Handle) -> Option<&State> {
        let Some(slot) = self.slots.get(handle.index as usize) else { return self.get_of_round(handle) };
        slot.state.as_ref().filter(|_| slot.generation == handle.generation)
    }

    #[cold]
    fn get_of_round(&self, handle: Handle) -> Option<&State> {
        self.round_position(handle).ok().map(|at| &self.of_rounds[at].1)
    }

    fn round_position(&self, handle: Handle) -> Result<usize, usize> {
        self.of_rounds.binary_search_by_key(&handle, |(request, _)| *request)
    }

    /// Changes a request of the application.
    #[inline]
    pub(super) fn set(&mut self, handle: Handle, state: State) {
        debug_assert!(self.get(handle).is_some(), "{handle} is not open");
        self.slots[handle.index as usize].state = Some(state);
    }

    /// Changes a request of the application or of a round.
    pub(super) fn set_any(&mut self, handle: Handle, state: State) {
        if collective_of(handle).is_none() {
            return self.set(handle, state);
        }
        if let Ok(at) = self.round_position(handle) {
            self.of_rounds[at].1 = state;
        }
    }

    /// A request of a round begins, which has its name already.
    pub(super) fn open_of_round(&mut self, handle: Handle, state: State) {
        debug_assert!(collective_of(handle).is_some(), "{handle} is the application's");
        match self.round_position(handle) {
            Ok(at) => debug_assert!(false, "{} is open: {:?}", handle, self.of_rounds[at].1),
            Err(at) => self.of_rounds.insert(at, (handle, state)),
        }
    }

    /// A request of a round ends. False if there is none.
    pub(super) fn close_of_round(&mut self, handle: Handle) -> bool {
        let position = self.round_position(handle);
        position.map(|at| self.of_rounds.remove(at)).is_ok()
    }

    /// Asserts the invariants, in debug builds.
    pub(super) fn check_invariants(&self) {
        debug_assert!(self.slots.get(self.free).is_none_or(|slot| slot.state.is_none()));
        debug_assert!(self.slots.iter().take(self.free).all(|slot| slot.state.is_some()));
        debug_assert!(self.of_rounds.is_sorted_by(|(earlier, _), (later, _)| earlier < later));
        debug_assert!(self.of_rounds.iter().all(|(_, state)| !matches!(state, State::Complete(_))));
    }

    /// Releases a request that is complete and for whose end `read` has a value, which is returned.
    #[inline(always)]
    pub(super) fn release_if<T>(
        &mut self,
        handle: Handle,
        read: impl FnOnce(&Status) -> Option<T>,
    ) -> Option<T> {
        let index = handle.index as usize;
        let slot = self.slots.get(index).filter(|slot| slot.generation == handle.generation)?;
        let Some(State::Complete(status)) = &slot.state else { return None };
        let value = read(status)?;
        self.vacate(index);
        Some(value)
    }

    /// The request at a position is released.
    #[inline(always)]
    fn vacate(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.state = None;
        slot.generation = slot.generation.wrapping_add(1);
        self.free = self.free.min(index);
        if index >= LOW {
            self.set_free(index);
        }
    }

    #[inline]
    pub(super) fn release(&mut self, handle: Handle) -> Result<Option<Status>, UsageError> {
        let index = handle.index as usize;
        let slot = self.slots.get(index).filter(|slot| slot.generation == handle.generation);
        let Some(slot) = slot else { return Err(UsageError::NoSuchRequest(handle)) };
        match slot.state {
            None => Err(UsageError::NoSuchRequest(handle)),
            Some(State::Complete(status)) => {
                self.vacate(index);
                Ok(Some(status))
            }
            Some(_) => Ok(None),
        }
    }

    /// Whether a receive is waiting to be cancelled.
    pub(super) fn is_cancelling(&self, handle: Handle) -> bool {
        matches!(self.get(handle), Some(State::Posted { asked: Some(_) }))
    }

    /// How many positions there are, and requests of rounds.
    pub(super) fn len(&self) -> usize {
        self.slots.len() + self.of_rounds.len()
    }

    /// How many receives wait for a message.
    pub(super) fn posted(&self) -> usize {
        let own = self.slots.iter().filter_map(|slot| slot.state.as_ref());
        let all = own.chain(self.of_rounds.iter().map(|(_, state)| state));
        all.filter(|state| matches!(state, State::Posted { .. })).count()
    }

    /// Open requests of the application, complete or not, in order of position.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Handle, &State)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let handle = Handle { index: index as u32, generation: slot.generation };
            slot.state.as_ref().map(|state| (handle, state))
        })
    }
}
