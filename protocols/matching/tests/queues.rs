//! The queues find the same entry as a search from the oldest entry on, however many entries there are.

use carrousel_matching::{
    Context, Envelope, Handle, Pattern, Posted, RankId, Requested, Source, Tag, TagSelector, Unexpected,
};
use proptest::prelude::*;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Own(u32);

impl Requested for Own {
    fn request(&self) -> Handle {
        Handle { index: self.0 / 2, generation: self.0 % 2 }
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Adds this many entries, with this tag and the tags behind it.
    Add(u32, Envelope, Pattern),
    Match(Envelope, Pattern),
    Withdraw(prop::sample::Index),
    Retain(u32),
}

const TAGS: u64 = 40;
/// Bits that a receive may ignore: no bits, some (none of these masks contains another), and all.
const MASKS: [u64; 5] = [0, 1, 0b110, 0b1100, u64::MAX];

fn context() -> impl Strategy<Value = Context> {
    prop_oneof![8 => Just(Context::MESSAGES), 1 => Just(Context::COLLECTIVES), 1 => Just(Context(2))]
}

fn envelope() -> impl Strategy<Value = Envelope> {
    let parts = (0u32..4, 0..TAGS, context());
    parts.prop_map(|(source, tag, context)| Envelope { source: RankId(source), tag: Tag(tag), context })
}

/// In a collective context every receive names its source and tag.
fn pattern() -> impl Strategy<Value = Pattern> {
    let ignore = prop_oneof![8 => Just(0), 2 => prop::sample::select(&MASKS[..])];
    (envelope(), prop::bool::weighted(0.1), ignore).prop_map(|(message, any_source, ignore)| {
        let Envelope { source, tag, context } = message;
        let application = !context.is_collective();
        let source = if any_source && application { Source::Any } else { Source::Rank(source) };
        let tag = TagSelector::new(tag, if application { ignore } else { 0 });
        Pattern { source, tag, context }
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1u32..40, envelope(), pattern()).prop_map(|(count, message, receive)| Step::Add(count, message, receive)),
        40 => (envelope(), pattern()).prop_map(|(message, receive)| Step::Match(message, receive)),
        10 => any::<prop::sample::Index>().prop_map(Step::Withdraw),
        1 => (2u32..9).prop_map(Step::Retain),
    ];
    prop::collection::vec(step, 0..300)
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

fn posted_of(entries: &[(Pattern, Own)]) -> Posted<Own> {
    let mut posted = Posted::new();
    entries.iter().for_each(|(pattern, own)| posted.post(*pattern, *own));
    posted
}

proptest! {
    #[test]
    fn posted_receives_are_found_in_order(steps in steps()) {
        let (mut posted, mut model, mut next) = (Posted::new(), Vec::<(Pattern, Own)>::new(), 0);
        for step in steps {
            match step {
                Step::Add(count, _, pattern) => for at in 0..count {
                    let tag = Tag((pattern.tag.tag().0 + u64::from(at)) % TAGS);
                    let pattern = Pattern { tag: TagSelector::new(tag, pattern.tag.ignore()), ..pattern };
                    posted.post(pattern, Own(next));
                    model.push((pattern, Own(next)));
                    next += 1;
                },
                Step::Match(message, _) => {
                    let at = model.iter().position(|(pattern, _)| pattern.matches(&message));
                    let expected = at.map(|at| model.remove(at).1);
                    prop_assert_eq!(posted.first(&message).copied(), expected);
                    prop_assert_eq!(posted.take_first(&message), expected);
                }
                Step::Withdraw(which) => if !model.is_empty() {
                    let (pattern, own) = model.remove(which.index(model.len()));
                    prop_assert_eq!(posted.get(own.request()), Some((pattern, &own)));
                    prop_assert_eq!(posted.take(own.request()), Some(own));
                    prop_assert_eq!(posted.take(own.request()), None);
                },
                Step::Retain(every) => {
                    posted.retain(|_, own| own.0 % every > 0);
                    model.retain(|(_, own)| own.0 % every > 0);
                }
            }
            prop_assert_eq!((posted.len(), posted.is_empty()), (model.len(), model.is_empty()));
        }
        let applications = posted.iter().filter(|(pattern, _)| !pattern.context.is_collective());
        prop_assert!(applications.map(|(_, own)| own.0).is_sorted());
        // The result does not depend on the entries that were there before, or on their number.
        let fresh = posted_of(&model);
        prop_assert_eq!(hash(&posted), hash(&fresh));
        prop_assert_eq!(&posted, &fresh);
        let without_last = posted_of(&model[..model.len().saturating_sub(1)]);
        prop_assert_eq!(posted == without_last, model.is_empty());
        // Only the owner's data of the older half changes.
        let half = model.len() / 2;
        let mut changed = 0;
        posted.change(half, |_, _| changed += 1);
        prop_assert_eq!(changed, half);
    }

    #[test]
    fn unexpected_messages_are_found_in_order(steps in steps()) {
        let (mut unexpected, mut model, mut next) = (Unexpected::new(), Vec::<(Envelope, u32)>::new(), 0);
        for step in steps {
            match step {
                Step::Add(count, message, _) => for at in 0..count {
                    let message = Envelope { tag: Tag((message.tag.0 + u64::from(at)) % TAGS), ..message };
                    unexpected.arrive(message, next);
                    model.push((message, next));
                    next += 1;
                },
                Step::Match(_, receive) => {
                    let at = model.iter().position(|(message, _)| receive.matches(message));
                    let expected = at.map(|at| model.remove(at));
                    let first = unexpected.first(&receive).map(|(message, what)| (*message, *what));
                    prop_assert_eq!(first, expected);
                    prop_assert_eq!(unexpected.take_first(receive), expected);
                }
                Step::Withdraw(_) => {}
                Step::Retain(every) => {
                    unexpected.retain(|_, what| what % every > 0);
                    model.retain(|(_, what)| what % every > 0);
                }
            }
            prop_assert_eq!((unexpected.len(), unexpected.is_empty()), (model.len(), model.is_empty()));
        }
        let mut fresh = Unexpected::new();
        model.iter().for_each(|(message, what)| fresh.arrive(*message, *what));
        prop_assert_eq!(hash(&unexpected), hash(&fresh));
        prop_assert_eq!(&unexpected, &fresh);
        // Sorted as the checker asks for it, with the messages of each sender in their order.
        unexpected.sort_by_key(|message| message.source);
        let found: Vec<(u32, u32)> = unexpected
            .iter()
            .filter(|(message, _)| message.context == Context::MESSAGES)
            .map(|(message, what)| (message.source.0, *what))
            .collect();
        prop_assert!(found.is_sorted());
    }
}
