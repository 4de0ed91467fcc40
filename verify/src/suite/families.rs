//! The families of programs that the rendezvous suite explores.

use super::space::{
    ReceiveKind, SendKind, Word, Words, is_smallest_by_tags, is_smallest_by_tags_and_ranks, lists,
    with_cancels, with_waits,
};
use crate::model::Reached;

/// A family: every program of a shape.
pub(super) struct Family {
    pub(super) name: String,
    /// Of the programs that are equal up to renaming, one.
    pub(super) programs: Vec<Words>,
    /// How many programs these stand for.
    pub(super) in_all: u64,
    /// What its exploration must meet to say anything.
    pub(super) must_reach: &'static [Reached],
}

/// What sends and receives of a family can be.
#[derive(Clone, Debug)]
pub(super) struct Kinds {
    pub(super) tags: u32,
    pub(super) any_tag: bool,
    pub(super) any_source: bool,
    pub(super) send_lens: &'static [u64],
    pub(super) receive_lens: &'static [u64],
}

impl Kinds {
    /// Eager and rendezvous sizes, over two tags and any.
    pub(super) const TWO_TAGS: Self =
        Self { tags: 2, any_tag: true, any_source: false, send_lens: &[1, 2], receive_lens: &[1, 2] };
    /// The same, over one tag.
    pub(super) const ONE_TAG: Self = Self { tags: 1, any_tag: false, ..Self::TWO_TAGS };

    pub(super) fn sends(&self) -> Vec<SendKind> {
        let lens = self.send_lens;
        (0..self.tags).flat_map(|tag| lens.iter().map(move |len| SendKind { tag, len: *len })).collect()
    }

    pub(super) fn receives(&self, from: &[u32]) -> Vec<ReceiveKind> {
        let tags: Vec<Option<u32>> =
            self.any_tag.then_some(None).into_iter().chain((0..self.tags).map(Some)).collect();
        let sources: Vec<Option<u32>> =
            self.any_source.then_some(None).into_iter().chain(from.iter().copied().map(Some)).collect();
        let mut kinds = Vec::new();
        for from in sources {
            for tag in &tags {
                kinds.extend(self.receive_lens.iter().map(|len| ReceiveKind { from, tag: *tag, len: *len }));
            }
        }
        kinds
    }
}

fn sends(kinds: &[SendKind], to: u32, count: usize) -> Vec<Vec<Word>> {
    let word = |kind: SendKind| Word::Send { to, kind };
    lists(kinds, count).into_iter().map(|list| list.into_iter().map(word).collect()).collect()
}

fn receives(kinds: &[ReceiveKind], count: usize) -> Vec<Vec<Word>> {
    lists(kinds, count).into_iter().map(|list| list.into_iter().map(Word::Receive).collect()).collect()
}

/// Keeps one of the programs that are equal up to renaming.
fn family(
    name: String,
    programs: impl Iterator<Item = Words>,
    is_smallest: impl Fn(&Words) -> bool,
    must_reach: &'static [Reached],
) -> Family {
    let mut in_all = 0;
    let programs = programs.inspect(|_| in_all += 1).filter(is_smallest).collect();
    Family { name, programs, in_all, must_reach }
}

fn pairs(left: &[Vec<Word>], right: &[Vec<Word>]) -> impl Iterator<Item = Words> {
    left.iter().flat_map(move |a| right.iter().map(move |b| vec![a.clone(), b.clone()]))
}

const MEETINGS: &[Reached] = &[Reached::Written, Reached::Crossed, Reached::Mispredicted, Reached::Declined];

/// One direction, all calls nonblocking, exactly so many sends and receives.
pub(super) fn one_way(sent: usize, received: usize, kinds: &Kinds) -> Family {
    let (sends, receives) = (sends(&kinds.sends(), 1, sent), receives(&kinds.receives(&[0]), received));
    let tags = tags_of(kinds);
    family(
        format!("one way, {sent} sends, {received} receives, {tags}"),
        pairs(&sends, &receives),
        |words| is_smallest_by_tags(words, kinds.tags),
        MEETINGS,
    )
}

/// The same with every placement of waits and blocking calls.
pub(super) fn placements(sent: usize, received: usize, kinds: &Kinds) -> Family {
    let sends: Vec<_> = sends(&kinds.sends(), 1, sent).iter().flat_map(|words| with_waits(words)).collect();
    let receives: Vec<_> =
        receives(&kinds.receives(&[0]), received).iter().flat_map(|words| with_waits(words)).collect();
    let tags = tags_of(kinds);
    family(
        format!("waits placed, {sent} x {received}, {tags}"),
        pairs(&sends, &receives),
        |words| is_smallest_by_tags(words, kinds.tags),
        MEETINGS,
    )
}

/// The same with receives cancelled at every moment.
pub(super) fn cancels(sent: usize, received: usize, kinds: &Kinds) -> Family {
    let sends = sends(&kinds.sends(), 1, sent);
    let receives: Vec<_> =
        receives(&kinds.receives(&[0]), received).iter().flat_map(|words| with_cancels(words)).collect();
    let tags = tags_of(kinds);
    family(
        format!("cancelled, {sent} x {received}, {tags}"),
        pairs(&sends, &receives),
        |words| is_smallest_by_tags(words, kinds.tags),
        &[Reached::Written, Reached::Crossed, Reached::Mispredicted, Reached::Declined, Reached::Cancelled],
    )
}

/// Both directions at once, sends and receives of a rank in every order.
pub(super) fn both_ways(sent: usize, received: usize, kinds: &Kinds) -> Family {
    let side = |peer: u32| -> Vec<Vec<Word>> {
        let (sends, receives) =
            (sends(&kinds.sends(), peer, sent), receives(&kinds.receives(&[peer]), received));
        sends
            .iter()
            .flat_map(|sends| receives.iter().flat_map(move |receives| interleavings(sends, receives)))
            .collect()
    };
    let tags = tags_of(kinds);
    family(
        format!("both ways, {sent} x {received} each, {tags}"),
        pairs(&side(1), &side(0)).collect::<Vec<_>>().into_iter(),
        |words| is_smallest_by_tags_and_ranks(words, kinds.tags),
        MEETINGS,
    )
}

/// Two senders, one receiver.
pub(super) fn two_senders(first: usize, second: usize, received: usize, kinds: &Kinds) -> Family {
    let kinds = Kinds { any_source: true, ..kinds.clone() };
    let (a, b) = (sends(&kinds.sends(), 2, first), sends(&kinds.sends(), 2, second));
    let receives = receives(&kinds.receives(&[0, 1]), received);
    let tags = tags_of(&kinds);
    let (a, b, receives) = (&a, &b, &receives);
    let programs = a.iter().flat_map(move |a| {
        b.iter().flat_map(move |b| receives.iter().map(move |c| vec![a.clone(), b.clone(), c.clone()]))
    });
    family(
        format!("two senders, {first} + {second} x {received}, {tags}"),
        programs,
        |words| is_smallest_by_tags(words, kinds.tags),
        MEETINGS,
    )
}

fn tags_of(kinds: &Kinds) -> String {
    let mut text = match kinds.tags {
        1 => "1 tag".to_owned(),
        tags => format!("{tags} tags"),
    };
    if kinds.any_tag {
        text += " and any";
    }
    if kinds.any_source {
        text += ", any source";
    }
    if kinds.send_lens.len() > 2 {
        text += ", truncation";
    }
    if kinds.receive_lens.len() == 1 {
        text += ", large receives";
    }
    text
}

/// All ways to merge two lists, each in its order.
fn interleavings(a: &[Word], b: &[Word]) -> Vec<Vec<Word>> {
    match (a, b) {
        ([], rest) | (rest, []) => vec![rest.to_vec()],
        ([first_a, rest_a @ ..], [first_b, rest_b @ ..]) => {
            let with = |first: &Word, rest: Vec<Vec<Word>>| {
                let first = *first;
                rest.into_iter().map(move |mut list| {
                    list.insert(0, first);
                    list
                })
            };
            with(first_a, interleavings(rest_a, b)).chain(with(first_b, interleavings(a, rest_b))).collect()
        }
    }
}
