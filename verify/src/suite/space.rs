//! Every program of a shape, up to renaming.
//!
//! A program is a list of small numbers; renaming tags (or ranks, where their roles are equal) permutes the
//! numbers. Of the programs that are equal up to renaming the one with the smallest list is explored. With masks only
//! renamings are used that keep them: the bits of all tags change places, or some of them their values. A queue of messages
//! without tags, beside that with tags, is no part of a renaming.

use crate::program::{Act, Job, Ordinal, Program, Start};
use carrousel_rank::{Communicator, Options, RankId, Source, Speculation, TagSelector, mpi};
use std::sync::Arc;

/// Messages up to this size are eager in the suites; the sizes used are 1, 2 and 3 bytes.
const EAGER: u64 = 1;

/// Which messages and receives can meet: each queue is a communicator of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Queue {
    #[default]
    Tagged,
    /// All its messages have tag 0.
    Untagged,
}

impl Queue {
    fn communicator(self) -> Communicator {
        match self {
            Self::Tagged => Communicator::WORLD,
            Self::Untagged => UNTAGGED,
        }
    }
}

const UNTAGGED: Communicator = match Communicator::new(1) {
    Some(communicator) => communicator,
    None => unreachable!(),
};

/// What a send can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SendKind {
    pub(super) queue: Queue,
    pub(super) tag: u32,
    pub(super) len: u64,
}

/// A kind of receive. Kinds are ordered as in their list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ReceiveKind {
    /// `None` is any source.
    pub(super) from: Option<u32>,
    pub(super) queue: Queue,
    pub(super) tag: TagKind,
    pub(super) len: u64,
}

/// The tags that a receive accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum TagKind {
    Any,
    Tag(u32),
    /// A tag whose ignored bits are 0, and some but not all bits to ignore.
    Masked {
        tag: u32,
        ignore: u32,
    },
}

impl TagKind {
    fn selector(self) -> TagSelector {
        match self {
            Self::Any => mpi::ANY_TAG,
            Self::Tag(tag) => mpi::selector(Some(tag)),
            Self::Masked { tag, ignore } => TagSelector::new(mpi::tag(tag), ignore.into()),
        }
    }
}

/// One act of a rank in a program of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Word {
    Send {
        to: u32,
        kind: SendKind,
    },
    Receive(ReceiveKind),
    /// Wait for the n-th request.
    Wait(Ordinal),
    /// Cancel the n-th request.
    Cancel(Ordinal),
    /// A receive that claims its message first.
    Claim(ReceiveKind),
    /// Receive what the n-th request has claimed.
    ReceiveClaimed(Ordinal),
    /// Discard what the n-th request has claimed.
    Discard(Ordinal),
}

/// The words of each rank.
pub(super) type Words = Vec<Vec<Word>>;

/// All lists of `length` elements of `kinds`, in lexicographic order.
pub(super) fn lists<T: Clone>(kinds: &[T], length: usize) -> Vec<Vec<T>> {
    (0..length).fold(vec![Vec::new()], |lists, _| {
        let longer = |list: Vec<T>| {
            kinds.iter().map(move |kind| {
                let mut list = list.clone();
                list.push(kind.clone());
                list
            })
        };
        lists.into_iter().flat_map(longer).collect()
    })
}

/// Inserts waits in every way: each request is waited for directly behind one of the requests from its
/// own on. A blocking call is one that is waited for at once.
pub(super) fn with_waits(requests: &[Word]) -> Vec<Vec<Word>> {
    with_words(requests, |request| (request..requests.len()).collect(), Word::Wait)
}

/// Inserts cancellations in every way: each receive is cancelled behind one of the requests from its own
/// on, or not; all requests are waited for at the end.
pub(super) fn with_cancels(requests: &[Word]) -> Vec<Vec<Word>> {
    with_words(requests, |request| (request..=requests.len()).collect(), Word::Cancel)
}

/// Turns receives into claims in every way; a claimed message is received or discarded behind one of the requests
/// from its own on.
pub(super) fn with_claims(requests: &[Word]) -> Vec<Vec<Word>> {
    let count = requests.len();
    // How a request ends: 0 as it is, then for each place received there or discarded there.
    let ends = choices(count, |request| (0..=2 * (count - request)).collect());
    let program = |ends: &Vec<usize>| {
        let mut words = Vec::new();
        for (at, request) in requests.iter().enumerate() {
            words.push(match *request {
                Word::Receive(kind) if ends[at] > 0 => Word::Claim(kind),
                other => other,
            });
            for (begun, end) in ends[..=at].iter().enumerate() {
                let (place, ordinal) = (at - begun, begun as Ordinal);
                words.extend((*end == 2 * place + 1).then_some(Word::ReceiveClaimed(ordinal)));
                words.extend((*end == 2 * place + 2).then_some(Word::Discard(ordinal)));
            }
        }
        words
    };
    ends.iter().filter(|ends| ends.iter().any(|end| *end > 0)).map(program).collect()
}

/// Inserts a word for each request behind one of `places(request)`, in every way; behind none of the requests
/// if that place is their number.
fn with_words(
    requests: &[Word],
    places: impl Fn(usize) -> Vec<usize>,
    word: impl Fn(Ordinal) -> Word,
) -> Vec<Vec<Word>> {
    choices(requests.len(), places)
        .iter()
        .map(|places| {
            let mut words = Vec::new();
            for (at, request) in requests.iter().enumerate() {
                words.push(*request);
                let here = (0..requests.len()).filter(|request| places[*request] == at);
                words.extend(here.map(|request| word(request as Ordinal)));
            }
            words
        })
        .collect()
}

/// All ways to choose one of `options(i)` for each `i` below `count`.
fn choices(count: usize, options: impl Fn(usize) -> Vec<usize>) -> Vec<Vec<usize>> {
    (0..count).fold(vec![Vec::new()], |chosen, at| {
        let options = options(at);
        chosen
            .into_iter()
            .flat_map(|list| {
                options.iter().map(move |option| {
                    let mut list = list.clone();
                    list.push(*option);
                    list
                })
            })
            .collect()
    })
}

/// The program under every renaming of tags.
pub(super) fn by_tags(words: &Words, tags: u32) -> Vec<Words> {
    permutations(tags)
        .iter()
        .map(|names| rename_tags(words, |tag| names[tag as usize], |mask| mask))
        .collect()
}

/// The program under every renaming of tags of so many bits that keeps masks: all tags with their bits in another order,
/// some of them inverted.
pub(super) fn by_bits(words: &Words, bits: u32) -> Vec<Words> {
    let orders = permutations(bits);
    let invert = move |order: Vec<u32>| (0..1 << bits).map(move |inverted| (order.clone(), inverted));
    let renamed = |(order, inverted): (Vec<u32>, u32)| {
        let moved = |word: u32| (0..bits).map(|bit| (word >> bit & 1) << order[bit as usize]).sum::<u32>();
        rename_tags(words, |tag| moved(tag) ^ inverted, moved)
    };
    orders.into_iter().flat_map(invert).map(renamed).collect()
}

/// The program under every renaming of tags, of the two ranks, and of both.
pub(super) fn by_tags_and_ranks(words: &Words, tags: u32) -> Vec<Words> {
    let swapped = words.iter().rev().map(|words| words.iter().map(swap_ranks).collect()).collect();
    [by_tags(words, tags), by_tags(&swapped, tags)].concat()
}

/// Whether none of the program's renamings is smaller.
pub(super) fn is_smallest(words: &Words, renamed: &[Words]) -> bool {
    renamed.iter().all(|renamed| words <= renamed)
}

fn swap_ranks(word: &Word) -> Word {
    match *word {
        Word::Send { to, kind } => Word::Send { to: 1 - to, kind },
        Word::Receive(kind) => Word::Receive(ReceiveKind { from: kind.from.map(|from| 1 - from), ..kind }),
        Word::Claim(kind) => Word::Claim(ReceiveKind { from: kind.from.map(|from| 1 - from), ..kind }),
        other => other,
    }
}

fn rename_tags(words: &Words, tag: impl Fn(u32) -> u32, mask: impl Fn(u32) -> u32) -> Words {
    let wanted = |wanted: ReceiveKind| {
        let tag = match wanted.tag {
            TagKind::Any => TagKind::Any,
            TagKind::Tag(named) => TagKind::Tag(tag(named)),
            TagKind::Masked { tag: least, ignore } => {
                let ignore = mask(ignore);
                TagKind::Masked { tag: tag(least) & !ignore, ignore }
            }
        };
        ReceiveKind { tag, ..wanted }
    };
    let rename = |word: &Word| match *word {
        Word::Send { to, kind } if kind.queue == Queue::Tagged => {
            Word::Send { to, kind: SendKind { tag: tag(kind.tag), ..kind } }
        }
        Word::Receive(kind) if kind.queue == Queue::Tagged => Word::Receive(wanted(kind)),
        Word::Claim(kind) if kind.queue == Queue::Tagged => Word::Claim(wanted(kind)),
        other => other,
    };
    words.iter().map(|words| words.iter().map(rename).collect()).collect()
}

fn permutations(count: u32) -> Vec<Vec<u32>> {
    let all: Vec<u32> = (0..count).collect();
    lists(&all, all.len()).into_iter().filter(|list| all.iter().all(|name| list.contains(name))).collect()
}

/// The options of all programs of the suites: every announcement is made or not, as the checker chooses.
pub(super) fn options() -> Options {
    Options {
        eager_threshold: EAGER,
        speculation: Speculation::Always,
        credit_every: 2,
        ..Options::default()
    }
}

/// The job of a program.
pub(super) fn job(words: &Words) -> Job {
    let ranks = words.iter().map(|words| Arc::new(program(words))).collect();
    Job { ranks, options: options(), windows: Vec::new(), nodes: Vec::new() }
}

fn program(words: &[Word]) -> Program {
    let mut program = Program::default();
    let mut open: Vec<Ordinal> = Vec::new();
    for word in words {
        // A buffer of its own for each request: buffers are the program's business, not the protocol's.
        let buffer = program.starts.len() as u16;
        let line = 0;
        match *word {
            Word::Send { to, kind: SendKind { queue, tag, len } } => {
                let communicator = queue.communicator();
                let send = Start::Send { to, tag, communicator, len, synchronous: false, buffer };
                open.push(program.start(line, send));
            }
            Word::Receive(ReceiveKind { from, queue, tag, len })
            | Word::Claim(ReceiveKind { from, queue, tag, len }) => {
                let communicator = queue.communicator();
                let from = from.map_or(Source::Any, |from| Source::Rank(RankId(from)));
                let start = Start::Receive { from, tag: tag.selector(), communicator, len, buffer };
                let claims = matches!(word, Word::Claim(_));
                open.push(if claims { program.claim(line, start) } else { program.start(line, start) });
            }
            Word::Wait(request) => {
                open.retain(|open| *open != request);
                program.act(line, Act::Wait([request].into()));
            }
            Word::Cancel(request) => program.act(line, Act::Cancel(request)),
            Word::ReceiveClaimed(request) => program.act(line, Act::ReceiveClaimed(request)),
            Word::Discard(request) => program.act(line, Act::Discard(request)),
        }
    }
    if !open.is_empty() {
        program.act(0, Act::Wait(open.into()));
    }
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    const EAGER_SEND: SendKind = SendKind { queue: Queue::Tagged, tag: 0, len: 1 };

    #[test]
    fn waits_are_placed_in_every_way() {
        let send = Word::Send { to: 1, kind: SendKind { tag: 0, ..EAGER_SEND } };
        assert_eq!(with_waits(&[send, send]).len(), 2);
        assert_eq!(with_waits(&[send, send, send]).len(), 6);
        assert_eq!(with_cancels(&[send, send, send]).len(), 24);
        // A receive is one, or is claimed and received or discarded in one of three, two or one places.
        assert_eq!(with_claims(&[send, send, send]).len(), 7 * 5 * 3 - 1);
    }

    #[test]
    fn of_equal_programs_exactly_one_is_smallest() {
        let kinds: Vec<SendKind> =
            (0..2).flat_map(|tag| [1, 2].map(|len| SendKind { tag, len, ..EAGER_SEND })).collect();
        let programs = lists(&kinds, 3);
        let smallest = programs
            .iter()
            .filter(|kinds| {
                let words = kinds.iter().map(|kind| Word::Send { to: 1, kind: *kind }).collect();
                let words = vec![words];
                is_smallest(&words, &by_tags(&words, 2))
            })
            .count();
        // No list of three is its own mirror image, so exactly one half is left.
        assert_eq!((programs.len(), smallest), (64, 32));
    }

    #[test]
    fn renamings_keep_what_a_message_satisfies() {
        let masks = [(0, 0b01), (0, 0b10), (0b01, 0b10), (0b10, 0b01)];
        let wanted = masks.map(|(tag, ignore)| TagKind::Masked { tag, ignore });
        let wanted: Vec<TagKind> = (0..4).map(TagKind::Tag).chain(wanted).chain([TagKind::Any]).collect();
        for (sent, tag) in (0..4).flat_map(|sent| wanted.iter().map(move |wanted| (sent, *wanted))) {
            let send = Word::Send { to: 1, kind: SendKind { tag: sent, ..EAGER_SEND } };
            let words = vec![
                vec![send],
                vec![Word::Receive(ReceiveKind { from: None, queue: Queue::Tagged, tag, len: 1 })],
            ];
            let renamed = by_bits(&words, 2);
            assert!(renamed.len() == 8 && renamed.contains(&words), "{renamed:?}");
            for renamed in renamed {
                let ([Word::Send { kind, .. }], [Word::Receive(receive)]) =
                    (&renamed[0][..], &renamed[1][..])
                else {
                    panic!("{renamed:?}")
                };
                let satisfies = |wanted: TagKind, tag| wanted.selector().matches(mpi::tag(tag));
                assert_eq!(satisfies(receive.tag, kind.tag), satisfies(tag, sent), "{renamed:?}");
            }
        }
    }
}
