//! Each rule off in turn: the program that shows why it is there.

mod network;

use carrousel_epoch::*;
use network::{Program, explore, run};

const NO_FLAGS: Flags = Flags {
    access_after_access: false,
    access_after_exposure: false,
    exposure_after_exposure: false,
    exposure_after_access: false,
};
const AAAR: Flags = Flags { access_after_access: true, ..NO_FLAGS };

/// The property that breaks without the rule, in a program that keeps all of them with it.
macro_rules! without {
    ($(#[$doc:meta])* $name:ident: $rule:ident $(= $off:expr)?, $flags:expr, $lines:expr => $property:literal) => {
        $(#[$doc])*
        #[test]
        fn $name() {
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            enum Without {}
            impl EpochRules for Without {
                without!(@constant $rule $($off)?);
            }
            let program = Program::new($flags, &$lines);
            assert_eq!(explore::<AllEpochRules>(&program).violation, None, "with the rule");
            let found = explore::<Without>(&program);
            assert_eq!(found.property(), Some($property), "{found:#?}");
        }
    };
    (@constant $rule:ident) => { const $rule: bool = false; };
    (@constant $rule:ident $off:expr) => { const $rule: Covers = $off; };
}

without!(transfers_wait_for_their_grant: WAITS_FOR_GRANT, NO_FLAGS,
    ["start:1 put:1 complete", "post:0 wait"] => "granted-first");

without!(two_early_exposures_are_two: COUNTS_NOT_BITS, Flags { exposure_after_exposure: true, ..NO_FLAGS },
    ["start:1 put:1 complete start:1 put:1 complete", "post:0 iwait post:0 iwait waitall"] => "never-stuck");

without!(exposures_count_when_they_are_activated: EXPOSURES_COUNT_AT_ACTIVATION, NO_FLAGS,
    ["post:2 iwait post:1 iwait waitall", "start:0 put:0 complete", "start:0 put:0 complete"] => "exposed");

without!(
    /// The published triple fails in a correct program: the lock inside the fence epoch is granted before the host has
    /// called its fence, and that grant is taken for the fence's, which was requested before.
    locks_have_a_triple_of_their_own: LOCKS_COUNT_APART, NO_FLAGS,
    ["fence fence", "fence xlock:0 put:0 unlock:0 fence"] => "honest-packets");

without!(
    /// Done of the access inside the fence epoch overtakes Done of the fence epoch, by program order.
    done_belongs_to_one_exposure: DONE_BY_EQUALITY, NO_FLAGS,
    ["fence post:1 wait fence", "fence start:0 put:0 complete fence"] => "honest-packets");

without!(done_is_behind_the_data: DONE_BEHIND_DATA, NO_FLAGS,
    ["start:1 put:1 complete", "post:0 wait"] => "done-is-last");

without!(done_is_fenced_behind_reads: FENCED_BEHIND_READS, NO_FLAGS,
    ["start:1 get:1 complete", "post:0 wait"] => "done-is-last");

without!(done_waits_for_the_grant_without_operations_too: DONE_WAITS_FOR_GRANT, NO_FLAGS,
    ["start:1 complete", "post:0 wait"] => "honest-packets");

without!(no_epoch_is_skipped: STOPS_AT_FIRST, Flags { exposure_after_access: true, ..NO_FLAGS },
    [
        "start:1 icomplete start:1 icomplete post:1 iwait waitall",
        "post:0 wait post:0 wait start:0 complete",
    ] => "opening-order");

without!(closed_epochs_come_one_after_the_other: SERIAL_DEFAULT, NO_FLAGS,
    ["start:1 put:1 icomplete start:1 put:1 icomplete waitall", "post:0 iwait post:0 iwait waitall"] => "table");

without!(an_epoch_opened_inside_another_is_active_beside_it: NESTED, NO_FLAGS,
    ["post:1 start:1 put:1 complete iwait waitall", "post:0 start:0 put:0 complete iwait waitall"] => "never-stuck");

without!(all_active_epochs_are_compared: CHECKS_ALL_ACTIVE,
    Flags { exposure_after_access: true, access_after_exposure: true, ..NO_FLAGS },
    [
        "start:1 icomplete post:1 iwait start:1 icomplete waitall",
        "post:0 iwait start:0 icomplete post:0 iwait waitall",
    ] => "table");

without!(flags_do_not_apply_to_fences: FLAGS_EXCLUDE_FENCE, Flags::ALL,
    ["start:1 icomplete ifence ifence waitall", "post:0 iwait ifence ifence waitall"] => "table");

without!(a_lock_is_not_taken_twice: SAME_TARGET_DEFERS, AAAR,
    ["lock:1 put:1 iunlock:1 lock:1 put:1 iunlock:1 waitall", ""] => "table");

without!(a_lock_does_not_overtake_an_access_to_its_target: LOCK_BESIDE_ACCESS_DEFERS, AAAR,
    ["start:1 icomplete lock:1 iunlock:1 waitall", "post:0 wait"] => "table");

without!(a_fence_waits_for_all: FENCE_WAITS_FOR_ALL_DONE, NO_FLAGS,
    ["fence put:1 fence", "fence fence"] => "fence-is-barrier");

without!(an_open_fence_epoch_without_operations_holds_nothing_back: INERT_FENCE, NO_FLAGS,
    ["fence lock:1 iunlock:1 waitall", "fence"] => "never-stuck");

without!(an_exposure_waits_for_the_release_of_a_lock: EXPOSURE_WAITS_FOR_LOCK, NO_FLAGS,
    ["xlock:1 put:1 unlock:1 send:1 start:1 put:1 complete", "recv:0 post:0 wait"] => "locked-or-exposed");

without!(a_lock_waits_for_the_end_of_an_exposure: LOCK_WAITS_FOR_EXPOSURE, NO_FLAGS,
    ["post:1 wait", "start:0 put:0 icomplete lock:0 put:0 iunlock:0 waitall"] => "locked-or-exposed");

without!(a_flush_does_not_count_later_operations: FLUSH_COVERS = Covers::AfterStamp, NO_FLAGS,
    ["lock:1 put:1 iflush:1 put:1 unlock:1 waitall", ""] => "flush");

without!(a_flush_counts_the_operation_just_before: FLUSH_COVERS = Covers::BeforeStamp, NO_FLAGS,
    ["lock:1 put:1 iflush:1 unlock:1 waitall", ""] => "flush");

without!(a_flush_counts_operations_that_wait_for_the_grant: FLUSH_COUNTS_UNISSUED, NO_FLAGS,
    ["lock:1 put:1 iflush:1 unlock:1 waitall", ""] => "flush");

without!(deferred_epochs_are_activated_when_others_end: ACTIVATES_AFTER_COMPLETION, NO_FLAGS,
    ["start:1 put:1 icomplete start:1 put:1 icomplete waitall", "post:0 wait post:0 wait"] => "never-stuck");

/// Rank 1 exposes its memory after the fence that rank 0 has called with its access still to come. By MPI that is a
/// deadlock, and with the rule it is found to be one; without it, the access goes to the next fence epoch.
#[test]
fn a_fence_epoch_ends_after_those_inside_it() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Without {}
    impl EpochRules for Without {
        const FENCE_ENDS_IN_ORDER: bool = false;
    }
    let program = Program::new(
        NO_FLAGS,
        &["fence start:1 put:1 icomplete ifence waitall", "fence ifence post:0 iwait waitall"],
    );
    assert_eq!(explore::<AllEpochRules>(&program).property(), Some("never-stuck"));
    assert_eq!(explore::<Without>(&program).property(), Some("exposed"));
}

/// Rank 2's data is on its way to rank 0, whose fence epoch rank 1 has left.
#[test]
fn a_lock_waits_for_the_end_of_a_fence_epoch_that_its_origin_has_left() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Without {}
    impl EpochRules for Without {
        const LOCK_WAITS_FOR_EXPOSURE: bool = false;
    }
    let program =
        Program::new(NO_FLAGS, &["fence fence", "fence fence xlock:0 unlock:0", "fence put:0 fence"]);
    let violations = |seed| (run::<AllEpochRules>(&program, seed), run::<Without>(&program, seed));
    let found: Vec<_> = (0..500).map(violations).collect();
    assert!(found.iter().all(|(with, _)| with.is_ok()));
    assert!(
        found
            .iter()
            .any(|(_, without)| without.as_ref().is_err_and(|what| what.starts_with("locked-or-exposed")))
    );
}
