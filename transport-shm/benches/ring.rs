//! The cost of a message.
//!
//! Claims: a message of 8 bytes is pushed and popped within 30 ns where both ends share a cache, and a
//! ping-pong of such messages between two cores takes at most three times as long as one of a bare
//! cache line, the least that any two threads need. With fewer than two idle cores the ping-pongs
//! measure the scheduler.

use carrousel_transport_shm::{Consumer, Layout, Producer, Ring, Segment};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The value that ends the echo.
const STOP: u64 = u64::MAX;

fn ends(segment: &Segment, ring: usize) -> (Producer<Ring>, Consumer<Ring>) {
    let ring = segment.ring(ring).expect("it is a peer");
    (Producer::new(ring.clone()).expect("it fits"), Consumer::new(ring).expect("it fits"))
}

fn segment() -> Segment {
    Segment::create(Layout::new(2, 1 << 13).expect("it is right")).expect("it can be created")
}

fn one_thread(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("push and pop");
    for len in [8, 64, 1024] {
        let (mut producer, mut consumer) = ends(&segment(), 0);
        let (data, mut message) = (vec![7; len], Vec::new());
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(format!("{len} B"), |bencher| {
            bencher.iter(|| {
                producer.push(1, &[black_box(&data)]).expect("there is room");
                consumer.pop(black_box(&mut message)).expect("it is whole")
            })
        });
    }
    group.finish();
}

/// Waits for the next message.
fn wait(consumer: &mut Consumer<Ring>) -> u64 {
    let mut value = [0; 8];
    while consumer.take(|frame| frame.copy_to(0, &mut value)).expect("it is whole").is_none() {
        spin_loop();
    }
    u64::from_le_bytes(value)
}

fn ping_pong(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ping-pong");
    let words = segment();
    let words = words.ring(0).expect("it is a peer");
    let (there, back) = (&words[0], &words[16]);
    let until = |word: &AtomicU64, value| {
        while word.load(Ordering::Acquire) != value {
            spin_loop();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut last = 0;
            while last != STOP {
                let mut value = last;
                while value == last {
                    spin_loop();
                    value = there.load(Ordering::Acquire);
                }
                back.store(value, Ordering::Release);
                last = value;
            }
        });
        let mut value = 0;
        group.bench_function("cache line", |bencher| {
            bencher.iter(|| {
                value += 1;
                there.store(value, Ordering::Release);
                until(back, value);
            })
        });
        there.store(STOP, Ordering::Release);
        until(back, STOP);
    });

    let segment = segment();
    let (mut ping, mut pinged) = ends(&segment, 0);
    let (mut pong, mut ponged) = ends(&segment, 1);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut value = 0;
            while value != STOP {
                value = wait(&mut pinged);
                pong.push(1, &[&value.to_le_bytes()]).expect("there is room");
            }
        });
        let mut exchange = |value: u64| {
            ping.push(1, &[&value.to_le_bytes()]).expect("there is room");
            wait(&mut ponged)
        };
        group.bench_function("8 B", |bencher| bencher.iter(|| exchange(black_box(1))));
        exchange(STOP);
    });
    group.finish();
}

criterion_group!(benches, one_thread, ping_pong);
criterion_main!(benches);
