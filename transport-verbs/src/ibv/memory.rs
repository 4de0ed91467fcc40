//! Memory that the adapter may touch.

use super::{Device, made};
use crate::{Access, VerbsError};
use carrousel_transport::{Keys, Memory};
use rdma_sys as sys;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;

/// Memory as the adapter knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sge {
    pub(crate) address: u64,
    pub(crate) len: u32,
    pub(crate) key: u32,
}

/// Registered memory. The registration ends when this is dropped.
#[derive(Debug)]
pub struct Region {
    region: *mut sys::ibv_mr,
    #[expect(dead_code, reason = "it has to outlive the region")]
    device: Arc<Device>,
}

// SAFETY: libibverbs is thread safe, and the pointer is only handed to it.
unsafe impl Send for Region {}
// SAFETY: as above; the keys, which are read through it, do not change.
unsafe impl Sync for Region {}

impl Region {
    /// Registers `len` bytes from `start`. Their pages are pinned, or, if `on_demand`, follow what is mapped there: that is
    /// for devices that [can](Device::is_on_demand).
    ///
    /// # Safety
    ///
    /// As long as the region lives, the bytes are valid for what `access` says, whenever an operation of this
    /// process or of a peer with the region's key is outstanding, and nobody else writes to them meanwhile, or,
    /// with [`Access::Write`] or [`Access::Receive`], uses them at all.
    ///
    /// # Errors
    /// When the system refuses: memory that is not mapped, or more than may be locked.
    pub unsafe fn register(
        device: &Arc<Device>,
        start: *mut u8,
        len: usize,
        access: Access,
        on_demand: bool,
    ) -> Result<Self, VerbsError> {
        // SAFETY: as the caller promises.
        unsafe { Self::register_in(device, device.domain(), (start, len), access, on_demand) }
    }

    /// As [`Region::register`], in one of the device's protection domains.
    ///
    /// # Safety
    ///
    /// As for [`Region::register`].
    unsafe fn register_in(
        device: &Arc<Device>,
        domain: *mut sys::ibv_pd,
        (start, len): (*mut u8, usize),
        access: Access,
        on_demand: bool,
    ) -> Result<Self, VerbsError> {
        use sys::ibv_access_flags as flags;
        let access = match access {
            Access::Own => 0,
            Access::Receive => flags::IBV_ACCESS_LOCAL_WRITE.0,
            Access::Read => flags::IBV_ACCESS_REMOTE_READ.0,
            Access::Write => {
                flags::IBV_ACCESS_LOCAL_WRITE.0
                    | flags::IBV_ACCESS_REMOTE_READ.0
                    | flags::IBV_ACCESS_REMOTE_WRITE.0
                    | device.atomic_access()
            }
        };
        let access = access | if on_demand { flags::IBV_ACCESS_ON_DEMAND.0 } else { 0 };
        // SAFETY: a live domain; of the memory the caller says that it may be touched.
        let region = unsafe { sys::ibv_reg_mr(domain, start.cast::<c_void>(), len, access as i32) };
        Ok(Self { region: made("registering memory", region)?, device: Arc::clone(device) })
    }

    /// The names under which the adapter knows the memory.
    pub fn keys(&self) -> Keys {
        // SAFETY: a region that has not been given back.
        unsafe { Keys { local: (*self.region).lkey, remote: (*self.region).rkey } }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: from `ibv_reg_mr`, given back once; the device still lives. That it fails would mean that
        // something else in this process still uses it, which nothing can: then it stays registered.
        let _ = unsafe { sys::ibv_dereg_mr(self.region) };
    }
}

/// Memory of the program that is registered to see what that costs: as [`Registrations`](crate::Registrations)
/// registers what it keeps, for everything. Nobody is told its keys, so nothing is ever transferred.
///
/// What watches over pages that go, where the adapter cannot page on demand, is no part of it.
#[derive(Debug)]
pub struct Trial<'a> {
    region: Region,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> Trial<'a> {
    /// Registers all of `memory`.
    ///
    /// # Errors
    /// As [`Region::register`].
    pub fn new(device: &Arc<Device>, memory: &'a mut [u8]) -> Result<Self, VerbsError> {
        let (start, len) = (memory.as_mut_ptr(), memory.len());
        let memory = (start, len);
        // SAFETY: no operation with its keys is ever outstanding: they are not handed out, and a key that was guessed is good
        // for nothing, as an adapter takes keys only of the queue pair's own protection domain (InfiniBand, volume 1,
        // 10.2.3), and this one has no queue pairs.
        let region = unsafe {
            Region::register_in(device, device.domain_apart(), memory, Access::Write, device.is_on_demand())?
        };
        Ok(Self { region, memory: PhantomData })
    }

    /// Ends the registration, as dropping it does.
    pub fn end(self) {
        drop(self.region);
    }
}

/// Registered memory of the library itself: slots of one size.
#[derive(Debug)]
pub(crate) struct BounceBuffers {
    // Before the memory, which it is about.
    region: Region,
    start: *mut u8,
    size: usize,
    count: u32,
}

// SAFETY: the memory belongs to this value alone, which can be sent like a `Box<[u8]>`.
unsafe impl Send for BounceBuffers {}

impl BounceBuffers {
    /// `count` slots of `size` bytes each, rounded up to a multiple of a cache line, filled with zeros.
    pub(crate) fn new(
        device: &Arc<Device>,
        count: u32,
        size: usize,
        access: Access,
    ) -> Result<Self, VerbsError> {
        let size = size.next_multiple_of(64).max(64);
        let bytes = size * count as usize;
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: new memory, wherever the system puts it.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags) };
        let start = start
            .map_err(|why| VerbsError::System { what: "memory for packets", why: why.into() })?
            .cast::<u8>();
        // SAFETY: the memory is mapped until `self` is dropped, after the region; nobody else has its address, and
        // a slot is looked at only when nothing is posted for it.
        match unsafe { Region::register(device, start, bytes, access, false) } {
            Ok(region) => Ok(Self { region, start, size, count }),
            Err(error) => {
                // SAFETY: mapped above, and used by nobody.
                let _ = unsafe { munmap(start.cast(), bytes) };
                Err(error)
            }
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    fn at(&self, slot: u32) -> *mut u8 {
        assert!(slot < self.count, "there are {} slots", self.count);
        // SAFETY: within the mapping, as asserted.
        unsafe { self.start.add(slot as usize * self.size) }
    }

    /// The first bytes of a slot as the adapter knows them.
    pub(crate) fn sge(&self, slot: u32, len: usize) -> Sge {
        let len = len.min(self.size) as u32;
        Sge { address: self.at(slot).addr() as u64, len, key: self.region.keys().local }
    }

    /// A slot as peers know it that may access it.
    pub(crate) fn remote(&self, slot: u32) -> Memory {
        Memory { address: self.at(slot).expose_provenance() as u64, key: self.region.keys().remote }
    }

    /// The first bytes of a slot that nothing is posted for.
    #[inline]
    pub(crate) fn bytes(&self, slot: u32, len: usize) -> &[u8] {
        // SAFETY: initialised memory within the mapping; the adapter writes only into slots that are posted.
        unsafe { std::slice::from_raw_parts(self.at(slot), len.min(self.size)) }
    }

    /// As [`BounceBuffers::bytes`], to be filled.
    #[inline]
    pub(crate) fn bytes_mut(&mut self, slot: u32, len: usize) -> &mut [u8] {
        // SAFETY: as above; the slot is borrowed with `self`.
        unsafe { std::slice::from_raw_parts_mut(self.at(slot), len.min(self.size)) }
    }
}

impl Drop for BounceBuffers {
    fn drop(&mut self) {
        // Unmapping what is registered is allowed: the registration pins the pages, not the addresses. It ends right
        // after this, when the fields are dropped.
        // SAFETY: mapped by `new`, unmapped once, and no slice of it outlives `self`.
        let _ = unsafe { munmap(self.start.cast(), self.size * self.count as usize) };
    }
}
