//! The operations that each rank posts, their slots in memory, and the bytes that have to be there afterwards.

use crate::{Atomic, AtomicOp, BODY_MAX, Context, Direction, Handle, Head, Header, Operation, Protocol};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// Bytes of the bodies of packets: a word, other sizes of real packets, the longest.
const BODY_LENS: [usize; 5] = [8, 12, 28, 40, BODY_MAX];
/// The same of packets that have data behind the body: together they fit the smallest ring.
const BODY_LENS_WITH_DATA: [usize; 3] = [8, 12, 28];

/// The operations that the ranks of a job post to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its name, in records and failures.
    pub name: String,
    /// By rank: the operations that it posts, in this order.
    pub steps: Vec<Vec<Step>>,
}

/// One operation of a plan, and when it is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The peer.
    pub to: u32,
    /// The operation.
    pub post: Post,
    /// It waits until all earlier reads from this peer, and atomics at it, are complete. An atomic is posted with a fence;
    /// for other operations [`Outbound`](crate::Outbound) has none, so the poster waits.
    pub fenced: bool,
    /// It is posted only after so many packets of this peer have arrived.
    pub after: u32,
}

/// A posted operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Post {
    /// A packet, with so many bytes of data behind it; a packet back has no data.
    Send {
        /// The direction of the packet.
        direction: Direction,
        /// Bytes of data.
        len: u64,
    },
    /// A write.
    Write {
        /// Bytes of data.
        len: u64,
        /// The position of the write into whose slot at the peer it goes: its own, or that of an earlier write
        /// of as many bytes, which is written over.
        slot_of: usize,
        /// A packet is directly behind it.
        notice: bool,
    },
    /// A read.
    Read {
        /// Bytes of data.
        len: u64,
        /// The position of the step whose slot at the peer it reads: its own, which is filled from
        /// the beginning, or that of an earlier write of as many bytes.
        slot_of: usize,
        /// A packet is directly behind it.
        notice: bool,
    },
    /// An atomic.
    Atomic {
        /// The operation.
        op: AtomicOp,
        /// The word at the peer.
        word: Word,
    },
}

/// The word of an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The peer's word of this number, which is 0 at the beginning: any rank may change it, by atomics only. No value
    /// comes back to it once it was replaced.
    Shared(u32),
    /// The slot of an earlier write, or read, of 8 bytes, which was posted by the same rank to the same peer.
    Slot(usize),
}

impl Post {
    /// The operation in the table.
    pub fn operation(&self) -> Operation {
        match self {
            Self::Send { direction, .. } => Operation::Send(*direction),
            Self::Write { .. } => Operation::Write,
            Self::Read { .. } => Operation::Read,
            Self::Atomic { .. } => Operation::Atomic,
        }
    }

    /// Bytes of data.
    pub fn len(&self) -> u64 {
        match self {
            Self::Send { len, .. } | Self::Write { len, .. } | Self::Read { len, .. } => *len,
            Self::Atomic { .. } => Atomic::LEN,
        }
    }

    /// Whether it has no data.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The direction of the packet that the peer is to see.
    pub fn direction(&self) -> Option<Direction> {
        match self {
            Self::Send { direction, .. } => Some(*direction),
            Self::Write { notice: true, .. } => Some(Direction::ToReceiver),
            Self::Read { notice: true, .. } => Some(Direction::ToSender),
            Self::Write { notice: false, .. } | Self::Read { notice: false, .. } | Self::Atomic { .. } => {
                None
            }
        }
    }

    /// The position of the step whose slot in the peer's memory it uses.
    pub fn slot_of(&self) -> Option<usize> {
        match self {
            Self::Send { .. } | Self::Atomic { word: Word::Shared(_), .. } => None,
            Self::Write { slot_of, .. } | Self::Read { slot_of, .. } => Some(*slot_of),
            Self::Atomic { word: Word::Slot(slot_of), .. } => Some(*slot_of),
        }
    }
}

/// A step of a plan, as errors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedStep {
    /// The rank that posts it.
    pub from: u32,
    /// Its position in the rank's steps.
    pub at: usize,
    /// The step.
    pub step: Step,
}

impl PlannedStep {
    /// Whether the poster waits for earlier reads and atomics before it posts the step.
    pub(super) fn is_wait(&self) -> bool {
        self.step.fenced && !matches!(self.step.post, Post::Atomic { .. })
    }
}

impl fmt::Display for PlannedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, at, step } = self;
        let fence = if step.fenced { "fenced " } else { "" };
        let what = match step.post {
            Post::Send { direction: Direction::ToReceiver, .. } => "send forward",
            Post::Send { direction: Direction::ToSender, .. } => "send back",
            Post::Write { notice: true, .. } => "write with a notice",
            Post::Write { .. } => "write",
            Post::Read { notice: true, .. } => "read with a notice",
            Post::Read { .. } => "read",
            Post::Atomic { op: AtomicOp::FetchAdd(_), .. } => "fetch-and-add",
            Post::Atomic { op: AtomicOp::CompareSwap { .. }, .. } => "compare-and-swap",
            Post::Atomic { op: AtomicOp::Swap(_), .. } => "swap",
        };
        write!(f, "step {at} of rank {from} ({fence}{what}, {} bytes, to rank {})", step.post.len(), step.to)
    }
}

/// The generation of every request of a plan.
const GENERATION: u32 = 0x00c0_ffee;

/// The request of the step at `at`.
pub(super) fn handle(at: usize) -> Handle {
    Handle { index: at as u32, generation: GENERATION }
}

/// The position of the step whose request this is.
pub(super) fn position(handle: Handle) -> Option<usize> {
    (handle.generation == GENERATION).then_some(handle.index as usize)
}

impl Plan {
    /// The number of ranks.
    pub fn ranks(&self) -> u32 {
        self.steps.len() as u32
    }

    /// The step of `from` at position `at`.
    pub fn planned_step(&self, from: u32, at: usize) -> Option<PlannedStep> {
        let step = *self.steps.get(from as usize)?.get(at)?;
        Some(PlannedStep { from, at, step })
    }

    /// The steps that `from` posts to `to`.
    pub fn between(&self, from: u32, to: u32) -> impl Iterator<Item = PlannedStep> + '_ {
        let steps = self.steps.get(from as usize).into_iter().flatten().enumerate();
        steps.filter(move |(_, step)| step.to == to).map(move |(at, step)| PlannedStep {
            from,
            at,
            step: *step,
        })
    }

    /// The head of the packet that the peer gets by a step. No transport knows what it means, and it means nothing; but
    /// bodies of a word and longer ones occur, up to the longest, and headers of all kinds.
    pub fn head(&self, from: u32, at: usize) -> Option<Head> {
        let post = self.planned_step(from, at)?.step.post;
        let direction = post.direction()?;
        let lens: &[usize] = match post {
            Post::Send { len: 1.., .. } => &BODY_LENS_WITH_DATA,
            _ => &BODY_LENS,
        };
        let header = Header::new(Protocol::Messages, direction, (at % 128) as u8, self.context(at));
        let position = (at as u64).to_le_bytes();
        let mut rest = [0; BODY_MAX - size_of::<u64>()];
        let rest = &mut rest[..lens[at % lens.len()] - position.len()];
        // Other bytes than those of the data.
        fill(!from, at, rest);
        Some(Head::new(header, [&position, rest]))
    }

    /// The context of the step at a position: steps use several, and no rule of the contract depends on them.
    pub fn context(&self, at: usize) -> Context {
        Context((at % 3 / 2) as u16)
    }

    /// The position of the step that `from` has sent this packet for, and where its data begins; `None` when it has sent no
    /// such packet. `payload` is what is behind the header.
    pub fn step_of(&self, from: u32, header: Header, payload: &[u8]) -> Option<(usize, usize)> {
        let at = usize::try_from(u64::from_le_bytes(*payload.first_chunk()?)).ok()?;
        let head = self.head(from, at)?;
        (head.header() == header && payload.starts_with(head.body())).then_some((at, head.body().len()))
    }

    /// The last write of `from` into the slot of its step `slot_of`, of those posted before `before`.
    pub(super) fn last_write(&self, from: u32, slot_of: usize, before: usize) -> Option<PlannedStep> {
        self.writes(from, slot_of).take_while(|write| write.at < before).last()
    }

    /// The writes that `from` posts into the slot of its step `slot_of`.
    pub(super) fn writes(&self, from: u32, slot_of: usize) -> impl Iterator<Item = PlannedStep> + '_ {
        let steps = self.steps.get(from as usize).into_iter().flatten().enumerate();
        steps
            .filter(move |(_, step)| matches!(step.post, Post::Write { slot_of: at, .. } if at == slot_of))
            .map(move |(at, step)| PlannedStep { from, at, step: *step })
    }

    /// Whether an atomic of `from` changes the slot of its step `slot_of`.
    pub(super) fn has_atomics_on(&self, from: u32, slot_of: usize) -> bool {
        let word = Word::Slot(slot_of);
        let is_one = |step: &Step| matches!(step.post, Post::Atomic { word: other, .. } if other == word);
        self.steps.get(from as usize).is_some_and(|steps| steps.iter().any(is_one))
    }

    /// Whether an atomic of `from` is on this shared word of `owner`.
    pub(super) fn shares(&self, from: u32, owner: u32, word: u32) -> bool {
        let word = Word::Shared(word);
        let is_one =
            |one: PlannedStep| matches!(one.step.post, Post::Atomic { word: other, .. } if other == word);
        self.between(from, owner).any(is_one)
    }

    /// The slots in the memory of `rank`.
    pub(super) fn map(&self, rank: u32) -> MemoryMap {
        let mut map = MemoryMap { slots: BTreeMap::new(), len: 0 };
        for (from, steps) in (0..).zip(&self.steps) {
            let word = |step: &Step| match step.post {
                Post::Atomic { word: Word::Slot(at), .. } => Some(at),
                _ => None,
            };
            let words: BTreeSet<usize> = steps.iter().filter_map(word).collect();
            for (at, step) in steps.iter().enumerate() {
                if let Post::Atomic { word, .. } = step.post {
                    if let (Word::Shared(word), true) = (word, step.to == rank) {
                        map.add(Slot::Shared(word), Atomic::LEN, true);
                    }
                    continue;
                }
                let Some(slot_of) = step.post.slot_of() else { continue };
                if step.to == rank && slot_of == at {
                    map.add(Slot::Remote { from, at }, step.post.len(), words.contains(&at));
                }
                if from == rank {
                    map.add(Slot::Local { at }, step.post.len(), false);
                }
            }
        }
        map.len += GAP;
        map
    }
}

/// The purpose of a range of a rank's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slot {
    /// The range that another rank's step writes into, or reads.
    Remote { from: u32, at: usize },
    /// The source of this rank's own write, or the destination of its read.
    Local { at: usize },
    /// The shared word of this number.
    Shared(u32),
}

/// The least distance between two slots: bytes that no operation may touch.
const GAP: usize = 9;
/// The value of these bytes.
pub(super) const UNTOUCHED: u8 = 0xa5;

/// The slots in a rank's memory.
#[derive(Clone, Debug)]
pub(super) struct MemoryMap {
    slots: BTreeMap<Slot, Range<usize>>,
    len: usize,
}

impl MemoryMap {
    fn add(&mut self, slot: Slot, len: u64, is_word: bool) {
        if self.slots.contains_key(&slot) {
            return;
        }
        // No slot is aligned but those that have to be.
        let start = self.len + GAP + self.slots.len() % 8;
        let start = if is_word { start.next_multiple_of(Atomic::LEN as usize) } else { start };
        self.len = start + len as usize;
        self.slots.insert(slot, start..self.len);
    }

    /// Bytes of the whole memory.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The range of a slot, which is empty if the plan has no such slot.
    pub(super) fn range(&self, slot: Slot) -> Range<usize> {
        self.slots.get(&slot).cloned().unwrap_or_default()
    }

    /// The numbers of the shared words.
    pub(super) fn shared_words(&self) -> Vec<u32> {
        let number = |slot: &Slot| if let Slot::Shared(word) = slot { Some(*word) } else { None };
        self.slots.keys().filter_map(number).collect()
    }

    /// The ranges of the slots, in the order of memory.
    pub(super) fn ranges(&self) -> Vec<Range<usize>> {
        let mut ranges: Vec<_> = self.slots.values().cloned().collect();
        ranges.sort_by_key(|range| (range.start, range.end));
        ranges
    }
}

/// Fills `bytes` with the data of the step that `from` posts at `at`.
pub(super) fn fill(from: u32, at: usize, bytes: &mut [u8]) {
    let mut state = u64::from(from) << 32 | at as u64;
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&next(&mut state).to_le_bytes()[..chunk.len()]);
    }
}

/// The next of a sequence of numbers that look random (splitmix64).
pub(super) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A checksum of bytes: two different runs of bytes hardly have the same.
pub fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(bytes.len() as u64, |sum, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (sum ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    })
}

/// The [`sum`] of the data of a step.
pub fn sum_of(planned: &PlannedStep) -> u64 {
    let mut bytes = vec![0; planned.step.post.len() as usize];
    fill(planned.from, planned.at, &mut bytes);
    sum(&bytes)
}
