//! The memory of the application, registered with the adapter: kept for the next use where that is safe.
//!
//! Which registrations are kept, found again, and ended is decided by [`Cache`]; here they are made and ended, and the
//! news of what the application unmaps are brought to it.

use crate::ibv::{Device, Region};
use crate::watch::Watch;
use crate::{Access, VerbsError};
use carrousel_reuse::{Acquired, AllCacheRules, Cache, Deregister, Limits, RegionId, Registration, Span};
use carrousel_transport::Keys;
use std::sync::Arc;

/// Why a registration can be kept when its transfer is over, or that it cannot.
#[derive(Debug)]
enum Means {
    /// The adapter follows what the process maps.
    OnDemand,
    /// The kernel tells what the process unmaps.
    Watched(Watch),
    /// Nothing does: memory is registered for each transfer.
    None(String),
    /// For tests that show why that is so: registrations are kept all the same.
    #[cfg(feature = "stale")]
    Trusting,
}

/// Registered memory of the application.
#[derive(Debug)]
pub struct Registrations {
    device: Arc<Device>,
    cache: Cache<AllCacheRules>,
    /// By the index of their name.
    regions: Vec<Option<Region>>,
    work: Vec<Deregister>,
    means: Means,
}

/// Registered memory that is in use. It has to be [released](Registrations::release).
#[derive(Debug)]
#[must_use = "it has to be released"]
pub struct Held {
    keys: Keys,
    what: What,
}

#[derive(Debug)]
enum What {
    Kept(RegionId),
    /// Registered for this one use.
    Own(#[expect(dead_code, reason = "its end is that of the registration")] Region),
}

impl Held {
    /// How the adapter knows the memory.
    pub fn keys(&self) -> Keys {
        self.keys
    }
}

impl Registrations {
    /// Of a device. Registrations are kept if the adapter or the kernel makes that safe, and `keep` is set.
    pub fn new(device: &Arc<Device>, keep: bool) -> Self {
        let means = if !keep {
            Means::None("they are not to be kept (verbs_cache is off)".to_owned())
        } else if device.is_on_demand() {
            Means::OnDemand
        } else {
            match Watch::start() {
                Ok(watch) => Means::Watched(watch),
                Err(error) => Means::None(error.to_string()),
            }
        };
        Self::by(device, means)
    }

    /// Registrations are kept, and nobody tells what is unmapped: what a test needs that shows what comes of it.
    #[cfg(feature = "stale")]
    #[doc(hidden)]
    pub fn trusting(device: &Arc<Device>) -> Self {
        Self::by(device, Means::Trusting)
    }

    fn by(device: &Arc<Device>, means: Means) -> Self {
        let cache = Cache::new(Limits::default());
        Self { device: Arc::clone(device), cache, regions: Vec::new(), work: Vec::new(), means }
    }

    /// Whether registrations are kept, and why or why not, in words.
    pub fn describe(&self) -> String {
        match &self.means {
            Means::OnDemand => "registrations are kept: the adapter pages on demand".to_owned(),
            Means::Watched(_) => "registrations are kept: userfaultfd tells what is unmapped".to_owned(),
            Means::None(why) => format!("memory is registered for each message: {why}"),
            #[cfg(feature = "stale")]
            Means::Trusting => "registrations are kept, though nothing tells what is unmapped".to_owned(),
        }
    }

    /// Registers `len` bytes from `start`, or finds a registration of them.
    ///
    /// # Safety
    ///
    /// Until this is released, the bytes are valid for what `access` says whenever an operation of this process or of a
    /// peer with these keys is outstanding, and nobody else writes to them meanwhile, or, with [`Access::Write`],
    /// uses them at all. Afterwards there are no such operations.
    ///
    /// # Errors
    /// When the system refuses.
    pub unsafe fn acquire(&mut self, start: *mut u8, len: usize, access: Access) -> Result<Held, VerbsError> {
        // A registration that is kept is for everything. Memory that cannot be written to is not kept.
        let span = Span::new(start.expose_provenance() as u64, len as u64);
        if let Some(span) = span
            && !matches!(self.means, Means::None(_))
            && let Some(held) = self.find(span)
        {
            return Ok(held);
        }
        // SAFETY: as the caller promises: the region goes with what is returned.
        let region = unsafe { Region::register(&self.device, start, len, access, false)? };
        Ok(Held { keys: region.keys(), what: What::Own(region) })
    }

    /// A registration that is kept; `None` if there can be none.
    fn find(&mut self, span: Span) -> Option<Held> {
        // What was unmapped while it was registered is tried again, as a program may do that all the time not for ever.
        for _ in 0..3 {
            self.catch_up();
            let acquired = self.cache.acquire(span, &mut self.work);
            self.deregister();
            let (id, pages) = match acquired {
                Acquired::Hit(id) => {
                    let keys = self.regions.get(id.index as usize)?.as_ref()?.keys();
                    return Some(Held { keys, what: What::Kept(id) });
                }
                Acquired::Register(id, pages) => (id, pages),
                Acquired::Refused(_) => return None,
            };
            let Some(region) = self.register(pages) else {
                // It was asked for above, and is answered once.
                let _ = self.cache.failed(id);
                return None;
            };
            self.catch_up();
            let keys = region.keys();
            let place = id.index as usize;
            if self.regions.len() <= place {
                self.regions.resize_with(place + 1, || None);
            }
            self.regions[place] = Some(region);
            let answer = self.cache.registered(id, &mut self.work);
            self.deregister();
            if answer == Ok(Registration::Usable) {
                return Some(Held { keys, what: What::Kept(id) });
            }
        }
        None
    }

    /// Registers whole pages for keeping.
    fn register(&mut self, pages: Span) -> Option<Region> {
        if let Means::Watched(watch) = &mut self.means {
            // Before they are registered: what happens to them in between is noticed.
            watch.cover(pages).ok()?;
        }
        let start = std::ptr::with_exposed_provenance_mut(pages.start() as usize);
        let on_demand = matches!(self.means, Means::OnDemand);
        // SAFETY: operations are only posted, and peers only told the keys, while somebody holds the registration, for bytes
        // of which `acquire` was promised what is asked here.
        #[allow(unsafe_code)]
        let region =
            unsafe { Region::register(&self.device, start, pages.len() as usize, Access::Write, on_demand) };
        region.ok()
    }

    /// Brings the cache the news.
    #[inline]
    fn catch_up(&mut self) {
        if let Means::Watched(watch) = &mut self.means {
            let (cache, work) = (&mut self.cache, &mut self.work);
            watch.look(|span| cache.invalidate(span, work));
            self.deregister();
        }
    }

    /// Carries out what the cache has asked for.
    #[inline]
    fn deregister(&mut self) {
        while let Some(Deregister(id)) = self.work.pop() {
            if let Some(region) = self.regions.get_mut(id.index as usize) {
                *region = None;
            }
        }
    }

    /// The memory is no longer used by the adapter.
    pub fn release(&mut self, held: Held) {
        if let What::Kept(id) = held.what {
            // It is held, once: by what is given back here.
            let _ = self.cache.release(id, &mut self.work);
            self.deregister();
        }
    }
}
