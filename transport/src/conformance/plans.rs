//! The plans: some with a name, each for one part of the contract, and generated ones, one for each seed.

use super::plan::{Plan, Post, Step, next};
use crate::Direction;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

/// The sizes of a plan's data and bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The most data that a packet can have.
    pub eager: u64,
    /// Bytes of a write or a read that no buffer of the transport holds.
    pub large: u64,
    /// More packets than the transport takes without help of the peer.
    pub burst: usize,
}

/// A plan under construction, by rank.
pub(super) struct Script {
    pub(super) steps: Vec<Vec<Step>>,
}

impl Script {
    pub(super) fn new(ranks: usize) -> Self {
        Self { steps: vec![Vec::new(); ranks] }
    }

    /// Appends a step, and returns its position.
    pub(super) fn post(&mut self, from: u32, to: u32, post: Post) -> usize {
        let steps = &mut self.steps[from as usize];
        steps.push(Step { to, post, fenced: false, after: 0 });
        steps.len() - 1
    }

    pub(super) fn send(&mut self, from: u32, to: u32, len: u64) -> usize {
        self.post(from, to, Post::Send { direction: Direction::ToReceiver, len })
    }

    pub(super) fn back(&mut self, from: u32, to: u32) -> usize {
        self.post(from, to, Post::Send { direction: Direction::ToSender, len: 0 })
    }

    pub(super) fn write(&mut self, from: u32, to: u32, len: u64, notice: bool) -> usize {
        let slot_of = self.steps[from as usize].len();
        self.post(from, to, Post::Write { len, slot_of, notice })
    }

    pub(super) fn read(&mut self, from: u32, to: u32, len: u64, notice: bool) -> usize {
        let slot_of = self.steps[from as usize].len();
        self.post(from, to, Post::Read { len, slot_of, notice })
    }

    /// The last step of `from`.
    pub(super) fn last(&mut self, from: u32) -> &mut Step {
        self.steps[from as usize].last_mut().expect("something was posted")
    }

    /// The plan. A packet follows the last write to each peer: the peer would not learn of the write otherwise.
    pub(super) fn plan(mut self, name: &str) -> Plan {
        for from in 0..self.steps.len() as u32 {
            for to in 0..self.steps.len() as u32 {
                let mut to_peer = self.steps[from as usize].iter().filter(|step| step.to == to).rev();
                let announced = to_peer.find_map(|step| match step.post {
                    Post::Write { notice: false, .. } => Some(false),
                    Post::Write { .. } | Post::Send { direction: Direction::ToReceiver, .. } => Some(true),
                    Post::Send { .. } | Post::Read { .. } | Post::Atomic { .. } => None,
                });
                if announced == Some(false) {
                    self.send(from, to, 0);
                }
            }
        }
        Plan { name: name.to_owned(), steps: self.steps }
    }
}

/// The two directions of a pair.
pub(super) const BOTH: [(u32, u32); 2] = [(0, 1), (1, 0)];

/// The plans that have a name.
pub fn named_plans(size: &Size) -> Vec<Plan> {
    let fixed = [
        sends_of_every_size,
        both_lanes,
        bursts_of_sends,
        writes_of_every_size,
        notices_between_sends,
        reads_of_every_size,
        notices_of_reads,
        reads_of_what_was_written,
        writes_over_writes,
        fences,
        many_outstanding,
        questions_and_answers,
        everybody_to_everybody,
    ];
    fixed.iter().map(|plan| plan(size)).collect()
}

/// Sizes of data that a packet can have.
fn small(size: &Size) -> Vec<u64> {
    let sizes = [0, 1, 8, 7, 13, 64, 1000, size.eager.saturating_sub(1), size.eager];
    sizes.into_iter().filter(|len| *len <= size.eager).collect()
}

/// Sizes of writes and reads, a large one before an empty one.
fn any(size: &Size) -> [u64; 10] {
    [0, 1, 8, 13, 4096, size.large, 0, 5, size.large / 2 + 1, 0]
}

fn sends_of_every_size(size: &Size) -> Plan {
    let mut script = Script::new(2);
    for (from, to) in BOTH {
        for len in small(size) {
            script.send(from, to, len);
            script.send(from, to, len);
        }
    }
    script.plan("sends of every size")
}

fn both_lanes(size: &Size) -> Plan {
    let mut script = Script::new(2);
    for (from, to) in BOTH {
        for count in 0..size.burst / 2 {
            script.send(from, to, (count as u64 * 3) % (size.eager + 1));
            script.back(from, to);
            script.back(from, to);
        }
    }
    script.plan("both directions")
}

fn bursts_of_sends(size: &Size) -> Plan {
    let mut script = Script::new(2);
    let sizes = small(size);
    for (from, to) in BOTH {
        for count in 0..size.burst {
            script.send(from, to, sizes[count % sizes.len()]);
        }
    }
    script.plan("bursts of sends")
}

fn writes_of_every_size(size: &Size) -> Plan {
    let mut script = Script::new(2);
    for (from, to) in BOTH {
        for notice in [true, false] {
            for len in any(size) {
                script.write(from, to, len, notice);
            }
        }
    }
    script.plan("writes of every size")
}

fn notices_between_sends(size: &Size) -> Plan {
    let mut script = Script::new(2);
    for (from, to) in BOTH {
        for count in 0..size.burst as u64 / 4 {
            script.send(from, to, count % (size.eager + 1));
            script.write(from, to, count % 300, count % 3 != 0);
            script.back(from, to);
        }
    }
    script.plan("notices between sends")
}

fn reads_of_every_size(size: &Size) -> Plan {
    let mut script = Script::new(2);
    for (from, to) in BOTH {
        for len in any(size) {
            script.read(from, to, len, false);
            script.send(from, to, 0);
        }
    }
    script.plan("reads of every size")
}

fn notices_of_reads(size: &Size) -> Plan {
    let mut script = Script::new(2);
    for (from, to) in BOTH {
        for len in any(size) {
            // The peer overwrites the source as soon as it sees the notice, whatever overtakes that.
            script.back(from, to);
            script.read(from, to, len, true);
            script.back(from, to);
            script.send(from, to, 0);
            script.read(from, to, len / 2, len % 2 == 0);
            script.read(from, to, len / 3, true);
            script.write(from, to, len % 100, true);
        }
        script.back(from, to);
        script.last(from).fenced = true;
    }
    script.plan("notices of reads")
}

fn reads_of_what_was_written(size: &Size) -> Plan {
    let mut script = Script::new(2);
    for (from, to) in BOTH {
        for len in any(size) {
            let slot_of = script.write(from, to, len, false);
            script.post(from, to, Post::Read { len, slot_of, notice: len % 2 == 0 });
            // The write into the same slot comes too late for the read.
            script.post(from, to, Post::Write { len, slot_of, notice: true });
            script.last(from).fenced = true;
        }
    }
    script.plan("reads of what was written")
}

fn writes_over_writes(size: &Size) -> Plan {
    let mut script = Script::new(2);
    for (from, to) in BOTH {
        for len in [1, 13, 5000, size.large] {
            let slot_of = script.write(from, to, len, false);
            for notice in [true, false, false] {
                script.post(from, to, Post::Write { len, slot_of, notice });
            }
        }
    }
    script.plan("writes over writes")
}

fn fences(size: &Size) -> Plan {
    let mut script = Script::new(2);
    for (from, to) in BOTH {
        for len in [1, 0, 777, size.large, 0] {
            script.read(from, to, len, false);
            script.read(from, to, len / 3, false);
            // The peer overwrites the source as soon as it sees a fenced packet.
            match len % 3 {
                0 => script.back(from, to),
                1 => script.send(from, to, 1),
                _ => script.write(from, to, 40, true),
            };
            script.last(from).fenced = true;
        }
    }
    script.plan("fences")
}

fn many_outstanding(size: &Size) -> Plan {
    let mut script = Script::new(2);
    for (from, to) in BOTH {
        for count in 0..size.burst as u64 / 2 {
            let len = if count % 50 == 7 { size.large / 8 } else { count % 200 };
            script.read(from, to, len, count % 3 == 0);
            script.write(from, to, len, count % 2 == 0);
        }
    }
    script.plan("many outstanding")
}

fn questions_and_answers(size: &Size) -> Plan {
    let mut script = Script::new(2);
    for count in 0..100 {
        for (from, to) in BOTH {
            match count % 3 {
                0 => script.send(from, to, count % (size.eager + 1)),
                1 => script.back(from, to),
                _ => script.write(from, to, count * 7, true),
            };
            script.last(from).after = count as u32 + from;
        }
    }
    script.plan("questions and answers")
}

fn everybody_to_everybody(size: &Size) -> Plan {
    let mut script = Script::new(4);
    for count in 0..size.burst as u64 / 8 {
        for from in 0..4 {
            for to in (0..4).filter(|to| *to != from) {
                script.send(from, to, count % (size.eager + 1));
                script.write(from, to, count * 31 % 5000, true);
                script.read(from, to, count * 17 % 3000, count % 2 == 0);
            }
        }
    }
    script.plan("everybody to everybody")
}

/// A plan of `steps` steps a rank that is a function of the seed.
pub fn generated_plan(seed: u64, ranks: u32, steps: usize, size: &Size) -> Plan {
    let mut state = seed;
    let mut below = |bound: u64| next(&mut state) % bound.max(1);
    let mut script = Script::new(ranks as usize);
    for from in 0..ranks {
        for at in 0..steps {
            let to = (from + 1 + below(u64::from(ranks) - 1) as u32) % ranks;
            let len = match below(12) {
                0 => 0,
                1 => size.large,
                2..=5 => below(5000),
                _ => below(64),
            };
            // An earlier write to the same peer, whose slot is used again.
            let earlier = script.steps[from as usize].iter().enumerate().filter_map(|(at, step)| {
                matches!(step.post, Post::Write { slot_of, .. } if slot_of == at && step.to == to)
                    .then_some((at, step.post.len()))
            });
            let earlier: Vec<_> = earlier.collect();
            let again = if below(4) == 0 { earlier.get(below(earlier.len() as u64) as usize) } else { None };
            let (slot_of, again_len) = again.copied().unwrap_or((at, len));
            let post = match below(6) {
                0 | 1 => Post::Send { direction: Direction::ToReceiver, len: len.min(size.eager) },
                2 => Post::Send { direction: Direction::ToSender, len: 0 },
                3 | 4 => Post::Write { len: again_len, slot_of, notice: below(2) == 0 },
                _ => Post::Read { len: again_len, slot_of, notice: below(2) == 0 },
            };
            script.post(from, to, post);
            script.last(from).fenced = below(8) == 0;
        }
    }
    script.plan(&format!("seed {seed:#x}"))
}

/// A plan in which rank `victim` never comes to its end, so that it can be killed in the middle: all ranks post many
/// operations to each other, and wait for a packet that `victim` does not send.
pub fn never_ending_plan(ranks: u32, victim: u32, size: &Size) -> Plan {
    never_ending(ranks, victim, size, |_, _, _| ()).plan("never ending")
}

/// As [`never_ending_plan`], with `more` posted from a rank to another each time.
pub(super) fn never_ending(
    ranks: u32,
    victim: u32,
    size: &Size,
    mut more: impl FnMut(&mut Script, (u32, u32), u64),
) -> Script {
    let mut script = Script::new(ranks as usize);
    for count in 0..size.burst as u64 {
        for from in 0..ranks {
            for to in (0..ranks).filter(|to| *to != from) {
                script.send(from, to, count % (size.eager + 1));
                let len = if count % 16 == 3 { size.large / 16 } else { count % 100 };
                script.read(from, to, len, count % 2 == 0);
                more(&mut script, (from, to), count);
                script.write(from, to, if count % 16 == 5 { size.large / 16 } else { count % 100 }, true);
                // So that no rank is done before the end.
                script.last(from).after = (count * 2 / 3) as u32;
            }
        }
    }
    for to in (0..ranks).filter(|to| *to != victim) {
        script.send(victim, to, 0);
        script.last(victim).after = u32::MAX;
    }
    script
}
