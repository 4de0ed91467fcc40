//! Sources and tags of a program as the library takes them, and back.

use carrousel::{Any, Source, Status, Tag};
use carrousel_program::{self as program, RankId, Received, TagSelector, mpi};

pub(crate) fn source(from: program::Source) -> Source {
    match from {
        program::Source::Rank(rank) => rank.0.into(),
        program::Source::Any => Any.into(),
    }
}

pub(crate) fn selector(tag: TagSelector) -> Tag {
    mpi::named(tag).map_or(Any.into(), Tag::from)
}

/// The message of a receive, as `source(NAME)` and `tag(NAME)` give it.
pub(crate) fn received(message: Status) -> Received {
    program::received(RankId(message.source), mpi::tag(message.tag))
}
