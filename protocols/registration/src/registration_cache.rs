//! Small transfers without a copy: the uses of buffers, and the cache, composed.

use crate::{
    Acquired, Advice, AllCacheRules, Cache, CacheRules, Deregister, Limits, Path, Policy, RegionError,
    RegionId, Registration, Reuse, Span,
};
use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

/// The safety rules of direct transfers, one function each; `rules.toml` gives the purpose of each. Types that switch
/// a rule off exist only in the checker.
pub trait ReuseRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// A direct transfer is complete when the adapter has read, or written, the buffer (B1).
    fn completes_locally() -> bool {
        true
    }
}

/// Every rule is on: the type of production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllReuseRules {}
impl ReuseRules for AllReuseRules {}

/// The moment from which the application may touch the buffer of a direct transfer again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completion {
    /// When the adapter reports the end of the work request.
    WhenDone,
    /// At once. Only the checker uses it.
    WhenPosted,
}

/// The way in which a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a region that is held has to be released"]
pub enum Route {
    /// Through staging memory, which stays registered: the message is complete when it is copied.
    Copy,
    /// From the buffer, or into it, through this registration. The caller releases it when the transfer is done.
    Direct(RegionId),
    /// The driver registers these pages now. It reports by [`RegistrationCache::registered`], which says whether the message
    /// travels directly, or by [`RegistrationCache::failed`]; after that the message is copied.
    Register(RegionId, Span),
}

/// The registrations of a process, and the decision which of its buffers get one.
///
/// Rendezvous and direct transfers share the registrations: each finds those that the other has made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegistrationCache<C = AllCacheRules, R = AllReuseRules> {
    cache: Cache<C>,
    reuse: Reuse,
    /// Small buffers for which the driver has not answered yet: region, address and length.
    asked: Vec<(RegionId, u64, u64)>,
    rules: PhantomData<R>,
}

impl<C: CacheRules, R: ReuseRules> RegistrationCache<C, R> {
    /// The moment at which a direct transfer is complete.
    pub fn completion() -> Completion {
        if R::completes_locally() { Completion::WhenDone } else { Completion::WhenPosted }
    }

    /// Without registrations and without counted uses.
    pub const fn new(limits: Limits, policy: Policy) -> Self {
        Self { cache: Cache::new(limits), reuse: Reuse::new(policy), asked: Vec::new(), rules: PhantomData }
    }

    /// The registrations.
    pub const fn cache(&self) -> &Cache<C> {
        &self.cache
    }

    /// The uses.
    pub const fn reuse(&self) -> &Reuse {
        &self.reuse
    }

    /// A small message is about to be transferred: returns the way in which it travels. Copying is always possible,
    /// so the message waits for nothing.
    #[inline]
    pub fn transfer(
        &mut self,
        address: u64,
        len: u64,
        path: Path,
        out: &mut impl Extend<Deregister>,
    ) -> Route {
        let Some(span) = Span::new(address, len) else { return Route::Copy };
        match self.reuse.on_use(address, len, path) {
            Advice::Copy => Route::Copy,
            Advice::Direct(region) if self.cache.acquire_again(region, span) => Route::Direct(region),
            Advice::Direct(region) => self.otherwise(region, span, out),
            Advice::Register => self.register(span, out),
        }
    }

    /// As [`Cache::acquire`], for a message that is not copied.
    #[inline]
    pub fn acquire(&mut self, span: Span, out: &mut impl Extend<Deregister>) -> Acquired {
        self.cache.acquire(span, &mut Watched { reuse: &mut self.reuse, out })
    }

    /// As [`Cache::registered`].
    ///
    /// # Errors
    /// If the driver was not asked to, or has answered before.
    pub fn registered(
        &mut self,
        region: RegionId,
        out: &mut impl Extend<Deregister>,
    ) -> Result<Registration, RegionError> {
        let answer = self.cache.registered(region, &mut Watched { reuse: &mut self.reuse, out })?;
        if let Some((address, len)) = self.take_asked(region) {
            match answer {
                Registration::Usable => self.reuse.registered(address, len, region),
                Registration::Stale => self.reuse.restart(address, len),
            }
        }
        Ok(answer)
    }

    /// As [`Cache::failed`]. The buffer is registered again only after twice as many uses as before.
    ///
    /// # Errors
    /// If the driver was not asked to, or has answered before.
    pub fn failed(&mut self, region: RegionId) -> Result<(), RegionError> {
        self.cache.failed(region)?;
        if let Some((address, len)) = self.take_asked(region) {
            self.reuse.refused(address, len);
        }
        Ok(())
    }

    /// As [`Cache::release`].
    ///
    /// # Errors
    /// If the registration is not held.
    #[inline]
    pub fn release(
        &mut self,
        region: RegionId,
        out: &mut impl Extend<Deregister>,
    ) -> Result<(), RegionError> {
        self.cache.release(region, &mut Watched { reuse: &mut self.reuse, out })
    }

    /// As [`Cache::invalidate`]. The uses of buffers that were registered are counted from the start: other buffers
    /// are at their addresses now.
    pub fn invalidate(&mut self, span: Span, out: &mut impl Extend<Deregister>) {
        self.cache.invalidate(span, &mut Watched { reuse: &mut self.reuse, out });
    }

    /// As [`Cache::clear`]. All counts of uses are cleared, too.
    pub fn clear(&mut self, out: &mut impl Extend<Deregister>) {
        self.cache.clear(out);
        self.reuse.clear();
    }

    /// The registration that the buffer's entry names is of no use for it any more.
    #[cold]
    fn otherwise(&mut self, region: RegionId, span: Span, out: &mut impl Extend<Deregister>) -> Route {
        if let Some(other) = self.cache.acquire_registered(span) {
            self.reuse.registered(span.start(), span.len(), other);
            return Route::Direct(other);
        }
        if self.cache.is_valid(region) {
            // The message is longer than the one for which the buffer was registered.
            return self.register(span, out);
        }
        self.reuse.lost(region);
        self.reuse.restart(span.start(), span.len());
        Route::Copy
    }

    #[cold]
    fn register(&mut self, span: Span, out: &mut impl Extend<Deregister>) -> Route {
        match self.acquire(span, out) {
            Acquired::Hit(region) => {
                self.reuse.registered(span.start(), span.len(), region);
                Route::Direct(region)
            }
            Acquired::Register(region, pages) => {
                self.asked.push((region, span.start(), span.len()));
                Route::Register(region, pages)
            }
            Acquired::Refused(_) => {
                self.reuse.restart(span.start(), span.len());
                Route::Copy
            }
        }
    }

    fn take_asked(&mut self, region: RegionId) -> Option<(u64, u64)> {
        let at = self.asked.iter().position(|(asked, ..)| *asked == region)?;
        let (_, address, len) = self.asked.swap_remove(at);
        Some((address, len))
    }
}

/// Passes outputs of the cache on to the driver, after it has told them to the counts of uses.
struct Watched<'a, O> {
    reuse: &'a mut Reuse,
    out: &'a mut O,
}

impl<O: Extend<Deregister>> Extend<Deregister> for Watched<'_, O> {
    fn extend<I: IntoIterator<Item = Deregister>>(&mut self, outputs: I) {
        for output in outputs {
            self.reuse.lost(output.0);
            self.out.extend([output]);
        }
    }
}
