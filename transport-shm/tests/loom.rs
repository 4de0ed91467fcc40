//! Every interleaving of a producer and a consumer, over the code that is shipped.
//!
//! Run it with `RUSTFLAGS="--cfg loom" cargo test --release -p carrousel-transport-shm --test loom`;
//! without the flag there is nothing here.
#![cfg(loom)]

use carrousel_transport_shm::ring::{POSITIONS, RingOrders, Sound};
use carrousel_transport_shm::{Consumer, Producer, PushError};
use loom::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex};

/// A ring, and the messages that travel through it: the last one spans its end, and has no room before one
/// is taken.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// Words of the ring.
    capacity: usize,
    /// Bytes of each message.
    lengths: [usize; 3],
}

/// The messages lie at words 0, 1 and 2, then 3 and 0. The end of each is marked when it is written.
const SMALL: Case = Case { capacity: 4, lengths: [0, 8, 8] };
/// Words 0 to 2, 3 and 4, then 5 to 7 and 0. The end of the second was marked behind the first.
const AHEAD: Case = Case { capacity: 8, lengths: [16, 8, 24] };

/// Events that must happen in some interleaving, or the exploration says little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    /// The producer saw the ring full.
    Full,
    /// The consumer saw the ring empty, before all messages were taken.
    Empty,
    /// The consumer found a message without having waited for it.
    Ahead,
    /// A message that lies at the end and at the beginning was read.
    Spanned,
}

fn payload(tag: u32, len: usize) -> Vec<u8> {
    vec![0xa0 + tag as u8; len]
}

/// Loads these words of the ring, to which no thread may be storing.
fn watch(memory: &[AtomicU64], words: Range<usize>) {
    for word in words {
        // SAFETY: under loom this is no access to memory, but a question to the model.
        unsafe { memory[POSITIONS + word % (memory.len() - POSITIONS)].unsync_load() };
    }
}

/// How the consumer reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// As shipped.
    Plainly,
    /// As shipped, plus loads of which loom demands that no store is concurrent. For a load
    /// comes, in loom, before the stores that follow it, and would not see a word that is written too early.
    Watched,
}

/// Explores one producer and one consumer, each in a thread of its own: the other thread, in which
/// loom runs the model, only waits for them. Returns the events that were reached, and the number of executions.
fn explore<O: RingOrders + 'static>(case: Case, reading: Reading) -> (BTreeSet<Reached>, u32) {
    let reached = Arc::new(Mutex::new(BTreeSet::new()));
    let executions = Arc::new(Mutex::new(0));
    let Case { capacity, lengths } = case;
    let (all, count) = (Arc::clone(&reached), Arc::clone(&executions));
    loom::model(move || {
        *executions.lock().expect("nobody panics with it") += 1;
        let memory: Arc<[AtomicU64]> = (0..POSITIONS + capacity).map(|_| AtomicU64::new(0)).collect();
        let reach = |what| {
            let reached = Arc::clone(&reached);
            move || {
                reached.lock().expect("nobody panics with it").insert(what);
            }
        };
        let mut producer = Producer::<_, O>::with_orders(Arc::clone(&memory)).expect("it fits");
        let full = reach(Reached::Full);
        let producing = loom::thread::spawn(move || {
            for (tag, len) in (0..).zip(lengths) {
                while let Err(error) = producer.push(tag, &[&payload(tag, len)]) {
                    assert_eq!(error, PushError::Full);
                    full();
                    loom::thread::yield_now();
                }
            }
        });
        let mut consumer = Consumer::<_, O>::with_orders(Arc::clone(&memory)).expect("it fits");
        let (empty, ahead, spanned) = (reach(Reached::Empty), reach(Reached::Ahead), reach(Reached::Spanned));
        let consuming = loom::thread::spawn(move || {
            let mut at = 0;
            for (tag, len) in (0..).zip(lengths) {
                let words = at..at + 1 + len / 8;
                let mut waited = false;
                let taken = loop {
                    let taken = consumer.take(|frame| {
                        if reading == Reading::Watched {
                            watch(&memory, words.clone());
                        }
                        let mut message = vec![0; frame.len()];
                        frame.copy_to(0, &mut message);
                        (frame.tag(), message)
                    });
                    match taken.expect("torn: the ring is corrupt") {
                        Some(taken) => break taken,
                        None => empty(),
                    }
                    waited = true;
                    loom::thread::yield_now();
                };
                if tag > 0 && !waited {
                    ahead();
                }
                assert_eq!(taken, (tag, payload(tag, len)), "torn: another message");
                at = words.end;
            }
            assert!(at > capacity, "the last message spans the end");
            spanned();
            assert_eq!(consumer.pop(&mut Vec::new()), Ok(None), "there is no fourth");
        });
        producing.join().expect("it ends");
        consuming.join().expect("it ends");
    });
    let all = all.lock().expect("nobody panics with it").clone();
    let count = *count.lock().expect("nobody panics with it");
    (all, count)
}

#[test]
fn messages_arrive_once_whole_and_in_order() {
    let everything = [Reached::Full, Reached::Empty, Reached::Ahead, Reached::Spanned];
    for (case, count) in [(SMALL, 12_423), (AHEAD, 8_219)] {
        let (reached, executions) = explore::<Sound>(case, Reading::Plainly);
        assert_eq!(reached, BTreeSet::from(everything), "{case:?}");
        // Changes with each atomic operation of the ring, and with loom.
        assert_eq!(executions, count, "{case:?}");
    }
}

#[test]
fn no_word_is_read_and_written_at_once() {
    let everything = [Reached::Full, Reached::Empty, Reached::Ahead, Reached::Spanned];
    for case in [SMALL, AHEAD] {
        assert_eq!(explore::<Sound>(case, Reading::Watched).0, BTreeSet::from(everything), "{case:?}");
    }
}

/// The failure at which an exploration stopped.
fn found<O: RingOrders + 'static>(reading: Reading) -> String {
    let failure = catch_unwind(|| explore::<O>(SMALL, reading)).expect_err("it must be found");
    let text = failure.downcast_ref::<String>().cloned();
    text.or_else(|| failure.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// An ablation: the order that is weakened, how the consumer reads, and the failure that loom then reports.
macro_rules! without {
    ($name:ident, $order:ident, $reading:ident, $says:literal) => {
        #[test]
        fn $name() {
            enum Weak {}
            impl RingOrders for Weak {
                const $order: Ordering = Ordering::Relaxed;
            }
            let text = found::<Weak>(Reading::$reading);
            assert!(text.contains($says), "{text}");
        }
    };
}

without!(without_the_release_of_the_header_a_message_is_torn, PUBLISH, Plainly, "torn");
without!(without_the_acquire_of_the_header_a_message_is_torn, LOOK, Plainly, "torn");
without!(
    without_the_release_of_the_consumers_position_words_are_written_while_they_are_read,
    FREE,
    Watched,
    "Concurrent atomic store"
);
without!(
    without_the_acquire_of_the_consumers_position_words_are_written_while_they_are_read,
    REUSE,
    Watched,
    "Concurrent atomic store"
);

#[test]
fn without_the_zero_behind_a_message_one_of_before_comes_again() {
    enum Endless {}
    impl RingOrders for Endless {
        const END: bool = false;
    }
    let text = found::<Endless>(Reading::Plainly);
    assert!(text.contains("there is no fourth"), "{text}");
}

mod chunk_queue {
    //! A transfer that its owner and a helper copy.

    use carrousel_transport_shm::chunk_queue::{ChunkOrders, Chunks, Help, Helper, Owner, Sound, WORDS};
    use loom::sync::atomic::{AtomicU64, Ordering};
    use std::collections::BTreeSet;
    use std::panic::catch_unwind;
    use std::sync::{Arc, Mutex};

    /// Chunks of each of two transfers, which follow each other in the same words.
    const CHUNKS: u32 = 4;

    /// Events that must happen in some interleaving.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum Reached {
        /// The helper took no chunk of the first transfer.
        Late,
        /// The helper took chunks of both.
        Both,
        /// The owner waited for the helper.
        Waited,
    }

    /// Copies chunks: each is counted.
    fn copy(chunks: Chunks, copies: &[AtomicU64]) {
        for at in chunks.first..chunks.first + chunks.count {
            let copy = &copies[at as usize];
            copy.store(copy.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    fn explore<O: ChunkOrders + 'static>() -> BTreeSet<Reached> {
        let reached = Arc::new(Mutex::new(BTreeSet::new()));
        let all = Arc::clone(&reached);
        loom::model(move || {
            let reach = |reached: &Mutex<BTreeSet<Reached>>, what| {
                reached.lock().expect("nobody panics with it").insert(what);
            };
            let words: Arc<[AtomicU64]> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
            let copies: Arc<[AtomicU64]> = (0..2 * CHUNKS).map(|_| AtomicU64::new(0)).collect();
            // The helper is told of both at the start: it may come too late for the first, and too early for the
            // second.
            let told = Arc::new(AtomicU64::new(0));
            let helping = {
                let (words, copies, told) = (Arc::clone(&words), Arc::clone(&copies), Arc::clone(&told));
                let reached = Arc::clone(&reached);
                loom::thread::spawn(move || {
                    let mut helped = [false; 2];
                    for number in [1, 2] {
                        if told.load(Ordering::Acquire) < number.into() {
                            return;
                        }
                        let mut helper = Helper::new(&words, number, CHUNKS);
                        while let Some(chunks) = helper.take() {
                            copy(chunks, &copies[((number - 1) * CHUNKS) as usize..]);
                            helper.count::<O>(chunks, true);
                            helped[number as usize - 1] = true;
                        }
                        if number == 1 && !helped[0] {
                            reach(&reached, Reached::Late);
                        }
                    }
                    if helped == [true; 2] {
                        reach(&reached, Reached::Both);
                    }
                })
            };
            for number in [1, 2] {
                let copies = &copies[((number - 1) * CHUNKS) as usize..][..CHUNKS as usize];
                let (mut owner, first) = Owner::open(&words, number, CHUNKS);
                told.store(number.into(), Ordering::Release);
                let mut next = Some(first);
                while let Some(chunks) = next {
                    copy(chunks, copies);
                    next = owner.take();
                }
                loop {
                    match owner.help::<O>() {
                        Help::Copied => break,
                        Help::Copying => reach(&reached, Reached::Waited),
                        other => panic!("{other:?}"),
                    }
                    loom::thread::yield_now();
                }
                let each: Vec<u64> = copies.iter().map(|copy| copy.load(Ordering::Relaxed)).collect();
                assert_eq!(
                    each, [1; CHUNKS as usize],
                    "a chunk of transfer {number} is missing, or there twice"
                );
            }
            helping.join().expect("it ends");
        });
        let all = all.lock().expect("nobody panics with it").clone();
        all
    }

    #[test]
    fn each_chunk_is_copied_once_before_the_transfer_is_over() {
        let everything = [Reached::Late, Reached::Both, Reached::Waited];
        assert_eq!(explore::<Sound>(), BTreeSet::from(everything));
    }

    /// The failure at which an exploration stopped.
    fn found<O: ChunkOrders + 'static>() -> String {
        let failure = catch_unwind(explore::<O>).expect_err("it must be found");
        failure.downcast_ref::<String>().cloned().unwrap_or_default()
    }

    #[test]
    fn without_the_release_of_the_count_a_chunk_is_missing() {
        enum Weak {}
        impl ChunkOrders for Weak {
            const COUNT: Ordering = Ordering::Relaxed;
        }
        assert!(found::<Weak>().contains("is missing"));
    }

    #[test]
    fn without_the_acquire_of_the_count_a_chunk_is_missing() {
        enum Weak {}
        impl ChunkOrders for Weak {
            const SEE: Ordering = Ordering::Relaxed;
        }
        assert!(found::<Weak>().contains("is missing"));
    }
}

mod announce {
    //! Peers that connect while the owner of the segment polls.

    use carrousel_transport_shm::announce::{AnnounceOrders, COUNTER, Listener, Sound, announce, words};
    use loom::sync::atomic::{AtomicU64, Ordering};
    use std::collections::BTreeSet;
    use std::panic::catch_unwind;
    use std::sync::{Arc, Mutex};

    /// The peers, and those that connect: to two words, one of which two of them share.
    const PEERS: usize = 128;
    const CONNECT: [usize; 3] = [5, 6, 127];
    /// How often the owner polls before all have connected for sure.
    const POLLS: usize = 2;

    /// Peers connect; the owner polls meanwhile, and for the last time when all have connected. Returns the numbers of
    /// peers that were new at once.
    fn explore<O: AnnounceOrders + 'static>() -> BTreeSet<usize> {
        let reached = Arc::new(Mutex::new(BTreeSet::new()));
        let all = Arc::clone(&reached);
        loom::model(move || {
            let memory: Arc<[AtomicU64]> = (0..words(PEERS)).map(|_| AtomicU64::new(0)).collect();
            let mut listener = Listener::<O>::new(PEERS);
            let [first, rest @ ..] = CONNECT;
            let peers = [vec![first], rest.to_vec()].map(|peers| {
                let memory = Arc::clone(&memory);
                loom::thread::spawn(move || peers.into_iter().for_each(|peer| announce::<O>(&memory, peer)))
            });
            let mut seen = Vec::new();
            let mut look = || {
                if listener.has_changed(&memory[COUNTER]) {
                    let new_peers = listener.new_peers(&memory);
                    reached.lock().expect("nobody panics with it").insert(new_peers.len());
                    seen.extend(new_peers);
                }
            };
            for _ in 0..POLLS {
                look();
                loom::thread::yield_now();
            }
            peers.into_iter().for_each(|peer| peer.join().expect("it ends"));
            look();
            seen.sort_unstable();
            assert_eq!(seen, CONNECT, "a peer is overlooked");
        });
        let all = all.lock().expect("nobody panics with it").clone();
        all
    }

    #[test]
    fn each_peer_that_connects_is_seen_once() {
        let reached = explore::<Sound>();
        assert!(reached.is_superset(&BTreeSet::from([1, 2, 3])), "{reached:?}");
    }

    /// The failure at which an exploration stopped.
    fn found<O: AnnounceOrders + 'static>() -> String {
        let failure = catch_unwind(explore::<O>).expect_err("it must be found");
        failure.downcast_ref::<String>().cloned().unwrap_or_default()
    }

    #[test]
    fn without_the_release_of_the_count_a_peer_is_overlooked() {
        enum Weak {}
        impl AnnounceOrders for Weak {
            const COUNT: Ordering = Ordering::Relaxed;
        }
        assert!(found::<Weak>().contains("overlooked"));
    }

    #[test]
    fn without_the_acquire_of_the_count_a_peer_is_overlooked() {
        enum Weak {}
        impl AnnounceOrders for Weak {
            const READ_COUNT: Ordering = Ordering::Relaxed;
        }
        assert!(found::<Weak>().contains("overlooked"));
    }
}

mod doorbell {
    //! An owner that goes to sleep while a peer pushes a message.

    use carrousel_transport_shm::doorbell::{DoorbellOrders, Sound, fall_asleep, is_asleep, wake, wake_up};
    use loom::sync::atomic::{AtomicU64, Ordering};
    use std::collections::BTreeSet;
    use std::panic::catch_unwind;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum Reached {
        /// The owner found the message before it slept.
        Found,
        /// The owner slept, and the peer woke it.
        Woken,
    }

    /// A peer pushes a message; the owner goes to sleep unless it finds it. `looks` is false for an owner that does not
    /// poll once more before it sleeps.
    fn explore<O: DoorbellOrders + 'static>(looks: bool) -> BTreeSet<Reached> {
        let reached = Arc::new(Mutex::new(BTreeSet::new()));
        let all = Arc::clone(&reached);
        loom::model(move || {
            let [message, doorbell] = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
            let (pushed, bell) = (Arc::clone(&message), Arc::clone(&doorbell));
            let peer = loom::thread::spawn(move || {
                pushed.store(1, Ordering::Release);
                is_asleep::<O>(&bell) && wake(&bell)
            });
            fall_asleep::<O>(&doorbell);
            let sleeps = !looks || message.load(Ordering::Acquire) == 0;
            if !sleeps {
                wake_up(&doorbell);
            }
            let rung = peer.join().expect("it ends");
            assert!(!sleeps || rung, "the wake-up is lost");
            let how = if sleeps { Reached::Woken } else { Reached::Found };
            reached.lock().expect("nobody panics with it").insert(how);
        });
        let all = all.lock().expect("nobody panics with it").clone();
        all
    }

    #[test]
    fn no_wake_up_is_lost() {
        assert_eq!(explore::<Sound>(true), BTreeSet::from([Reached::Found, Reached::Woken]));
    }

    /// Whether an exploration finds a lost wake-up.
    fn loses<O: DoorbellOrders + 'static>(looks: bool) -> bool {
        let failure = catch_unwind(|| explore::<O>(looks)).expect_err("it must be found");
        failure.downcast_ref::<String>().is_some_and(|failure| failure.contains("is lost"))
            || failure.downcast_ref::<&str>().is_some_and(|failure| failure.contains("is lost"))
    }

    #[test]
    fn without_the_barrier_of_the_owner_a_wake_up_is_lost() {
        enum Weak {}
        impl DoorbellOrders for Weak {
            const OWNER_BARRIER: bool = false;
        }
        assert!(loses::<Weak>(true));
    }

    #[test]
    fn without_the_barrier_of_the_peer_a_wake_up_is_lost() {
        enum Weak {}
        impl DoorbellOrders for Weak {
            const PEER_BARRIER: bool = false;
        }
        assert!(loses::<Weak>(true));
    }

    #[test]
    fn without_a_last_poll_a_wake_up_is_lost() {
        assert!(loses::<Sound>(false));
    }
}
