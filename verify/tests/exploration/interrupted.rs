//! A search that is interrupted reports what it has found by then, and claims nothing else.

use carrousel_scenario::{Check, load};
use carrousel_verify::explore::{Limits, SearchProgress, Stopped};
use carrousel_verify::report::{Report, Verdict};
use carrousel_verify::run::{Request, check};
use std::sync::atomic::{AtomicBool, Ordering};

/// Ranks 1 and 2 race to rank 0; then there is more than anybody waits for.
const TEXT: &str = "\
ranks 6
rank 0
  recv from any tag 1 size 8
  recv from any tag 1 size 8
rank 1..2
  send to 0 tag 1 size 8
rank *
  repeat 100
    isend to (me+1)%size tag 0 size 64KiB
    irecv from (me+size-1)%size tag 0 size 64KiB
    wait all
  end
";

/// Verifies until there are so many states.
fn interrupted_at(states: u64, threads: usize) -> Report {
    let scenario = load("f", TEXT.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let interrupt = AtomicBool::new(false);
    let progress = |progress: SearchProgress| interrupt.store(progress.states >= states, Ordering::Relaxed);
    let limits = Limits {
        threads,
        interrupt: Some(&interrupt),
        progress: Some(&progress),
        // Without the interrupt it ends all the same.
        max_states: Some(states * 100),
        ..Limits::default()
    };
    let request = Request { limits, reduce: false, ..Request::default() };
    check(&scenario, &request).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn what_is_found_before_is_told_and_nothing_else_is_claimed() {
    for threads in [1, 2] {
        let report = interrupted_at(20_000, threads);
        assert!(report.interrupted && !report.exhaustive);
        assert_eq!(report.stopped, Some(Stopped::Interrupted));
        assert!(report.states >= 20_000, "{}", report.states);
        let of = |check: Check| &report.checks[check as usize];
        assert_eq!(report.verdict, Verdict::Inconclusive);
        assert_eq!(of(Check::DeadlockFreedom).verdict, Verdict::Inconclusive);
        assert_eq!(of(Check::RmaRace).verdict, Verdict::NotApplicable);
        assert_eq!(of(Check::MatchDeterminism).verdict, Verdict::Violated);
        let told = of(Check::MatchDeterminism).counterexample.as_ref();
        assert!(told.is_some_and(|told| !told.steps.is_empty()));
        // The search for a shorter one was interrupted, too; only one thread that searches by depth knows.
        let open = told.is_some_and(|told| told.summary.contains("There may be a shorter way"));
        assert_eq!(open, threads > 1);
    }
}
