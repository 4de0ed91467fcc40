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
                without!(@rule $rule $($off)?);
            }
            let program = Program::new($flags, &$lines);
            assert_eq!(explore::<AllEpochRules>(&program).violation, None, "with the rule");
            let found = explore::<Without>(&program);
            assert_eq!(found.property(), Some($property), "{found:#?}");
        }
    };
    (@rule $rule:ident) => {
        fn $rule() -> bool {
            false
        }
    };
    (@rule $rule:ident $off:expr) => {
        fn $rule() -> Covers {
            $off
        }
    };
}

without!(transfers_wait_for_their_grant: waits_for_grant, NO_FLAGS,
    ["start:1 put:1 complete", "post:0 wait"] => "granted-first");

without!(two_early_exposures_are_two: counts_not_bits, Flags { exposure_after_exposure: true, ..NO_FLAGS },
    ["start:1 put:1 complete start:1 put:1 complete", "post:0 iwait post:0 iwait waitall"] => "never-stuck");

without!(exposures_count_when_they_are_activated: exposures_count_at_activation, NO_FLAGS,
    ["post:2 iwait post:1 iwait waitall", "start:0 put:0 complete", "start:0 put:0 complete"] => "exposed");

without!(
    /// The published triple fails in a correct program: the lock inside the fence epoch is granted before the host has
    /// called its fence, and that grant is taken for the fence's, which was requested before.
    locks_have_a_triple_of_their_own: locks_count_apart, NO_FLAGS,
    ["fence fence", "fence xlock:0 put:0 unlock:0 fence"] => "honest-packets");

without!(
    /// Done of the access inside the fence epoch overtakes Done of the fence epoch, by program order.
    done_belongs_to_one_exposure: done_by_equality, NO_FLAGS,
    ["fence post:1 wait fence", "fence start:0 put:0 complete fence"] => "honest-packets");

without!(done_is_behind_the_data: done_behind_data, NO_FLAGS,
    ["start:1 put:1 complete", "post:0 wait"] => "done-is-last");

without!(done_is_fenced_behind_reads: fenced_behind_reads, NO_FLAGS,
    ["start:1 get:1 complete", "post:0 wait"] => "done-is-last");

without!(done_waits_for_the_grant_without_operations_too: done_waits_for_grant, NO_FLAGS,
    ["start:1 complete", "post:0 wait"] => "honest-packets");

without!(no_epoch_is_skipped: stops_at_first, Flags { exposure_after_access: true, ..NO_FLAGS },
    [
        "start:1 icomplete start:1 icomplete post:1 iwait waitall",
        "post:0 wait post:0 wait start:0 complete",
    ] => "opening-order");

without!(closed_epochs_come_one_after_the_other: serial_default, NO_FLAGS,
    ["start:1 put:1 icomplete start:1 put:1 icomplete waitall", "post:0 iwait post:0 iwait waitall"] => "table");

without!(an_epoch_opened_inside_another_is_active_beside_it: nested, NO_FLAGS,
    ["post:1 start:1 put:1 complete iwait waitall", "post:0 start:0 put:0 complete iwait waitall"] => "never-stuck");

without!(all_active_epochs_are_compared: checks_all_active,
    Flags { exposure_after_access: true, access_after_exposure: true, ..NO_FLAGS },
    [
        "start:1 icomplete post:1 iwait start:1 icomplete waitall",
        "post:0 iwait start:0 icomplete post:0 iwait waitall",
    ] => "table");

without!(flags_do_not_apply_to_fences: flags_exclude_fence, Flags::ALL,
    ["start:1 icomplete ifence ifence waitall", "post:0 iwait ifence ifence waitall"] => "table");

without!(a_lock_is_not_taken_twice: same_target_defers, AAAR,
    ["lock:1 put:1 iunlock:1 lock:1 put:1 iunlock:1 waitall", ""] => "table");

without!(a_lock_does_not_overtake_an_access_to_its_target: lock_beside_access_defers, AAAR,
    ["start:1 icomplete lock:1 iunlock:1 waitall", "post:0 wait"] => "table");

without!(a_fence_waits_for_all: fence_waits_for_all_done, NO_FLAGS,
    ["fence put:1 fence", "fence fence"] => "fence-is-barrier");

without!(an_open_fence_epoch_without_operations_holds_nothing_back: inert_fence, NO_FLAGS,
    ["fence lock:1 iunlock:1 waitall", "fence"] => "never-stuck");

without!(an_exposure_waits_for_the_release_of_a_lock: exposure_waits_for_lock, NO_FLAGS,
    ["xlock:1 put:1 unlock:1 send:1 start:1 put:1 complete", "recv:0 post:0 wait"] => "locked-or-exposed");

without!(a_lock_waits_for_the_end_of_an_exposure: lock_waits_for_exposure, NO_FLAGS,
    ["post:1 wait", "start:0 put:0 icomplete lock:0 put:0 iunlock:0 waitall"] => "locked-or-exposed");

without!(a_flush_does_not_count_later_operations: flush_covers = Covers::AfterStamp, NO_FLAGS,
    ["lock:1 put:1 iflush:1 put:1 unlock:1 waitall", ""] => "flush");

without!(a_flush_counts_the_operation_just_before: flush_covers = Covers::BeforeStamp, NO_FLAGS,
    ["lock:1 put:1 iflush:1 unlock:1 waitall", ""] => "flush");

without!(a_flush_counts_operations_that_wait_for_the_grant: flush_counts_unissued, NO_FLAGS,
    ["lock:1 put:1 iflush:1 unlock:1 waitall", ""] => "flush");

without!(deferred_epochs_are_activated_when_others_end: activates_after_completion, NO_FLAGS,
    ["start:1 put:1 icomplete start:1 put:1 icomplete waitall", "post:0 wait post:0 wait"] => "never-stuck");

/// Rank 1 exposes its memory after the fence that rank 0 has called with its access still to come. By MPI that is a
/// deadlock, and with the rule it is found to be one; without it, the access goes to the next fence epoch.
#[test]
fn a_fence_epoch_ends_after_those_inside_it() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Without {}
    impl EpochRules for Without {
        fn fence_ends_in_order() -> bool {
            false
        }
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
        fn lock_waits_for_exposure() -> bool {
            false
        }
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
