//! Registered memory: the only bytes of the application that the library touches.
//!
//! A request registers its buffer when it starts and releases it when it ends. In between, the memory has a name: an
//! address with a key. Everything else in the library has only the name, and asks here for the bytes. A name that is
//! out of date, or invented by a peer, has no bytes.

#![allow(unsafe_code, reason = "turns the addresses of lent memory into bytes")]

use crate::Error;
use crate::backends::{AnyMemoryDomain, AnyRegistration};
use carrousel_rank::{Memory, Packet};
use carrousel_transport::{Keys, MemoryDomain, Regions};

/// The bits of a key that are a position; the others count how often the position was used.
const POSITION_BITS: u32 = 20;
/// The most regions at a time: the last position stays free, for [`Registry::NONE`].
const POSITIONS: usize = (1 << POSITION_BITS) - 1;
/// Selects the position of a key.
const POSITION_MASK: u32 = (1 << POSITION_BITS) - 1;

#[derive(Clone, Copy, Debug)]
struct Region {
    start: *mut u8,
    len: usize,
    access: Access,
    /// The upper bits of the key.
    uses: u32,
}

// SAFETY: a region is an address. The caller of `register` has promised that its bytes may be used, in whichever thread
// that happens; they are used only through the registry, which one thread has at a time.
unsafe impl Send for Region {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    None,
    Read,
    Write,
}

/// The registered memory of this process.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    regions: Vec<Region>,
    /// Free positions.
    free: Vec<u32>,
    /// Registers this memory at the adapter by which peers of other nodes reach it, if there is one.
    domain: Option<AnyMemoryDomain>,
    /// By position: the registration at the adapter, if the region needed one.
    known: Vec<Option<AnyRegistration>>,
    /// The region of the next zero-copy send: our key and the adapter's.
    offered: Option<(u32, u32)>,
    /// Keys of the regions of zero-copy sends in flight (speculative-rendezvous 5.3): few, as each is a work request.
    zcopy_in_flight: Vec<u32>,
}

impl Registry {
    /// The null region, for operations without data.
    pub(crate) const NONE: Memory = Memory { address: 0, key: u32::MAX };

    /// Registers memory for reading.
    ///
    /// # Safety
    ///
    /// Until the key is released, the memory is valid for reads, and nobody writes to it.
    #[inline]
    pub(crate) unsafe fn register(&mut self, start: *const u8, len: usize) -> Memory {
        self.add(start.cast_mut(), len, Access::Read)
    }

    /// Registers memory for reading and writing.
    ///
    /// # Safety
    ///
    /// Until the key is released, the memory is valid for reads and writes, initialised, and not used by anybody else.
    #[inline]
    pub(crate) unsafe fn register_mut(&mut self, start: *mut u8, len: usize) -> Memory {
        self.add(start, len, Access::Write)
    }

    #[inline]
    fn add(&mut self, start: *mut u8, len: usize, access: Access) -> Memory {
        let position = self.free.pop().unwrap_or_else(|| {
            let position = self.regions.len();
            assert!(position < POSITIONS, "more than {POSITIONS} buffers in use at a time");
            self.regions.push(Region { start, len, access: Access::None, uses: 0 });
            position as u32
        });
        let region = &mut self.regions[position as usize];
        *region = Region { start, len, access, uses: region.uses };
        Memory { address: start.addr() as u64, key: region.uses << POSITION_BITS | position }
    }

    /// Ends a registration: the memory is its owner's again.
    #[inline]
    pub(crate) fn release(&mut self, key: u32) {
        let position = key & POSITION_MASK;
        if let Some(region) = self.regions.get_mut(position as usize)
            && region.access != Access::None
            && region.uses == key >> POSITION_BITS
        {
            region.access = Access::None;
            if let Some(known) = self.known.get_mut(position as usize)
                && let (Some(registration), Some(domain)) = (known.take(), &mut self.domain)
            {
                domain.release(registration);
            }
            region.uses = (region.uses + 1) & (u32::MAX >> POSITION_BITS);
            self.free.push(position);
        }
    }

    /// The adapter's registration of a small buffer that is about to be sent, if it is used often enough for zero-copy.
    ///
    /// # Safety
    ///
    /// The returned registration is passed to [`Registry::offer`] with a region of the same bytes.
    #[inline]
    pub(crate) unsafe fn often_used(&mut self, bytes: &[u8]) -> Option<AnyRegistration> {
        let domain = self.domain.as_mut()?;
        // SAFETY: as the caller promises: the bytes are registered here for as long as the adapter may read them.
        // Noticed by: the jobs between guests, whose programs check every byte.
        unsafe { domain.register_often_used(bytes.as_ptr().cast_mut(), bytes.len()) }
    }

    /// Lets the next send from `memory`, which has this registration at the adapter, be zero-copy.
    pub(crate) fn offer(&mut self, memory: Memory, registration: AnyRegistration) {
        self.offered = self.domain.as_ref().map(|domain| (memory.key, domain.keys(&registration).local));
        *entry(&mut self.known, (memory.key & POSITION_MASK) as usize) = Some(registration);
    }

    /// Takes the offer back, whether or not a message was sent from there.
    pub(crate) fn withdraw(&mut self) {
        self.offered = None;
    }

    /// The adapter's key of the offered memory.
    #[inline]
    pub(crate) fn offered(&self, memory: Memory) -> Option<u32> {
        self.offered.filter(|(key, _)| *key == memory.key).map(|(_, local)| local)
    }

    /// A zero-copy send begins: the adapter reads the memory until it is [done](Registry::end_zcopy).
    pub(crate) fn begin_zcopy(&mut self, key: u32) {
        self.zcopy_in_flight.push(key);
    }

    /// Whether any zero-copy send is in flight.
    #[inline]
    pub(crate) fn has_zcopy_in_flight(&self) -> bool {
        !self.zcopy_in_flight.is_empty()
    }

    /// Whether the adapter may still read this memory: then the memory is not its owner's yet.
    pub(crate) fn is_zcopy_in_flight(&self, key: u32) -> bool {
        self.zcopy_in_flight.contains(&key)
    }

    /// A zero-copy send is done: the adapter has read the memory, or never will.
    pub(crate) fn end_zcopy(&mut self, key: u32) {
        self.zcopy_in_flight.retain(|in_flight| *in_flight != key);
    }

    /// The address of the bytes, if they are registered under this key.
    #[inline(always)]
    fn find(&self, memory: Memory, len: u64) -> Option<(*mut u8, usize, Access)> {
        let region = self.regions.get((memory.key & POSITION_MASK) as usize)?;
        if region.uses != memory.key >> POSITION_BITS {
            return None;
        }
        let offset = memory.address.checked_sub(region.start.addr() as u64)?;
        let fits = offset.checked_add(len).is_some_and(|end| end <= region.len as u64);
        // `wrapping_add`, because memory of length 0 may be anywhere.
        fits.then(|| (region.start.wrapping_add(offset as usize), len as usize, region.access))
    }

    /// Copies between two registered ranges, which may overlap; does nothing if one of them is not registered.
    pub(crate) fn copy(&mut self, from: Memory, into: Memory, len: u64) {
        let Some((from, len, Access::Read | Access::Write)) = self.find(from, len) else { return };
        let Some((into, _, Access::Write)) = self.find(into, len as u64) else { return };
        // SAFETY: both are `len` bytes of registered memory, `into` for writing, so by the promises of
        // `register` and `register_mut` they are valid; `copy` allows that they overlap.
        // Noticed by: tests/messages.rs, a message to oneself, under AddressSanitizer.
        unsafe { std::ptr::copy(from, into, len) }
    }
}

impl Registry {
    /// A registry whose memory can be registered at an adapter, if there is one.
    pub(crate) fn over(domain: Option<AnyMemoryDomain>) -> Self {
        Self { domain, ..Self::default() }
    }

    /// Registers bytes at the adapter, unless they are registered there already.
    pub(crate) fn export(&mut self, memory: Memory, len: u64, writable: bool) -> Result<Option<Keys>, Error> {
        // An empty range needs no registration.
        let Some((_, 1.., access)) = self.find(memory, len) else { return Ok(None) };
        let Some(domain) = &mut self.domain else { return Ok(None) };
        if access == Access::None || access == Access::Read && writable {
            return Ok(None);
        }
        let position = (memory.key & POSITION_MASK) as usize;
        let known = entry(&mut self.known, position);
        if known.is_none() {
            let region = &self.regions[position];
            // SAFETY: until `release` gives back what is had here, the bytes are valid for this, and used by nobody else,
            // so by the promises of `register` and `register_mut`.
            // Noticed by: the jobs between guests, whose programs check every byte.
            let made = unsafe { domain.register(region.start, region.len, access == Access::Write) };
            *known = Some(made.map_err(|error| Error::Memory(error.to_string()))?);
        }
        Ok(known.as_ref().map(|registration| domain.keys(registration)))
    }

    /// A packet for a peer of another node: with the adapter's keys in place of ours.
    pub(crate) fn exported(&mut self, packet: &Packet) -> Result<Packet, Error> {
        let Some((memory, len, writable)) = packet.offers() else { return Ok(*packet) };
        let keys = self.export(memory, len, writable)?;
        Ok(keys.map_or(*packet, |keys| packet.with_key(keys.remote)))
    }

    /// Two registered ranges of the same length, one for reading and one for writing; `None` if one of them is not
    /// registered, or if they overlap.
    pub(crate) fn pair(&mut self, from: Memory, into: Memory, len: u64) -> Option<(&[u8], &mut [u8])> {
        let (from, len, Access::Read | Access::Write) = self.find(from, len)? else { return None };
        let (into, _, Access::Write) = self.find(into, len as u64)? else { return None };
        let apart = from.addr().abs_diff(into.addr()) >= len;
        // SAFETY: both are `len` bytes of registered memory, `into` for writing, so by the promises of
        // `register` and `register_mut` they are valid, and nobody else uses them but this library, which has
        // no other slice of them while these borrow `self`; they do not overlap.
        // Noticed by: tests/collectives.rs, under AddressSanitizer.
        (apart && len > 0).then(|| unsafe {
            (std::slice::from_raw_parts(from, len), std::slice::from_raw_parts_mut(into, len))
        })
    }
}

/// The entry at this position, which is created if necessary.
fn entry<T>(entries: &mut Vec<Option<T>>, position: usize) -> &mut Option<T> {
    if entries.len() <= position {
        entries.resize_with(position + 1, || None);
    }
    &mut entries[position]
}

impl Regions for Registry {
    #[inline]
    fn bytes(&self, memory: Memory, len: u64) -> Option<&[u8]> {
        match self.find(memory, len)? {
            (_, _, Access::None) => None,
            // Zero bytes may be at any address, null too.
            (_, 0, _) => Some(&[]),
            // SAFETY: registered, so by the promise of `register` or `register_mut` valid for reads and
            // written by nobody else; not by this library either while the slice lives, since it borrows
            // `self` and writing takes `&mut self`. A peer that writes here (it has been told the name)
            // does so by a system call, in another process: as the kernel does for `read(2)`.
            (start, len, _) => Some(unsafe { std::slice::from_raw_parts(start, len) }),
        }
    }

    #[inline(always)]
    fn bytes_mut(&mut self, memory: Memory, len: u64) -> Option<&mut [u8]> {
        match self.find(memory, len)? {
            (_, _, Access::None | Access::Read) => None,
            (_, 0, _) => Some(&mut []),
            // SAFETY: registered for writing, so by the promise of `register_mut` valid and used by nobody
            // else; the slice borrows `self`, so there is no other one.
            (start, len, _) => Some(unsafe { std::slice::from_raw_parts_mut(start, len) }),
        }
    }

    fn keys(&mut self, memory: Memory, len: u64, writable: bool) -> Option<Keys> {
        self.export(memory, len, writable).ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_there_from_registration_to_release() {
        let mut registry = Registry::default();
        let mut buffer = [1u8, 2, 3, 4];
        // SAFETY: the buffer is not used directly until the key is released.
        let memory = unsafe { registry.register_mut(buffer.as_mut_ptr(), 4) };
        assert_eq!(registry.bytes(memory, 4), Some(&[1, 2, 3, 4][..]));
        let inner = Memory { address: memory.address + 2, ..memory };
        registry.bytes_mut(inner, 2).expect("it is inside").fill(9);
        registry.release(memory.key);
        assert_eq!(registry.bytes(memory, 4), None);
        assert_eq!(buffer, [1, 2, 9, 9]);
    }

    #[test]
    fn what_a_peer_invents_is_not_there() {
        let mut registry = Registry::default();
        let buffer = [0u8; 8];
        // SAFETY: the buffer lives, and is not written to.
        let memory = unsafe { registry.register(buffer.as_ptr(), 8) };
        let at = |address: u64| Memory { address, ..memory };
        for (forged, len) in [
            (memory, 9),
            (at(memory.address + 1), 8),
            (at(memory.address - 1), 1),
            (at(u64::MAX), 1),
            (memory, u64::MAX),
            (Memory { key: memory.key + 1, ..memory }, 1),
            (Memory { key: memory.key + (1 << POSITION_BITS), ..memory }, 1),
        ] {
            assert_eq!(registry.bytes(forged, len), None, "{forged:?}, {len}");
        }
        assert_eq!(registry.bytes_mut(memory, 8), None, "it is for reading only");
    }

    #[test]
    fn a_key_of_before_is_none() {
        let mut registry = Registry::default();
        let buffer = [0u8; 8];
        // SAFETY: the buffer lives, and is not written to.
        let first = unsafe { registry.register(buffer.as_ptr(), 8) };
        registry.release(first.key);
        // SAFETY: as before.
        let second = unsafe { registry.register(buffer.as_ptr(), 8) };
        registry.release(first.key);
        assert_eq!(registry.bytes(first, 1), None);
        assert!(registry.bytes(second, 1).is_some());
    }
}
