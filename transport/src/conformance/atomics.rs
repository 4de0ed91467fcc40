//! The plans that have atomics. No value comes back to a shared word: those that are added are small, and those that
//! are swapped in are far apart and never the same.

use super::plan::{Plan, Post, Word, next};
use super::plans::{BOTH, Script, Size, never_ending};
use crate::{AtomicOp, Direction};
use alloc::format;
use alloc::vec::Vec;

/// The plans that have a name and atomics.
pub fn atomic_plans(size: &Size) -> Vec<Plan> {
    let fixed = [
        tickets,
        words_one_behind_the_other,
        one_of_many_swaps,
        atomics_of_every_kind,
        atomics_on_what_was_written,
        atomics_behind_reads,
        atomics_between_all_others,
        many_atomics_outstanding,
    ];
    fixed.iter().map(|plan| plan(size)).collect()
}

/// As [`never_ending_plan`](super::never_ending_plan), with atomics.
pub fn never_ending_atomics(ranks: u32, victim: u32, size: &Size) -> Plan {
    let more = |script: &mut Script, (from, to), count| {
        script.add(from, to, 0, count % 3, count % 4 == 0);
    };
    never_ending(ranks, victim, size, more).plan("never ending atomics")
}

impl Script {
    /// Appends an atomic, and returns its position.
    pub(super) fn atomic(&mut self, from: u32, to: u32, word: Word, op: AtomicOp, fenced: bool) -> usize {
        let at = self.post(from, to, Post::Atomic { op, word });
        self.last(from).fenced = fenced;
        at
    }

    /// Appends a fetch-and-add on a shared word.
    pub(super) fn add(&mut self, from: u32, to: u32, word: u32, add: u64, fenced: bool) -> usize {
        self.atomic(from, to, Word::Shared(word), AtomicOp::FetchAdd(add), fenced)
    }

    /// The value that the next atomic of `from` swaps in: nobody else does, and no sum reaches it.
    fn own_value(&self, from: u32) -> u64 {
        own_value(from, self.steps[from as usize].len())
    }
}

/// The value that the step of `from` at position `at` swaps in.
fn own_value(from: u32, at: usize) -> u64 {
    u64::from(from + 1) << 56 | (at as u64 + 1) << 28
}

/// All pairs among so many ranks.
fn pairs(ranks: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..ranks).flat_map(move |from| (0..ranks).filter(move |to| *to != from).map(move |to| (from, to)))
}

fn tickets(size: &Size) -> Plan {
    let mut script = Script::new(4);
    for count in 0..size.burst as u64 / 4 {
        for (from, to) in pairs(4) {
            script.add(from, to, 0, 1, count % 5 == 4);
        }
    }
    script.plan("tickets")
}

/// A rank that finds the later word changed has to find the earlier one changed, too.
fn words_one_behind_the_other(size: &Size) -> Plan {
    let mut script = Script::new(3);
    for _ in 0..size.burst / 4 {
        for (from, to) in pairs(3) {
            // Each rank changes the words of its successor in one order, and looks at those of its predecessor in the other.
            let (words, add) = if to == (from + 1) % 3 { ([0, 1, 2], 1) } else { ([2, 1, 0], 0) };
            for word in words {
                script.add(from, to, word, add, false);
            }
        }
    }
    script.plan("words one behind the other")
}

/// Of those that expect the same value one finds it.
fn one_of_many_swaps(size: &Size) -> Plan {
    let mut script = Script::new(4);
    let mut expected = 0;
    for round in 0..size.burst as u32 / 4 {
        let new = own_value(1 + round % 3, script.steps[1 + round as usize % 3].len());
        for from in 1..4 {
            let op = AtomicOp::CompareSwap { expected, new: script.own_value(from) };
            script.atomic(from, 0, Word::Shared(0), op, false);
        }
        // Perhaps one of the next round's finds what it expects, perhaps none does.
        expected = new;
        if round % 4 == 3 {
            let from = 1 + round % 3;
            expected = script.own_value(from);
            script.atomic(from, 0, Word::Shared(0), AtomicOp::Swap(expected), false);
        }
    }
    script.plan("one of many swaps")
}

fn atomics_of_every_kind(size: &Size) -> Plan {
    let mut script = Script::new(3);
    for count in 0..size.burst as u64 / 2 {
        for (from, to) in pairs(3) {
            let new = script.own_value(from);
            let op = match (count + u64::from(from)) % 4 {
                0 => AtomicOp::FetchAdd(count % 3),
                1 => AtomicOp::Swap(new),
                2 => AtomicOp::FetchAdd(1),
                _ => AtomicOp::CompareSwap {
                    expected: own_value(from, script.steps[from as usize].len() - 2),
                    new,
                },
            };
            let word = Word::Shared((count % 2) as u32);
            script.atomic(from, to, word, op, count % 7 == 6);
        }
    }
    script.plan("atomics of every kind")
}

fn atomics_on_what_was_written(size: &Size) -> Plan {
    let mut script = Script::new(2);
    for (from, to) in BOTH {
        for count in 0..size.burst as u64 / 16 {
            let slot_of = script.write(from, to, 8, count % 2 == 0);
            let word = Word::Slot(slot_of);
            script.atomic(from, to, word, AtomicOp::FetchAdd(count + 3), false);
            let swap = AtomicOp::Swap(script.own_value(from));
            script.atomic(from, to, word, swap, count % 3 == 0);
            // The next ones come behind the atomics as they wait for them.
            script.post(from, to, Post::Read { len: 8, slot_of, notice: false });
            script.last(from).fenced = true;
            script.post(from, to, Post::Write { len: 8, slot_of, notice: count % 2 == 1 });
            script.last(from).fenced = true;
            script.write(from, to, if count % 4 == 3 { size.large } else { 100 }, false);
            script.atomic(from, to, word, AtomicOp::FetchAdd(1), false);
            script.send(from, to, count % (size.eager + 1));
            script.last(from).fenced = true;
        }
    }
    script.plan("atomics on what was written")
}

fn atomics_behind_reads(size: &Size) -> Plan {
    let mut script = Script::new(2);
    for (from, to) in BOTH {
        for count in 0..size.burst as u64 / 16 {
            script.read(from, to, if count % 4 == 3 { size.large } else { 900 }, false);
            let slot_of = script.read(from, to, 8, count % 2 == 0);
            let word = Word::Slot(slot_of);
            // Without its fence it might change what the read finds.
            script.atomic(from, to, word, AtomicOp::Swap(count), true);
            script.atomic(from, to, word, AtomicOp::FetchAdd(7), false);
            script.post(from, to, Post::Read { len: 8, slot_of, notice: false });
            script.last(from).fenced = true;
            script.atomic(from, to, word, AtomicOp::CompareSwap { expected: count + 7, new: 1 }, true);
            script.back(from, to);
        }
    }
    script.plan("atomics behind reads")
}

fn atomics_between_all_others(size: &Size) -> Plan {
    let mut script = Script::new(3);
    for count in 0..size.burst as u64 / 8 {
        for (from, to) in pairs(3) {
            script.send(from, to, count % (size.eager + 1));
            script.add(from, to, 0, 1, false);
            script.write(from, to, count * 31 % 5000, count % 2 == 0);
            script.add(from, to, 1, 2, count % 3 == 0);
            script.read(from, to, count * 17 % 3000, count % 2 == 1);
            script.add(from, to, 0, 1, count % 4 == 0);
            script.back(from, to);
        }
    }
    script.plan("atomics between all others")
}

/// More than a queue takes, or an adapter has at once.
fn many_atomics_outstanding(size: &Size) -> Plan {
    let mut script = Script::new(2);
    for (from, to) in BOTH {
        for count in 0..size.burst as u64 * 2 {
            script.add(from, to, (count % 3) as u32, 1, false);
            if count % 16 == 3 {
                script.read(from, to, if count % 64 == 3 { size.large / 8 } else { 40 }, true);
            }
        }
    }
    script.plan("many atomics outstanding")
}

/// A plan of `steps` steps a rank with many atomics, that is a function of the seed.
pub fn generated_atomics(seed: u64, ranks: u32, steps: usize, size: &Size) -> Plan {
    let mut state = !seed;
    let mut below = |bound: u64| next(&mut state) % bound.max(1);
    let mut script = Script::new(ranks as usize);
    for from in 0..ranks {
        for at in 0..steps {
            let to = (from + 1 + below(u64::from(ranks) - 1) as u32) % ranks;
            // Slots of one word that it has at the peer. Those of reads are read once: their owner overwrites them then.
            let own = script.steps[from as usize].iter().enumerate().filter(|(_, step)| step.to == to);
            let (mut written, mut words) = (Vec::new(), Vec::new());
            for (at, step) in own {
                match step.post {
                    Post::Write { slot_of, len: 8, .. } if slot_of == at => written.push(at),
                    Post::Read { slot_of, len: 8, .. } if slot_of == at => words.push(at),
                    _ => {}
                }
            }
            words.extend(&written);
            let mut one_of = |slots: &[usize]| slots.get(below(slots.len() as u64) as usize).copied();
            let (again, slot) = (one_of(&written), one_of(&words));
            let new = own_value(from, at);
            let post = match (below(12), again) {
                (0, _) => Post::Send { direction: Direction::ToReceiver, len: below(size.eager + 1) },
                (1, _) => Post::Send { direction: Direction::ToSender, len: 0 },
                (2, Some(slot_of)) => Post::Write { len: 8, slot_of, notice: below(2) == 0 },
                (3, Some(slot_of)) => Post::Read { len: 8, slot_of, notice: below(2) == 0 },
                (2, None) => Post::Write { len: 8, slot_of: at, notice: below(2) == 0 },
                (3, None) => Post::Read { len: 8, slot_of: at, notice: below(2) == 0 },
                (4, _) => Post::Read { len: below(size.large), slot_of: at, notice: below(2) == 0 },
                (kind, _) => {
                    let word = match slot {
                        Some(slot) if kind < 8 => Word::Slot(slot),
                        _ => Word::Shared(below(3) as u32),
                    };
                    let earlier = own_value(below(u64::from(ranks)) as u32, below(at as u64 + 1) as usize);
                    let op = match below(5) {
                        0 => AtomicOp::Swap(new),
                        1 => AtomicOp::CompareSwap { expected: 0, new },
                        2 => AtomicOp::CompareSwap { expected: earlier, new },
                        _ => AtomicOp::FetchAdd(below(4)),
                    };
                    Post::Atomic { op, word }
                }
            };
            script.post(from, to, post);
            script.last(from).fenced = below(6) == 0;
        }
    }
    script.plan(&format!("atomics, seed {seed:#x}"))
}
