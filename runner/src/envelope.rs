//! Ranks, sources and tags of a program as the library takes them, and back.

use carrousel::{Any, Source, Status, Tag};
use carrousel_program::{self as program, Members, RankId, Received, TagSelector, mpi};

/// A rank of the job as the library numbers it among these members.
pub(crate) fn member(rank: RankId, members: &Members) -> u32 {
    members.comm_rank(rank).unwrap_or_else(|| unreachable!("a program names members only, not {rank:?}"))
}

/// A status with its source as a rank of the job.
pub(crate) fn of_job(status: Status, members: &Members) -> Status {
    let source = members.rank(status.source).map_or(status.source, |rank| rank.0);
    Status { source, ..status }
}

pub(crate) fn source(from: program::Source, members: &Members) -> Source {
    match from {
        program::Source::Rank(rank) => member(rank, members).into(),
        program::Source::Any => Any.into(),
    }
}

pub(crate) fn selector(tag: TagSelector) -> Tag {
    mpi::named(tag).map_or(Any.into(), Tag::from)
}

/// The message of a receive, as `source(NAME)` and `tag(NAME)` give it.
pub(crate) fn received(message: Status) -> Received {
    Received { source: message.source, tag: message.tag }
}
