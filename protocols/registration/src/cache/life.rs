//! The life of a registration: requested, valid, doomed, gone.
//!
//! No valid entry covers another one: a registration that covers an entry takes its place. So the valid entries have
//! their starts and their ends in the same order. Of the entries that start at or before an address, the last one
//! reaches farthest. So a look-up is one search in a tree, for any lengths and however the entries overlap; and an
//! entry that no request could need again does not stay registered.
//!
//! If only several entries together cover a request, it gets an entry of its own pages, not of their union. Its cost
//! is then that of its own length: earlier uses of other buffers do not make it larger, and an invalidation of their
//! pages does not end it.

use super::slots::{CachedRegion, Slots, State};
use super::{
    Acquired, AllCacheRules, CacheRules, Deregister, Limits, RegionError, Registration, RegistrationError,
};
use crate::{RegionId, Span};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::marker::PhantomData;

/// The registrations of a process.
///
/// A hit costs one comparison if it is in the entry of the last hit, and otherwise one search in a tree of the valid
/// entries. A hit by name costs one access to a table. Neither a hit nor a release allocates. Eviction depends on the
/// calls alone: the entry that has been idle for longest goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cache<R = AllCacheRules> {
    limits: Limits,
    slots: Slots,
    /// The valid entries, by their start.
    index: BTreeMap<u64, u32>,
    /// Registrations that the driver has not answered yet. They are not in the index, because no look-up may find
    /// them.
    unanswered: Vec<u32>,
    /// The entry of the last hit.
    last: u32,
    rules: PhantomData<R>,
}

impl<R: CacheRules> Cache<R> {
    /// A cache without entries.
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            slots: Slots::new(),
            index: BTreeMap::new(),
            unanswered: Vec::new(),
            last: 0,
            rules: PhantomData,
        }
    }

    /// Asks for registered memory that contains all of `span`, and holds it.
    ///
    /// After [`Acquired::Register`] the driver registers the pages, and reports by [`Self::registered`] or
    /// [`Self::failed`]; other calls may come in between. To make room, idle registrations may be deregistered: any
    /// number of outputs.
    #[inline]
    pub fn acquire(&mut self, span: Span, out: &mut impl Extend<Deregister>) -> Acquired {
        match self.acquire_registered(span) {
            Some(region) => Acquired::Hit(region),
            None => self.register(span, out),
        }
    }

    /// As [`Self::acquire`], but only memory that is registered already.
    #[inline]
    pub fn acquire_registered(&mut self, span: Span) -> Option<RegionId> {
        let index = self.find(span)?;
        self.last = index;
        self.hold(index);
        Some(self.slots.name(index))
    }

    /// As [`Self::acquire`], but only the registration of this name, if it is still valid and contains all of `span`.
    #[inline]
    pub fn acquire_again(&mut self, region: RegionId, span: Span) -> bool {
        if R::name_is_checked()
            && (self.slots.name(region.index) != region || !self.offers(region.index, span))
        {
            return false;
        }
        self.hold(region.index);
        true
    }

    /// The driver has registered the pages that it was asked for. At most one output.
    ///
    /// # Errors
    /// If it was not asked to, or has answered before.
    pub fn registered(
        &mut self,
        region: RegionId,
        out: &mut impl Extend<Deregister>,
    ) -> Result<Registration, RegionError> {
        let CachedRegion { span, state, .. } = self.answered(region)?;
        if state == State::Stale && R::stale_is_not_used() {
            self.remove(region.index, out);
            return Ok(Registration::Stale);
        }
        // The pages may have been requested twice, before the first answer.
        let is_needed = state == State::Registering && self.covering(span).is_none();
        if is_needed {
            while let Some(index) = self.covered(span) {
                self.end(index, out);
            }
            self.index.insert(span.start(), region.index);
        }
        self.set_state(region.index, if is_needed { State::Valid } else { State::Doomed });
        Ok(Registration::Usable)
    }

    /// The driver could not register the pages. The request that asked for them holds nothing, and sends another way.
    ///
    /// # Errors
    /// If it was not asked to, or has answered before.
    pub fn failed(&mut self, region: RegionId) -> Result<(), RegionError> {
        self.answered(region)?;
        self.slots.remove(region.index);
        Ok(())
    }

    /// A transfer no longer uses a registration that it acquired. At most one output.
    ///
    /// # Errors
    /// If the registration is not held.
    #[inline]
    pub fn release(
        &mut self,
        region: RegionId,
        out: &mut impl Extend<Deregister>,
    ) -> Result<(), RegionError> {
        let entry = self.named(region)?;
        match entry.state {
            _ if entry.holds == 0 => return Err(RegionError::NotHeld(region)),
            State::Registering | State::Stale => return Err(RegionError::NotHeld(region)),
            State::Valid | State::Doomed => entry.holds -= 1,
        }
        match (entry.holds, entry.state) {
            (0, State::Doomed) => self.remove(region.index, out),
            (0, _) => self.slots.set_idle(region.index),
            _ => {}
        }
        Ok(())
    }

    /// The pages under some addresses have changed or soon will: they are unmapped, mapped anew, moved, or given
    /// back. To be called before an address can get other pages. (The application must not touch buffers that are
    /// being sent anyway.) Every registration that contains one of the bytes ends. One output for each that ends and
    /// is not in use.
    pub fn invalidate(&mut self, span: Span, out: &mut impl Extend<Deregister>) {
        if !R::invalidation_kills() {
            return;
        }
        while let Some(index) = self.overlapping(span) {
            self.end(index, out);
        }
        if !R::invalidation_reaches_registering() {
            return;
        }
        for index in &self.unanswered {
            if let Some(entry) = self.slots.get_mut(*index)
                && entry.span.overlaps(span)
            {
                entry.state = State::Stale;
            }
        }
    }

    /// Ends every registration: before a fork, at the end, or when invalidations are no longer reported.
    pub fn clear(&mut self, out: &mut impl Extend<Deregister>) {
        self.invalidate(Span::ALL, out);
    }

    /// The bytes that a registration covers, as long as it exists.
    pub fn span(&self, region: RegionId) -> Option<Span> {
        let entry = self.slots.get(region.index).filter(|_| self.slots.name(region.index) == region);
        entry.map(|entry| entry.span)
    }

    /// Whether the registration can be handed out.
    pub fn is_valid(&self, region: RegionId) -> bool {
        let entry = self.slots.get(region.index).filter(|_| self.slots.name(region.index) == region);
        entry.is_some_and(|entry| entry.state == State::Valid)
    }

    /// The number of registrations, including those under way and those that only wait for their end.
    pub const fn len(&self) -> u32 {
        self.slots.all().0
    }

    /// Whether there is no registration.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of bytes that are registered, or being registered.
    pub const fn bytes(&self) -> u64 {
        self.slots.all().1
    }

    #[cold]
    fn register(&mut self, span: Span, out: &mut impl Extend<Deregister>) -> Acquired {
        let Some(pages) = span.pages(self.limits.page_bits) else {
            return Acquired::Refused(RegistrationError::NoSuchPages);
        };
        if let Err(refusal) = self.make_room(pages.len(), out) {
            return Acquired::Refused(refusal);
        }
        match self.slots.insert(CachedRegion { span: pages, state: State::Registering, holds: 1 }) {
            Some(index) => {
                self.unanswered.push(index);
                Acquired::Register(self.slots.name(index), pages)
            }
            None => Acquired::Refused(RegistrationError::Full),
        }
    }

    /// Evicts entries until `bytes` more fit; evicts nothing if that could not be enough.
    fn make_room(&mut self, bytes: u64, out: &mut impl Extend<Deregister>) -> Result<(), RegistrationError> {
        let limits = self.limits;
        let fits = |(entries, used): (u32, u64)| {
            entries < limits.entries && used.checked_add(bytes).is_some_and(|sum| sum <= limits.bytes)
        };
        if !fits((0, 0)) {
            return Err(RegistrationError::TooLarge);
        }
        if R::evicts_idle_only() && !fits(self.slots.busy()) {
            return Err(RegistrationError::Full);
        }
        while !fits(self.slots.all()) {
            let in_use = || self.index.values().next().copied().filter(|_| !R::evicts_idle_only());
            let Some(index) = self.slots.longest_idle().or_else(in_use) else {
                return Err(RegistrationError::Full);
            };
            self.forget(index);
            self.take_apart(index, out);
        }
        Ok(())
    }

    /// The valid entry that contains all of `span`, for use.
    #[inline]
    fn find(&self, span: Span) -> Option<u32> {
        if self.offers(self.last, span) {
            return Some(self.last);
        }
        let (_, index) = self.index.range(..=span.start()).next_back()?;
        self.offers(*index, span).then_some(*index)
    }

    #[inline]
    fn offers(&self, index: u32, span: Span) -> bool {
        self.slots.get(index).is_some_and(|entry| {
            let first_byte = || entry.span.start() <= span.start() && span.start() < entry.span.end();
            let covers = if R::covers() { entry.span.contains(span) } else { first_byte() };
            covers && entry.state == State::Valid
        })
    }

    /// A valid entry that covers `span`.
    fn covering(&self, span: Span) -> Option<u32> {
        let (_, index) = self.index.range(..=span.start()).next_back()?;
        self.slots.get(*index).filter(|entry| entry.span.contains(span)).map(|_| *index)
    }

    /// A valid entry that `span` covers.
    fn covered(&self, span: Span) -> Option<u32> {
        let (_, index) = self.index.range(span.start()..).next()?;
        self.slots.get(*index).filter(|entry| span.contains(entry.span)).map(|_| *index)
    }

    /// A valid entry that shares a byte with `span`: the first one that starts behind its start, or the last one
    /// before.
    fn overlapping(&self, span: Span) -> Option<u32> {
        let before = self.index.range(..=span.start()).next_back();
        let behind = self.index.range(span.start()..).next();
        let has_byte = |index: &u32| self.slots.get(*index).is_some_and(|entry| entry.span.overlaps(span));
        [before, behind].into_iter().flatten().map(|(_, index)| *index).find(has_byte)
    }

    #[inline]
    fn hold(&mut self, index: u32) {
        let Some(entry) = self.slots.get_mut(index) else { return };
        entry.holds += 1;
        if entry.holds == 1 {
            self.slots.set_busy(index);
        }
    }

    /// Ends a valid entry: it is not handed out any more, and goes when it is not in use.
    fn end(&mut self, index: u32, out: &mut impl Extend<Deregister>) {
        self.forget(index);
        if R::in_use_stays() && self.slots.get(index).is_some_and(|entry| entry.holds > 0) {
            self.set_state(index, State::Doomed);
        } else {
            self.take_apart(index, out);
        }
    }

    /// Takes a valid entry out of the index.
    fn forget(&mut self, index: u32) {
        if let Some(entry) = self.slots.get(index) {
            self.index.remove(&entry.span.start());
        }
    }

    /// Removes an entry, idle or not.
    fn take_apart(&mut self, index: u32, out: &mut impl Extend<Deregister>) {
        if self.slots.get(index).is_some_and(|entry| entry.holds == 0) {
            self.slots.set_busy(index);
        }
        self.remove(index, out);
    }

    /// Removes an entry that is not in the list of idle ones.
    fn remove(&mut self, index: u32, out: &mut impl Extend<Deregister>) {
        out.extend([Deregister(self.slots.name(index))]);
        self.slots.remove(index);
    }

    fn set_state(&mut self, index: u32, state: State) {
        if let Some(entry) = self.slots.get_mut(index) {
            entry.state = state;
        }
    }

    /// The entry of this name.
    #[inline]
    fn named(&mut self, region: RegionId) -> Result<&mut CachedRegion, RegionError> {
        let is_it = !R::name_is_checked() || self.slots.name(region.index) == region;
        let entry = self.slots.get_mut(region.index).filter(|_| is_it);
        entry.ok_or(RegionError::NoSuchRegion(region))
    }

    /// The entry of this name, for which the driver was asked. With this answer, the question is settled.
    fn answered(&mut self, region: RegionId) -> Result<CachedRegion, RegionError> {
        let entry = *self.named(region)?;
        if !matches!(entry.state, State::Registering | State::Stale) {
            return Err(RegionError::NotAsked(region));
        }
        self.unanswered.retain(|index| *index != region.index);
        Ok(entry)
    }
}
