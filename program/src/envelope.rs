//! Ranks, tags and sources of the language as the library has them, and back. No other file knows both.

use carrousel_rank::{Communicator, Pattern, RankId, Source, Tag, TagSelector, mpi};
use carrousel_scenario as scenario;

pub(crate) fn source(from: scenario::Source) -> Source {
    match from {
        scenario::Source::Rank(rank) => Source::Rank(RankId(rank)),
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
pub(crate) fn pattern(from: scenario::Source, tag: scenario::TagSelector) -> Pattern {
    let context = Communicator::WORLD.messages();
    Pattern { source: source(from), tag: selector(tag), context }
}

/// The message of a receive or a probe, as `source(NAME)` and `tag(NAME)` give it.
pub fn received(source: RankId, tag: Tag) -> scenario::Received {
    scenario::Received { source: source.0, tag: mpi::number(tag) }
}
