//! What a message carries for matching, and what a receive asks for.

use crate::RankId;

/// A message tag: 0 to 2^31 - 1, checked by whoever takes it from the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

impl Tag {
    /// The greatest tag of a message (MPI's `MPI_TAG_UB` here).
    pub const MAX: Self = Self(i32::MAX as u32);
}

/// A communicator context: messages of different contexts never match. A [`Communicator`] has two: an
/// even one for the application's messages, and the odd one behind it for those of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Context(pub u16);

impl Context {
    /// Point-to-point messages of the application, between all ranks.
    pub const MESSAGES: Self = Communicator::WORLD.messages();
    /// Messages that the library sends on behalf of collective operations of all ranks.
    pub const COLLECTIVES: Self = Communicator::WORLD.collectives();

    /// Whether the messages are the library's.
    pub const fn is_collective(self) -> bool {
        !self.0.is_multiple_of(2)
    }

    /// The communicator that has this context.
    pub const fn communicator(self) -> Communicator {
        Communicator { messages: Self(self.0 & !1) }
    }
}

/// Ranks that talk among each other, numbered by whoever made them agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Communicator {
    /// The even one of its contexts, so that nothing is computed for a message.
    messages: Context,
}

impl Communicator {
    /// All ranks of the job.
    pub const WORLD: Self = Self { messages: Context(0) };
    /// How many there can be.
    pub const MAX: u16 = 1 << 15;

    /// Number `index`, from 0, which is [`Communicator::WORLD`], below [`Communicator::MAX`].
    pub const fn new(index: u16) -> Option<Self> {
        if index < Self::MAX { Some(Self { messages: Context(2 * index) }) } else { None }
    }

    /// Its number.
    pub const fn index(self) -> u16 {
        self.messages.0 / 2
    }

    /// The context of the application's messages.
    #[inline]
    pub const fn messages(self) -> Context {
        self.messages
    }

    /// The context of the library's messages.
    #[inline]
    pub const fn collectives(self) -> Context {
        Context(self.messages.0 + 1)
    }
}

/// The source that a receive asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// Messages of this rank only.
    Rank(RankId),
    /// `MPI_ANY_SOURCE`.
    Any,
}

/// The tag that a receive asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TagSelector {
    /// Messages with this tag only.
    Tag(Tag),
    /// `MPI_ANY_TAG`.
    Any,
}

impl TagSelector {
    /// Whether a message with `tag` can satisfy this selector.
    pub fn matches(self, tag: Tag) -> bool {
        match self {
            Self::Tag(own) => own == tag,
            Self::Any => true,
        }
    }

    /// Whether some tag satisfies both selectors.
    pub fn overlaps(self, other: Self) -> bool {
        match (self, other) {
            (Self::Tag(a), Self::Tag(b)) => a == b,
            _ => true,
        }
    }
}

/// The part of a message that matching looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Envelope {
    /// The sending rank.
    pub source: RankId,
    /// The sender's tag.
    pub tag: Tag,
    /// The communicator.
    pub context: Context,
}

/// The messages that a receive accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern {
    /// From whom.
    pub source: Source,
    /// With which tag.
    pub tag: TagSelector,
    /// In which communicator.
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
        matches!((self.source, self.tag), (Source::Rank(_), TagSelector::Tag(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pattern() -> impl Strategy<Value = Pattern> {
        (prop::option::of(0..3u32), prop::option::of(0..3u32), 0..2u16).prop_map(|(s, t, c)| Pattern {
            source: s.map_or(Source::Any, |s| Source::Rank(RankId(s))),
            tag: t.map_or(TagSelector::Any, |t| TagSelector::Tag(Tag(t))),
            context: Context(c),
        })
    }

    proptest! {
        #[test]
        fn overlap_is_the_existence_of_a_common_message(a in pattern(), b in pattern()) {
            let common = (0..3).flat_map(|s| (0..3).map(move |t| (s, t))).any(|(s, t)| {
                (0..2).any(|c| {
                    let m = Envelope { source: RankId(s), tag: Tag(t), context: Context(c) };
                    a.matches(&m) && b.matches(&m)
                })
            });
            prop_assert_eq!(a.overlaps(&b), common);
        }
    }
}
