//! Every interleaving of processes of a node at the words of a lock, with the memory orders that the lock asks for.
//!
//! Run it with `RUSTFLAGS="--cfg loom" cargo test --release -p carrousel-lock --test loom`; without the flag there is
//! nothing here.
#![cfg(loom)]

use carrousel_lock::{
    Access, AllTicketRules, Inspected, Inspection, Mode, Progress, TicketLock, TicketWords, Word,
};
use carrousel_wire::RankId;
use loom::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex};

/// The accesses of which one is carried out with a weaker order.
type Weak = fn(Access) -> bool;

/// What has to happen in some interleaving, or the exploration says little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    /// An origin waited for its turn.
    Waited,
    /// Two shared holders were there at once.
    SideBySide,
    /// A shared holder saw what the exclusive one had written, and another one saw nothing of it.
    ReadNew,
    ReadOld,
    /// An inspection has found that a dead process blocks.
    Blocked,
    /// An inspection has found that all owners live, while a dead process had been there.
    Lives,
}

/// The words of a lock, what the lock protects, and what was reached.
struct SharedWords {
    words: Vec<AtomicU64>,
    /// Two words that an exclusive holder makes one greater, one after the other.
    data: [AtomicU64; 2],
    readers: AtomicU64,
    weak: Weak,
    reached: Arc<Mutex<BTreeSet<Reached>>>,
}

impl SharedWords {
    fn new(ranks: u32, weak: Weak, reached: &Arc<Mutex<BTreeSet<Reached>>>) -> Arc<Self> {
        Arc::new(Self {
            words: (0..TicketWords::words(ranks)).map(|_| AtomicU64::new(0)).collect(),
            data: [AtomicU64::new(0), AtomicU64::new(0)],
            readers: AtomicU64::new(0),
            weak,
            reached: Arc::clone(reached),
        })
    }

    fn reach(&self, what: Reached) {
        self.reached.lock().expect("nobody panics with it").insert(what);
    }

    fn carry_out(&self, access: Access) -> u64 {
        let order = if (self.weak)(access) { Ordering::Relaxed } else { access.order() };
        match access {
            Access::Load(word) => self.words[TicketWords::index(word)].load(order),
            Access::Store(word, value) => {
                self.words[TicketWords::index(word)].store(value, order);
                0
            }
            Access::Increment(word) => self.words[TicketWords::index(word)].fetch_add(1, order),
        }
    }

    /// Carries accesses out until the lock is granted, released, or waits.
    fn drive(&self, lock: &mut TicketLock<AllTicketRules>, mut access: Access) -> Progress {
        loop {
            match lock.answer(self.carry_out(access)).expect("the words are right") {
                Progress::Access(next) => access = next,
                other => return other,
            }
        }
    }

    /// Looks up to so many times whether it has its turn; returns whether it has.
    fn look(&self, lock: &mut TicketLock<AllTicketRules>, mut progress: Progress, times: usize) -> bool {
        for _ in 1..times {
            if progress == Progress::Granted {
                break;
            }
            self.reach(Reached::Waited);
            loom::thread::yield_now();
            let access = lock.poll().expect("it waits");
            progress = self.drive(lock, access);
        }
        progress == Progress::Granted
    }

    fn unlock(&self, lock: &mut TicketLock<AllTicketRules>) {
        let first = lock.release().expect("it holds the lock");
        assert_eq!(self.drive(lock, first), Progress::Released);
    }

    fn read(&self) -> [u64; 2] {
        [0, 1].map(|at: usize| self.data[at].load(Ordering::Relaxed))
    }

    /// Takes a ticket, and goes on if it has its turn after so many looks. Returns it if it has not.
    fn take_ticket(&self, rank: u32, mode: Mode, looks: usize) -> Option<TicketLock<AllTicketRules>> {
        let mut lock = TicketLock::new(RankId(rank));
        let first = lock.request(mode).expect("it has no ticket");
        let progress = self.drive(&mut lock, first);
        if !self.look(&mut lock, progress, looks) {
            return Some(lock);
        }
        self.take_turn(lock, mode);
        None
    }

    /// Reads or writes under the lock, and releases it.
    fn take_turn(&self, mut lock: TicketLock<AllTicketRules>, mode: Mode) {
        let [first, second] = self.read();
        assert_eq!(first, second, "torn: the data is half written");
        match mode {
            Mode::Exclusive => {
                self.data[0].store(first + 1, Ordering::Relaxed);
                self.data[1].store(second + 1, Ordering::Relaxed);
            }
            Mode::Shared => {
                if self.readers.fetch_add(1, Ordering::Relaxed) > 0 {
                    self.reach(Reached::SideBySide);
                }
                self.reach(if first > 0 { Reached::ReadNew } else { Reached::ReadOld });
                assert_eq!(self.read(), [first, second], "torn: the data changes while it is read");
                self.readers.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.unlock(&mut lock);
    }
}

/// Ranks that lock once each, all at once. Every rank has a thread of its own: the one in which loom runs the model
/// only waits for them.
fn explore(modes: &'static [Mode], weak: Weak) -> BTreeSet<Reached> {
    let reached = Arc::new(Mutex::new(BTreeSet::new()));
    let all = Arc::clone(&reached);
    let mut builder = loom::model::Builder::new();
    // Three ranks are too many for every interleaving, and two that wait would yield to each other for ever: those with
    // up to so many preemptions are explored, and with as many looks. What then still waits is served behind them.
    let (preemptions, looks) = if modes.len() > 2 { (Some(2), 2) } else { (None, usize::MAX) };
    builder.preemption_bound = preemptions;
    builder.check(move || {
        let node = SharedWords::new(modes.len() as u32, weak, &reached);
        let ranks = (0..).zip(modes).map(|(rank, mode)| {
            let (node, mode) = (Arc::clone(&node), *mode);
            let rank = loom::thread::spawn(move || node.take_ticket(rank, mode, looks));
            (rank, mode)
        });
        let ranks: Vec<_> = ranks.collect();
        let waiting =
            ranks.into_iter().filter_map(|(rank, mode)| Some((rank.join().expect("it ends")?, mode)));
        let mut waiting: Vec<_> = waiting.collect();
        waiting.sort_by_key(|(lock, _)| lock.waiting_ticket().map(|(_, ticket)| ticket));
        for (mut lock, mode) in waiting {
            assert!(node.look(&mut lock, Progress::Waits, 2), "it waits for ever");
            node.take_turn(lock, mode);
        }
        let writers = modes.iter().filter(|mode| **mode == Mode::Exclusive).count() as u64;
        assert_eq!(node.read(), [writers; 2], "torn: an update is lost");
    });
    let all = all.lock().expect("nobody panics with it").clone();
    all
}

fn strong(_: Access) -> bool {
    false
}

use Mode::{Exclusive, Shared};

#[test]
fn nothing_is_torn_or_lost_between_two() {
    assert_eq!(explore(&[Exclusive, Exclusive], strong), [Reached::Waited].into());
    let read = [Reached::Waited, Reached::ReadNew, Reached::ReadOld];
    assert_eq!(explore(&[Exclusive, Shared], strong), read.into());
}

#[test]
fn nothing_is_torn_or_lost_between_three() {
    let everything = [Reached::Waited, Reached::SideBySide, Reached::ReadNew, Reached::ReadOld];
    assert_eq!(explore(&[Exclusive, Shared, Shared], strong), everything.into());
    assert_eq!(
        explore(&[Exclusive, Exclusive, Shared], strong),
        [Reached::Waited, Reached::ReadNew, Reached::ReadOld].into()
    );
}

/// The failure at which an exploration stopped.
fn failure(explore: impl Fn() + std::panic::UnwindSafe) -> String {
    let failure = catch_unwind(explore).expect_err("it must be found");
    let text = failure.downcast_ref::<String>().cloned();
    text.or_else(|| failure.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// An ablation: the access that is weakened, and the ranks between which the data is torn.
macro_rules! without {
    ($name:ident, $weak:pat, $modes:expr) => {
        #[test]
        fn $name() {
            let text = failure(|| {
                explore($modes, |access| matches!(access, $weak));
            });
            assert!(text.contains("torn"), "{text}");
        }
    };
}

without!(
    without_the_release_of_the_count_of_releases_data_is_torn,
    Access::Increment(Word::WriteServing),
    &[Exclusive, Exclusive]
);
without!(
    without_the_acquire_of_the_count_of_releases_data_is_torn,
    Access::Load(Word::WriteServing),
    &[Exclusive, Exclusive]
);
without!(
    without_the_release_to_shared_requests_data_is_torn,
    Access::Increment(Word::ReadServing),
    &[Exclusive, Shared]
);
without!(
    without_the_acquire_of_shared_requests_data_is_torn,
    Access::Load(Word::ReadServing),
    &[Exclusive, Shared]
);

mod inspection {
    use super::*;

    /// Rank 0 dies when it has carried out so many accesses of a request, rank 1 locks and unlocks, and rank 2 has a
    /// ticket that waits, and inspects once.
    fn explore_inspection(accesses_of_dead: usize, weak: Weak) -> BTreeSet<Reached> {
        let reached = Arc::new(Mutex::new(BTreeSet::new()));
        let all = Arc::clone(&reached);
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let node = SharedWords::new(3, weak, &reached);
            // Its death is seen by all, so it comes before everything else.
            let mut dead = TicketLock::<AllTicketRules>::new(RankId(0));
            let mut access = dead.request(Mode::Shared).expect("it has no ticket");
            for _ in 0..accesses_of_dead {
                match dead.answer(node.carry_out(access)).expect("the words are right") {
                    Progress::Access(next) => access = next,
                    _ => break,
                }
            }
            let has_ticket = node.words[TicketWords::index(Word::Next)].load(Ordering::Relaxed) > 0;
            let living = {
                let node = Arc::clone(&node);
                loom::thread::spawn(move || {
                    let mut lock = TicketLock::<AllTicketRules>::new(RankId(1));
                    let first = lock.request(Mode::Exclusive).expect("it has no ticket");
                    // It gives up at its first look, if it would wait for the dead one.
                    if node.drive(&mut lock, first) == Progress::Granted {
                        node.unlock(&mut lock);
                    }
                })
            };
            let waiting = {
                let node = Arc::clone(&node);
                loom::thread::spawn(move || {
                    let mut lock = TicketLock::<AllTicketRules>::new(RankId(2));
                    let first = lock.request(Mode::Exclusive).expect("it has no ticket");
                    if node.drive(&mut lock, first) == Progress::Granted {
                        node.unlock(&mut lock);
                        return;
                    }
                    let ticket = lock.waiting_ticket().expect("it waits");
                    let mut inspection = Inspection::<AllTicketRules>::new(RankId(2), ticket, 3);
                    loop {
                        let (access, rank) = inspection.access();
                        let is_alive = rank != Some(RankId(0));
                        let inspected = inspection.answer(node.carry_out(access), is_alive);
                        match inspected.expect("untrue: a ticket without an owner") {
                            Inspected::Next => {}
                            Inspected::Lives => {
                                // Of a dead process that blocks, too, while another one takes a ticket.
                                node.reach(Reached::Lives);
                                break;
                            }
                            Inspected::Blocked(dead) => {
                                node.reach(Reached::Blocked);
                                assert_eq!(dead.origin, RankId(0));
                                assert!(has_ticket, "untrue: the dead process has no ticket");
                                break;
                            }
                        }
                    }
                })
            };
            living.join().expect("it ends");
            waiting.join().expect("it ends");
        });
        let all = all.lock().expect("nobody panics with it").clone();
        all
    }

    #[test]
    fn a_dead_process_is_found_if_it_blocks_and_only_then() {
        // It has said that it takes a ticket, and has none.
        assert_eq!(explore_inspection(1, strong), [Reached::Lives].into());
        // It has a ticket that it has not said, one that it has, and the lock.
        for accesses in [2, 3, 5] {
            let reached = explore_inspection(accesses, strong);
            assert_eq!(reached, [Reached::Blocked, Reached::Lives].into(), "{accesses}");
        }
    }

    /// A live process has a ticket ahead, and what it has said of it is not seen.
    #[test]
    fn without_the_order_of_tickets_a_process_that_lives_is_called_dead() {
        let weak: Weak = |access| access == Access::Increment(Word::Next);
        assert!(failure(|| drop(explore_inspection(1, weak))).contains("untrue"));
    }

    /// The release is not seen, and the idle word behind it is.
    #[test]
    fn without_the_release_of_owners_words_a_process_that_lives_is_called_dead() {
        let weak: Weak = |access| matches!(access, Access::Store(..));
        assert!(failure(|| drop(explore_inspection(1, weak))).contains("untrue"));
    }

    #[test]
    fn without_the_acquire_of_owners_words_a_process_that_lives_is_called_dead() {
        let weak: Weak = |access| matches!(access, Access::Load(Word::Owner(_)));
        assert!(failure(|| drop(explore_inspection(1, weak))).contains("untrue"));
    }
}
