//! Sources and tags of a program as the library takes them, and back.

use carrousel::{Any, Source, Status, Tag};
use carrousel_program::{self as program, RankId, Received, TagSelector};

pub(crate) fn source(from: program::Source) -> Source {
    match from {
        program::Source::Rank(rank) => rank.0.into(),
        program::Source::Any => Any.into(),
    }
}

pub(crate) fn selector(tag: TagSelector) -> Tag {
    match tag {
        TagSelector::Tag(tag) => tag.0.into(),
        TagSelector::Any => Any.into(),
    }
}

/// The message of a receive, as `source(NAME)` and `tag(NAME)` tell of it.
pub(crate) fn received(message: Status) -> Received {
    program::received(RankId(message.source), program::Tag(message.tag))
}
