//! A byte that every call looks at anyway, and that the kernel clears in a child: so calls of a child are told from those of
//! its parent without an instruction more.
#![allow(unsafe_code, reason = "the kernel is asked to clear a page in children")]

use rustix::mm::{Advice, madvise};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU8, Ordering};

/// Bytes of a page, or of several: pages of other processors may have more.
const PAGE: usize = if cfg!(target_arch = "x86_64") { 4096 } else { 1 << 16 };

/// A byte in a page of its own, which is 0 at first, and in children of the process that has [opened](Gate::open) it.
#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C, align(65536)))]
pub struct Gate(UnsafeCell<[u8; PAGE]>);

impl Gate {
    /// A gate that is closed.
    pub const fn new() -> Self {
        Self(UnsafeCell::new([0; PAGE]))
    }

    /// Sets the byte, and has it cleared in children.
    ///
    /// # Safety
    /// No other thread uses the gate meanwhile, and it is not moved until it is dropped: what is in its place then would be
    /// cleared in children.
    pub unsafe fn open(&self, byte: u8) {
        // Miri knows no such advice, nor does a kernel before 4.14, and memory of a file has no such pages: children are not
        // noticed there.
        let _ = self.advise(Advice::LinuxWipeOnFork);
        // SAFETY: as the caller promises.
        unsafe { self.set(byte) };
    }

    /// The byte. No atomic, of which the compiler makes more instructions.
    #[inline(always)]
    pub fn byte(&self) -> u8 {
        // SAFETY: no other thread writes it, as the callers of `open` and `set` promise.
        unsafe { self.0.get().cast::<u8>().read() }
    }

    /// Sets the byte.
    ///
    /// # Safety
    /// No other thread uses the gate meanwhile.
    #[inline(always)]
    pub unsafe fn set(&self, byte: u8) {
        // SAFETY: as the caller promises.
        unsafe { self.0.get().cast::<u8>().write(byte) }
    }

    /// The byte, of a gate that threads share.
    #[inline(always)]
    pub fn load(&self) -> u8 {
        self.shared().load(Ordering::Relaxed)
    }

    /// Sets the byte, of a gate that threads share.
    pub fn store(&self, byte: u8) {
        self.shared().store(byte, Ordering::Relaxed);
    }

    #[inline(always)]
    fn shared(&self) -> &AtomicU8 {
        // SAFETY: the byte is there as long as the gate, and aligned as any. Its callers share the gate between threads, which
        // its type does not let them: those that do say why, and use no other function then.
        unsafe { AtomicU8::from_ptr(self.0.get().cast()) }
    }

    fn advise(&self, advice: Advice) -> rustix::io::Result<()> {
        if cfg!(miri) {
            return Ok(());
        }
        // SAFETY: the page is the gate's alone, as that is aligned to it.
        unsafe { madvise(self.0.get().cast(), PAGE, advice) }
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Gate {
    /// In a child, too: its memory is used for something else from now on, which its own children want to have.
    fn drop(&mut self) {
        let _ = self.advise(Advice::LinuxKeepOnFork);
    }
}
