//! What the ranks of a job do, derived from its seed: every rank has the same plan, and so knows each message.
//!
//! The plan is legal MPI, and free of deadlock without any buffer: ranks take the steps in their order, and in a step
//! either no send blocks before all receives of its rank are posted, or no receive before all sends are.

use fastrand::Rng;
use std::time::Duration;

/// A message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) tag: u32,
    pub(crate) bytes: usize,
    /// The send completes only when its receive has begun.
    pub(crate) synchronous: bool,
    /// What its bytes are derived from.
    pub(crate) key: u64,
}

/// The wildcards of the receives of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wildcards {
    None,
    /// Any tag: the messages of a source come in their order.
    Tag,
    /// Any source: the tags are the step's own.
    Source,
}

/// A collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectiveKind {
    Barrier,
    Broadcast,
    Reduce,
    AllReduce,
    Gather,
    AllGather,
    AllToAll,
}

/// A common step of all ranks.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Messages, in the order in which each rank sends its own.
    Exchange {
        messages: Vec<Message>,
        wildcards: Wildcards,
        sends_block: bool,
    },
    /// Many small messages to a rank that makes no call meanwhile.
    Burst {
        from: usize,
        to: usize,
        count: u32,
        bytes: usize,
        late: Duration,
    },
    /// A receive that is cancelled at about the time at which its message may come.
    Race {
        message: Message,
    },
    Collective {
        kind: CollectiveKind,
        root: usize,
        elements: usize,
    },
    /// A copy of the communicator, on which messages go in a ring.
    Duplicate,
}

/// The plan of a job.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) ranks: usize,
    pub(crate) steps: Vec<Step>,
    /// The options of all ranks, as variables of the environment.
    pub(crate) options: Vec<(&'static str, String)>,
    /// Bytes of eager messages to one rank that no receive has taken.
    pub(crate) eager_window: usize,
    /// Bytes of the largest eager message.
    pub(crate) eager_threshold: usize,
}

/// Tags that every step uses, the largest one among them.
const TAGS: [u32; 4] = [0, 1, 77, (1 << 31) - 1];
/// Tags of a step alone: this, and so many behind it.
const STEP_TAGS: u32 = 1 << 20;
const TAGS_OF_STEP: u32 = 4;

impl Plan {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let ranks = rng.usize(2..=5);
        let ring = 4096_usize << rng.u32(0..4);
        let eager_threshold = [0, 64, 1000, 4000][rng.usize(..4)];
        let eager_window = [256, 4096, 16 << 10][rng.usize(..3)];
        let speculation = ["off", "always", "adaptive"][rng.usize(..3)];
        let options = vec![
            ("CARROUSEL_SHM_RING", ring.to_string()),
            ("CARROUSEL_EAGER_THRESHOLD", eager_threshold.to_string()),
            ("CARROUSEL_EAGER_WINDOW", eager_window.to_string()),
            ("CARROUSEL_SPECULATION", speculation.to_owned()),
            ("CARROUSEL_SHM_DIRECT", if rng.u32(..4) == 0 { "off" } else { "on" }.to_owned()),
            ("CARROUSEL_CHECK_USAGE", if rng.bool() { "off" } else { "error" }.to_owned()),
            ("CARROUSEL_HANG_REPORT", if rng.u32(..4) == 0 { "1s" } else { "0" }.to_owned()),
        ];
        let sizes = [eager_threshold, ring / 2, ring, 2 * ring];
        let mut steps = Vec::new();
        for number in 0..rng.u32(0..8) {
            steps.push(step(number, ranks, &sizes, rng));
        }
        Self { ranks, steps, options, eager_window, eager_threshold }
    }
}

fn size(sizes: &[usize], rng: &mut Rng) -> usize {
    match rng.u32(..20) {
        0..10 => rng.usize(..200),
        10..13 => rng.usize(..10_000),
        // Both processes copy it.
        13 => (64 << 10) + rng.usize(..100_000),
        _ => (sizes[rng.usize(..sizes.len())] + rng.usize(..64)).saturating_sub(48),
    }
}

fn step(number: u32, ranks: usize, sizes: &[usize], rng: &mut Rng) -> Step {
    let pair = |rng: &mut Rng| {
        let from = rng.usize(..ranks);
        (from, (from + rng.usize(1..ranks)) % ranks)
    };
    match rng.u32(..20) {
        0..4 => {
            use CollectiveKind::{AllGather, AllReduce, AllToAll, Barrier, Broadcast, Gather, Reduce};
            let kinds = [Barrier, Broadcast, Reduce, AllReduce, Gather, AllGather, AllToAll];
            let (kind, root) = (kinds[rng.usize(..kinds.len())], rng.usize(..ranks));
            Step::Collective { kind, root, elements: size(sizes, rng) / size_of::<u64>() }
        }
        4..7 => {
            let ((from, to), bytes) = (pair(rng), rng.usize(..300));
            let late = Duration::from_micros(1 << rng.u32(4..17));
            Step::Burst { from, to, count: rng.u32(10..200), bytes, late }
        }
        7..9 => {
            let ((from, to), tag) = (pair(rng), STEP_TAGS + number * TAGS_OF_STEP);
            let (bytes, synchronous, key) = (size(sizes, rng), rng.bool(), rng.u64(..));
            Step::Race { message: Message { from, to, tag, bytes, synchronous, key } }
        }
        9 => Step::Duplicate,
        _ => {
            let wildcards = [Wildcards::None, Wildcards::Tag, Wildcards::Source][rng.usize(..3)];
            let (tags, count) = (rng.u32(1..=TAGS_OF_STEP), rng.usize(1..=3 * ranks));
            let message = |_| {
                let (from, to) = match rng.u32(..8) {
                    // A receive from any rank fails when one is lost, and nobody would take the message to oneself.
                    0 if wildcards != Wildcards::Source => (rng.usize(..ranks), rng.usize(..ranks)),
                    _ => pair(rng),
                };
                let tag = match wildcards {
                    Wildcards::Source => STEP_TAGS + number * TAGS_OF_STEP + rng.u32(..tags),
                    _ => TAGS[rng.u32(..tags) as usize],
                };
                let (bytes, synchronous, key) = (size(sizes, rng), rng.u32(..6) == 0, rng.u64(..));
                Message { from, to, tag, bytes, synchronous, key }
            };
            let messages = (0..count).map(message).collect();
            Step::Exchange { messages, wildcards, sends_block: rng.bool() }
        }
    }
}

/// The bytes of a key.
pub(crate) fn content(key: u64, bytes: usize) -> Vec<u8> {
    let mut content = vec![0; bytes];
    Rng::with_seed(key).fill(&mut content);
    content
}
