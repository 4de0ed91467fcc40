//! Ranks, tags and sources of the language as the library has them, and back: the one place that knows both.

use carrousel_rank::{Communicator, Pattern, RankId, Source, Tag, TagSelector};
use carrousel_scenario as scenario;

pub(crate) fn source(from: scenario::Source) -> Source {
    match from {
        scenario::Source::Rank(rank) => Source::Rank(RankId(rank)),
        scenario::Source::Any => Source::Any,
    }
}

pub(crate) fn selector(tag: scenario::TagSelector) -> TagSelector {
    match tag {
        scenario::TagSelector::Tag(number) => TagSelector::Tag(self::tag(number)),
        scenario::TagSelector::Any => TagSelector::Any,
    }
}

pub(crate) fn tag(number: u32) -> Tag {
    Tag(number)
}

/// The messages that a probe looks for.
pub(crate) fn pattern(from: scenario::Source, tag: scenario::TagSelector) -> Pattern {
    let context = Communicator::WORLD.messages();
    Pattern { source: source(from), tag: selector(tag), context }
}

/// A message that a receive or a probe has got, as `source(NAME)` and `tag(NAME)` tell of it.
pub fn received(source: RankId, tag: Tag) -> scenario::Received {
    scenario::Received { source: source.0, tag: tag.0 }
}
