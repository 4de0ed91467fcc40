//! The parts of a message and of a receive that matching compares.

use crate::{Context, RankId};

/// A message tag: 64 bits. Their meaning is the application's; [`mpi`](crate::mpi) defines the layout of MPI's tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tag(pub u64);

/// The source that a receive asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum Source {
    /// Messages of this rank only.
    Rank(RankId),
    /// `MPI_ANY_SOURCE`.
    Any,
}

/// The tags that a receive accepts: those that differ from its tag in ignored bits only. Selectors that accept the same
/// tags are equal: an ignored bit of the tag is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TagSelector {
    tag: Tag,
    ignore: u64,
}

impl TagSelector {
    /// The tags that differ from `tag` only in bits of `ignore`.
    #[inline]
    pub const fn new(tag: Tag, ignore: u64) -> Self {
        Self { tag: Tag(tag.0 & !ignore), ignore }
    }

    /// This tag only.
    #[inline]
    pub const fn exact(tag: Tag) -> Self {
        Self { tag, ignore: 0 }
    }

    /// The lowest tag that it accepts.
    #[inline]
    pub const fn tag(self) -> Tag {
        self.tag
    }

    /// The bits of the tag that it ignores.
    #[inline]
    pub const fn ignore(self) -> u64 {
        self.ignore
    }

    /// Whether it accepts a single tag only.
    #[inline]
    pub const fn is_exact(self) -> bool {
        self.ignore == 0
    }

    /// Whether a message with `tag` can satisfy this selector.
    #[inline]
    pub const fn matches(self, tag: Tag) -> bool {
        (self.tag.0 ^ tag.0) & !self.ignore == 0
    }

    /// Whether some tag satisfies both selectors: their tags agree in every bit that neither ignores.
    #[inline]
    pub const fn overlaps(self, other: Self) -> bool {
        (self.tag.0 ^ other.tag.0) & !(self.ignore | other.ignore) == 0
    }
}

/// The part of a message that matching compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Envelope {
    /// The sending rank.
    pub source: RankId,
    /// The sender's tag.
    pub tag: Tag,
    /// The communicator.
    pub context: Context,
}

/// A description of the messages that a receive accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Pattern {
    /// The sources that it accepts.
    pub source: Source,
    /// The tags that it accepts.
    pub tag: TagSelector,
    /// The communicator, by its context.
    pub context: Context,
}

impl Pattern {
    /// Whether `message` can satisfy this receive.
    pub fn matches(&self, message: &Envelope) -> bool {
        let source = match self.source {
            Source::Rank(rank) => rank == message.source,
            Source::Any => true,
        };
        source && self.context == message.context && self.tag.matches(message.tag)
    }

    /// Whether some message could satisfy both receives.
    pub fn overlaps(&self, other: &Self) -> bool {
        let source = match (self.source, other.source) {
            (Source::Rank(a), Source::Rank(b)) => a == b,
            _ => true,
        };
        source && self.context == other.context && self.tag.overlaps(other.tag)
    }

    /// Whether the receive names one source and one tag.
    pub fn is_exact(&self) -> bool {
        matches!(self.source, Source::Rank(_)) && self.tag.is_exact()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// Tags of three bits, one of them a high one.
    const BITS: [u64; 3] = [1, 2, 1 << 63];

    fn tags() -> impl Iterator<Item = Tag> {
        (0..8).map(|bits| Tag((0..3).filter(|bit| bits >> bit & 1 == 1).map(|bit| BITS[bit]).sum()))
    }

    fn selector() -> impl Strategy<Value = TagSelector> {
        let bits = || prop::sample::select(tags().collect::<Vec<_>>());
        (bits(), bits()).prop_map(|(tag, ignore)| TagSelector::new(tag, ignore.0))
    }

    fn pattern() -> impl Strategy<Value = Pattern> {
        (prop::option::of(0..3u32), selector(), 0..2u16).prop_map(|(source, tag, context)| Pattern {
            source: source.map_or(Source::Any, |source| Source::Rank(RankId(source))),
            tag,
            context: Context(context),
        })
    }

    proptest! {
        #[test]
        fn a_selector_accepts_what_differs_in_ignored_bits_only(tag in selector(), ignore in selector()) {
            let selector = TagSelector::new(tag.tag(), ignore.tag().0);
            for message in tags() {
                let differ = |bit: &u64| message.0 & bit != tag.tag().0 & bit;
                let accepted = BITS.iter().filter(|bit| differ(bit)).all(|bit| ignore.tag().0 & bit != 0);
                prop_assert_eq!(selector.matches(message), accepted);
            }
        }

        #[test]
        fn selectors_of_the_same_tags_are_equal(a in selector(), b in selector()) {
            prop_assert_eq!(tags().all(|tag| a.matches(tag) == b.matches(tag)), a == b);
        }

        #[test]
        fn overlap_is_the_existence_of_a_common_message(a in pattern(), b in pattern()) {
            let common = (0..3).flat_map(|source| tags().map(move |tag| (source, tag))).any(|(source, tag)| {
                (0..2).any(|context| {
                    let message = Envelope { source: RankId(source), tag, context: Context(context) };
                    a.matches(&message) && b.matches(&message)
                })
            });
            prop_assert_eq!(a.overlaps(&b), common);
        }
    }
}
