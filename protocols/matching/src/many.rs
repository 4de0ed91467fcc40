//! A queue of many entries, with lists of those that have a key in common: nothing in it takes longer the more there are.

use alloc::vec::Vec;

/// No slot.
const NONE: u32 = u32::MAX;

/// What a queue looks entries up by.
pub trait Keyed<const KEYS: usize> {
    /// Its keys. Entries that are looked for by the same key should have it in common, and few others.
    fn keys(&self) -> [u64; KEYS];

    /// Entries of different parts are never told apart by which of them came first: the queues of two histories that
    /// differ in that are equal.
    fn part(&self) -> u128 {
        0
    }
}

/// A list of slots.
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

/// A slot's neighbours in a list.
#[derive(Clone, Copy, Debug)]
struct Links {
    before: u32,
    behind: u32,
}

const EMPTY: Ends = Ends { first: NONE, last: NONE };
const ALONE: Links = Links { before: NONE, behind: NONE };

#[derive(Clone, Debug)]
struct Slot<E, const KEYS: usize> {
    /// `None` in a slot that is free.
    entry: Option<E>,
    /// Counts entries: of two, the one with the lower number was there first.
    number: u64,
    /// Among all.
    order: Links,
    /// By key: among those whose keys fall into the same bucket.
    same: [Links; KEYS],
}

/// Entries in order, each in a list of all and, for each of its keys, in one of a bucket.
#[derive(Clone, Debug)]
pub(crate) struct Many<E, const KEYS: usize> {
    slots: Vec<Slot<E, KEYS>>,
    free: Vec<u32>,
    order: Ends,
    /// A power of two of them, not fewer than there are entries.
    buckets: Vec<[Ends; KEYS]>,
    next: u64,
    len: usize,
}

impl<E: Keyed<KEYS>, const KEYS: usize> Many<E, KEYS> {
    /// These entries, in this order, with room for as many again.
    pub(crate) fn new(entries: impl ExactSizeIterator<Item = E>) -> Self {
        let mut many = Self {
            slots: Vec::with_capacity(2 * entries.len()),
            free: Vec::new(),
            order: EMPTY,
            buckets: alloc::vec![[EMPTY; KEYS]; (2 * entries.len()).next_power_of_two()],
            next: 0,
            len: 0,
        };
        entries.for_each(|entry| many.push(entry));
        many
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The bucket of a key.
    fn bucket(&self, key: u64) -> usize {
        // Fibonacci hashing: the upper bits of the product depend on all bits of the key.
        let mixed = (key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.buckets.len() - 1)
    }

    pub(crate) fn push(&mut self, entry: E) {
        if self.len >= self.buckets.len() {
            self.grow();
        }
        let keys = entry.keys();
        let slot = Slot { entry: Some(entry), number: self.next, order: ALONE, same: [ALONE; KEYS] };
        self.next += 1;
        self.len += 1;
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        append(&mut self.slots, &mut self.order, at, |slot| &mut slot.order);
        self.list(at, keys);
    }

    /// Appends a slot to the lists of its keys.
    fn list(&mut self, at: u32, keys: [u64; KEYS]) {
        for (which, key) in keys.into_iter().enumerate() {
            let bucket = self.bucket(key);
            let ends = &mut self.buckets[bucket][which];
            append(&mut self.slots, ends, at, |slot| &mut slot.same[which]);
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.buckets = alloc::vec![[EMPTY; KEYS]; 2 * self.buckets.len()];
        let mut at = self.order.first;
        while let Some(slot) = self.slots.get_mut(at as usize) {
            let behind = slot.order.behind;
            if let Some(entry) = &slot.entry {
                let keys = entry.keys();
                slot.same = [ALONE; KEYS];
                self.list(at, keys);
            }
            at = behind;
        }
    }

    /// The slot of the oldest entry that is `wanted` among those with one of these keys: each is one of the kind that
    /// stands with it.
    pub(crate) fn oldest(&self, keys: &[(usize, u64)], wanted: impl Fn(&E) -> bool) -> Option<u32> {
        let first = |&(which, key): &(usize, u64)| {
            let mut at = self.buckets[self.bucket(key)][which].first;
            while let Some(slot) = self.slots.get(at as usize) {
                if slot.entry.as_ref().is_some_and(&wanted) {
                    return Some((slot.number, at));
                }
                at = slot.same[which].behind;
            }
            None
        };
        keys.iter().filter_map(first).min().map(|(_, at)| at)
    }

    pub(crate) fn get(&self, at: u32) -> Option<&E> {
        self.slots.get(at as usize)?.entry.as_ref()
    }

    pub(crate) fn first(&self) -> Option<u32> {
        Some(self.order.first).filter(|first| *first != NONE)
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, at: u32) -> Option<E> {
        let keys = self.get(at)?.keys();
        for (which, key) in keys.into_iter().enumerate() {
            let bucket = self.bucket(key);
            let ends = &mut self.buckets[bucket][which];
            unlink(&mut self.slots, ends, at, |slot| &mut slot.same[which]);
        }
        unlink(&mut self.slots, &mut self.order, at, |slot| &mut slot.order);
        self.free.push(at);
        self.len -= 1;
        self.slots[at as usize].entry.take()
    }

    /// All, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        let slot = |at: u32| self.slots.get(at as usize);
        let slots = core::iter::successors(slot(self.order.first), move |before| slot(before.order.behind));
        slots.filter_map(|slot| slot.entry.as_ref())
    }

    /// Changes the oldest `count`. Their keys have to stay what they are.
    pub(crate) fn change(&mut self, count: usize, mut change: impl FnMut(&mut E)) {
        let mut at = self.order.first;
        for _ in 0..count {
            let Some(slot) = self.slots.get_mut(at as usize) else { return };
            slot.entry.iter_mut().for_each(&mut change);
            at = slot.order.behind;
        }
    }

    /// All, oldest first; none is left.
    pub(crate) fn take_all(&mut self) -> Vec<E> {
        let mut all = Vec::with_capacity(self.len);
        while let Some(entry) = self.first().and_then(|first| self.remove(first)) {
            all.push(entry);
        }
        all
    }
}

/// Appends a slot that is in no such list.
fn append<E, const KEYS: usize>(
    slots: &mut [Slot<E, KEYS>],
    ends: &mut Ends,
    at: u32,
    links: impl Fn(&mut Slot<E, KEYS>) -> &mut Links,
) {
    links(&mut slots[at as usize]).before = ends.last;
    match slots.get_mut(ends.last as usize) {
        Some(last) => links(last).behind = at,
        None => ends.first = at,
    }
    ends.last = at;
}

/// Takes a slot out of a list.
fn unlink<E, const KEYS: usize>(
    slots: &mut [Slot<E, KEYS>],
    ends: &mut Ends,
    at: u32,
    links: impl Fn(&mut Slot<E, KEYS>) -> &mut Links,
) {
    let Links { before, behind } = *links(&mut slots[at as usize]);
    match slots.get_mut(before as usize) {
        Some(slot) => links(slot).behind = behind,
        None => ends.first = behind,
    }
    match slots.get_mut(behind as usize) {
        Some(slot) => links(slot).before = before,
        None => ends.last = before,
    }
}
