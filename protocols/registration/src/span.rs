//! Ranges of addresses, and the names of registrations.

use core::fmt;

/// Bytes of the process, from `start` up to, not including, `end`. Never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    start: u64,
    end: u64,
}

impl Span {
    /// Every byte behind which there is another address: everything that can be registered.
    pub const ALL: Self = Self { start: 0, end: u64::MAX };

    /// `len` bytes from `address` on. `None` if `len` is 0, or if there is no address behind the last byte.
    #[inline]
    pub const fn new(address: u64, len: u64) -> Option<Self> {
        match address.checked_add(len) {
            Some(end) if len > 0 => Some(Self { start: address, end }),
            _ => None,
        }
    }

    /// The first address.
    #[inline]
    pub const fn start(self) -> u64 {
        self.start
    }

    /// The address behind the last byte.
    #[inline]
    pub const fn end(self) -> u64 {
        self.end
    }

    /// The number of bytes.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a span is never empty")]
    pub const fn len(self) -> u64 {
        self.end - self.start
    }

    /// Whether it contains all bytes of `other`.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether both contain some byte.
    #[inline]
    pub const fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The pages of 2^`page_bits` bytes that contain a byte of it. `None` if the end of the last page is no address.
    #[inline]
    pub fn pages(self, page_bits: u32) -> Option<Self> {
        let page = 1u64.checked_shl(page_bits)?;
        Some(Self { start: self.start & !(page - 1), end: self.end.checked_next_multiple_of(page)? })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}..{:#x}", self.start, self.end)
    }
}

/// A registration, as the cache and its driver name it to each other.
///
/// `index` is reused once the registration is gone; `generation` tells the uses apart. A driver keeps the adapter's
/// keys in a list by `index`, which becomes no longer than the cache's greatest number of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId {
    /// Position in the cache's table.
    pub index: u32,
    /// How many registrations have used this position before, modulo 2^32.
    pub generation: u32,
}

impl fmt::Display for RegionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "region {}.{}", self.index, self.generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_bytes_and_each_has_an_address() {
        assert_eq!(Span::new(16, 0), None);
        assert_eq!(Span::new(u64::MAX - 1, 1).map(Span::len), Some(1));
        assert_eq!(Span::new(u64::MAX, 1), None);
    }

    #[test]
    fn pages_are_whole() {
        let pages = |address, len| Span::new(address, len).and_then(|span| span.pages(12));
        assert_eq!(pages(0x1fff, 2), Span::new(0x1000, 0x2000));
        assert_eq!(pages(0x1000, 0x1000), Span::new(0x1000, 0x1000));
        assert_eq!(pages(u64::MAX - 8, 4), None);
        assert_eq!(Span::new(1, 1).and_then(|span| span.pages(64)), None);
    }

    #[test]
    fn neighbours_do_not_overlap() {
        let span = |start, end| Span { start, end };
        assert!(!span(0, 4).overlaps(span(4, 8)));
        assert!(span(0, 5).overlaps(span(4, 8)));
        assert!(span(0, 8).contains(span(4, 8)));
        assert!(!span(0, 8).contains(span(4, 9)));
    }
}
