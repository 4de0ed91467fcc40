//! Rings against a plain queue, and against memory that a hostile process writes to.

use super::*;
use crate::error::{CorruptRingError, PushError};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

type Memory = Arc<[AtomicU64]>;

fn memory(capacity: usize) -> Memory {
    (0..POSITIONS + capacity).map(|_| AtomicU64::new(0)).collect()
}

fn ends(memory: &Memory) -> (Producer<Memory>, Consumer<Memory>) {
    let producer = Producer::new(Arc::clone(memory)).expect("it fits");
    (producer, Consumer::new(Arc::clone(memory)).expect("it fits"))
}

fn config(cases: u32) -> ProptestConfig {
    // Miri takes some ten thousand times as long, and has no directory for failures.
    let cases = if cfg!(miri) { 8 } else { cases };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn only_a_power_of_two_of_words_is_a_ring() {
    for words in [0, 1, POSITIONS, POSITIONS + 1, POSITIONS + 3, POSITIONS + 100] {
        let memory: Memory = (0..words).map(|_| AtomicU64::new(0)).collect();
        assert_eq!(Producer::new(Arc::clone(&memory)).map(|_| ()), Err(RingSizeError { words }));
        assert_eq!(Consumer::new(memory).map(|_| ()), Err(RingSizeError { words }));
    }
}

#[test]
fn the_largest_message_fits_and_a_larger_one_never_does() {
    let (mut producer, mut consumer) = ends(&memory(8));
    assert_eq!(producer.largest(), 24);
    assert_eq!(producer.push(1, &[&[7; 24]]), Ok(()));
    // Some words behind the last message are free.
    assert_eq!(producer.push(2, &[&[8; 20], &[9; 4]]), Err(PushError::Full));
    assert_eq!(producer.push(2, &[&[8; 5], &[9; 3]]), Ok(()));
    assert_eq!(producer.push(3, &[]), Err(PushError::Full));
    assert_eq!(producer.push(3, &[&[8; 25]]), Err(PushError::TooLarge { len: 25, largest: 24 }));
    let mut message = Vec::new();
    assert_eq!(consumer.pop(&mut message), Ok(Some(1)));
    assert_eq!(message, [7; 24]);
    assert_eq!(producer.push(3, &[]), Ok(()));
}

#[test]
fn a_message_can_be_read_where_it_lies() {
    let (mut producer, mut consumer) = ends(&memory(16));
    producer.push(5, &[b"head", b"the data"]).expect("there is room");
    let mut data = [0; 8];
    let seen = consumer.take(|frame| {
        frame.copy_to(4, &mut data);
        (frame.tag(), frame.len(), frame.is_empty())
    });
    assert_eq!(seen, Ok(Some((5, 12, false))));
    assert_eq!(&data, b"the data");
    assert_eq!(consumer.take(|_| ()), Ok(None));
}

#[test]
fn arrived_messages_are_seen_without_taking_them() {
    let (mut producer, mut consumer) = ends(&memory(64));
    assert_eq!(consumer.arrived(), consumer.position());
    for _ in 0..10 {
        (0..3).for_each(|tag| producer.push(tag, &[&[1; 20]]).expect("there is room"));
        let end = consumer.arrived();
        let mut message = Vec::new();
        for tag in 0..3 {
            assert!(consumer.position() < end, "{tag} has not been taken");
            assert_eq!(consumer.pop(&mut message), Ok(Some(tag)));
        }
        assert_eq!(consumer.position(), end);
    }
}

#[test]
fn a_ring_without_an_end_is_looked_at_once() {
    let memory = memory(64);
    memory[POSITIONS..].iter().for_each(|word| word.store(frame::header(1, 0), Relaxed));
    let consumer = Consumer::new(memory).expect("it fits");
    assert_eq!(consumer.arrived(), 64);
}

#[test]
fn a_reader_that_panics_has_not_taken_the_message() {
    let (mut producer, mut consumer) = ends(&memory(16));
    producer.push(5, &[b"once more"]).expect("there is room");
    let read = std::panic::AssertUnwindSafe(|| consumer.take(|frame| frame.copy_to(5, &mut [0; 9])));
    assert!(std::panic::catch_unwind(read).is_err());
    assert_eq!(consumer.pop(&mut Vec::new()), Ok(Some(5)));
}

#[test]
fn a_small_message_lies_in_one_cache_line() {
    let memory = memory(128);
    let (mut producer, _) = ends(&memory);
    let header = |at: usize| frame::parse(memory[POSITIONS + at].load(Relaxed));
    for (tag, at) in [(1, 0), (2, 4), (3, 8), (4, 12)] {
        producer.push_words(tag, [5], &[7; 8]).expect("there is room");
        assert_eq!(header(at), Some((tag, 16)), "a line has eight words");
    }
}

/// The result of a consumer that finds this header.
fn consumer_finds(header: u64) -> Result<Option<u32>, CorruptRingError> {
    let memory = memory(8);
    let (mut producer, mut consumer) = ends(&memory);
    // One message was exchanged, of two words.
    producer.push(1, &[&[1; 8]]).expect("there is room");
    consumer.pop(&mut Vec::new()).expect("it is whole");
    memory[POSITIONS + 2].store(header, Relaxed);
    let found = consumer.pop(&mut Vec::new());
    if found.is_err() {
        memory[POSITIONS + 2].store(frame::header(1, 8), Relaxed);
        assert_eq!(consumer.pop(&mut Vec::new()), found, "what is corrupt stays so");
    }
    found
}

#[test]
fn a_length_is_checked() {
    let corrupt = |len| Err(CorruptRingError::Length { len, largest: 24 });
    assert_eq!(consumer_finds(0), Ok(None));
    assert_eq!(consumer_finds(frame::header(9, 0)), Ok(Some(9)));
    assert_eq!(consumer_finds(frame::header(9, 24)), Ok(Some(9)));
    assert_eq!(consumer_finds(frame::header(9, 25)), corrupt(25));
    assert_eq!(consumer_finds(u64::MAX), corrupt(u32::MAX - 1));
    // The lower half says whether there is a message at all.
    assert_eq!(consumer_finds(7 << 32), Ok(None));
}

#[test]
fn words_and_data_are_a_message() {
    for len in [0, 1, 8, 13] {
        let (mut producer, mut consumer) = ends(&memory(16));
        // Wherever the ring is: the third one goes over the end.
        for round in 0..10u8 {
            let data = vec![round; len];
            let words = [0x0807_0605_0403_0201, 0x100f_0e0d_0c0b_0a09];
            producer.push_words(4, words, &data).expect("there is room");
            let seen = consumer.take(|frame| {
                let mut bytes = vec![0; frame.len()];
                frame.copy_to(0, &mut bytes);
                (frame.first_words(), bytes)
            });
            let bytes = [&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], &data[..]].concat();
            assert_eq!(seen, Ok(Some((words, bytes))));
        }
    }
}

#[test]
fn a_consumers_position_is_checked() {
    for found in [0, 5, 15, 1 << 63, u64::MAX] {
        let memory = memory(8);
        let (mut producer, mut consumer) = ends(&memory);
        for tag in 0..3 {
            producer.push(tag, &[&[1; 16]]).map_or_else(|full| assert_eq!(full, PushError::Full), drop);
            consumer.pop(&mut Vec::new()).expect("it is whole");
        }
        // Nine words were written and taken; the producer last loaded the position when six were.
        producer.push(3, &[]).expect("there is room");
        memory[CONSUMER_POSITION].store(found, Relaxed);
        let (before, written) = (6, 10);
        let corrupt = Err(PushError::Corrupt(CorruptRingError::Consumer { found, before, written }));
        assert_eq!(producer.push(4, &[&[1; 24]]), corrupt);
        memory[CONSUMER_POSITION].store(10, Relaxed);
        assert_eq!(producer.push(4, &[]), corrupt, "what is corrupt stays so");
    }
}

#[test]
fn a_consumers_position_that_went_back_is_found_however_little() {
    let memory = memory(8);
    let (mut producer, mut consumer) = ends(&memory);
    for len in [24, 24, 0] {
        producer.push(1, &[&vec![1; len]]).expect("there is room");
        consumer.pop(&mut Vec::new()).expect("it is whole");
    }
    // There was no room before the producer loaded the position, and found that nine words were taken.
    producer.push(1, &[&[1; 24]]).expect("there is room");
    memory[CONSUMER_POSITION].store(8, Relaxed);
    let corrupt = CorruptRingError::Consumer { found: 8, before: 9, written: 13 };
    assert_eq!(producer.push(1, &[&[1; 24]]), Err(PushError::Corrupt(corrupt)));
}

#[derive(Clone, Debug)]
enum Step {
    Push { tag: u32, payload: Vec<u8>, cut: usize },
    Pop,
    Scribble { at: usize, value: u64 },
}

fn push(len: usize) -> impl Strategy<Value = Step> {
    let payload = prop::collection::vec(any::<u8>(), 0..=len);
    (any::<u32>(), payload, any::<usize>()).prop_map(|(tag, payload, cut)| Step::Push { tag, payload, cut })
}

fn scribble() -> impl Strategy<Value = Step> {
    let value = prop_oneof![any::<u64>(), 0..100u64, (0..100u64).prop_map(|less| u64::MAX - less)];
    let at = prop_oneof![Just(CONSUMER_POSITION), any::<usize>()];
    (at, value).prop_map(|(at, value)| Step::Scribble { at, value })
}

/// The most steps of a case. Miri takes a second to think of some ten, and to forget them.
const STEPS: usize = if cfg!(miri) { 12 } else { 100 };

/// A capacity, and steps with messages up to a little more than it takes.
fn steps() -> impl Strategy<Value = (usize, Vec<Step>)> {
    (1..9u32).prop_flat_map(|bits| {
        let step = prop_oneof![push(largest(1 << bits) + 3), Just(Step::Pop)];
        (Just(1 << bits), prop::collection::vec(step, 0..STEPS))
    })
}

fn hostile_steps() -> impl Strategy<Value = (usize, Vec<Step>)> {
    (1..5u32).prop_flat_map(|bits| {
        let step = prop_oneof![push(largest(1 << bits)), Just(Step::Pop), Just(Step::Pop), scribble()];
        (Just(1 << bits), prop::collection::vec(step, 0..STEPS))
    })
}

proptest! {
    #![proptest_config(config(2000))]

    /// Full, too large, or in the queue: each exactly when a plain queue of so many words says so.
    #[test]
    fn agrees_with_a_plain_queue((capacity, steps) in steps()) {
        let (mut producer, mut consumer) = ends(&memory(capacity));
        let mut queue = VecDeque::new();
        let (mut used, mut message) = (0, Vec::new());
        for step in steps {
            match step {
                Step::Push { tag, payload, cut } => {
                    let (len, words) = (payload.len(), frame::words(payload.len(), grain(capacity)));
                    let (first, second) = payload.split_at(cut % (len + 1));
                    let expected = if len > largest(capacity) {
                        Err(PushError::TooLarge { len, largest: largest(capacity) })
                    } else if (used + words) as u64 + ahead(capacity) > capacity as u64 {
                        Err(PushError::Full)
                    } else {
                        Ok(())
                    };
                    prop_assert_eq!(producer.push(tag, &[first, second]), expected);
                    if expected.is_ok() {
                        used += words;
                        queue.push_back((tag, payload));
                    }
                }
                Step::Pop => {
                    let popped = consumer.pop(&mut message).expect("nobody has damaged it");
                    let expected = queue.pop_front();
                    used -= expected.as_ref().map_or(0, |(_, payload): &(u32, Vec<u8>)| frame::words(payload.len(), grain(capacity)));
                    prop_assert_eq!(popped.map(|tag| (tag, message.clone())), expected);
                }
                Step::Scribble { .. } => unreachable!("there are none among these steps"),
            }
        }
    }

    /// Words change at any time to anything: no call panics or fails to return, no message is larger than the
    /// largest, and an end that has found the ring corrupt returns that error from then on.
    #[test]
    fn hostile_memory_is_an_error_at_worst((capacity, steps) in hostile_steps()) {
        let memory = memory(capacity);
        let (mut producer, mut consumer) = ends(&memory);
        let (mut pushes, mut pops, mut message) = (None, None, Vec::new());
        for step in steps {
            match step {
                Step::Push { tag, payload, .. } => {
                    let pushed = producer.push(tag, &[&payload]);
                    prop_assert!(pushes.is_none_or(|corrupt| pushed == Err(PushError::Corrupt(corrupt))));
                    if let Err(PushError::Corrupt(corrupt)) = pushed {
                        pushes = Some(corrupt);
                    }
                }
                Step::Pop => {
                    let popped = consumer.pop(&mut message);
                    prop_assert!(pops.is_none_or(|corrupt| popped == Err(corrupt)));
                    prop_assert!(message.len() <= largest(capacity));
                    pops = popped.err();
                }
                Step::Scribble { at, value } => memory[at % memory.len()].store(value, Relaxed),
            }
        }
    }
}

/// As above, but while a call is under way.
#[test]
fn memory_may_change_during_a_call() {
    let memory = memory(8);
    let rounds = if cfg!(miri) { 100 } else { 20_000 };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = 1u64;
            for _ in 0..rounds * 50 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let (at, value) = ((random >> 33) as usize % 44, random >> 58);
                memory[if at < POSITIONS + 8 { at } else { CONSUMER_POSITION }].store(value, Relaxed);
            }
        });
        let mut message = Vec::new();
        for _ in 0..rounds {
            // New ends each time, since an end returns its first error again from every later call.
            let (mut producer, mut consumer) = ends(&memory);
            for tag in 0..4 {
                let _ = producer.push(tag, &[&[1; 24]]);
                let _ = consumer.pop(&mut message);
                assert!(message.len() <= 24);
            }
        }
    });
}
