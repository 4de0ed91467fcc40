//! MPI's tags: the layout of the endpoint's 64 bits that this library gives them, and which of them are legal
//! (MPI-4.1, 3.2.3 and 3.2.4).
//!
//! To the endpoint all 64 bits of a tag are alike. So what leaves here is one of MPI's tags, or its `MPI_ANY_TAG`, and
//! an application that names another one is told so before anything begins.

use carrousel_rank::{TagSelector, UsageError, check_mpi_tag, mpi};
use std::borrow::Cow;

/// A tag, or any (`MPI_ANY_TAG`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag(pub(super) TagSelector);

impl From<Tag> for TagSelector {
    fn from(tag: Tag) -> Self {
        tag.0
    }
}

/// The tag of a message that is sent.
#[inline]
pub(crate) fn of_send(tag: u32) -> Result<carrousel_rank::Tag, UsageError> {
    let tag = mpi::tag(tag);
    check_mpi_tag(tag)?;
    Ok(tag)
}

/// The tags that a receive accepts.
#[inline]
pub(crate) fn of_receive(tag: impl Into<Tag>) -> Result<TagSelector, UsageError> {
    let Tag(tag) = tag.into();
    check_mpi_tag(tag.tag())?;
    Ok(tag)
}

/// Tags in hang reports and errors.
pub(crate) fn text(tag: TagSelector) -> Cow<'static, str> {
    mpi::named(tag).map_or(Cow::Borrowed("any"), |tag| tag.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Any;

    #[test]
    fn tags_above_the_greatest_one_are_refused() {
        let greatest = i32::MAX as u32;
        for tag in [0, 7, greatest] {
            assert_eq!(of_send(tag), Ok(mpi::tag(tag)));
            assert_eq!(of_receive(tag), Ok(mpi::selector(Some(tag))));
        }
        for tag in [greatest + 1, u32::MAX] {
            let refused = UsageError::TagTooGreat { tag: tag.into() };
            assert_eq!(of_send(tag), Err(refused));
            assert_eq!(of_receive(tag), Err(refused));
        }
        assert_eq!(of_receive(Any), Ok(mpi::ANY_TAG));
    }

    #[test]
    fn reports_name_a_tag_or_any() {
        let told = |tag: Tag| text(tag.0);
        assert_eq!((told(7.into()), told(Any.into())), ("7".into(), "any".into()));
    }
}
