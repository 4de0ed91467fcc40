//! Programs of windows that no family of the suite has, in every order of events: correct ones, and wrong ones that get
//! stuck or are reported.

use carrousel_epoch::Flags;
use carrousel_verify::bounds::Bounds;
use carrousel_verify::epoch::{EpochBounds, GivenProgram};
use carrousel_verify::explore::Limits;
use carrousel_verify::outcome::Outcome;
use carrousel_verify::suite::{ABLATIONS, Subject};

type Lines = &'static [&'static str];

/// One thread: a program is one thread's work, and tests run side by side.
fn limits() -> Limits<'static> {
    Limits { threads: 1, ..Limits::default() }
}

fn explored(flags: Flags, lines: Lines) -> Outcome {
    let bounds = EpochBounds::Program(GivenProgram { flags, lines, may_be_stuck: false });
    assert_eq!(bounds.count(), 1, "{lines:?} has a word that is no step");
    bounds.explore(&limits())
}

/// No order of events breaks a promise, and none gets stuck.
#[track_caller]
fn works(lines: Lines) -> Outcome {
    works_with(Flags::default(), lines)
}

#[track_caller]
fn works_with(flags: Flags, lines: Lines) -> Outcome {
    let outcome = explored(flags, lines);
    assert_eq!((outcome.stopped, &outcome.broken), (None, &None), "{flags:?}");
    outcome
}

/// The same with every setting of the flags.
#[track_caller]
fn works_with_all_flags(lines: Lines) {
    for flags in Flags::every() {
        works_with(flags, lines);
    }
}

/// The property that an exploration has found broken.
fn property(outcome: &Outcome) -> &str {
    outcome.broken.as_deref().and_then(|text| text.split(':').next()).unwrap_or_default()
}

#[track_caller]
fn gets_stuck(lines: Lines) {
    assert_eq!(property(&explored(Flags::default(), lines)), "never-stuck", "{lines:?}");
}

/// How many of some executions get stuck. The programs that are asked have too many to explore them all.
#[track_caller]
fn stuck(flags: Flags, lines: Lines, executions: u64) -> u64 {
    let program = GivenProgram { flags, lines, may_be_stuck: false };
    let mut stuck = 0;
    for seed in 0..executions {
        let Some(broken) = program.follow(seed) else { continue };
        assert!(broken.starts_with("never-stuck:"), "seed {seed}: {broken}");
        stuck += 1;
    }
    stuck
}

fn has_met(outcome: &Outcome, what: &str) -> bool {
    outcome.reached.iter().any(|(met, _)| *met == what)
}

#[test]
fn an_access_and_its_exposure() {
    works_with_all_flags(&["start:1 put:1 get:1 complete", "post:0 wait"]);
    works_with_all_flags(&["post:0 start:0 put:0 complete wait", ""]);
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
fn accesses_to_two_targets() {
    works(&["start:12 put:1 get:2 complete", "post:0 wait", "post:0 wait"]);
    works(&["start:1 put:1 icomplete start:2 put:2 icomplete waitall", "post:0 wait", "post:0 wait"]);
}

#[test]
fn a_start_without_a_post_is_stuck() {
    gets_stuck(&["start:1 icomplete start:1 complete waitall", "post:0 wait"]);
}

#[test]
fn fences() {
    works_with_all_flags(&["fence put:1 fence get:1 fence", "fence put:0 fence fence"]);
    works(&["ifence put:1 ifence put:1 ifence waitall", "ifence ifence ifence waitall"]);
}

#[test]
fn fences_of_three_ranks() {
    assert_eq!(
        stuck(Flags::default(), &["fence put:1 fence", "fence put:2 fence", "fence get:0 fence"], 1000),
        0
    );
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
    gets_stuck(&[
        "xlock:0 put:0 flush:0 xlock:1 put:1 unlock:1 unlock:0",
        "xlock:1 put:1 flush:1 xlock:0 put:0 unlock:0 unlock:1",
    ]);
}

#[test]
fn lock_all() {
    works_with_all_flags(&["lock_all put:1 flush:1 get:0 unlock_all", "xlock:1 put:1 unlock:1"]);
    works(&["lock_all put:1 iunlock_all lock_all iunlock_all waitall", "lock_all put:0 unlock_all"]);
}

#[test]
fn flushes() {
    works(&["lock:1 put:1 iflush:1 put:1 iflush_local:1 get:1 iflush unlock:1 waitall", ""]);
    works(&["lock_all put:1 put:0 iflush:1 iflush put:1 flush:1 unlock_all waitall", ""]);
    works(&["lock:1 rput:1 flush_local:1 waitall unlock:1", ""]);
    works(&["xlock:1 put:1 iflush:1 iunlock:1 xlock:1 put:1 iflush:1 iunlock:1 waitall", ""]);
    works(&["lock:0 lock:1 put:0 put:1 iflush put:1 iunlock:1 iunlock:0 waitall", ""]);
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
    let outcome = works(&["xlock:1 put:1 unlock:1 send:1 start:1 put:1 complete", "recv:0 post:0 wait"]);
    assert!(has_met(&outcome, "exposure waits"), "{:?}", outcome.reached);
}

#[test]
fn a_lock_of_exposed_memory_is_reported_and_granted_later() {
    let outcome = works(&["post:1 wait", "start:0 put:0 icomplete xlock:0 put:0 iunlock:0 waitall"]);
    assert!(has_met(&outcome, "locked while exposed"), "{:?}", outcome.reached);
}

/// Each of two lock_all epochs holds one lock, and waits, in a flush, for the other behind an exclusive request: strict
/// first in, first out makes single locks part of a cycle, though none is inside another.
#[test]
fn lock_all_with_flushes_and_single_locks_can_be_stuck() {
    const SEEDS: u64 = 1000;
    let lines: Lines = &[
        "lock_all put:1 flush:1 unlock_all",
        "lock_all put:0 flush:0 unlock_all",
        "xlock:0 put:0 unlock:0",
        "xlock:1 put:1 unlock:1",
    ];
    let some = stuck(Flags::default(), lines, SEEDS);
    assert!((1..SEEDS / 2).contains(&some), "{some} of {SEEDS}");
    // Without the flush, a lock_all epoch gives each lock back when it has been granted.
    let lines: Lines = &[
        "lock_all put:1 unlock_all",
        "lock_all put:0 unlock_all",
        "xlock:0 put:0 unlock:0",
        "xlock:1 put:1 unlock:1",
    ];
    assert_eq!(stuck(Flags::default(), lines, SEEDS), 0);
}

#[test]
fn three_ranks_with_every_kind_of_epoch() {
    let lines: Lines = &[
        "fence put:1 fence post:12 start:12 put:1 get:2 icomplete iwait waitall \
         lock_all put:2 iflush:2 unlock_all waitall",
        "fence put:2 fence post:02 start:02 put:0 icomplete iwait waitall \
         xlock:2 put:2 iunlock:2 lock:0 get:0 iunlock:0 waitall",
        "fence get:0 fence post:01 start:01 put:0 put:1 icomplete iwait waitall \
         xlock:0 lock:1 put:0 put:1 iunlock:1 iunlock:0 waitall",
    ];
    for flags in Flags::every() {
        assert_eq!(stuck(flags, lines, 15), 0, "{flags:?}");
    }
}

/// Each program that shows what a rule is for keeps all promises with the rule.
#[test]
fn with_the_rule_the_program_of_its_ablation_is_proven() {
    let mut explored = 0;
    for ablation in ABLATIONS {
        if let Subject::Epoch(bounds) = ablation.subject {
            let broken = bounds.explore(&limits()).broken;
            assert_eq!(broken, None, "{}", ablation.rule);
            explored += 1;
        }
    }
    assert!(explored > 20, "{explored}");
}

/// By MPI the program that `FENCE_ENDS_IN_ORDER` is for gets stuck, and with the rule it is found to.
#[test]
fn an_access_that_is_exposed_after_its_fence_epoch_is_stuck() {
    gets_stuck(&["fence start:1 put:1 icomplete ifence waitall", "fence ifence post:0 iwait waitall"]);
}

/// Rank 2's data is on its way to rank 0, whose fence epoch rank 1 has left.
#[test]
fn a_lock_waits_for_the_end_of_a_fence_epoch_that_its_origin_has_left() {
    let lines: Lines = &["fence fence", "fence fence xlock:0 unlock:0", "fence put:0 fence"];
    let program = EpochBounds::Program(GivenProgram { flags: Flags::default(), lines, may_be_stuck: false });
    let found = program.explore_without("LOCK_WAITS_FOR_EXPOSURE", &limits()).expect("it is a rule");
    assert_eq!(property(&found), "locked-or-exposed", "{found:?}");
}
