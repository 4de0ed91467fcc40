//! What crosses the border beside objects: arrays, texts, and where results go.

use crate::error::carrousel_error;
use core::ffi::{c_char, c_void};
use core::fmt::{self, Display, Write};
use core::mem::MaybeUninit;
use core::slice;

/// The memory of a host. Without one, the memory is malloc's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct carrousel_allocator {
    /// Returns `size` bytes (never 0) aligned to `align` (a power of two), or null. It must not unwind.
    pub allocate:
        Option<unsafe extern "C" fn(context: *mut c_void, size: usize, align: usize) -> *mut c_void>,
    /// Takes a block back that `allocate` has returned for the same `size` and `align`. It must not unwind.
    pub release:
        Option<unsafe extern "C" fn(context: *mut c_void, block: *mut c_void, size: usize, align: usize)>,
    /// The first argument of both.
    pub context: *mut c_void,
}

/// Whether an array of the host can be one.
fn check<T>(first: *const T, len: usize) -> Result<(), carrousel_error> {
    if first.is_null() {
        return Err(carrousel_error::NullPointer);
    }
    let bytes = len.checked_mul(size_of::<T>());
    if !first.is_aligned() || bytes.is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(carrousel_error::WrongLength);
    }
    Ok(())
}

/// An array of the host: `len` elements, or none.
pub(crate) fn array<'a, T>(first: *const T, len: usize) -> Result<&'a [T], carrousel_error> {
    if len == 0 {
        return Ok(&[]);
    }
    check(first, len)?;
    // SAFETY: the host promises that so many elements are there, and that nobody changes them during the
    // call. It is not longer than an array can be.
    Ok(unsafe { slice::from_raw_parts(first, len) })
}

/// Room of the host, of which nothing is read.
pub(crate) fn room<'a, T>(first: *mut T, len: usize) -> Result<&'a mut [MaybeUninit<T>], carrousel_error> {
    if len == 0 {
        return Ok(&mut []);
    }
    check(first, len)?;
    // SAFETY: as `array`; the host gives the room for the result of this call.
    Ok(unsafe { slice::from_raw_parts_mut(first.cast(), len) })
}

/// Writes a text that ends with 0. `needed`, if given, gets its bytes with the 0; a text that does not fit is
/// cut there.
pub(crate) fn text(
    it: &dyn Display,
    buffer: *mut c_char,
    len: usize,
    needed: Option<&mut MaybeUninit<usize>>,
) -> carrousel_error {
    let room = match room(buffer.cast::<u8>(), len) {
        Ok(room) => room,
        Err(error) => return error,
    };
    let mut text = Text { room, bytes: 0 };
    // A text takes everything; what has an error of its own to tell says nothing more.
    let _ = write!(text, "{it}");
    let bytes = text.end();
    if let Some(needed) = needed {
        needed.write(bytes);
    }
    if bytes <= len { carrousel_error::None } else { carrousel_error::WrongLength }
}

struct Text<'a> {
    room: &'a mut [MaybeUninit<u8>],
    bytes: usize,
}

impl Text<'_> {
    /// Writes the 0, and returns the bytes of all.
    fn end(self) -> usize {
        let at = self.bytes.min(self.room.len().saturating_sub(1));
        if let Some(last) = self.room.get_mut(at) {
            last.write(0);
        }
        self.bytes + 1
    }
}

impl Write for Text<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let free = self.room.get_mut(self.bytes..).unwrap_or_default();
        for (into, byte) in free.iter_mut().zip(part.bytes()) {
            into.write(byte);
        }
        self.bytes += part.len();
        Ok(())
    }
}
