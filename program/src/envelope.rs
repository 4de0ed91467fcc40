//! Ranks, tags and sources of the language as the library has them, and back. No other file knows both.

use crate::communicators::Group;
use carrousel_rank::{Members, Pattern, RankId, Source, Tag, TagSelector, mpi};
use carrousel_scenario as scenario;

pub(crate) fn source(from: scenario::Source, group: &Group) -> Source {
    match from {
        scenario::Source::Rank(rank) => Source::Rank(group.rank(rank)),
        scenario::Source::Any => Source::Any,
    }
}

pub(crate) fn selector(tag: scenario::TagSelector) -> TagSelector {
    match tag {
        scenario::TagSelector::Tag(number) => mpi::selector(Some(number)),
        scenario::TagSelector::Any => mpi::ANY_TAG,
    }
}

pub(crate) fn tag(number: u32) -> Tag {
    mpi::tag(number)
}

/// The messages that a probe looks for.
pub(crate) fn pattern(from: scenario::Source, tag: scenario::TagSelector, group: &Group) -> Pattern {
    let context = group.communicator.messages();
    Pattern { source: source(from, group), tag: selector(tag), context }
}

/// The message of a receive or a probe among these members, as `source(NAME)` and `tag(NAME)` give it. The source is
/// one of them.
pub fn received(source: RankId, tag: Tag, members: &Members) -> scenario::Received {
    let source = members.comm_rank(source).unwrap_or(source.0);
    scenario::Received { source, tag: mpi::number(tag) }
}
