//! The actions of a job. They are derived from the seed, alike at every rank, so each receive knows its message.
//!
//! The plan is legal MPI and free of deadlock without any buffering. All ranks take the steps in their order. In a
//! step, either no send blocks before all receives of its rank are posted, or no receive blocks before all sends of
//! its rank are. So a rank that is in the earliest unfinished step can always finish it.

use fastrand::Rng;

/// Tags of messages that a receive may ask for from any source: no other step uses them.
const STEP_TAGS: u32 = 1 << 20;
/// The number of them in a step.
const TAGS_OF_STEP: u32 = 8;
/// Tags of messages whose receive may be cancelled.
pub(crate) const RACE_TAGS: u32 = 1 << 29;
/// Tags of receives that no message ever matches.
pub(crate) const NEVER: u32 = 1 << 30;
/// Tags that are used again and again, the largest one among them.
const TAGS: [u32; 5] = [0, 1, 2, 77, (1 << 31) - 1];
/// The most bytes of a step's messages, all ranks together.
const STEP_BYTES_MAX: usize = 12 << 20;

/// The pairs of ranks that exchange messages, unless a step has others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shape {
    /// All ranks with all others, with collectives and communicators that come and go
    Dense,
    /// Each rank to the next ones in a ring, without collectives
    Sparse,
    /// As `sparse`; at the end, ranks that have never met exchange messages, and all meet in collectives
    Late,
    /// As `sparse`, between some of the ranks; the others leave the job at once
    Idle,
}

/// A message of an exchange. Ranks are those of the communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedMessage {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) tag: u32,
    pub(crate) bytes: usize,
    /// The send completes only when its receive has begun.
    pub(crate) synchronous: bool,
    /// The key of its bytes, see [`content`].
    pub(crate) key: u64,
}

/// The wildcards of an exchange's receives; without one, a receive names source and tag of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wildcards {
    /// Any tag: messages of a source come in their order, and those of this step first.
    Tag,
    /// Also any source: the tags are the step's own.
    Source,
    /// Also both at once: a barrier keeps messages of later steps away.
    Both,
}

/// The calls of an exchange that may block; each rank may choose not to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocking {
    Sends,
    Receives,
}

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

/// How the messages of a burst are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// One after the other.
    Blocking,
    /// All sends are started before the first one is waited for; they are received in their order.
    Outstanding,
    /// As `Outstanding`, but received from the last to the first, by their tags.
    Reversed,
}

/// A common action of the ranks of a communicator.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Messages in any order. Those of a sender are sent in the order of the list.
    Exchange { messages: Vec<PlannedMessage>, wildcards: Wildcards, blocking: Blocking, barrier: bool },
    /// Each rank sends to the rank `by` places further, and receives from the rank as many before, at the same time.
    Shift { by: u32, bytes: usize },
    /// Messages whose receives are cancelled at about the time at which they come.
    Race { messages: Vec<PlannedMessage> },
    /// Many messages of one size to a receiver that comes later.
    Burst { senders: Vec<u32>, receiver: u32, count: u32, bytes: usize, sending: Sending, late_us: u64 },
    /// A collective of this many elements.
    Collective { kind: CollectiveKind, root: u32, elements: usize },
    /// A communicator of the same ranks, or by the colour of each rank, that replaces another one.
    Communicator { place: usize, colours: Option<Vec<Option<u32>>> },
}

/// A step: the action of each group of a communicator.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The communicator, by place.
    pub(crate) communicator: usize,
    /// The action of each of its groups.
    pub(crate) actions: Vec<Action>,
}

/// The plan so far. Groups have the job's ranks in the order of the communicator.
pub(crate) struct Plan {
    seed: u64,
    ranks: u32,
    shape: Shape,
    steps: u32,
    /// PlannedMessage sizes around every threshold.
    sizes: Vec<usize>,
    /// The communicators: one with several groups was made by colours. The first is that of all ranks.
    pub(crate) groups: Vec<Vec<Vec<u32>>>,
    /// Whether a rank sends and receives at all.
    active: Vec<bool>,
}

/// The most communicators at a time.
const COMMUNICATORS_MAX: usize = 6;

impl Plan {
    pub(crate) fn new(seed: u64, ranks: u32, steps: u32, shape: Shape, sizes: Vec<usize>) -> Self {
        let mut rng = Rng::with_seed(seed);
        let idle = shape == Shape::Idle;
        let active = (0..ranks).map(|_| !idle || rng.bool()).collect();
        Self { seed, ranks, shape, steps, sizes, groups: vec![vec![(0..ranks).collect()]], active }
    }

    /// The source of random decisions in a step: the same for all ranks (`None`), or a rank's own.
    pub(crate) fn rng(&self, step: u32, rank: Option<u32>) -> Rng {
        let own = rank.map_or(0, |rank| u64::from(rank) + 1);
        // The seeds are far apart, so no two are the same.
        Rng::with_seed(self.seed ^ (u64::from(step) << 40) ^ (own << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The step of this number.
    pub(crate) fn step(&self, number: u32) -> Step {
        let mut rng = self.rng(number, None);
        let meet = self.shape == Shape::Late && number + 3 >= self.steps;
        let communicator = if self.shape == Shape::Dense { rng.usize(..self.groups.len()) } else { 0 };
        // The same for all groups, and so is the place of the new communicator.
        let change = self.shape == Shape::Dense && rng.u32(..12) == 0;
        let place = match self.groups.len() {
            all if all < COMMUNICATORS_MAX => all,
            all => rng.usize(1..all),
        };
        let split = rng.bool().then(|| self.colours(&mut rng));
        let mut action = |group: &Vec<u32>| {
            if change {
                let colours =
                    split.as_ref().map(|all| group.iter().map(|rank| all[*rank as usize]).collect());
                return Action::Communicator { place, colours };
            }
            let size = group.len() as u32;
            match rng.u32(..100) {
                _ if meet && rng.bool() => self.collective(size, &mut rng),
                0..20 if self.shape == Shape::Dense => self.collective(size, &mut rng),
                20..28 if self.shape == Shape::Dense => Action::Shift {
                    by: rng.u32(..size),
                    bytes: self.size(&mut rng, STEP_BYTES_MAX / size as usize),
                },
                28..38 => self.race(number, size, meet, &mut rng),
                38..50 => self.burst(size, &mut rng),
                _ => self.exchange(number, size, meet, &mut rng),
            }
        };
        Step { communicator, actions: self.groups[communicator].iter().map(&mut action).collect() }
    }

    /// Notes a communicator that a step has made.
    pub(crate) fn learn(&mut self, step: &Step) {
        let Some(Action::Communicator { place, .. }) = step.actions.first() else { return };
        let mut made = Vec::new();
        for (group, action) in self.groups[step.communicator].iter().zip(&step.actions) {
            let Action::Communicator { colours, .. } = action else { continue };
            let Some(colours) = colours else {
                made.push(group.clone());
                continue;
            };
            let mut seen: Vec<u32> = colours.iter().flatten().copied().collect();
            seen.sort_unstable();
            seen.dedup();
            // In the order of `key`, which is the job's rank, negated.
            made.extend(seen.into_iter().map(|colour| {
                let mut members: Vec<u32> = group
                    .iter()
                    .zip(colours)
                    .filter(|(_, its)| **its == Some(colour))
                    .map(|(rank, _)| *rank)
                    .collect();
                members.sort_unstable_by_key(|rank| std::cmp::Reverse(*rank));
                members
            }));
        }
        match self.groups.get_mut(*place) {
            Some(old) => *old = made,
            None => self.groups.push(made),
        }
    }

    fn colours(&self, rng: &mut Rng) -> Vec<Option<u32>> {
        let most = rng.u32(1..=4);
        (0..self.ranks).map(|_| (rng.u32(..8) > 0).then(|| rng.u32(..most))).collect()
    }

    /// A size, no larger than `room`.
    fn size(&self, rng: &mut Rng, room: usize) -> usize {
        let chosen = match rng.u32(..10) {
            0..5 => rng.usize(..200),
            5 => rng.usize(..100_000),
            _ => rng.choice(&self.sizes).copied().unwrap_or(0),
        };
        if chosen <= room { chosen } else { room.min(64) }
    }

    /// The ranks that a rank may send to.
    fn partner(&self, from: u32, size: u32, meet: bool, rng: &mut Rng) -> Option<u32> {
        if self.shape == Shape::Dense || meet {
            return Some(rng.u32(..size));
        }
        let to = (from + rng.u32(1..=2)) % size;
        (self.active[from as usize] && self.active[to as usize]).then_some(to)
    }

    fn exchange(&self, number: u32, size: u32, meet: bool, rng: &mut Rng) -> Action {
        let barrier = (self.shape == Shape::Dense || meet) && rng.u32(..4) == 0;
        let wildcards = match rng.u32(..3) {
            _ if barrier => Wildcards::Both,
            0 => Wildcards::Tag,
            _ => Wildcards::Source,
        };
        let blocking = if rng.bool() { Blocking::Sends } else { Blocking::Receives };
        let count = rng.u32(1..=3 * size.min(24)) + size / 2;
        let (mut room, mut messages) = (STEP_BYTES_MAX, Vec::new());
        // Few tags in a step: the interesting messages are those that may not overtake each other.
        let tags = rng.u32(1..=TAGS.len() as u32);
        for index in 0..count {
            let from = rng.u32(..size);
            let Some(to) = self.partner(from, size, meet, rng) else { continue };
            let tag = match wildcards {
                Wildcards::Source => STEP_TAGS + number * TAGS_OF_STEP + rng.u32(..tags),
                _ => TAGS[rng.u32(..tags) as usize],
            };
            let bytes = self.size(rng, room);
            room -= bytes;
            let key = self.key(number, from, index);
            messages.push(PlannedMessage { from, to, tag, bytes, synchronous: rng.u32(..6) == 0, key });
        }
        Action::Exchange { messages, wildcards, blocking, barrier }
    }

    fn race(&self, number: u32, size: u32, meet: bool, rng: &mut Rng) -> Action {
        let mut room = STEP_BYTES_MAX;
        let count = rng.u32(1..=size.min(8));
        let mut messages = Vec::new();
        for index in 0..count {
            let from = rng.u32(..size);
            let Some(to) = self.partner(from, size, meet, rng) else { continue };
            let bytes = self.size(rng, room);
            room -= bytes;
            let key = self.key(number, from, index);
            messages.push(PlannedMessage {
                from,
                to,
                tag: RACE_TAGS + index,
                bytes,
                synchronous: rng.bool(),
                key,
            });
        }
        Action::Race { messages }
    }

    fn burst(&self, size: u32, rng: &mut Rng) -> Action {
        let receiver = rng.u32(..size);
        let near = |rank: &u32| match self.shape {
            Shape::Dense => true,
            _ => {
                let distance = (receiver + size - rank) % size;
                (1..=2).contains(&distance) && self.active[*rank as usize] && self.active[receiver as usize]
            }
        };
        let mut senders: Vec<u32> = (0..size).filter(|rank| *rank != receiver && near(rank)).collect();
        rng.shuffle(&mut senders);
        senders.truncate(rng.usize(1..=4));
        let sending =
            [Sending::Blocking, Sending::Blocking, Sending::Outstanding, Sending::Reversed][rng.usize(..4)];
        let bytes = rng.choice([0, 1, 8, 100, 1000, 4000, 16 << 10]).unwrap_or(0);
        let most = (STEP_BYTES_MAX / (bytes + 1)).min(if sending == Sending::Reversed { 1000 } else { 3000 })
            / senders.len().max(1);
        let count = rng.u32(10..=(most as u32).max(10));
        Action::Burst { senders, receiver, count, bytes, sending, late_us: rng.u64(..20_000) }
    }

    fn collective(&self, size: u32, rng: &mut Rng) -> Action {
        use CollectiveKind::{AllGather, AllReduce, AllToAll, Barrier, Broadcast, Gather, Reduce};
        let kinds = [Barrier, Broadcast, Reduce, AllReduce, Gather, AllGather, AllToAll];
        let kind = rng.choice(kinds).unwrap_or(Barrier);
        let every =
            if matches!(kind, AllGather | AllToAll) { size as usize * size as usize } else { size as usize };
        let elements = self.size(rng, STEP_BYTES_MAX / every) / size_of::<u64>();
        Action::Collective { kind, root: rng.u32(..size), elements }
    }

    fn key(&self, number: u32, from: u32, index: u32) -> u64 {
        let mut rng = self.rng(number, Some(from));
        rng.u64(..) ^ (u64::from(index) << 32)
    }
}

/// The tag of the messages of a burst: no other step uses it.
pub(crate) fn burst_tag(number: u32) -> u32 {
    STEP_TAGS + number * TAGS_OF_STEP + TAGS_OF_STEP - 1
}

/// The bytes of a key.
pub(crate) fn content(key: u64, bytes: usize) -> Vec<u8> {
    let mut content = vec![0; bytes];
    Rng::with_seed(key).fill(&mut content);
    content
}
