//! The plans of the conformance suite over real nodes: ranks as threads and as processes, directly copied and
//! through the ring, with a ring that is always full and one that hardly ever is.
#![cfg(not(loom))]

mod atomics;
mod cooperative_copy;
mod edge_cases;
mod hostile;
mod introductions;
mod moving;
mod processes;
mod refused_syscalls;
mod sleeping;
mod threads;
mod wrong_addresses;

use carrousel_transport::conformance::{
    ContractError, Event, Plan, Player, Record, Size, atomic_plans, check, generated_atomics, generated_plan,
    named_plans, never_ending_atomics,
};
use carrousel_transport::{RankId, Transport};
use carrousel_transport_shm::{Node, Settings};
use std::time::{Duration, Instant};

/// The time, which means nothing to this transport.
const NOW: Duration = Duration::ZERO;
/// Longer than any plan takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(100);
/// The smallest ring that there is: a packet fills half of it.
const TINY: usize = 16;

/// The settings of a node that are tested.
fn modes() -> [Settings; 4] {
    let capacity = Settings::default().capacity;
    [(true, capacity), (true, TINY), (false, capacity), (false, TINY)]
        .map(|(direct, capacity)| Settings { capacity, direct })
}

/// The name of a mode in records and failures.
fn name_of(settings: Settings) -> String {
    let Settings { capacity, direct } = settings;
    format!("shm, {}, rings of {capacity} words", if direct { "direct copies" } else { "no direct copies" })
}

fn size(settings: Settings) -> Size {
    let alone = Node::new(RankId(0), &[RankId(0)], settings).expect("there is memory");
    let eager = alone.largest_eager();
    if settings.capacity == TINY {
        Size { eager, large: 200_000, burst: 200 }
    } else {
        Size { eager, large: 5 << 20 | 3, burst: 1000 }
    }
}

/// All plans. In the last one a rank is killed.
fn plans(settings: Settings) -> Vec<Plan> {
    let size = size(settings);
    let mut plans = named_plans(&size);
    let less = Size { large: size.large / 16, ..size };
    plans.extend((0..8).map(|seed| generated_plan(seed, 2 + seed as u32 % 3, 120, &less)));
    plans.extend(atomic_plans(&less));
    plans.extend((0..8).map(|seed| generated_atomics(seed, 2 + seed as u32 % 3, 120, &less)));
    plans.push(never_ending_atomics(3, 1, &less));
    plans
}

/// Plays one rank until its part is done, then until `all_done`, which is told whether its own is. Returns
/// whether a ring was ever full.
fn play(player: &mut Player<'_>, node: &mut Node, mut all_done: impl FnMut(bool) -> bool) -> bool {
    let (began, mut idle, mut was_full) = (Instant::now(), 0_u32, false);
    loop {
        if player.drive(NOW, node) > 0 {
            idle = 0;
        } else {
            idle += 1;
            if idle.is_multiple_of(32) {
                node.check();
            }
            std::thread::yield_now();
        }
        was_full |= node.out().is_waiting();
        if all_done(player.is_done() || began.elapsed() > PATIENCE) {
            break;
        }
    }
    // A packet or completion that is reported twice comes late.
    for _ in 0..100 {
        player.drive(NOW, node);
        std::thread::yield_now();
    }
    was_full
}

/// Fails the test if the record breaks the contract.
fn assert_conforms(plan: &Plan, settings: Settings, ranks: &[Option<Vec<Event>>]) {
    let result: Result<(), ContractError> = check(plan, ranks);
    if let Err(breach) = result {
        let (transport, plan) = (name_of(settings), plan.name.clone());
        let text = Record { transport, plan, ranks: ranks.to_vec() }.to_string();
        let at = std::env::temp_dir().join(format!("carrousel-record-{}", std::process::id()));
        let kept = std::fs::write(&at, text).map(|()| at.display().to_string());
        panic!("{}: {breach}; the record: {kept:?}", name_of(settings));
    }
}
