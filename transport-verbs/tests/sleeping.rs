//! A rank that sleeps: until something comes, and no longer; and if nothing does, as long as it may.
#![cfg(feature = "verbs")]

mod fake;

use fake::{End, FakeAdapter, connected};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);

fn sleep(end: &mut End, timeout: Duration) -> (usize, Duration) {
    let began = Instant::now();
    (end.verbs.sleep(end.now, &mut end.heard, timeout), began.elapsed())
}

#[test]
fn what_came_before_is_not_slept_over() {
    let [mut one, mut other] = connected([FakeAdapter(0), FakeAdapter(1)]);
    other.send(0, &[1; 8]);
    let before = one.heard.packets;
    let (taken, slept) = sleep(&mut one, PATIENCE);
    assert!(taken > 0 && slept < PATIENCE, "{taken}, {slept:?}");
    assert_eq!(one.heard.packets, before + 1);
}

#[test]
fn what_comes_wakes_who_sleeps() {
    let [mut one, mut other] = connected([FakeAdapter(2), FakeAdapter(3)]);
    let sender = thread::spawn(move || {
        thread::sleep(SHORT);
        other.send(0, &[1; 8]);
        other
    });
    let before = one.heard.packets;
    // It may be woken for less than a packet.
    let woken = (0..10).any(|_| {
        let (_, slept) = sleep(&mut one, PATIENCE);
        assert!(slept < PATIENCE);
        one.heard.packets > before
    });
    assert!(woken);
    sender.join().expect("it has sent");
}

#[test]
fn notices_of_what_was_taken_do_not_pile_up() {
    let [mut one, mut other] = connected([FakeAdapter(4), FakeAdapter(5)]);
    // Every one of them is there, and announced, before it is slept for.
    for _ in 0..10 {
        other.send(0, &[1; 8]);
        assert!(sleep(&mut one, PATIENCE).0 > 0);
    }
    // Remaining completions may wake it, several if this machine is busy, and hardly anything else.
    let mut woken = Vec::new();
    while woken.len() < 8 {
        let (taken, slept) = sleep(&mut one, SHORT);
        if slept >= SHORT {
            return;
        }
        woken.push((taken, slept));
    }
    panic!("it was woken for nothing: {woken:?}");
}
