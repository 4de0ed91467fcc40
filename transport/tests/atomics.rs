//! The check of atomics allows what the contract leaves open, and names the row of the table that a record breaks.

use carrousel_transport::AtomicOp::{self, CompareSwap, FetchAdd, Swap};
use carrousel_transport::Direction::ToReceiver;
use carrousel_transport::Operation;
use carrousel_transport::conformance::*;

fn to(to: u32, post: Post) -> Step {
    Step { to, post, fenced: false, after: 0 }
}

fn fenced(step: Step) -> Step {
    Step { fenced: true, ..step }
}

fn shared(word: u32, op: AtomicOp) -> Step {
    to(2, Post::Atomic { op, word: Word::Shared(word) })
}

/// The result of checking what atomics of ranks 0 and 1 have found at rank 2, and its words at the end.
fn found(steps: [&[Step]; 2], found: [Option<&[u64]>; 2], last: &[u64]) -> Result<(), ContractError> {
    let plan = Plan { name: "words".to_owned(), steps: vec![steps[0].to_vec(), steps[1].to_vec(), vec![]] };
    let record = |values: &[u64]| {
        let posted = (0..values.len()).map(Event::Posted);
        posted
            .chain(values.iter().enumerate().map(|(at, value)| Event::Fetched { at, value: *value }))
            .collect()
    };
    let mut ranks: Vec<Option<Vec<Event>>> = found.into_iter().map(|values| values.map(record)).collect();
    let died: Vec<u32> = (0..2).filter(|rank| ranks[*rank as usize].is_none()).collect();
    for (rank, events) in ranks.iter_mut().enumerate() {
        let losses = died.iter().filter(|dead| **dead as usize != rank).map(|dead| Event::Lost(*dead));
        events.iter_mut().for_each(|events| events.extend(losses.clone()));
    }
    let words = (0..).zip(last).map(|(word, value)| Event::FinalWord { word, value: *value });
    ranks.push(Some(died.iter().map(|dead| Event::Lost(*dead)).chain(words).collect()));
    check(&plan, &ranks)
}

#[track_caller]
fn assert_refused(result: Result<(), ContractError>, expected: &str) {
    let message = result.err().map_or_else(String::new, |error| error.to_string());
    assert!(message.contains(expected), "{message}");
}

#[test]
fn the_turns_at_one_word_are_those_that_the_values_tell() {
    let steps: [&[Step]; 2] = [&[shared(0, FetchAdd(1)), shared(0, FetchAdd(1))], &[shared(0, FetchAdd(4))]];
    for (values, last) in [([&[0, 1][..], &[2]], 6), ([&[0, 5], &[1]], 6), ([&[4, 5], &[0]], 6)] {
        assert_eq!(found(steps, values.map(Some), &[last]), Ok(()));
    }
    assert_refused(
        found(steps, [Some(&[5, 0]), Some(&[1])], &[6]),
        "rank 0 saw step 1 of rank 0 (fetch-and-add, 8 bytes, to rank 2) before step 0 of rank 0 \
         (fetch-and-add, 8 bytes, to rank 2): row `atomic`, column `atomic` of the table of order forbids it",
    );
    assert_refused(found(steps, [Some(&[0, 1]), Some(&[1])], &[6]), "atomics on one word take turns");
    assert_refused(found(steps, [Some(&[0, 1]), Some(&[3])], &[6]), "0x3, which no atomic has left");
    assert_refused(found(steps, [Some(&[0, 1]), Some(&[2])], &[5]), "the last atomic has left 0x6");
    assert_refused(found(steps, [Some(&[0, 1]), Some(&[2])], &[]), "word 0 of rank 2 is None at the end");
}

#[test]
fn one_of_those_that_expect_the_same_wins() {
    let swap = |new| [shared(0, CompareSwap { expected: 0, new })];
    let (first, second) = (swap(7), swap(9));
    let steps: [&[Step]; 2] = [&first, &second];
    assert_eq!(found(steps, [Some(&[0]), Some(&[7])], &[7]), Ok(()));
    assert_eq!(found(steps, [Some(&[9]), Some(&[0])], &[9]), Ok(()));
    assert_refused(found(steps, [Some(&[0]), Some(&[0])], &[9]), "take turns");
    assert_refused(found(steps, [Some(&[9]), Some(&[7])], &[9]), "which no atomic has left");
}

#[test]
fn the_order_of_two_words_is_one_order() {
    let look = FetchAdd(0);
    let steps: [&[Step]; 2] =
        [&[shared(0, Swap(1)), shared(1, Swap(1))], &[shared(1, look), shared(0, look)]];
    for seen in [[0, 0], [0, 1], [1, 1]] {
        assert_eq!(found(steps, [Some(&[0, 0]), Some(&seen)], &[1, 1]), Ok(()), "{seen:?}");
    }
    let result = found(steps, [Some(&[0, 0]), Some(&[1, 0])], &[1, 1]);
    assert!(matches!(
        result,
        Err(ContractError::Order { row: TableCell(Operation::Atomic, Operation::Atomic), .. })
    ));
}

#[test]
fn what_a_rank_has_changed_that_was_killed_is_not_known() {
    let steps: [&[Step]; 2] = [&[shared(0, FetchAdd(1)), shared(0, FetchAdd(1))], &[shared(0, FetchAdd(4))]];
    assert_eq!(found(steps, [Some(&[4, 5]), None], &[6]), Ok(()));
    assert_refused(found(steps, [Some(&[4, 4]), None], &[6]), "take turns");
}

/// What an 8-byte slot of a plan looks like for the rank that changes it and for its owner: rank 0 posts the steps to rank 1.
struct Slots(Plan);

impl Slots {
    fn new(steps: &[Step]) -> Self {
        Self(Plan { name: "slots".to_owned(), steps: vec![steps.to_vec(), vec![]] })
    }

    /// The data of a step, as a number.
    fn data(at: usize) -> u64 {
        // The first number that splitmix64 makes of the position, as of rank 0.
        let state = (at as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn check(&self, own: Vec<Event>, owner: Vec<Event>) -> Result<(), ContractError> {
        let posted = (0..self.0.steps[0].len()).map(Event::Posted);
        check(&self.0, &[Some(posted.chain(own).collect()), Some(owner)])
    }
}

fn sum_of_word(value: u64) -> u64 {
    sum(&value.to_le_bytes())
}

#[test]
fn an_atomic_is_behind_the_write_before_it() {
    let word = Word::Slot(0);
    let slots = Slots::new(&[
        to(1, Post::Write { len: 8, slot_of: 0, notice: true }),
        to(1, Post::Atomic { op: FetchAdd(1), word }),
    ]);
    let before = Slots::data(0);
    let result = |found, behind, last| {
        let own = vec![Event::Written(0), Event::Fetched { at: 1, value: found }];
        let owner = vec![
            Event::Packet { from: 0, at: 0, sum: 0 },
            Event::Memory { from: 0, at: 0, sum: sum_of_word(behind) },
            Event::FinalMemory { from: 0, at: 0, sum: sum_of_word(last) },
        ];
        slots.check(own, owner)
    };
    let after = before.wrapping_add(1);
    assert_eq!(result(before, before, after), Ok(()));
    assert_eq!(result(before, after, after), Ok(()), "the packet does not wait for the atomic");
    assert_refused(result(0, before, after), "row `write`, column `atomic`");
    assert_refused(result(before, before, before), "other bytes than those of step 1");
}

#[test]
fn an_atomic_is_behind_the_read_before_it_if_it_is_fenced() {
    let steps = |is_fenced| {
        let atomic = to(1, Post::Atomic { op: Swap(3), word: Word::Slot(0) });
        [
            to(1, Post::Read { len: 8, slot_of: 0, notice: false }),
            if is_fenced { fenced(atomic) } else { atomic },
        ]
    };
    let result = |is_fenced, seen| {
        let own = vec![
            Event::Read { at: 0, sum: sum_of_word(seen) },
            Event::Fetched { at: 1, value: Slots::data(0) },
        ];
        Slots::new(&steps(is_fenced)).check(own, vec![])
    };
    assert_eq!(result(true, Slots::data(0)), Ok(()));
    assert_eq!(result(false, 3), Ok(()), "it does not wait for the read");
    assert_refused(result(true, 3), "row `read`, column `atomic`");
    assert_refused(result(true, 4), "other bytes than those of step 0");
}

#[test]
fn a_read_is_behind_the_atomic_before_it_if_it_waits() {
    let result = |waits, seen| {
        let again = to(1, Post::Read { len: 8, slot_of: 0, notice: false });
        let steps = [
            to(1, Post::Write { len: 8, slot_of: 0, notice: false }),
            to(1, Post::Atomic { op: FetchAdd(1), word: Word::Slot(0) }),
            if waits { fenced(again) } else { again },
            to(1, Post::Send { direction: ToReceiver, len: 0 }),
        ];
        let before = Slots::data(0);
        let own = vec![
            Event::Written(0),
            Event::Fetched { at: 1, value: before },
            Event::Read { at: 2, sum: sum_of_word(seen) },
        ];
        let after = sum_of_word(before.wrapping_add(1));
        let owner = vec![
            Event::Packet { from: 0, at: 3, sum: 0 },
            Event::Memory { from: 0, at: 0, sum: after },
            Event::FinalMemory { from: 0, at: 0, sum: after },
        ];
        Slots::new(&steps).check(own, owner)
    };
    let before = Slots::data(0);
    assert_eq!(result(true, before.wrapping_add(1)), Ok(()));
    assert_eq!(result(false, before), Ok(()), "it does not wait for the atomic");
    assert_refused(result(true, before), "row `atomic`, column `read`");
}

#[test]
fn a_packet_is_behind_the_atomic_before_it_if_it_waits() {
    let result = |waits, behind| {
        let packet = to(1, Post::Send { direction: ToReceiver, len: 0 });
        let steps = [
            to(1, Post::Write { len: 8, slot_of: 0, notice: false }),
            to(1, Post::Atomic { op: FetchAdd(1), word: Word::Slot(0) }),
            if waits { fenced(packet) } else { packet },
        ];
        let before = Slots::data(0);
        let own = vec![Event::Written(0), Event::Fetched { at: 1, value: before }];
        let owner = vec![
            Event::Packet { from: 0, at: 2, sum: 0 },
            Event::Memory { from: 0, at: 0, sum: sum_of_word(behind) },
            Event::FinalMemory { from: 0, at: 0, sum: sum_of_word(before.wrapping_add(1)) },
        ];
        Slots::new(&steps).check(own, owner)
    };
    let before = Slots::data(0);
    assert_eq!(result(true, before.wrapping_add(1)), Ok(()));
    assert_eq!(result(false, before), Ok(()), "it does not wait for the atomic");
    assert_refused(result(true, before), "row `atomic`, column `send, forward`");
}

#[test]
fn a_write_that_does_not_wait_for_an_atomic_may_come_before_it() {
    let result = |waits, found, last| {
        let again = to(1, Post::Write { len: 8, slot_of: 0, notice: true });
        let steps = [
            to(1, Post::Write { len: 8, slot_of: 0, notice: false }),
            to(1, Post::Atomic { op: FetchAdd(1), word: Word::Slot(0) }),
            if waits { fenced(again) } else { again },
        ];
        let own = vec![Event::Written(0), Event::Fetched { at: 1, value: found }, Event::Written(2)];
        let owner = vec![
            Event::Packet { from: 0, at: 2, sum: 0 },
            Event::Memory { from: 0, at: 0, sum: sum_of_word(last) },
            Event::Memory { from: 0, at: 2, sum: sum_of_word(last) },
            Event::FinalMemory { from: 0, at: 0, sum: sum_of_word(last) },
            Event::FinalMemory { from: 0, at: 2, sum: sum_of_word(last) },
        ];
        Slots::new(&steps).check(own, owner)
    };
    let (first, second) = (Slots::data(0), Slots::data(2));
    assert_eq!(result(true, first, second), Ok(()));
    assert_eq!(result(false, second, second.wrapping_add(1)), Ok(()));
    assert_refused(result(true, second, second), "row `write`, column `atomic`");
}

#[test]
fn a_completion_of_an_atomic_comes_once_and_in_order() {
    let steps = [to(1, Post::Atomic { op: FetchAdd(1), word: Word::Shared(0) }); 2];
    let result = |own: &[(usize, u64)]| {
        let own = own.iter().map(|(at, value)| Event::Fetched { at: *at, value: *value }).collect();
        Slots::new(&steps).check(own, vec![Event::FinalWord { word: 0, value: 2 }])
    };
    assert_eq!(result(&[(0, 0), (1, 1)]), Ok(()));
    assert_refused(result(&[(1, 1), (0, 0)]), "those of one kind keep their order");
    assert_refused(result(&[(0, 0), (0, 0)]), "told twice of step 0");
    assert_refused(result(&[(0, 0)]), "never told of step 1");
}
