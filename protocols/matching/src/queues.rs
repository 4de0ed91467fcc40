//! The queue of posted receives and the queue of unexpected messages.
//!
//! In both, the oldest entry that matches is taken, as MPI's rule demands. Most messages are for the oldest entry of
//! all, so it is tried first; a [`Queue`] finds the others.

use crate::many::Keyed;
use crate::{Context, Envelope, Handle, Pattern, Queue, RankId, Source, Tag, TagSelector};
use core::hash::Hash;

/// A pattern as the queue keeps it: words, each of which is written and read as a whole. The processor can forward a
/// store to a load only if both have the same pieces. Otherwise the load waits for all stores before it, such as
/// those of a message into the memory of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Wanted {
    /// A rank, or [`ANY`].
    source: u64,
    tag: u64,
    /// The ignored bits of the tag.
    ignore: u64,
    context: u64,
}

const ANY: u64 = u64::MAX;

impl Wanted {
    #[inline]
    fn new(pattern: Pattern) -> Self {
        let source = if let Source::Rank(rank) = pattern.source { u64::from(rank.0) } else { ANY };
        let (tag, ignore) = (pattern.tag.tag().0, pattern.tag.ignore());
        Self { source, tag, ignore, context: u64::from(pattern.context.0) }
    }

    fn pattern(self) -> Pattern {
        Pattern {
            source: if self.source == ANY { Source::Any } else { Source::Rank(RankId(self.source as u32)) },
            tag: TagSelector::new(Tag(self.tag), self.ignore),
            context: Context(self.context as u16),
        }
    }

    /// A key that all receives with the same pattern share. Receives that ignore bits of the tag share one key for
    /// each source and context.
    fn key(self) -> u64 {
        let Self { source, tag, ignore, context } = self;
        if ignore == 0 { key(source, Some(tag), context) } else { key(source, None, context) }
    }

    /// The keys of all receives that a message satisfies.
    fn keys_of(message: &Envelope) -> [(usize, u64); 4] {
        let (source, tag, context) =
            (u64::from(message.source.0), message.tag.0, u64::from(message.context.0));
        let kinds = [(source, Some(tag)), (source, None), (ANY, Some(tag)), (ANY, None)];
        kinds.map(|(source, tag)| (WANTED, key(source, tag, context)))
    }

    #[inline]
    fn matches(self, message: &Envelope) -> bool {
        (self.source == u64::from(message.source.0) || self.source == ANY)
            && (self.tag ^ message.tag.0) & !self.ignore == 0
            && self.context == u64::from(message.context.0)
    }
}

/// The key of a source (or [`ANY`]), a tag (`None` for several) and a context.
fn key(source: u64, tag: Option<u64>, context: u64) -> u64 {
    // The factors are odd, so that the keys of neighbouring sources, tags and contexts differ in all bits.
    let tag = tag.map_or(ANY, |tag| tag.wrapping_mul(0xc4ce_b9fe_1a85_ec53).rotate_left(21));
    source.wrapping_mul(0xff51_afd7_ed55_8ccd)
        ^ tag
        ^ context.wrapping_mul(0x8764_000b_1f6d_3c91).rotate_left(42)
}

/// A posted receive, which has the name of its request.
pub trait Requested {
    /// The name of the request.
    fn request(&self) -> Handle;
}

/// The first key of a posted receive: its pattern.
const WANTED: usize = 0;
/// The second key: its request.
const REQUEST: usize = 1;

/// A receive in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Posting<T>(Wanted, T);

impl<T: Requested> Keyed<2> for Posting<T> {
    fn keys(&self) -> [u64; 2] {
        [self.0.key(), self.1.request().to_bits()]
    }

    /// Receives of collective contexts stand before all others, ordered by context and pattern. Their posting order
    /// has no effect, because no message satisfies two of them.
    fn part(&self) -> u128 {
        let Wanted { source, tag, context, .. } = self.0;
        let is_collective = Context(context as u16).is_collective();
        let (tag, source) = (u128::from(tag) << u32::BITS, u128::from(source as u32));
        if is_collective { u128::from(context) << 96 | tag | source } else { u128::MAX }
    }
}

/// Receives that wait for their message, oldest first, each with data of its owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Posted<T: Requested> {
    entries: Queue<Posting<T>, 2>,
}

impl<T: Requested> Default for Posted<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Requested> Posted<T> {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { entries: Queue::new() }
    }

    /// Appends a receive.
    #[inline]
    pub fn post(&mut self, pattern: Pattern, receive: T) {
        let wanted = Wanted::new(pattern);
        if !self.entries.has_room() {
            return self.entries.push_to_many(Posting(wanted, receive));
        }
        self.entries.few.push_back(Posting(wanted, receive));
        if pattern.context.is_collective() {
            self.set_last_apart();
        }
    }

    #[inline(never)]
    fn set_last_apart(&mut self) {
        let few = &mut self.entries.few;
        let Some(last) = few.len().checked_sub(1) else { return };
        let own = few[last].part();
        // The new receive must not count as earlier than itself.
        let at = few.iter().take(last).take_while(|earlier| earlier.part() <= own).count();
        for at in (at..last).rev() {
            few.swap(at, at + 1);
        }
    }

    /// The first receive that `message` can satisfy.
    pub fn first(&self, message: &Envelope) -> Option<&T> {
        let found = self.entries.oldest(|| Wanted::keys_of(message), |posting| posting.0.matches(message))?;
        Some(&found.1)
    }

    /// Removes the first receive that `message` can satisfy.
    #[inline]
    pub fn take_first(&mut self, message: &Envelope) -> Option<T>
    where
        T: Clone,
    {
        let Some(Posting(wanted, receive)) = self.entries.few.front() else {
            return self.take_of_many(message);
        };
        if wanted.matches(message) {
            // Copied field by field, see `Wanted`. A move of the whole would use pieces that do not match its fields.
            let receive = receive.clone();
            self.entries.few.pop_front();
            return Some(receive);
        }
        self.take_later(message)
    }

    #[inline]
    fn take_of_many(&mut self, message: &Envelope) -> Option<T> {
        if self.entries.many.is_none() { None } else { self.take_later(message) }
    }

    #[inline(never)]
    fn take_later(&mut self, message: &Envelope) -> Option<T> {
        let matches = |posting: &Posting<T>| posting.0.matches(message);
        self.entries.take_oldest(|| Wanted::keys_of(message), matches).map(|posting| posting.1)
    }

    /// The receive of this request.
    pub fn get(&self, request: Handle) -> Option<(Pattern, &T)> {
        let is_it = |posting: &Posting<T>| posting.1.request() == request;
        let Posting(wanted, receive) = self.entries.oldest(|| [(REQUEST, request.to_bits())], is_it)?;
        Some((wanted.pattern(), receive))
    }

    /// Removes the receive of this request.
    pub fn take(&mut self, request: Handle) -> Option<T> {
        let is_it = |posting: &Posting<T>| posting.1.request() == request;
        self.entries.take_oldest(|| [(REQUEST, request.to_bits())], is_it).map(|posting| posting.1)
    }

    /// Keeps only the receives for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&Pattern, &T) -> bool) {
        self.entries.retain(|Posting(wanted, receive)| keep(&wanted.pattern(), receive));
    }

    /// All receives, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (Pattern, &T)> {
        self.entries.iter().map(|Posting(wanted, receive)| (wanted.pattern(), receive))
    }

    /// Changes the owner's data of the oldest `count` receives, oldest first.
    pub fn change(&mut self, count: usize, mut change: impl FnMut(&Pattern, &mut T)) {
        self.entries.change(count, |Posting(wanted, receive)| change(&wanted.pattern(), receive));
    }

    /// The number of receives.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no receive waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// A message that arrived before its receive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Early<T>(Envelope, T);

/// The key by which a receive finds messages, with its position among the four keys of a message.
fn key_for(receive: &Pattern) -> (usize, u64) {
    let which = match (receive.source, receive.tag.is_exact()) {
        (Source::Rank(_), true) => 0,
        (Source::Rank(_), false) => 1,
        (Source::Any, true) => 2,
        (Source::Any, false) => 3,
    };
    (which, Wanted::new(*receive).key())
}

impl<T> Keyed<4> for Early<T> {
    fn keys(&self) -> [u64; 4] {
        Wanted::keys_of(&self.0).map(|(_, key)| key)
    }

    /// The order between contexts has no effect. In a collective context every receive names its source, so the order
    /// between senders has no effect either.
    fn part(&self) -> u128 {
        let Envelope { source, context, .. } = self.0;
        let source = context.is_collective().then_some(source.0);
        u128::from(context.0) << 64 | source.map_or(0, |source| u128::from(source) + 1)
    }
}

/// Messages that arrived before their receive, by context, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unexpected<T> {
    entries: Queue<Early<T>, 4>,
}

impl<T> Default for Unexpected<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Unexpected<T> {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { entries: Queue::new() }
    }

    /// Appends a message that found no receive to those of its part.
    pub fn arrive(&mut self, message: Envelope, what: T) {
        let early = Early(message, what);
        if !self.entries.has_room() {
            return self.entries.push_to_many(early);
        }
        let own = early.part();
        let few = &mut self.entries.few;
        few.insert(few.partition_point(|earlier| earlier.part() <= own), early);
    }

    /// The first message that satisfies `receive`, which a probe reports.
    pub fn first(&self, receive: &Pattern) -> Option<(&Envelope, &T)> {
        let found = self.entries.oldest(|| [key_for(receive)], |early| receive.matches(&early.0));
        found.map(|Early(message, what)| (message, what))
    }

    /// Removes the first message that satisfies `receive`.
    #[inline]
    pub fn take_first(&mut self, receive: Pattern) -> Option<(Envelope, T)> {
        let Pattern { source, tag, context } = receive;
        if self.entries.is_empty() { None } else { self.take(source, tag, context) }
    }

    /// Takes its arguments in registers, so that callers that skip this call need no pattern in memory, see
    /// [`Wanted`].
    #[inline(never)]
    fn take(&mut self, source: Source, tag: TagSelector, context: Context) -> Option<(Envelope, T)> {
        let receive = Pattern { source, tag, context };
        let found = self.entries.take_oldest(|| [key_for(&receive)], |early| receive.matches(&early.0));
        found.map(|Early(message, what)| (message, what))
    }

    /// Removes the first message that satisfies `receive`, if `takes` says so.
    #[inline]
    pub fn take_first_if(
        &mut self,
        receive: &Pattern,
        takes: impl FnOnce(&T) -> bool,
    ) -> Option<(Envelope, T)> {
        let found = self.entries.take_oldest_if(
            || [key_for(receive)],
            |early| receive.matches(&early.0),
            |early| takes(&early.1),
        );
        found.map(|Early(message, what)| (message, what))
    }

    /// Reorders messages of one context. Those with equal keys keep their order, as messages of one sender and tag
    /// must.
    pub fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&Envelope) -> K) {
        self.entries.sort_by_key(|Early(message, _)| (message.context, key(message)));
    }

    /// Keeps only the messages for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&Envelope, &T) -> bool) {
        self.entries.retain(|Early(message, what)| keep(message, what));
    }

    /// All messages, oldest first; as long as they are few, context by context.
    pub fn iter(&self) -> impl Iterator<Item = (&Envelope, &T)> {
        self.entries.iter().map(|Early(message, what)| (message, what))
    }

    /// The number of messages.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no message waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, RankId, Source, Tag, mpi};

    fn message(source: u32, tag: u64) -> Envelope {
        Envelope { source: RankId(source), tag: Tag(tag), context: Context::MESSAGES }
    }

    /// A receive whose request has this position.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    struct Own(u32);

    impl Requested for Own {
        fn request(&self) -> Handle {
            Handle { index: self.0, generation: 0 }
        }
    }

    fn receive(source: Option<u32>, tag: Option<u32>) -> Pattern {
        Pattern {
            source: source.map_or(Source::Any, |s| Source::Rank(RankId(s))),
            tag: mpi::selector(tag),
            context: Context::MESSAGES,
        }
    }

    #[test]
    fn a_wildcard_posted_first_takes_the_message() {
        let mut posted = Posted::new();
        posted.post(receive(None, None), Own(1));
        posted.post(receive(Some(1), Some(2)), Own(2));
        assert_eq!(posted.take_first(&message(1, 2)), Some(Own(1)));
        assert_eq!(posted.take_first(&message(1, 3)), None);
        assert_eq!(posted.take_first(&message(1, 2)), Some(Own(2)));
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
        let queue = |context, order: [(u32, u64); 3]| {
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
            patterns.into_iter().for_each(|pattern| posted.post(pattern, Own(0)));
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
        posted.post(receive(None, None), Own(0));
        let collective = Envelope { context: Context::COLLECTIVES, ..message(0, 0) };
        assert_eq!(posted.take_first(&collective), None);
    }
}
