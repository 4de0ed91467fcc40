//! The queue of posted receives and the queue of unexpected messages.
//!
//! Both are searched linearly from the oldest entry, which is what MPI's rule says and what costs
//! least for the queue lengths of real programs (a handful). An entry is removed in place, so order
//! is kept; the oldest, which most messages are for, is removed without moving the others. Nothing
//! allocates once the queue has had its greatest length.

use crate::{Context, Envelope, Pattern, RankId, Source, Tag, TagSelector};
use alloc::collections::VecDeque;

/// A pattern as the queue keeps it: in words of which each is written and read as a whole. An entry that is
/// copied in other pieces than it was written in has to wait until all stores before it are done, which may
/// be those of a message into the memory of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Wanted {
    /// A rank, or [`ANY`].
    source: u64,
    /// A tag, or [`ANY`].
    tag: u64,
    context: u64,
}

const ANY: u64 = u64::MAX;

impl Wanted {
    #[inline]
    fn new(pattern: Pattern) -> Self {
        let source = if let Source::Rank(rank) = pattern.source { u64::from(rank.0) } else { ANY };
        let tag = if let TagSelector::Tag(tag) = pattern.tag { u64::from(tag.0) } else { ANY };
        Self { source, tag, context: u64::from(pattern.context.0) }
    }

    fn pattern(self) -> Pattern {
        Pattern {
            source: if self.source == ANY { Source::Any } else { Source::Rank(RankId(self.source as u32)) },
            tag: if self.tag == ANY { TagSelector::Any } else { TagSelector::Tag(Tag(self.tag as u32)) },
            context: Context(self.context as u16),
        }
    }

    #[inline]
    fn matches(self, message: &Envelope) -> bool {
        (self.source == u64::from(message.source.0) || self.source == ANY)
            && (self.tag == u64::from(message.tag.0) || self.tag == ANY)
            && self.context == u64::from(message.context.0)
    }
}

/// Receives that wait for their message, oldest first, each with what its owner knows of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Posted<T> {
    entries: VecDeque<(Wanted, T)>,
}

impl<T> Default for Posted<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Posted<T> {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { entries: VecDeque::new() }
    }

    /// Appends a receive. Those of collective contexts stand before all others, by context and pattern: which
    /// of them was posted first means nothing, as no message satisfies two, and histories that differ in it leave
    /// equal queues.
    #[inline]
    pub fn post(&mut self, pattern: Pattern, receive: T) {
        self.entries.push_back((Wanted::new(pattern), receive));
        if pattern.context.is_collective() {
            self.set_last_apart();
        }
    }

    #[inline(never)]
    fn set_last_apart(&mut self) {
        let part = |wanted: &Wanted| {
            let Pattern { context, tag, source } = wanted.pattern();
            (context, tag, source)
        };
        let Some(last) = self.entries.len().checked_sub(1) else { return };
        let own = part(&self.entries[last].0);
        let is_earlier = |wanted: &Wanted| part(wanted).0.is_collective() && part(wanted) <= own;
        // The last one must not count as earlier than itself.
        let others = self.entries.iter().take(last);
        let at = others.take_while(|(wanted, _)| is_earlier(wanted)).count();
        for at in (at..last).rev() {
            self.entries.swap(at, at + 1);
        }
    }

    /// The first receive that `message` can satisfy.
    pub fn first(&self, message: &Envelope) -> Option<&T> {
        self.entries.iter().find(|(wanted, _)| wanted.matches(message)).map(|(_, receive)| receive)
    }

    /// Removes the first receive that `message` can satisfy.
    #[inline]
    pub fn take_first(&mut self, message: &Envelope) -> Option<T>
    where
        T: Clone,
    {
        let (wanted, receive) = self.entries.front()?;
        if wanted.matches(message) {
            // Part by part, see `Wanted`: as a whole it would be moved, in pieces that are none of its parts.
            let receive = receive.clone();
            self.entries.pop_front();
            return Some(receive);
        }
        self.take_later(message)
    }

    #[inline(never)]
    fn take_later(&mut self, message: &Envelope) -> Option<T> {
        let at = self.entries.iter().position(|(wanted, _)| wanted.matches(message))?;
        self.entries.remove(at).map(|(_, receive)| receive)
    }

    /// Removes the first receive for which `is_it` holds.
    pub fn take_by(&mut self, mut is_it: impl FnMut(&T) -> bool) -> Option<T> {
        let at = self.entries.iter().position(|(_, receive)| is_it(receive))?;
        self.entries.remove(at).map(|(_, receive)| receive)
    }

    /// All receives, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Pattern, &T)> {
        self.entries.iter().map(|(wanted, receive)| (wanted.pattern(), receive))
    }

    /// All receives, oldest first, with what their owner knows of them open to change.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (Pattern, &mut T)> {
        self.entries.iter_mut().map(|(wanted, receive)| (wanted.pattern(), receive))
    }

    /// How many receives wait.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Messages that arrived before their receive, by context, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unexpected<T> {
    entries: VecDeque<(Envelope, T)>,
}

impl<T> Default for Unexpected<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Unexpected<T> {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { entries: VecDeque::new() }
    }

    /// Appends a message that found no receive to those of its context. Contexts are kept apart, and so are
    /// the senders in a collective one, where every receive names its source: the order of their messages
    /// means nothing, and histories that differ in it leave equal queues.
    pub fn arrive(&mut self, message: Envelope, what: T) {
        let part =
            |message: &Envelope| (message.context, message.context.is_collective().then_some(message.source));
        let own = part(&message);
        let at = self.entries.partition_point(|(earlier, _)| part(earlier) <= own);
        self.entries.insert(at, (message, what));
    }

    /// The first message that satisfies `receive`, which a probe reports.
    pub fn first(&self, receive: &Pattern) -> Option<(&Envelope, &T)> {
        self.entries.iter().find(|(message, _)| receive.matches(message)).map(|(m, what)| (m, what))
    }

    /// Removes the first message that satisfies `receive`.
    #[inline]
    pub fn take_first(&mut self, receive: Pattern) -> Option<(Envelope, T)> {
        let Pattern { source, tag, context } = receive;
        if self.entries.is_empty() { None } else { self.take(source, tag, context) }
    }

    /// Has its arguments in registers, so that who need not call it has no pattern in memory, see [`Wanted`].
    #[inline(never)]
    fn take(&mut self, source: Source, tag: TagSelector, context: Context) -> Option<(Envelope, T)> {
        let receive = Pattern { source, tag, context };
        let at = self.entries.iter().position(|(message, _)| receive.matches(message))?;
        self.entries.remove(at)
    }

    /// Reorders messages of one context; those with equal keys keep their order, which those of one sender
    /// and tag must.
    pub fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&Envelope) -> K) {
        self.entries.make_contiguous().sort_by_key(|(message, _)| (message.context, key(message)));
    }

    /// Keeps only the messages for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&Envelope, &T) -> bool) {
        self.entries.retain(|(message, what)| keep(message, what));
    }

    /// All messages, by context, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (&Envelope, &T)> {
        self.entries.iter().map(|(message, what)| (message, what))
    }

    /// How many messages wait.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, RankId, Source, Tag, TagSelector};

    fn message(source: u32, tag: u32) -> Envelope {
        Envelope { source: RankId(source), tag: Tag(tag), context: Context::MESSAGES }
    }

    fn receive(source: Option<u32>, tag: Option<u32>) -> Pattern {
        Pattern {
            source: source.map_or(Source::Any, |s| Source::Rank(RankId(s))),
            tag: tag.map_or(TagSelector::Any, |t| TagSelector::Tag(Tag(t))),
            context: Context::MESSAGES,
        }
    }

    #[test]
    fn a_wildcard_posted_first_takes_the_message() {
        let mut posted = Posted::new();
        posted.post(receive(None, None), 'a');
        posted.post(receive(Some(1), Some(2)), 'b');
        assert_eq!(posted.take_first(&message(1, 2)), Some('a'));
        assert_eq!(posted.take_first(&message(1, 3)), None);
        assert_eq!(posted.take_first(&message(1, 2)), Some('b'));
    }

    #[test]
    fn messages_of_one_envelope_do_not_overtake() {
        let mut unexpected = Unexpected::new();
        unexpected.arrive(message(1, 2), "early");
        unexpected.arrive(message(1, 2), "late");
        unexpected.arrive(message(0, 2), "other");
        assert_eq!(unexpected.take_first(receive(Some(0), None)).map(|m| m.1), Some("other"));
        assert_eq!(unexpected.take_first(receive(None, Some(2))).map(|m| m.1), Some("early"));
        assert_eq!(unexpected.first(&receive(None, None)).map(|m| *m.1), Some("late"));
    }

    #[test]
    fn senders_are_apart_among_collectives_and_nowhere_else() {
        let queue = |context, order: [(u32, u32); 3]| {
            let mut unexpected = Unexpected::new();
            for (source, tag) in order {
                unexpected.arrive(Envelope { context, ..message(source, tag) }, ());
            }
            unexpected
        };
        let (one, other) = ([(2, 5), (1, 7), (2, 4)], [(1, 7), (2, 5), (2, 4)]);
        assert_eq!(queue(Context::COLLECTIVES, one), queue(Context::COLLECTIVES, other));
        assert_ne!(queue(Context::MESSAGES, one), queue(Context::MESSAGES, other));
        assert_ne!(queue(Context::COLLECTIVES, one), queue(Context::COLLECTIVES, [(1, 7), (2, 4), (2, 5)]));
    }

    #[test]
    fn receives_of_collectives_are_apart() {
        let library = |tag| Pattern { context: Context::COLLECTIVES, ..receive(Some(1), Some(tag)) };
        let queue = |patterns: [Pattern; 4]| {
            let mut posted = Posted::new();
            patterns.into_iter().for_each(|pattern| posted.post(pattern, ()));
            posted
        };
        let (any, exact) = (receive(None, None), receive(Some(1), Some(2)));
        let one = queue([any, library(3), exact, library(1)]);
        assert_eq!(one, queue([library(1), any, library(3), exact]));
        assert_ne!(one, queue([exact, library(3), any, library(1)]));
    }

    #[test]
    fn contexts_are_apart() {
        let mut posted = Posted::new();
        posted.post(receive(None, None), ());
        let collective = Envelope { context: Context::COLLECTIVES, ..message(0, 0) };
        assert_eq!(posted.take_first(&collective), None);
    }
}
