//! Correct programs, in every order of events, and wrong ones that end in a deadlock or a report.

mod network;

use carrousel_epoch::*;
use network::{Explored, Program, explore, run};

const NO_FLAGS: Flags = Flags {
    access_after_access: false,
    access_after_exposure: false,
    exposure_after_exposure: false,
    exposure_after_access: false,
};

fn explored(flags: Flags, lines: &[&str]) -> Explored {
    explore::<AllEpochRules>(&Program::new(flags, lines))
}

/// No order of events breaks a promise, and none gets stuck.
#[track_caller]
fn works(lines: &[&str]) -> Explored {
    let found = explored(NO_FLAGS, lines);
    assert_eq!(found.violation, None, "{lines:?}, after {} states", found.states);
    found
}

/// The same with every setting of the flags.
#[track_caller]
fn works_with_all_flags(lines: &[&str]) {
    for flags in Flags::every() {
        let found = explored(flags, lines);
        assert_eq!(found.violation, None, "{lines:?}, {flags:?}, after {} states", found.states);
    }
}

#[test]
fn an_access_and_its_exposure() {
    works_with_all_flags(&["start:1 put:1 get:1 complete", "post:0 wait"]);
    works_with_all_flags(&["start:1 complete", "post:0 wait"]);
    works_with_all_flags(&["post:0 start:0 put:0 complete wait", ""]);
}

#[test]
fn both_ranks_post_start_complete_and_wait() {
    works_with_all_flags(&["post:1 start:1 put:1 complete wait", "post:0 start:0 put:0 complete wait"]);
}

#[test]
fn epochs_that_are_closed_without_waiting() {
    works_with_all_flags(&[
        "start:1 put:1 icomplete start:1 put:1 icomplete waitall",
        "post:0 iwait post:0 iwait waitall",
    ]);
    works_with_all_flags(&[
        "start:1 put:1 icomplete post:1 iwait start:1 icomplete waitall",
        "post:0 iwait start:0 get:0 icomplete post:0 iwait waitall",
    ]);
}

#[test]
fn one_access_to_two_targets() {
    works(&["start:12 put:1 get:2 complete", "post:0 wait", "post:0 wait"]);
    works(&["start:1 put:1 icomplete start:2 put:2 icomplete waitall", "post:0 wait", "post:0 wait"]);
}

/// As published: the second epoch waits for the first, on both ranks, unless the flag lets it pass.
#[test]
fn access_then_exposure_on_both_ranks_needs_its_flag() {
    let lines =
        ["start:1 put:1 icomplete post:1 iwait waitall", "start:0 put:0 icomplete post:0 iwait waitall"];
    assert_eq!(explored(NO_FLAGS, &lines).property(), Some("never-stuck"));
    let flags = Flags { exposure_after_access: true, ..NO_FLAGS };
    assert_eq!(explored(flags, &lines).violation, None);
}

#[test]
fn a_start_without_a_post_is_stuck() {
    let lines = ["start:1 icomplete start:1 complete waitall", "post:0 wait"];
    assert_eq!(explored(NO_FLAGS, &lines).property(), Some("never-stuck"));
}

#[test]
fn fences() {
    works_with_all_flags(&["fence put:1 fence get:1 fence", "fence put:0 fence fence"]);
    works(&["ifence put:1 ifence put:1 ifence waitall", "ifence ifence ifence waitall"]);
}

#[test]
fn fences_of_three_ranks() {
    assert_eq!(ends(NO_FLAGS, &["fence put:1 fence", "fence put:2 fence", "fence get:0 fence"], 2000).0, 0);
}

#[test]
fn locks_of_two_origins() {
    works_with_all_flags(&["xlock:1 put:1 unlock:1", "xlock:1 get:1 unlock:1 lock:0 put:0 unlock:0"]);
    works(&["xlock:2 put:2 unlock:2", "lock:2 put:2 unlock:2", "lock:2 get:2 unlock:2"]);
}

#[test]
fn locks_that_are_given_back_without_waiting() {
    works_with_all_flags(&[
        "xlock:1 put:1 iunlock:1 lock:1 put:1 iunlock:1 waitall",
        "lock:1 put:1 unlock:1",
    ]);
    works_with_all_flags(&[
        "xlock:1 put:1 iunlock:1 lock:0 get:0 iunlock:0 waitall",
        "xlock:0 put:0 unlock:0",
    ]);
}

#[test]
fn locks_inside_locks_of_other_targets_in_one_order() {
    works(&["lock:0 lock:1 put:0 put:1 unlock:1 unlock:0", "xlock:0 xlock:1 put:0 unlock:1 unlock:0"]);
}

#[test]
fn exclusive_locks_inside_each_other_in_two_orders_are_stuck() {
    let lines = [
        "xlock:0 put:0 flush:0 xlock:1 put:1 unlock:1 unlock:0",
        "xlock:1 put:1 flush:1 xlock:0 put:0 unlock:0 unlock:1",
    ];
    assert_eq!(explored(NO_FLAGS, &lines).property(), Some("never-stuck"));
}

#[test]
fn lock_all() {
    works_with_all_flags(&["lockall put:1 flush:1 get:0 unlockall", "xlock:1 put:1 unlock:1"]);
    works(&["lockall put:1 iunlockall lockall iunlockall waitall", "lockall put:0 unlockall"]);
}

#[test]
fn flushes() {
    works(&["lock:1 put:1 iflush:1 put:1 iflushlocal:1 get:1 iflushall unlock:1 waitall", ""]);
    works(&["lockall put:1 put:0 iflush:1 iflushall put:1 flush:1 unlockall waitall", ""]);
    works(&["lock:1 rput:1 flushlocal:1 waitall unlock:1", ""]);
    works(&["xlock:1 put:1 iflush:1 iunlock:1 xlock:1 put:1 iflush:1 iunlock:1 waitall", ""]);
    works(&["lock:0 lock:1 put:0 put:1 iflushall put:1 iunlock:1 iunlock:0 waitall", ""]);
}

#[test]
fn locks_after_a_fence() {
    works_with_all_flags(&[
        "fence put:1 fence xlock:1 put:1 unlock:1",
        "fence put:0 fence xlock:1 put:1 unlock:1",
    ]);
}

/// The host has left the fence epoch, which ends only when the rank that locks inside it closes it: the lock must not wait
/// for that rank's Done.
#[test]
fn a_lock_inside_a_fence_epoch_that_its_host_has_closed() {
    works_with_all_flags(&["fence fence", "fence xlock:0 put:0 unlock:0 fence"]);
    works(&["fence fence fence", "fence xlock:0 put:0 unlock:0 fence xlock:0 put:0 unlock:0 fence"]);
}

#[test]
fn an_access_inside_a_fence_epoch() {
    works_with_all_flags(&[
        "fence post:1 wait fence put:1 fence",
        "fence start:0 put:0 complete fence fence",
    ]);
}

#[test]
fn a_lock_that_is_given_back_before_the_exposure() {
    works(&["xlock:1 put:1 unlock:1 send:1 start:1 put:1 complete", "recv:0 post:0 wait"]);
}

#[test]
fn a_lock_of_exposed_memory_is_reported_and_granted_later() {
    let lines = ["post:1 wait", "start:0 put:0 icomplete xlock:0 put:0 iunlock:0 waitall"];
    let found = works(&lines);
    assert!(matches!(found.reports[..], [Report::LockedWhileExposed { .. }]), "{:?}", found.reports);
}

/// Each of two lock_all epochs holds one lock, and waits, in a flush, for the other behind an exclusive request: strict
/// first in, first out makes single locks part of a cycle, though none is inside another.
#[test]
fn lock_all_with_flushes_and_single_locks_can_be_stuck() {
    let lines = [
        "lockall put:1 flush:1 unlockall",
        "lockall put:0 flush:0 unlockall",
        "xlock:0 put:0 unlock:0",
        "xlock:1 put:1 unlock:1",
    ];
    let (stuck, ended) = ends(NO_FLAGS, &lines, 3000);
    assert!(stuck > 0 && ended > stuck, "{stuck} stuck, {ended} ended");
    // Without the flush, a lock_all epoch gives each lock back when it has been granted.
    let lines = lines.map(|line| line.replace("flush:1", "").replace("flush:0", ""));
    assert_eq!(ends(NO_FLAGS, &lines.each_ref().map(String::as_str), 3000).0, 0);
}

/// How many executions get stuck, and how many end.
#[track_caller]
fn ends(flags: Flags, lines: &[&str], seeds: u64) -> (u64, u64) {
    let program = Program::new(flags, lines);
    let mut stuck = 0;
    for seed in 0..seeds {
        match run::<AllEpochRules>(&program, seed) {
            Ok(()) => {}
            Err(what) if what.starts_with("never-stuck") => stuck += 1,
            Err(what) => panic!("{lines:?}, seed {seed}: {what}"),
        }
    }
    (stuck, seeds - stuck)
}

#[test]
fn three_ranks_with_every_kind_of_epoch() {
    let lines = [
        "fence put:1 fence post:12 start:12 put:1 get:2 icomplete iwait waitall lockall put:2 iflush:2 unlockall waitall",
        "fence put:2 fence post:02 start:02 put:0 icomplete iwait waitall xlock:2 put:2 iunlock:2 lock:0 get:0 iunlock:0 waitall",
        "fence get:0 fence post:01 start:01 put:0 put:1 icomplete iwait waitall xlock:0 lock:1 put:0 put:1 iunlock:1 iunlock:0 waitall",
    ];
    for flags in Flags::every() {
        let (stuck, _) = ends(flags, &lines, 25);
        assert_eq!(stuck, 0, "{flags:?}");
    }
}
