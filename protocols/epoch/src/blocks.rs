//! Where an operation is in the memory of its target.

/// Blocks of one length, one distance apart: contiguous bytes are one block, a column of a matrix is one block a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Blocks {
    /// Where the first begins, in bytes.
    pub offset: u64,
    /// Bytes of each.
    pub len: u64,
    /// How many there are.
    pub count: u64,
    /// Bytes from the begin of one to the begin of the next; not less than `len`, so that no two overlap.
    pub stride: u64,
}

impl Blocks {
    /// One block.
    pub const fn contiguous(offset: u64, len: u64) -> Self {
        Self { offset, len, count: 1, stride: len }
    }

    /// The same of elements of so many bytes, which have an end in memory.
    #[must_use]
    pub const fn times(self, bytes: u64) -> Self {
        let Self { offset, len, count, stride } = self;
        Self { offset: offset * bytes, len: len * bytes, count, stride: stride * bytes }
    }

    /// Bytes of all of them.
    pub const fn bytes(self) -> u64 {
        self.len.saturating_mul(self.count)
    }

    /// The byte behind the last one; `None` if it cannot be counted. Blocks without bytes end where they begin.
    pub fn end(self) -> Option<u64> {
        if self.bytes() == 0 {
            return Some(self.offset);
        }
        self.stride.checked_mul(self.count - 1)?.checked_add(self.len)?.checked_add(self.offset)
    }

    /// Where each begins.
    pub fn offsets(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |at| self.offset + at * self.stride)
    }

    /// Whether some byte is in blocks of both, which have ends. Takes as long as the fewer blocks are many.
    pub fn overlap(self, other: Self) -> bool {
        if self.bytes() == 0 || other.bytes() == 0 {
            return false;
        }
        let (few, many) = if self.count <= other.count { (self, other) } else { (other, self) };
        few.offsets().any(|begin| many.touches(begin, few.len))
    }

    /// Whether some byte is among these `len` (at least one) from `begin` on. Neither side is empty.
    fn touches(self, begin: u64, len: u64) -> bool {
        let end = begin + len;
        // The last block that begins before the end reaches furthest.
        let Some(before) = end.checked_sub(self.offset + 1) else { return false };
        let at = before.checked_div(self.stride).map_or(0, |at| at.min(self.count - 1));
        self.offset + at * self.stride + self.len > begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    fn bytes(blocks: Blocks) -> BTreeSet<u64> {
        blocks.offsets().flat_map(|begin| begin..begin + blocks.len).collect()
    }

    #[test]
    fn blocks_overlap_as_their_bytes_do() {
        let mut all = alloc::vec::Vec::new();
        for offset in 0..6 {
            for len in 0..4 {
                for count in 0..4 {
                    all.extend((len..len + 4).map(|stride| Blocks { offset, len, count, stride }));
                }
            }
        }
        for one in &all {
            let its = bytes(*one);
            assert_eq!(one.bytes(), its.len() as u64, "{one:?}");
            assert_eq!(one.end(), Some(its.last().map_or(one.offset, |last| last + 1)), "{one:?}");
            for other in &all {
                assert_eq!(one.overlap(*other), !its.is_disjoint(&bytes(*other)), "{one:?}, {other:?}");
            }
        }
    }

    #[test]
    fn an_end_that_cannot_be_counted_is_none() {
        let far = Blocks { offset: u64::MAX - 8, len: 4, count: 2, stride: 8 };
        assert_eq!(far.end(), None);
        assert_eq!(Blocks { count: 1, ..far }.end(), Some(u64::MAX - 4));
        assert_eq!(Blocks { count: u64::MAX, stride: 2, len: 1, offset: 0 }.end(), None);
    }
}
