//! Memory of the application, registered with the adapter of a transport.
//!
//! The name is libfabric's (`fid_domain`); UCX has `uct_md`, libibverbs the protection domain.

#![allow(unsafe_code, reason = "declares the calls by which memory is handed to an adapter")]

use crate::Keys;
use core::fmt;

/// Registers memory of the application with an adapter.
///
/// A domain may keep registrations when they are released, and find them again: its caller sees no difference. Its
/// transport reaches registered memory by its [`Keys`], which a [`Regions`](crate::Regions) has to name.
pub trait MemoryDomain {
    /// Registered memory that is in use. It has to be [released](MemoryDomain::release).
    type Registration;
    /// Why memory is not registered.
    type Error: fmt::Display;

    /// Registers `len` bytes from `start` for operations of this process and of its peers, or finds a registration of them.
    ///
    /// # Safety
    ///
    /// Until the registration is released, the bytes are valid for reads, and for writes if `writable`, whenever an
    /// operation with its keys is outstanding; meanwhile nobody else writes to them, or uses them at all if `writable`.
    /// Afterwards there are no such operations.
    ///
    /// # Errors
    /// When the system refuses.
    unsafe fn register(
        &mut self,
        start: *mut u8,
        len: usize,
        writable: bool,
    ) -> Result<Self::Registration, Self::Error>;

    /// The registration of a small buffer that is about to be sent, if it is sent often enough to have one; each call counts
    /// as a use. Without a registration the bytes are to be copied.
    ///
    /// # Safety
    ///
    /// As for [`MemoryDomain::register`], for reading.
    unsafe fn register_often_used(&mut self, start: *mut u8, len: usize) -> Option<Self::Registration>;

    /// The keys of the memory, valid until the registration is released.
    fn keys(&self, registration: &Self::Registration) -> Keys;

    /// The adapter uses the memory no more.
    fn release(&mut self, registration: Self::Registration);
}
