//! Small transfers without a copy: the uses of buffers, and the cache, composed.

use crate::{
    Acquired, Advice, AllCacheRules, Cache, CacheRules, Deregister, Limits, Misuse, Path, Policy, RegionId,
    Registration, Reuse, Span,
};
use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

/// One constant for each safety rule of direct transfers; `rules.toml` says what each is for. The types that
/// switch one off live in the checker.
pub trait ReuseRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// A direct transfer is complete when the adapter has read, or written, the buffer (B1).
    const COMPLETES_LOCALLY: bool = true;
}

/// Every rule on: what runs in production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllReuseRules {}
impl ReuseRules for AllReuseRules {}

/// When the application may touch the buffer of a direct transfer again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completion {
    /// When the adapter reports the end of the work request.
    WhenDone,
    /// At once. Only the checker has it.
    WhenPosted,
}

/// How a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a region that is held has to be released"]
pub enum Route {
    /// Through staging memory, which is registered for good: it is complete when it is copied.
    Copy,
    /// From the buffer, or into it, through this registration. To be released when the transfer is done.
    Direct(RegionId),
    /// The driver registers these pages now, and says so by [`Direct::registered`], which tells whether the
    /// message then travels directly; or by [`Direct::failed`], and then it is copied.
    Register(RegionId, Span),
}

/// The registrations of a process, and which of its buffers should have one.
///
/// Rendezvous and direct transfers share the registrations: what one has registered the other finds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Direct<C = AllCacheRules, R = AllReuseRules> {
    cache: Cache<C>,
    reuse: Reuse,
    /// Small buffers whose registration the driver has not answered: region, address and length.
    asked: Vec<(RegionId, u64, u64)>,
    rules: PhantomData<R>,
}

impl<C: CacheRules, R: ReuseRules> Direct<C, R> {
    /// When a direct transfer is complete.
    pub const COMPLETION: Completion =
        if R::COMPLETES_LOCALLY { Completion::WhenDone } else { Completion::WhenPosted };

    /// Nothing is registered, nothing was used.
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

    /// A small message is about to be transferred: how it travels. Copying is always an answer, so it waits for
    /// nothing.
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

    /// As [`Cache::acquire`]: for a message that is not copied.
    #[inline]
    pub fn acquire(&mut self, span: Span, out: &mut impl Extend<Deregister>) -> Acquired {
        self.cache.acquire(span, &mut Watched { reuse: &mut self.reuse, out })
    }

    /// As [`Cache::registered`].
    ///
    /// # Errors
    /// When the driver was not asked to, or has answered before.
    pub fn registered(
        &mut self,
        region: RegionId,
        out: &mut impl Extend<Deregister>,
    ) -> Result<Registration, Misuse> {
        let answer = self.cache.registered(region, &mut Watched { reuse: &mut self.reuse, out })?;
        if let Some((address, len)) = self.take_asked(region) {
            match answer {
                Registration::Usable => self.reuse.registered(address, len, region),
                Registration::Stale => self.reuse.restart(address, len),
            }
        }
        Ok(answer)
    }

    /// As [`Cache::failed`]. The buffer is asked for again when it was used often enough once more, twice as often as before.
    ///
    /// # Errors
    /// When the driver was not asked to, or has answered before.
    pub fn failed(&mut self, region: RegionId) -> Result<(), Misuse> {
        self.cache.failed(region)?;
        if let Some((address, len)) = self.take_asked(region) {
            self.reuse.refused(address, len);
        }
        Ok(())
    }

    /// As [`Cache::release`].
    ///
    /// # Errors
    /// When nobody holds the registration.
    #[inline]
    pub fn release(&mut self, region: RegionId, out: &mut impl Extend<Deregister>) -> Result<(), Misuse> {
        self.cache.release(region, &mut Watched { reuse: &mut self.reuse, out })
    }

    /// As [`Cache::invalidate`]. Buffers that were registered have to be used often enough once more: at
    /// their addresses there are others now.
    pub fn invalidate(&mut self, span: Span, out: &mut impl Extend<Deregister>) {
        self.cache.invalidate(span, &mut Watched { reuse: &mut self.reuse, out });
    }

    /// As [`Cache::clear`]. The uses are forgotten too.
    pub fn clear(&mut self, out: &mut impl Extend<Deregister>) {
        self.cache.clear(out);
        self.reuse.clear();
    }

    /// A buffer was registered by a name that is of no use for it any more.
    #[cold]
    fn otherwise(&mut self, region: RegionId, span: Span, out: &mut impl Extend<Deregister>) -> Route {
        if let Some(other) = self.cache.acquire_registered(span) {
            self.reuse.registered(span.start(), span.len(), other);
            return Route::Direct(other);
        }
        if self.cache.is_valid(region) {
            // The message is longer than the one that it was registered for.
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

/// Outputs of the cache on their way to the driver: the uses hear of them first.
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
