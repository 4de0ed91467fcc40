//! Guards of a rank's own memory of a window.

use carrousel::Element;
use carrousel_transport_sim::SharedMemory;
use std::cell::{Ref, RefMut};
use std::fmt;
use std::ops::{Deref, DerefMut};
use zerocopy::FromBytes;

/// This rank's memory of a window, to read.
pub struct Memory<'w, T: Element>(Ref<'w, [T]>);

/// This rank's memory of a window, to read and write.
pub struct MemoryMut<'w, T: Element>(RefMut<'w, [T]>);

impl<'w, T: Element> Memory<'w, T> {
    pub(super) fn new(memory: &'w SharedMemory) -> Self {
        Self(Ref::map(memory.borrow(), |memory| elements(memory.bytes())))
    }
}

impl<'w, T: Element> MemoryMut<'w, T> {
    pub(super) fn new(memory: &'w SharedMemory) -> Self {
        Self(RefMut::map(memory.borrow_mut(), |memory| elements_mut(memory.bytes_mut())))
    }
}

/// The memory was made of whole elements, and is aligned for any.
fn elements<T: Element>(bytes: &[u8]) -> &[T] {
    <[T]>::ref_from_bytes(bytes).unwrap_or_default()
}

fn elements_mut<T: Element>(bytes: &mut [u8]) -> &mut [T] {
    <[T]>::mut_from_bytes(bytes).unwrap_or_default()
}

impl<T: Element> Deref for Memory<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Element> Deref for MemoryMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Element> DerefMut for MemoryMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for Memory<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for MemoryMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
