//! The memory of the application, registered with the adapter: kept for the next use where that is safe.
//!
//! Which registrations are kept, found again, and ended, and which small buffers are worth one, is decided by [`RegistrationCache`];
//! here they are made and ended, and it is told what the application unmaps.

use crate::ibv::{Device, Region};
use crate::memory_hooks::MemoryHooks;
use crate::{Access, VerbsError};
use carrousel_registration::{
    Acquired, Deregister, Limits, Path, Policy, RegionId, Registration, RegistrationCache, Route, Span,
    Thresholds,
};
use carrousel_transport::{Keys, MemoryDomain};
use rustix::mm::{Advice, madvise};
use std::sync::Arc;

/// Why a registration can be kept when its transfer is over, or that it cannot.
#[derive(Debug)]
enum Means {
    /// The adapter follows what the process maps.
    OnDemand,
    /// The kernel tells what the process unmaps.
    Hooked(MemoryHooks),
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
    memory: RegistrationCache,
    /// Whether small buffers that are used often are registered.
    reuses: bool,
    /// By the index of their name.
    regions: Vec<Option<Region>>,
    work: Vec<Deregister>,
    means: Means,
}

/// Registered memory that is in use. It has to be [released](Registrations::release).
#[derive(Debug)]
#[must_use = "it has to be released"]
pub struct MrGuard {
    keys: Keys,
    what: What,
}

#[derive(Debug)]
enum What {
    Kept(RegionId),
    /// Registered for this one use.
    Own(#[expect(dead_code, reason = "its end is that of the registration")] Region),
}

/// The pages were unmapped while they were registered.
struct Stale;

impl MrGuard {
    /// How the adapter knows the memory.
    pub fn keys(&self) -> Keys {
        self.keys
    }
}

impl Registrations {
    /// Of a device. Registrations are kept if the adapter or the kernel makes that safe, and `keep` is set. Then, if
    /// there is a policy for it, small buffers that are used often are registered, too.
    pub fn new(device: &Arc<Device>, keep: bool, reuse: Option<Policy>) -> Self {
        let means = if !keep {
            Means::None("they are not to be kept (verbs_cache is off)".to_owned())
        } else if device.is_on_demand() && can_populate() {
            Means::OnDemand
        } else {
            match MemoryHooks::start() {
                Ok(hooks) => Means::Hooked(hooks),
                Err(error) => Means::None(error.to_string()),
            }
        };
        Self::by(device, means, reuse)
    }

    /// Keeps registrations without noticing what is unmapped: for a test that shows the stale bytes.
    #[cfg(feature = "stale")]
    #[doc(hidden)]
    pub fn trusting(device: &Arc<Device>) -> Self {
        Self::by(device, Means::Trusting, None)
    }

    fn by(device: &Arc<Device>, means: Means, reuse: Option<Policy>) -> Self {
        let never = Policy { thresholds: Thresholds::uniform(Thresholds::NEVER), ..Policy::default() };
        let reuses = reuse.is_some() && !matches!(means, Means::None(_));
        let memory = RegistrationCache::new(Limits::default(), reuse.unwrap_or(never));
        Self { device: Arc::clone(device), memory, reuses, regions: Vec::new(), work: Vec::new(), means }
    }

    /// Whether registrations are kept, and why or why not, in words.
    pub fn describe(&self) -> String {
        let kept = self.describe_means();
        if self.reuses { format!("{kept}; small buffers that are used often are not copied") } else { kept }
    }

    fn describe_means(&self) -> String {
        match &self.means {
            Means::OnDemand => "registrations are kept: the adapter pages on demand".to_owned(),
            Means::Hooked(_) => "registrations are kept: userfaultfd tells what is unmapped".to_owned(),
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
    /// peer with these keys is outstanding, and nobody else writes to them meanwhile, or, with [`Access::Write`]
    /// or [`Access::Receive`], uses them at all. Afterwards there are no such operations.
    ///
    /// # Errors
    /// When the system refuses.
    pub unsafe fn acquire(
        &mut self,
        start: *mut u8,
        len: usize,
        access: Access,
    ) -> Result<MrGuard, VerbsError> {
        // A registration that is kept is for everything. Memory that cannot be written to is not kept.
        let span = Span::new(start.expose_provenance() as u64, len as u64);
        if let Some(span) = span
            && !matches!(self.means, Means::None(_))
            && let Some(guard) = self.find(span)
        {
            return Ok(guard);
        }
        // SAFETY: as the caller promises: the region goes with what is returned.
        let region = unsafe { Region::register(&self.device, start, len, access, false)? };
        Ok(MrGuard { keys: region.keys(), what: What::Own(region) })
    }

    /// A small transfer is about to be made on this path: its buffer's registration, if it is used often enough to have
    /// one. If it has none, the bytes are to be copied through memory that is registered for good.
    ///
    /// Each call is a use. Those of a buffer count on all paths together; how many are enough is of each path's own, and
    /// what one has registered the others find.
    ///
    /// # Safety
    ///
    /// As for [`Registrations::acquire`], once there is a registration: with [`Access::Write`] for [`Path::Get`], as the
    /// adapter writes into the buffer, and with [`Access::Read`] for the others.
    #[inline]
    pub unsafe fn acquire_often_used(&mut self, start: *mut u8, len: usize, path: Path) -> Option<MrGuard> {
        if !self.reuses {
            return None;
        }
        self.catch_up();
        let address = start.expose_provenance() as u64;
        let route = self.memory.transfer(address, len as u64, path, &mut self.work);
        self.deregister();
        match route {
            Route::Copy => None,
            Route::Direct(id) => self.usable(id, Span::new(address, len as u64)?),
            Route::Register(id, pages) => self.make(id, pages).ok().flatten(),
        }
    }

    /// A registration that is kept; `None` if there can be none.
    fn find(&mut self, span: Span) -> Option<MrGuard> {
        // What was unmapped while it was registered is tried again, as a program may do that all the time not for ever.
        for _ in 0..3 {
            self.catch_up();
            let acquired = self.memory.acquire(span, &mut self.work);
            self.deregister();
            match acquired {
                Acquired::Hit(id) => return self.usable(id, span),
                Acquired::Register(id, pages) => {
                    if let Ok(guard) = self.make(id, pages) {
                        return guard;
                    }
                }
                Acquired::Refused(_) => return None,
            }
        }
        None
    }

    /// A registration that was found, and is held: as long as its memory can be used in all ways that it permits.
    #[inline]
    fn usable(&mut self, id: RegionId, span: Span) -> Option<MrGuard> {
        // What is pinned stays as it was.
        if matches!(self.means, Means::OnDemand) && !can_be_written(span) {
            return self.spoiled(id, span);
        }
        self.guard(id)
    }

    /// A registration that was found is of memory that has become read-only: it is not found again.
    #[cold]
    fn spoiled(&mut self, id: RegionId, span: Span) -> Option<MrGuard> {
        self.memory.invalidate(span, &mut self.work);
        // It is held, once: since it was found.
        let _ = self.memory.release(id, &mut self.work);
        self.deregister();
        None
    }

    #[inline]
    fn guard(&self, id: RegionId) -> Option<MrGuard> {
        let keys = self.regions.get(id.index as usize)?.as_ref()?.keys();
        Some(MrGuard { keys, what: What::Kept(id) })
    }

    /// Makes a registration that was asked for; `None` if that cannot be.
    fn make(&mut self, id: RegionId, pages: Span) -> Result<Option<MrGuard>, Stale> {
        let Some(region) = self.register(pages) else {
            // It was asked for, and is answered once.
            let _ = self.memory.failed(id);
            return Ok(None);
        };
        self.catch_up();
        let place = id.index as usize;
        if self.regions.len() <= place {
            self.regions.resize_with(place + 1, || None);
        }
        self.regions[place] = Some(region);
        let answer = self.memory.registered(id, &mut self.work);
        self.deregister();
        if answer == Ok(Registration::Usable) { Ok(self.guard(id)) } else { Err(Stale) }
    }

    /// Registers whole pages for keeping.
    fn register(&mut self, pages: Span) -> Option<Region> {
        if let Means::Hooked(hooks) = &mut self.means {
            // Before they are registered: what happens to them in between is noticed.
            hooks.cover(pages).ok()?;
        }
        let start = std::ptr::with_exposed_provenance_mut::<u8>(pages.start() as usize);
        let on_demand = matches!(self.means, Means::OnDemand);
        if on_demand && !can_be_written(pages) {
            return None;
        }
        // SAFETY: operations are only posted, and peers only told the keys, while somebody holds the registration, for bytes
        // of which `acquire` was promised what is asked here.
        #[allow(unsafe_code, reason = "memory is handed to the adapter")]
        let region =
            unsafe { Region::register(&self.device, start, pages.len() as usize, Access::Write, on_demand) };
        region.ok()
    }

    /// Tells the cache what was unmapped.
    #[inline]
    fn catch_up(&mut self) {
        if let Means::Hooked(hooks) = &mut self.means {
            let (memory, work) = (&mut self.memory, &mut self.work);
            hooks.look(|span| memory.invalidate(span, work));
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
    pub fn release(&mut self, guard: MrGuard) {
        if let What::Kept(id) = guard.what {
            // It is held, once: by what is given back here.
            let _ = self.memory.release(id, &mut self.work);
            self.deregister();
        }
    }
}

impl MemoryDomain for Registrations {
    type Registration = MrGuard;
    type Error = VerbsError;

    unsafe fn register(&mut self, start: *mut u8, len: usize, writable: bool) -> Result<MrGuard, VerbsError> {
        let access = if writable { Access::Write } else { Access::Read };
        // SAFETY: as the caller promises.
        unsafe { self.acquire(start, len, access) }
    }

    #[inline]
    unsafe fn register_often_used(&mut self, start: *mut u8, len: usize) -> Option<MrGuard> {
        // SAFETY: as the caller promises.
        unsafe { self.acquire_often_used(start, len, Path::EagerBySend) }
    }

    #[inline]
    fn keys(&self, registration: &MrGuard) -> Keys {
        registration.keys()
    }

    fn release(&mut self, registration: MrGuard) {
        self.release(registration);
    }
}

/// Whether memory can be written to, all of its pages; they are faulted in.
///
/// Pinning refuses memory that cannot be. Where the adapter pages on demand it would find that itself, and fail the
/// operation, and with it the connection, even if that only reads: pages are faulted in for all that the registration
/// permits. As nobody tells that memory has become read-only, that is asked whenever it is used: a system call.
fn can_be_written(span: Span) -> bool {
    let Some(pages) = span.pages(Limits::default().page_bits) else { return false };
    let start = std::ptr::with_exposed_provenance_mut(pages.start() as usize);
    // SAFETY: it changes no byte, and what cannot be written to, or is not mapped, is an error (madvise(2)).
    unsafe { madvise(start, pages.len() as usize, Advice::LinuxPopulateWrite) }.is_ok()
}

/// Whether the kernel can say if memory can be written to (since Linux 5.14). Without that, none is registered for paging on
/// demand.
fn can_populate() -> bool {
    // SAFETY: about no memory: a question whether there is this advice (madvise(2)).
    let answer = unsafe { madvise(std::ptr::null_mut(), 0, Advice::LinuxPopulateWrite) };
    answer.is_ok()
}
