//! Which elements of a target an access is to.

use carrousel::{Element, Error};
use carrousel_rank::epoch::Blocks;

/// Elements of a target, in blocks of one length, one distance apart: a column of a matrix of `n` columns is
/// `Stride { at: column, block: 1, distance: n }`. A lone number stands for contiguous elements from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stride {
    /// The first element.
    pub at: usize,
    /// Elements of a block. An access is to whole blocks.
    pub block: usize,
    /// Elements from the begin of a block to the begin of the next: at least `block`.
    pub distance: usize,
}

impl From<usize> for Stride {
    fn from(at: usize) -> Self {
        Self { at, block: 1, distance: 1 }
    }
}

impl Stride {
    /// The bytes of `len` elements at a rank whose memory has `there`.
    ///
    /// # Errors
    /// If they are no whole blocks, or blocks overlap, or they are not all there.
    pub(super) fn blocks<T: Element>(self, rank: u32, len: usize, there: usize) -> Result<Blocks, Error> {
        let Self { at, block, distance } = self;
        if block == 0 || distance < block || !len.is_multiple_of(block) {
            return Err(Error::Blocks { len, block, distance });
        }
        let (offset, stride) = (at as u64, distance as u64);
        let elements = match distance == block || len <= block {
            // Blocks without gaps are one.
            true => Blocks::contiguous(offset, len as u64),
            false => Blocks { offset, len: block as u64, count: (len / block) as u64, stride },
        };
        let end = elements.end().map_or(usize::MAX, |end| end as usize);
        if end > there {
            return Err(Error::OutOfWindow { rank, begin: at, end, len: there });
        }
        Ok(elements.times(size_of::<T>() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(stride: impl Into<Stride>, len: usize) -> Result<Blocks, String> {
        stride.into().blocks::<u16>(7, len, 10).map_err(|error| error.to_string())
    }

    #[test]
    fn elements_become_bytes() {
        assert_eq!(blocks(3, 7), Ok(Blocks { offset: 6, len: 14, count: 1, stride: 14 }));
        assert_eq!(blocks(10, 0).map(Blocks::bytes), Ok(0));
        let column = Stride { at: 1, block: 2, distance: 4 };
        assert_eq!(blocks(column, 4), Ok(Blocks { offset: 2, len: 4, count: 2, stride: 8 }));
        assert_eq!(blocks(column, 0).map(Blocks::bytes), Ok(0));
        let alone = Stride { at: 1, block: 2, distance: usize::MAX };
        assert_eq!(blocks(alone, 2), Ok(Blocks::contiguous(2, 4)), "no other block is so far away");
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let range = |begin, end| {
            Err(format!("MPI_ERR_RMA_RANGE: elements {begin} to {end} of the window at rank 7, which has 10"))
        };
        assert_eq!(blocks(4, 7), range(4, 11));
        assert_eq!(blocks(11, 0), range(11, 11));
        assert_eq!(blocks(Stride { at: 1, block: 2, distance: 4 }, 8), range(1, 15));
        assert_eq!(blocks(Stride { at: 0, block: 1, distance: usize::MAX }, 3), range(0, usize::MAX));
        for (stride, len) in [
            (Stride { at: 0, block: 2, distance: 4 }, 3),
            (Stride { at: 0, block: 2, distance: 1 }, 2),
            (Stride { at: 0, block: 0, distance: 1 }, 0),
        ] {
            let error = blocks(stride, len).expect_err("it is wrong");
            assert!(error.starts_with("MPI_ERR_COUNT: "), "{error}");
        }
    }
}
