//! A queue of many entries, with lists of the entries that share a key. No operation takes longer the more entries
//! there are.

use alloc::vec::Vec;

/// The index that stands for no slot.
const NONE: u32 = u32::MAX;

/// The keys by which a queue looks entries up.
pub trait Keyed<const KEYS: usize> {
    /// The keys of the entry. Entries that are looked for by one key should share it, and few others should.
    fn keys(&self) -> [u64; KEYS];

    /// The part of the queue that the entry belongs to. The order between entries of different parts has no effect:
    /// two queues that differ only in that order are equal.
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
    /// `None` in a free slot.
    entry: Option<E>,
    /// Counts entries: of two entries, the one with the lower number is older.
    number: u64,
    /// The neighbours among all entries.
    order: Links,
    /// For each key, the neighbours among the entries of the same bucket.
    same: [Links; KEYS],
}

/// Entries in order. Each is in a list of all entries and, for each of its keys, in the list of a bucket.
#[derive(Clone, Debug)]
pub(crate) struct Many<E, const KEYS: usize> {
    slots: Vec<Slot<E, KEYS>>,
    free: Vec<u32>,
    order: Ends,
    /// A power of two, and at least as many as there are entries.
    buckets: Vec<[Ends; KEYS]>,
    next: u64,
    len: usize,
}

impl<E: Keyed<KEYS>, const KEYS: usize> Many<E, KEYS> {
    /// A queue of these entries, in this order, with room for as many again.
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

    /// The oldest entry that is `wanted` among those with one of these keys; each key comes with its position among
    /// the kinds of keys. Returns its slot.
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

    /// All entries, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        let slot = |at: u32| self.slots.get(at as usize);
        let slots = core::iter::successors(slot(self.order.first), move |before| slot(before.order.behind));
        slots.filter_map(|slot| slot.entry.as_ref())
    }

    /// Changes the oldest `count` entries. Their keys must not change.
    pub(crate) fn change(&mut self, count: usize, mut change: impl FnMut(&mut E)) {
        let mut at = self.order.first;
        for _ in 0..count {
            let Some(slot) = self.slots.get_mut(at as usize) else { return };
            slot.entry.iter_mut().for_each(&mut change);
            at = slot.order.behind;
        }
    }

    /// Takes all entries out, oldest first.
    pub(crate) fn take_all(&mut self) -> Vec<E> {
        let mut all = Vec::with_capacity(self.len);
        while let Some(entry) = self.first().and_then(|first| self.remove(first)) {
            all.push(entry);
        }
        all
    }
}

/// Appends a slot to a list that does not have it.
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
