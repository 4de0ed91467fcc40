//! A queue that finds the oldest entry that fits, in a time that does not grow with its length.

use crate::many::{Keyed, Many};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

/// Entries in order, of which any can be found and taken out. Up to `FEW` entries are searched one by one: that costs
/// least for a handful, as real programs have. Among more, only those are searched that share a key with the entry
/// looked for.
///
/// Two queues are equal if they have the same entries in the same order, except for the order between parts (see
/// [`Keyed::part`]). As long as entries are few, nothing allocates once the queue has had its greatest length.
#[derive(Clone, Debug)]
pub struct Queue<E, const KEYS: usize, const FEW: usize = 32> {
    /// Empty while there are more than `FEW` entries.
    pub(crate) few: VecDeque<E>,
    pub(crate) many: Option<alloc::boxed::Box<Many<E, KEYS>>>,
}

impl<E, const KEYS: usize, const FEW: usize> Default for Queue<E, KEYS, FEW> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E, const KEYS: usize, const FEW: usize> Queue<E, KEYS, FEW> {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { few: VecDeque::new(), many: None }
    }
}

impl<E: Keyed<KEYS>, const KEYS: usize, const FEW: usize> Queue<E, KEYS, FEW> {
    /// Appends an entry.
    #[inline]
    pub fn push(&mut self, entry: E) {
        if self.has_room() { self.few.push_back(entry) } else { self.push_to_many(entry) }
    }

    /// Whether the entries are still few with one more.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.few.len() < FEW && self.many.is_none()
    }

    #[inline(never)]
    pub(crate) fn push_to_many(&mut self, entry: E) {
        let few = &mut self.few;
        self.many.get_or_insert_with(|| Many::new(few.drain(..)).into()).push(entry);
    }

    /// The oldest entry that is `wanted` and has one of `keys`; each key comes with its position among
    /// [`Keyed::keys`].
    pub fn oldest<const N: usize>(
        &self,
        keys: impl FnOnce() -> [(usize, u64); N],
        wanted: impl Fn(&E) -> bool,
    ) -> Option<&E> {
        match &self.many {
            None => self.few.iter().find(|entry| wanted(entry)),
            Some(many) => many.get(many.oldest(&keys(), wanted)?),
        }
    }

    /// Takes out the oldest entry that is `wanted`, as [`Queue::oldest`] finds it.
    #[inline]
    pub fn take_oldest<const N: usize>(
        &mut self,
        keys: impl FnOnce() -> [(usize, u64); N],
        wanted: impl Fn(&E) -> bool,
    ) -> Option<E> {
        self.take_oldest_if(keys, wanted, |_| true)
    }

    /// Takes out the oldest entry that is `wanted`, as [`Queue::oldest`] finds it, if `takes` says so.
    #[inline]
    pub(crate) fn take_oldest_if<const N: usize>(
        &mut self,
        keys: impl FnOnce() -> [(usize, u64); N],
        wanted: impl Fn(&E) -> bool,
        takes: impl FnOnce(&E) -> bool,
    ) -> Option<E> {
        let Some(many) = &self.many else {
            let at = self.few.iter().position(wanted)?;
            return if takes(&self.few[at]) { self.few.remove(at) } else { None };
        };
        let at = many.oldest(&keys(), wanted)?;
        if many.get(at).is_some_and(takes) { self.take_of_many(at) } else { None }
    }

    /// Removes the oldest entries, up to the first one that is not `over`.
    pub fn forget(&mut self, over: impl Fn(&E) -> bool) {
        while let Some(many) = &self.many {
            let Some(first) = many.first().filter(|first| many.get(*first).is_some_and(&over)) else {
                return;
            };
            self.take_of_many(first);
        }
        while self.few.front().is_some_and(&over) {
            self.few.pop_front();
        }
    }

    fn take_of_many(&mut self, at: u32) -> Option<E> {
        let many = self.many.as_mut()?;
        let entry = many.remove(at);
        // Not at a length of `FEW`: a queue of about that length would be rebuilt for each entry.
        if many.len() < FEW / 4 {
            let left = many.take_all();
            self.refill(left);
        }
        entry
    }

    /// Replaces the content by these entries.
    fn refill(&mut self, mut entries: Vec<E>) {
        self.few.clear();
        self.many = None;
        if entries.len() < FEW {
            entries.sort_by_key(Keyed::part);
            self.few.extend(entries);
        } else {
            self.many = Some(Many::new(entries.into_iter()).into());
        }
    }

    fn take_all(&mut self) -> Vec<E> {
        let mut all = Vec::from(core::mem::take(&mut self.few));
        self.many.iter_mut().for_each(|many| all.append(&mut many.take_all()));
        all
    }

    /// Keeps only the entries for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&E) -> bool) {
        if self.many.is_none() {
            return self.few.retain(keep);
        }
        let mut all = self.take_all();
        all.retain(&mut keep);
        self.refill(all);
    }

    /// Reorders the entries; those with equal keys keep their order.
    pub fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&E) -> K) {
        if self.many.is_none() {
            return self.few.make_contiguous().sort_by_key(key);
        }
        let mut all = self.take_all();
        all.sort_by_key(key);
        self.refill(all);
    }

    /// All entries, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        self.few.iter().chain(self.many.iter().flat_map(|many| many.iter()))
    }

    /// Changes the oldest `count` entries, oldest first. Their keys must not change.
    pub fn change(&mut self, count: usize, mut change: impl FnMut(&mut E)) {
        self.few.iter_mut().take(count).for_each(&mut change);
        self.many.iter_mut().for_each(|many| many.change(count, &mut change));
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.few.len() + self.many.as_ref().map_or(0, |many| many.len())
    }

    /// Whether the queue is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.is_none()
    }

    /// The entries in the order that equality and the hash compare. Few entries stand in the order of their parts
    /// already.
    fn canonical(&self) -> impl Iterator<Item = &E> {
        let mut many: Vec<&E> = self.many.iter().flat_map(|many| many.iter()).collect();
        many.sort_by_key(|entry| entry.part());
        self.few.iter().chain(many)
    }
}

impl<E: Keyed<KEYS> + PartialEq, const KEYS: usize, const FEW: usize> PartialEq for Queue<E, KEYS, FEW> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.canonical().eq(other.canonical())
    }
}

impl<E: Keyed<KEYS> + Eq, const KEYS: usize, const FEW: usize> Eq for Queue<E, KEYS, FEW> {}

impl<E: Keyed<KEYS> + Hash, const KEYS: usize, const FEW: usize> Hash for Queue<E, KEYS, FEW> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len());
        self.canonical().for_each(|entry| entry.hash(state));
    }
}
