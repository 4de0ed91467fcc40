//! Lists of buffers (`struct iovec`, `struct fi_ioc`). What is sent from several is put together in a copy, what is received
//! into several goes through one: an operation of one buffer, which most are, knows nothing of it.

#![allow(unsafe_code, reason = "the host lends its buffers by pointer")]

/// The most buffers of a list (`iov_limit`).
pub(crate) const PIECES_MAX: usize = 4;

/// Buffers that are one together, in order. Addresses are numbers: whichever thread drives the endpoint may use them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pieces {
    /// Where each begins, and its bytes.
    list: [(usize, usize); PIECES_MAX],
    count: usize,
}

impl Pieces {
    /// One buffer.
    pub(crate) fn one(start: *const u8, len: usize) -> Self {
        Self::new([(start.addr(), len)].into_iter()).unwrap_or_default()
    }

    /// These buffers. `None` if they are too many, or longer than memory is.
    pub(crate) fn new(buffers: impl Iterator<Item = (usize, usize)>) -> Option<Self> {
        let (mut pieces, mut all) = (Self::default(), 0_usize);
        for (start, len) in buffers {
            *pieces.list.get_mut(pieces.count)? = (start, len);
            pieces.count += 1;
            all = all.checked_add(len).filter(|all| isize::try_from(*all).is_ok())?;
        }
        Some(pieces)
    }

    fn list(&self) -> &[(usize, usize)] {
        &self.list[..self.count]
    }

    /// The bytes of all.
    pub(crate) fn len(&self) -> usize {
        self.list().iter().map(|(_, len)| len).sum()
    }

    /// Where the first one begins.
    pub(crate) fn start(&self) -> *mut u8 {
        self.list().first().map_or(std::ptr::null_mut(), |(start, _)| *start as *mut u8)
    }

    /// Whether it is one buffer, or none.
    pub(crate) fn is_one(&self) -> bool {
        self.count <= 1
    }

    /// The bytes of each.
    ///
    /// # Safety
    /// The buffers are valid for reads while the result is used, and nobody writes to them.
    pub(crate) unsafe fn slices<'a>(&self) -> [&'a [u8]; PIECES_MAX] {
        self.list.map(|(start, len)| match len {
            0 => &[][..],
            // SAFETY: as the caller promises.
            _ => unsafe { std::slice::from_raw_parts(start as *const u8, len) },
        })
    }

    /// A copy of all bytes.
    ///
    /// # Safety
    /// The buffers are valid for reads now, and nobody writes to them.
    pub(crate) unsafe fn gathered(&self) -> Box<[u8]> {
        // SAFETY: as the caller promises.
        unsafe { self.slices() }.concat().into()
    }

    /// Puts bytes into the buffers, as far as they go.
    ///
    /// # Safety
    /// The buffers are valid for writes now, and used by nobody else.
    pub(crate) unsafe fn scatter(&self, mut bytes: &[u8]) {
        for (start, len) in self.list() {
            let (here, rest) = bytes.split_at((*len).min(bytes.len()));
            // SAFETY: as the caller promises; a copy is no part of a buffer.
            unsafe { std::ptr::copy_nonoverlapping(here.as_ptr(), *start as *mut u8, here.len()) };
            bytes = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_put_together_and_taken_apart_again() {
        let mut buffers = [b"ab".to_vec(), Vec::new(), b"cdef".to_vec()];
        let of = |buffers: &mut [Vec<u8>]| {
            let places = buffers.iter_mut().map(|buffer| (buffer.as_mut_ptr().addr(), buffer.len()));
            Pieces::new(places.collect::<Vec<_>>().into_iter())
        };
        let pieces = of(&mut buffers).expect("they are few");
        assert_eq!((pieces.len(), pieces.is_one()), (6, false));
        // SAFETY: the buffers are there, and nobody else uses them.
        unsafe {
            assert_eq!(*pieces.gathered(), *b"abcdef");
            pieces.scatter(b"vwxyz");
        }
        assert_eq!(buffers.concat(), b"vwxyzf");
        assert_eq!(of(&mut vec![Vec::new(); PIECES_MAX + 1]), None);
        assert_eq!(Pieces::new([(1, usize::MAX), (1, 1)].into_iter()), None);
    }
}
