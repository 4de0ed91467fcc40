//! MPI's tags in 64 bits: the layout of an MPI tag, and of `MPI_ANY_TAG`.
//!
//! A tag is in the lowest 31 bits; all others are 0. `MPI_ANY_TAG` ignores these 31 bits and no others. So messages
//! with another layout, which sets higher bits, could share a context with MPI's messages, and no MPI receive would
//! take them.

use crate::{Tag, TagSelector};

/// The greatest tag: `MPI_TAG_UB`.
pub const TAG_UB: Tag = Tag(i32::MAX as u64);

/// `MPI_ANY_TAG`.
pub const ANY_TAG: TagSelector = TagSelector::new(Tag(0), TAG_UB.0);

/// An MPI tag as a message carries it. A value above [`TAG_UB`] is no MPI tag, see [`is_tag`].
#[inline]
pub const fn tag(tag: u32) -> Tag {
    Tag(tag as u64)
}

/// A receive's tag, `None` for `MPI_ANY_TAG`.
#[inline]
pub const fn selector(named: Option<u32>) -> TagSelector {
    match named {
        Some(named) => TagSelector::exact(tag(named)),
        None => ANY_TAG,
    }
}

/// The MPI tag of a message. For a tag of another layout, its lowest 31 bits.
#[inline]
pub const fn number(tag: Tag) -> u32 {
    (tag.0 & u32::MAX as u64) as u32
}

/// The tag that a receive names; `None` if it accepts several.
#[inline]
pub const fn named(selector: TagSelector) -> Option<u32> {
    if selector.is_exact() { Some(number(selector.tag())) } else { None }
}

/// Whether the tag can be that of an MPI message.
#[inline]
pub const fn is_tag(tag: Tag) -> bool {
    tag.0 <= TAG_UB.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_tag_accepts_the_tags_of_mpi_and_no_others() {
        for of_mpi in [0, 1, 1 << 30, i32::MAX as u32] {
            assert!(ANY_TAG.matches(tag(of_mpi)) && is_tag(tag(of_mpi)));
            assert_eq!(named(selector(Some(of_mpi))), Some(of_mpi));
            assert!(selector(Some(of_mpi)).overlaps(selector(None)));
        }
        for other in [1 << 31, 1 << 32, u64::MAX] {
            assert!(!ANY_TAG.matches(Tag(other)) && !is_tag(Tag(other)));
        }
        assert_eq!(named(ANY_TAG), None);
    }
}
