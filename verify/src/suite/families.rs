//! The families of programs that the suites of messages explore.

use super::space::{
    Queue, ReceiveKind, SendKind, TagKind, Word, Words, by_bits, by_tags, by_tags_and_ranks, is_smallest,
    lists, with_cancels, with_claims, with_waits,
};
use crate::search::CoverPoint;

/// A family: every program of a shape.
pub(super) struct ProgramFamily {
    pub(super) name: String,
    /// Of the programs that are equal up to renaming, one.
    pub(super) programs: Vec<Words>,
    /// How many programs these stand for.
    pub(super) in_all: u64,
    /// The situations that its exploration must cover.
    pub(super) must_reach: &'static [CoverPoint],
}

/// The kinds of sends and receives in a family.
#[derive(Clone, Debug)]
pub(super) struct Kinds {
    pub(super) tags: u32,
    pub(super) any_tag: bool,
    /// The tags are of two bits, of which receives may ignore one or both.
    pub(super) masks: bool,
    /// There are messages without tags, too, in a queue of their own.
    pub(super) untagged: bool,
    pub(super) any_source: bool,
    pub(super) send_lens: &'static [u64],
    pub(super) receive_lens: &'static [u64],
}

impl Kinds {
    /// Eager and rendezvous sizes, over two tags and any.
    pub(super) const TWO_TAGS: Self = Self {
        tags: 2,
        any_tag: true,
        masks: false,
        untagged: false,
        any_source: false,
        send_lens: &[1, 2],
        receive_lens: &[1, 2],
    };
    /// The same, over one tag.
    pub(super) const ONE_TAG: Self = Self { tags: 1, any_tag: false, ..Self::TWO_TAGS };

    /// Tags of two bits, and receives that ignore none, one or both: some accept tags that others do, and neither all of
    /// them.
    pub(super) const MASKS: Self = Self { tags: 4, masks: true, ..Self::TWO_TAGS };

    pub(super) fn sends(&self) -> Vec<SendKind> {
        let untagged = self.untagged.then_some((Queue::Untagged, 0));
        let all = (0..self.tags).map(|tag| (Queue::Tagged, tag)).chain(untagged);
        let of = |(queue, tag)| self.send_lens.iter().map(move |len| SendKind { queue, tag, len: *len });
        all.flat_map(of).collect()
    }

    pub(super) fn receives(&self, from: &[u32]) -> Vec<ReceiveKind> {
        let masks = [(0, 0b01), (0b10, 0b01), (0, 0b10), (0b01, 0b10)];
        let masked =
            masks.into_iter().filter(|_| self.masks).map(|(tag, ignore)| TagKind::Masked { tag, ignore });
        let any = self.any_tag.then_some(TagKind::Any);
        let tagged = any.into_iter().chain((0..self.tags).map(TagKind::Tag)).chain(masked);
        let untagged = self.untagged.then_some((Queue::Untagged, TagKind::Tag(0)));
        let tags: Vec<(Queue, TagKind)> = tagged.map(|tag| (Queue::Tagged, tag)).chain(untagged).collect();
        let sources: Vec<Option<u32>> =
            self.any_source.then_some(None).into_iter().chain(from.iter().copied().map(Some)).collect();
        let mut kinds = Vec::new();
        for from in sources {
            for (queue, tag) in tags.iter().copied() {
                let of = |len: &u64| ReceiveKind { from, queue, tag, len: *len };
                kinds.extend(self.receive_lens.iter().map(of));
            }
        }
        kinds
    }

    /// The program under every renaming of tags.
    fn renamed(&self, words: &Words) -> Vec<Words> {
        if self.masks { by_bits(words, 2) } else { by_tags(words, self.tags) }
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
    renamed: impl Fn(&Words) -> Vec<Words>,
    must_reach: &'static [CoverPoint],
) -> ProgramFamily {
    let mut in_all = 0;
    let programs =
        programs.inspect(|_| in_all += 1).filter(|words| is_smallest(words, &renamed(words))).collect();
    ProgramFamily { name, programs, in_all, must_reach }
}

fn pairs(left: &[Vec<Word>], right: &[Vec<Word>]) -> impl Iterator<Item = Words> {
    left.iter().flat_map(move |a| right.iter().map(move |b| vec![a.clone(), b.clone()]))
}

const MEETINGS: &[CoverPoint] =
    &[CoverPoint::Written, CoverPoint::Crossed, CoverPoint::Mispredicted, CoverPoint::Declined];
const CLAIMED_MEETINGS: &[CoverPoint] = &[
    CoverPoint::Written,
    CoverPoint::Crossed,
    CoverPoint::Mispredicted,
    CoverPoint::Declined,
    CoverPoint::Claimed,
];
/// Of messages that are all announced.
const LARGE_MEETINGS: &[CoverPoint] = &[CoverPoint::Written, CoverPoint::Crossed, CoverPoint::Declined];
const LARGE_CLAIMED_MEETINGS: &[CoverPoint] =
    &[CoverPoint::Written, CoverPoint::Crossed, CoverPoint::Declined, CoverPoint::Claimed];

/// One direction, all calls nonblocking, exactly so many sends and receives.
pub(super) fn one_way(sent: usize, received: usize, kinds: &Kinds) -> ProgramFamily {
    let (sends, receives) = (sends(&kinds.sends(), 1, sent), receives(&kinds.receives(&[0]), received));
    let tags = tags_of(kinds);
    family(
        format!("one way, {sent} sends, {received} receives, {tags}"),
        pairs(&sends, &receives),
        |words| kinds.renamed(words),
        if kinds.send_lens.contains(&1) { MEETINGS } else { LARGE_MEETINGS },
    )
}

/// The same with every placement of waits and blocking calls.
pub(super) fn placements(sent: usize, received: usize, kinds: &Kinds) -> ProgramFamily {
    let sends: Vec<_> = sends(&kinds.sends(), 1, sent).iter().flat_map(|words| with_waits(words)).collect();
    let receives: Vec<_> =
        receives(&kinds.receives(&[0]), received).iter().flat_map(|words| with_waits(words)).collect();
    let tags = tags_of(kinds);
    family(
        format!("waits placed, {sent} x {received}, {tags}"),
        pairs(&sends, &receives),
        |words| kinds.renamed(words),
        MEETINGS,
    )
}

/// The same with receives cancelled at every moment.
pub(super) fn cancels(sent: usize, received: usize, kinds: &Kinds) -> ProgramFamily {
    let sends = sends(&kinds.sends(), 1, sent);
    let receives: Vec<_> =
        receives(&kinds.receives(&[0]), received).iter().flat_map(|words| with_cancels(words)).collect();
    let tags = tags_of(kinds);
    family(
        format!("cancelled, {sent} x {received}, {tags}"),
        pairs(&sends, &receives),
        |words| kinds.renamed(words),
        &[
            CoverPoint::Written,
            CoverPoint::Crossed,
            CoverPoint::Mispredicted,
            CoverPoint::Declined,
            CoverPoint::Cancelled,
        ],
    )
}

/// The same with messages claimed, and received or discarded at every later moment.
pub(super) fn claims(sent: usize, received: usize, kinds: &Kinds) -> ProgramFamily {
    let sends = sends(&kinds.sends(), 1, sent);
    let receives: Vec<_> =
        receives(&kinds.receives(&[0]), received).iter().flat_map(|words| with_claims(words)).collect();
    let tags = tags_of(kinds);
    family(
        format!("claimed, {sent} x {received}, {tags}"),
        pairs(&sends, &receives),
        |words| kinds.renamed(words),
        if kinds.send_lens.contains(&1) { CLAIMED_MEETINGS } else { LARGE_CLAIMED_MEETINGS },
    )
}

/// The same from two senders.
pub(super) fn claims_of_two(received: usize, kinds: &Kinds) -> ProgramFamily {
    let kinds = Kinds { any_source: true, ..kinds.clone() };
    let sends = sends(&kinds.sends(), 2, 1);
    let receives: Vec<_> =
        receives(&kinds.receives(&[0, 1]), received).iter().flat_map(|words| with_claims(words)).collect();
    let tags = tags_of(&kinds);
    let (sends, receives) = (&sends, &receives);
    let programs = sends.iter().flat_map(move |a| {
        sends.iter().flat_map(move |b| receives.iter().map(move |c| vec![a.clone(), b.clone(), c.clone()]))
    });
    family(
        format!("claimed, 1 + 1 x {received}, {tags}"),
        programs,
        |words| kinds.renamed(words),
        &[CoverPoint::Claimed, CoverPoint::Mispredicted, CoverPoint::Written],
    )
}

/// Both directions at once, sends and receives of a rank in every order.
pub(super) fn both_ways(sent: usize, received: usize, kinds: &Kinds) -> ProgramFamily {
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
        |words| by_tags_and_ranks(words, kinds.tags),
        MEETINGS,
    )
}

/// Two senders, one receiver.
pub(super) fn two_senders(first: usize, second: usize, received: usize, kinds: &Kinds) -> ProgramFamily {
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
        |words| kinds.renamed(words),
        MEETINGS,
    )
}

fn tags_of(kinds: &Kinds) -> String {
    let mut text = match kinds.tags {
        1 => "1 tag".to_owned(),
        tags => format!("{tags} tags"),
    };
    if kinds.masks {
        text += " and masks";
    } else if kinds.any_tag {
        text += " and any";
    }
    if kinds.untagged {
        text += ", a queue without tags";
    }
    if kinds.any_source {
        text += ", any source";
    }
    if kinds.send_lens.len() > 2 {
        text += ", truncation";
    }
    if kinds.send_lens.len() == 1 {
        text += ", large messages";
    } else if kinds.receive_lens.len() == 1 {
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

#[cfg(test)]
mod tests {
    use super::super::space::job;
    use super::*;
    use crate::explore::{Limits, explore};
    use crate::model::Settings;
    use carrousel_rank::{Mirror, Protocol, Published};
    use carrousel_scenario::Check;
    use std::collections::HashMap;

    /// The verdict of the suite on a program.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Finding {
        states: u64,
        generated: u64,
        reached: [u64; CoverPoint::ALL.len()],
        violated: Vec<Check>,
        broken: bool,
    }

    fn finding<P: Protocol>(words: &Words) -> Finding {
        let limits = Limits { threads: 1, ..Limits::default() };
        // The reduction chooses by the names of ranks: only whole searches can be compared in every count.
        let settings = Settings { reduce: false, ..Settings::default() };
        let outcome = explore::<P>([job(words)].into(), settings, &limits);
        Finding {
            states: outcome.states,
            generated: outcome.generated,
            reached: outcome.reached,
            violated: outcome.violations.iter().map(|(check, _)| *check).collect(),
            broken: outcome.broken.is_some(),
        }
    }

    /// Explores the programs that the suite leaves out, and compares each with the one that stands for it.
    fn compare<P: Protocol>(programs: impl Iterator<Item = Words>, renamed: impl Fn(&Words) -> Vec<Words>) {
        let mut known: HashMap<Words, Finding> = HashMap::new();
        let mut left_out = 0;
        for words in programs {
            let same = renamed(&words);
            let smallest = same.iter().min().cloned().unwrap_or_default();
            assert!(same.contains(&words) && is_smallest(&smallest, &same));
            let standing_for = known.entry(smallest).or_insert_with_key(finding::<P>).clone();
            left_out += u64::from(!is_smallest(&words, &same));
            assert_eq!(finding::<P>(&words), standing_for, "{words:?}");
        }
        assert!(left_out as usize > known.len() / 2, "{left_out} left out beside {}", known.len());
    }

    fn compare_all<P: Protocol>() {
        let kinds = Kinds { any_source: true, ..Kinds::TWO_TAGS };
        let (sends, receives) = (sends(&kinds.sends(), 1, 2), receives(&kinds.receives(&[0]), 2));
        compare::<P>(pairs(&sends, &receives), |words| by_tags(words, kinds.tags));
        let kinds = Kinds { receive_lens: &[2], ..Kinds::MASKS };
        let (sends, receives) = (self::sends(&kinds.sends(), 1, 1), self::receives(&kinds.receives(&[0]), 2));
        compare::<P>(pairs(&sends, &receives), |words| kinds.renamed(words));
        let kinds = Kinds::TWO_TAGS;
        let side = |peer| {
            let (sends, receives) =
                (self::sends(&kinds.sends(), peer, 1), self::receives(&kinds.receives(&[peer]), 1));
            let both = sends.iter().flat_map(|s| receives.iter().flat_map(move |r| interleavings(s, r)));
            both.collect::<Vec<_>>()
        };
        compare::<P>(pairs(&side(1), &side(0)), |words| by_tags_and_ranks(words, kinds.tags));
    }

    #[test]
    fn a_program_stands_for_its_renamings_mirror() {
        compare_all::<Mirror>();
    }

    #[test]
    fn a_program_stands_for_its_renamings_published() {
        compare_all::<Published>();
    }
}
