//! Collectives under the weakest MPI: the standard says which ranks a rank need not wait for, whatever the tree.

use carrousel_scenario::{Check, load};
use carrousel_verify::explore::Limits;
use carrousel_verify::report::{Report, Verdict};
use carrousel_verify::run::{Request, check};

const RANKS: u32 = 4;
const ROOT: u32 = 1;

fn verify(text: &str, reduce: bool) -> Report {
    let scenario =
        load("test.scn", text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let limits = Limits { threads: 1, ..Limits::default() };
    let request = Request { portable: true, limits, reduce, ..Request::default() };
    check(&scenario, &request).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn verdict(report: &Report, check: Check) -> Verdict {
    report.checks[check as usize].verdict
}

/// Whether rank `early` may leave the collective before `late` has entered it: only then two messages to a third
/// rank can come in two orders.
fn may_leave_before(statement: &str, early: u32, late: u32) -> (String, bool, bool) {
    let judge = (0..RANKS).find(|rank| ![early, late].contains(rank)).unwrap_or_default();
    let ranks: String = (0..RANKS)
        .map(|rank| {
            let program = match rank {
                _ if rank == judge => format!(
                    "  a = irecv from any tag 0 size 8\n  b = irecv from any tag 0 size 8\n  {statement}\n  wait a b\n"
                ),
                _ if rank == early => format!("  {statement}\n  send to {judge} tag 0 size 8\n"),
                _ if rank == late => format!("  ssend to {judge} tag 0 size 8\n  {statement}\n"),
                _ => format!("  {statement}\n"),
            };
            format!("rank {rank}\n{program}")
        })
        .collect();
    let text = format!("ranks {RANKS}\n{ranks}");
    let found = [true, false].map(|reduce| {
        let report = verify(&text, reduce);
        assert!(report.exhaustive, "{text}");
        assert_eq!(verdict(&report, Check::DeadlockFreedom), Verdict::Proven, "{text}");
        verdict(&report, Check::MatchDeterminism) == Verdict::Violated
    });
    (text, found[0], found[1])
}

#[test]
fn a_collective_is_left_before_those_whose_data_it_does_not_need() {
    type May = fn(early: u32, late: u32) -> bool;
    let table: [(&str, May); 12] = [
        ("barrier", |_, _| false),
        ("bcast root 1 size 8", |early, late| early == ROOT || late != ROOT),
        ("reduce root 1 size 8", |early, _| early != ROOT),
        ("gather root 1 size 8", |early, _| early != ROOT),
        ("allreduce size 8", |_, _| false),
        ("allgather size 1MiB", |_, _| false),
        ("alltoall size 8", |_, _| false),
        ("bcast root 1 size 0", |_, _| true),
        ("reduce root 1 size 0", |_, _| true),
        ("allreduce size 0", |_, _| true),
        ("allgather size 0", |_, _| true),
        ("alltoall size 0", |_, _| true),
    ];
    for (statement, may) in table {
        for early in 0..RANKS {
            for late in (0..RANKS).filter(|late| *late != early) {
                let (text, reduced, whole) = may_leave_before(statement, early, late);
                assert_eq!(whole, may(early, late), "rank {early} before rank {late}:\n{text}");
                assert_eq!(reduced, whole, "the reduction changes it:\n{text}");
            }
        }
    }
}

/// A rank that may be alone in a collective may as well wait there for the others.
#[test]
fn what_may_leave_early_may_wait_as_well() {
    for statement in
        ["bcast root 0 size 8", "gather root 1 size 8", "reduce root 1 size 1MiB", "allreduce size 0"]
    {
        let text = format!(
            "ranks 2\nrank 0\n  {statement}\n  send to 1 tag 0 size 8\nrank 1\n  recv from 0 tag 0 size 8\n  {statement}\n"
        );
        let report = verify(&text, true);
        assert_eq!(verdict(&report, Check::DeadlockFreedom), Verdict::Violated, "{text}");
        let said = report.checks[0].counterexample.as_ref().map(|it| it.summary.clone()).unwrap_or_default();
        assert!(said.contains("for rank 1 to enter the"), "{said}");
    }
}

/// An open request of a collective is one like any other.
#[test]
fn a_barrier_that_is_never_waited_for_is_a_leak() {
    let report = verify("ranks 2\nrank *\n  b = ibarrier\n", true);
    assert_eq!(verdict(&report, Check::RequestLeak), Verdict::Violated);
    let report = verify("ranks 2\nrank *\n  b = ibarrier\n  test b\n  wait b\n", true);
    assert_eq!(verdict(&report, Check::RequestLeak), Verdict::Proven);
    assert_eq!(verdict(&report, Check::DeadlockFreedom), Verdict::Proven);
}
