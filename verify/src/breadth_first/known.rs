//! The states that a search has met: their fingerprints, and those of the next level whole.

use super::pieces::Pieces;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{mem, vec};

/// Parts of the table, each behind a lock of its own, for each thread that is not alone.
const PARTS_OF_A_THREAD: usize = 16;

/// States have numbers below this one, which stands for none.
pub(super) const NONE: u32 = u32::MAX;

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a state was met first: by which action of which state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin {
    /// The state's number; [`NONE`] for an initial state.
    pub(super) before: u32,
    /// The number of the action among those of the state before, or of the initial state.
    pub(super) action: u32,
}

impl Origin {
    /// The numbers of the actions on the way to a state, that of the initial state first.
    pub(super) fn trail(origins: &[Self], state: u32) -> Vec<u32> {
        let mut trail = Vec::new();
        let mut at = state;
        while let Some(origin) = origins.get(at as usize) {
            trail.push(origin.action);
            at = origin.before;
        }
        trail.reverse();
        trail
    }
}

/// Fingerprints of all states, and the states of the next level.
pub(super) struct Known<S> {
    parts: Box<[Mutex<Part<S>>]>,
}

struct Part<S> {
    /// By fingerprint: the position that the state had, or has, in `fresh`.
    positions: HashMap<u64, u32, BuildHasherDefault<Itself>>,
    /// States of the next level.
    fresh: Pieces<Fresh<S>>,
}

struct Fresh<S> {
    fingerprint: u64,
    origin: Origin,
    state: S,
}

impl<S: Hash> Known<S> {
    pub(super) fn new(threads: usize) -> Self {
        let parts = if threads == 1 { 1 } else { threads * PARTS_OF_A_THREAD };
        let part = |_| Mutex::new(Part { positions: HashMap::default(), fresh: Pieces::default() });
        Self { parts: (0..parts).map(part).collect() }
    }

    /// A state that an action leads to: whether it is new. Of several ways to a state of one level the first one counts,
    /// whichever thread comes first.
    pub(super) fn meet(&self, origin: Origin, state: S) -> bool {
        let fingerprint = fingerprint(&state);
        // The table looks at the highest and the lowest bits.
        let part = (fingerprint >> 32) as usize % self.parts.len();
        let Part { positions, fresh } = &mut *lock(&self.parts[part]);
        match positions.entry(fingerprint) {
            Entry::Vacant(vacant) => {
                vacant.insert(fresh.len() as u32);
                fresh.push(Fresh { fingerprint, origin, state });
                true
            }
            Entry::Occupied(occupied) => {
                // Another state stands there if this one is of an earlier level.
                let known = fresh.get_mut(*occupied.get() as usize);
                if let Some(known) = known.filter(|known| known.fingerprint == fingerprint) {
                    known.origin = known.origin.min(origin);
                }
                false
            }
        }
    }

    /// The next level; `None` if it has no states. The origins of its states are appended to `origins`: a state's number is its
    /// position there.
    pub(super) fn next_level(&self, origins: &mut Vec<Origin>) -> Option<Level<S>> {
        let parts: Vec<_> = self.parts.iter().map(|part| mem::take(&mut lock(part).fresh)).collect();
        let mut order: Vec<(Origin, FreshPlace)> = Vec::with_capacity(parts.iter().map(Pieces::len).sum());
        for (part, fresh) in (0..).zip(&parts) {
            order.extend(fresh.iter().map(|(at, fresh)| (fresh.origin, FreshPlace { part, at: at as u32 })));
        }
        order.sort_unstable_by_key(|(origin, _)| *origin);
        let first = u32::try_from(origins.len()).unwrap_or(NONE);
        origins.extend(order.iter().map(|(origin, _)| *origin));
        let order: Vec<FreshPlace> = order.into_iter().map(|(_, place)| place).collect();
        (!order.is_empty()).then(|| Level { first, order: order.into_iter(), parts })
    }
}

/// Where a state of a level is.
#[derive(Clone, Copy)]
struct FreshPlace {
    part: u32,
    at: u32,
}

/// The states of a level that no thread has taken yet, in the order of their origins.
pub(super) struct Level<S> {
    /// The number of the first one.
    first: u32,
    order: vec::IntoIter<FreshPlace>,
    parts: Vec<Pieces<Fresh<S>>>,
}

impl<S> Level<S> {
    /// One without states.
    pub(super) fn none() -> Self {
        Self { first: 0, order: Vec::new().into_iter(), parts: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// At most so many states, with the number of the first one.
    pub(super) fn take(&mut self, most: usize) -> (u32, Vec<S>) {
        let Self { first, order, parts } = self;
        let state = |FreshPlace { part, at }: FreshPlace| Some(parts[part as usize].take(at as usize)?.state);
        let batch: Vec<S> = order.by_ref().take(most).filter_map(state).collect();
        let begin = *first;
        *first += batch.len() as u32;
        (begin, batch)
    }
}

/// A number for a state that is the same in every run.
fn fingerprint<S: Hash>(state: &S) -> u64 {
    ahash::RandomState::with_seeds(5, 6, 7, 8).hash_one(state)
}

/// The hasher of fingerprints, which are hashes already.
#[derive(Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
