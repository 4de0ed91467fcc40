//! Ranks as threads of one process.

use super::{assert_conforms, modes, name_of, plans, play};
use carrousel_transport::conformance::{Event, Plan, Player, RankMemory, Record, short_plans};
use carrousel_transport::{Memory, RankId, Transport};
use carrousel_transport_shm::{Address, Node, Settings};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Barrier, Mutex};
use std::thread;

/// Plays a plan, each rank in a thread. Returns the record, and whether a ring was ever full.
fn run(plan: &Plan, settings: Settings) -> (Vec<Option<Vec<Event>>>, bool) {
    let count = plan.steps.len();
    let ranks: Vec<RankId> = (0..plan.ranks()).map(RankId).collect();
    let named: Mutex<Vec<Option<(Address, Memory)>>> = Mutex::new(vec![None; count]);
    let (barrier, done) = (Barrier::new(count), AtomicUsize::new(0));
    let rank = |me: u32| {
        let own_memory = RankMemory::new(plan, me);
        let mut node = Node::new(RankId(me), &ranks, settings).expect("there is memory");
        named.lock().expect("nobody panics")[me as usize] = Some((node.address(), own_memory.memory()));
        barrier.wait();
        let all: Vec<_> = named.lock().expect("nobody panics").iter().copied().flatten().collect();
        for (peer, (address, _)) in ranks.iter().zip(&all).filter(|(peer, _)| peer.0 != me) {
            node.out().connect(*peer, address).expect("it is there");
        }
        let memories: Vec<Memory> = all.iter().map(|(_, memory)| *memory).collect();
        barrier.wait();
        let mut player = Player::new(plan, me, own_memory, &memories);
        let mut told = false;
        let was_full = play(&mut player, &mut node, |is_done| {
            if is_done && !told {
                told = true;
                done.fetch_add(1, SeqCst);
            }
            done.load(SeqCst) == count
        });
        // No rank's memory is released before the last rank has finished.
        barrier.wait();
        (player.finish(), was_full)
    };
    thread::scope(|scope| {
        let rank = &rank;
        let threads: Vec<_> = (0..plan.ranks()).map(|me| scope.spawn(move || rank(me))).collect();
        let ends = threads.into_iter().map(|thread| thread.join().expect("no rank panics"));
        let (records, were_full): (Vec<_>, Vec<bool>) =
            ends.map(|(events, full)| (Some(events), full)).unzip();
        (records, were_full.contains(&true))
    })
}

fn every_plan(settings: Settings) {
    let plans = plans(settings);
    let mut was_full = false;
    // The last plan never ends.
    for plan in &plans[..plans.len() - 1] {
        let (ranks, full) = run(plan, settings);
        assert_conforms(plan, settings, &ranks);
        was_full |= full;
    }
    assert!(was_full, "ranks had to wait for room");
}

#[test]
fn every_plan_with_direct_copies() {
    every_plan(modes()[0]);
}

#[test]
fn every_plan_with_direct_copies_and_a_tiny_ring() {
    every_plan(modes()[1]);
}

#[test]
fn every_plan_through_the_ring() {
    every_plan(modes()[2]);
}

#[test]
fn every_plan_through_a_tiny_ring() {
    every_plan(modes()[3]);
}

/// Writes records of short plans to the file that the variable `CARROUSEL_RECORDS` names; `verify` checks them against the
/// network of its model. `CARROUSEL_RECORDS=verify/tests/exploration/orders/shm.txt cargo test -p carrousel-transport-shm
/// --test conformance records_for_the_model`, from the root of the repository.
#[test]
fn records_for_the_model() {
    let mut text = String::new();
    for settings in modes() {
        for plan in short_plans() {
            let (ranks, _) = run(&plan, settings);
            assert_conforms(&plan, settings, &ranks);
            let (transport, plan) = (name_of(settings), plan.name);
            text += &Record { transport, plan, ranks }.to_string();
        }
    }
    if let Ok(file) = std::env::var("CARROUSEL_RECORDS") {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        std::fs::write(root.join(file), text).expect("it can be written");
    }
}
