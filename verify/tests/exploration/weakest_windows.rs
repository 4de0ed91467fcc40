//! Windows under the weakest MPI: what may wait, what may return early, and which hints and atomics a program must not
//! count on.

use crate::drawn::{Compared, compare, verify};
use carrousel_scenario::Check;
use carrousel_verify::report::Verdict;

#[test]
fn verdicts_are_the_same_with_and_without_the_reduction() {
    let Compared { programs, fewer, violated } = compare(3, true);
    assert!(programs >= 200, "{programs} of 400 programs are small enough");
    assert!(fewer * 2 > programs, "the reduction reduces {fewer} of {programs}");
    for check in [Check::DeadlockFreedom, Check::RmaRace, Check::EpochUsage, Check::MatchDeterminism] {
        assert!(violated[check as usize] >= 5, "{check:?}: {}", violated[check as usize]);
    }
}

/// The checks that are violated by default, and under the weakest MPI.
fn violated(text: &str) -> [Vec<&'static str>; 2] {
    [false, true].map(|portable| {
        let report = verify(text, portable, true, 200_000);
        assert!(report.exhaustive, "{text}");
        let violated = report.checks.iter().filter(|check| check.verdict == Verdict::Violated);
        violated.map(|check| check.name).collect()
    })
}

/// What is said of the deadlock under the weakest MPI.
fn deadlock(text: &str) -> String {
    let report = verify(text, true, true, 200_000);
    let found = report.checks[Check::DeadlockFreedom as usize].counterexample.as_ref();
    found.unwrap_or_else(|| panic!("there is none:\n{text}")).summary.clone()
}

/// Ranks that do something with a window of 16 bytes.
fn ranks(options: &str, programs: &[&str]) -> String {
    let blocks = (0..).zip(programs).map(|(rank, program): (u32, _)| {
        let lines = program.replace("; ", "\n  ");
        format!("rank {rank}\n  {lines}\n")
    });
    format!("ranks {}\nwindow w 16\n{options}{}", programs.len(), blocks.collect::<String>())
}

const NOTHING: [&str; 0] = [];

#[test]
fn a_start_may_wait_for_its_targets() {
    let both = |start: &str, other: u32| {
        format!(
            "{start} w to [{other}]; put w to {other} size 8; post w from [{other}]; complete w; wait_epoch w"
        )
    };
    let text = |start: &str| ranks("", &[&both(start, 1), &both(start, 0)]);
    assert_eq!(violated(&text("start")), [vec![], vec!["deadlock-freedom"]]);
    let said = deadlock(&text("start"));
    for part in [
        "rank 0 waits at line 4 (`start w to [1]`) for rank 1 to expose memory of window `w` to it with post (Late Post)",
        "MPI lets a start wait until each of its targets has posted, or return at once (MPI-4.1, 12.5.2).",
        "rank 0 -> rank 1 -> rank 0",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    // None of MPI's calls: it returns at once everywhere.
    assert_eq!(violated(&text("istart")), [NOTHING; 2]);
    // The order that MPI's own text recommends (MPI-4.1, 12.5.2).
    let posts_first = |other: u32| {
        format!(
            "post w from [{other}]; start w to [{other}]; put w to {other} size 8; complete w; wait_epoch w"
        )
    };
    assert_eq!(violated(&ranks("", &[&posts_first(1), &posts_first(0)])), [NOTHING; 2]);
    // A start waits for all of its targets, and one without targets for nobody.
    let late = "recv from 0 tag 0 size 8; post w from [0]; wait_epoch w";
    let origin = |group: &str| format!("start w to [{group}]; send to 2 tag 0 size 8; complete w");
    let text = |group: &str, first: &str, second: &str| ranks("", &[&origin(group), first, second]);
    let exposed = "post w from [0]; wait_epoch w";
    assert_eq!(violated(&text("1 2", exposed, late)), [vec![], vec!["deadlock-freedom"]]);
    assert_eq!(violated(&text("1", exposed, "recv from 0 tag 0 size 8")), [NOTHING; 2]);
    assert_eq!(violated(&text("", "compute 1us", "recv from 0 tag 0 size 8")), [NOTHING; 2]);
}

#[test]
fn a_lock_may_wait_until_it_is_granted() {
    let sends = |lock: &str, unlock: &str| format!("{lock}; isend to 1 tag 0 size 8; {unlock}; wait all");
    let waits = "lock w at 2 exclusive; recv from 0 tag 0 size 8; unlock w at 2";
    let text = |lock: &str, unlock: &str| ranks("", &[&sends(lock, unlock), waits, "compute 1us"]);
    for lock in ["lock w at 2 exclusive", "lock w at 2 shared"] {
        let text = text(lock, "unlock w at 2");
        assert_eq!(violated(&text), [vec![], vec!["deadlock-freedom"]], "{text}");
        let said = deadlock(&text);
        for part in [
            &format!(
                "rank 0 waits at line 4 (`{lock}`) for the lock of rank 2 in window `w`, which rank 1 holds"
            ),
            "MPI lets a lock wait until it is granted, or return at once (MPI-4.1, 12.5.3).",
        ] {
            assert!(said.contains(part), "{part}\n{said}");
        }
    }
    let all = text("lock_all w", "unlock_all w");
    assert_eq!(violated(&all), [vec![], vec!["deadlock-freedom"]]);
    assert!(deadlock(&all).contains("MPI lets a lock_all wait until all ranks have granted it"));
    // Of another rank's memory, or without waiting.
    assert_eq!(violated(&text("lock w at 1 exclusive", "unlock w at 1")), [NOTHING; 2]);
    assert_eq!(violated(&text("ilock w at 2 exclusive", "unlock w at 2")), [NOTHING; 2]);
}

/// Under the weakest MPI, too, a rank has the lock of its own memory when the call returns.
#[test]
fn a_lock_of_ones_own_memory_is_held_everywhere() {
    let origin = "lock w at 1 exclusive; put w to 1 size 8; unlock w at 1";
    for (lock, unlock) in [("lock w at 1 exclusive", "unlock w at 1"), ("lock_all w", "unlock_all w")] {
        let text = ranks("", &[origin, &format!("{lock}; store w at 0 size 8; {unlock}")]);
        assert_eq!(violated(&text), [NOTHING; 2], "{text}");
    }
    let text = ranks("", &[origin, "ilock w at 1 exclusive; store w at 0 size 8; unlock w at 1"]);
    assert_eq!(violated(&text), [["rma-race"]; 2]);
}

/// Atomics of two origins: MPI asks whether they use one operation, and not which function it is.
#[test]
fn atomics_of_two_origins_are_atomic_everywhere_if_they_use_one_operation() {
    let sums = ["acc w to 1 size 8", "get_acc w to 1 size 8", "fetch_op w at 1"];
    let others = ["cas w at 1", "acc w to 1 size 8 op max", "get_acc w to 1 size 8 op no_op"];
    let operation = |atomic: &str| match atomic {
        _ if atomic.contains("no_op") => "no_op",
        _ if atomic.contains("max") => "max",
        _ if atomic.contains("cas") => "cas",
        _ => "sum",
    };
    let all: Vec<&str> = sums.into_iter().chain(others).collect();
    for one in &all {
        for other in &all {
            let epoch = |atomic: &str| format!("lock_all w; {atomic}; unlock_all w");
            let text =
                |options: &str, other: &str| ranks(options, &[&epoch(one), "compute 1us", &epoch(other)]);
            let is_same = operation(one) == operation(other);
            let reads = [one, other].iter().any(|atomic| operation(atomic) == "no_op");
            let race = |races: bool| [vec![], if races { vec!["rma-race"] } else { vec![] }];
            let (default, strict) = (text("", other), text("option w.accumulate_ops same_op\n", other));
            assert_eq!(violated(&default), race(!is_same && !reads), "{default}");
            assert_eq!(violated(&strict), race(!is_same), "{strict}");
            // At other bytes, and behind a flush that a message orders.
            let apart = other.replace("size 8", "size 8 at 8").replace("at 1", "at 1 at 8");
            assert_eq!(violated(&text("", &apart)), [NOTHING; 2], "{apart}");
            let first = format!("lock_all w; {one}; flush w at 1; send to 2 tag 0 size 8; unlock_all w");
            let second = format!("recv from 0 tag 0 size 8; {}", epoch(other));
            let text = ranks("", &[&first, "compute 1us", &second]);
            assert_eq!(violated(&text), [NOTHING; 2], "{text}");
        }
    }
    let text =
        ranks("", &["lock_all w; cas w at 1; unlock_all w", "lock_all w; fetch_op w at 1; unlock_all w"]);
    let report = verify(&text, true, true, 200_000);
    let race = report.checks[Check::RmaRace as usize].counterexample.as_ref().expect("there is one");
    for part in ["MPI leaves open whether two different operations", "info key accumulate_ops"] {
        assert!(race.summary.contains(part), "{part}: {}", race.summary);
    }
}

/// Those of one origin are ordered (MPI-4.1, 12.7.2), to another rank and to oneself.
#[test]
fn atomics_of_one_origin_are_in_order_everywhere_unless_the_window_says_otherwise() {
    let atomics =
        ["acc w to R size 8 op replace", "get_acc w to R size 8 op no_op", "fetch_op w at R", "cas w at R"];
    for target in ["0", "1"] {
        for one in atomics {
            for other in atomics.into_iter().filter(|other| *other != one) {
                let origin = format!("lock_all w; {one}; {other}; unlock_all w").replace('R', target);
                let text = |options| ranks(options, &[&origin, "compute 1us"]);
                assert_eq!(violated(&text("")), [NOTHING; 2], "{origin}");
                let reads = one.contains("no_op") || other.contains("no_op");
                let unordered = [vec![], if reads { vec![] } else { vec!["rma-race"] }];
                assert_eq!(violated(&text("option w.accumulate_ordering none\n")), unordered, "{origin}");
            }
        }
    }
}

/// MPI-4.1, 12.7: what is put between fences is at its target when the *target's* fence returns. That of another rank may
/// have returned before.
#[test]
fn a_fence_of_another_rank_completes_nothing() {
    let text = |lock: &str| {
        let origin = "fence w; put w to 0 size 8; fence w";
        ranks("", &[origin, &format!("fence w; fence w; {lock}")])
    };
    let locked = "lock w at 0 exclusive; put w to 0 size 8; unlock w at 0";
    assert_eq!(violated(&text(locked)), [vec![], vec!["rma-race"]]);
    assert_eq!(violated(&text(&locked.replace("size 8", "size 8 at 8"))), [NOTHING; 2]);
    // A barrier behind the fences orders them.
    let both =
        ["fence w; put w to 0 size 8; fence w; barrier", &format!("fence w; fence w; barrier; {locked}")];
    assert_eq!(violated(&ranks("", &both)), [NOTHING; 2]);
}

/// Two fences with an access between them are an access epoch, whichever epoch the access belongs to (MPI-4.1, 12.5.1).
#[test]
fn an_access_in_another_epoch_is_not_between_fences() {
    let text = |first: &str, between: &str, second: &str| {
        let other = format!("{first}; {second}");
        ranks("", &[&format!("{first}; {between}; {second}"), &other])
    };
    let locked = "lock w at 1 shared; get w from 1 size 8; unlock w at 1";
    let usage = [vec![], vec!["epoch-usage"]];
    assert_eq!(violated(&text("fence w", locked, "fence w")), usage);
    assert_eq!(violated(&text("fence w", "lock_all w; put w to 0 size 8; unlock_all w", "fence w")), usage);
    assert_eq!(violated(&text("fence w", "lock w at 1 shared; unlock w at 1", "fence w")), [NOTHING; 2]);
    assert_eq!(violated(&text("fence w assert nosucceed", locked, "fence w")), [NOTHING; 2]);
    assert_eq!(violated(&text("fence w", locked, "fence w assert noprecede")), [NOTHING; 2]);
    assert_eq!(violated(&text("fence w", locked, "barrier")), [NOTHING; 2], "no fence ends it");
}

/// The flag lets the second access epoch pass the first, whose target is late. An MPI that ignores it does not.
const SECOND_FIRST: [&str; 3] = [
    "istart w to [1]; put w to 1 size 8; e = icomplete w; istart w to [2]; put w to 2 size 8; f = icomplete w; \
     wait f; send to 1 tag 0 size 8; wait e",
    "recv from 0 tag 0 size 8; post w from [0]; wait_epoch w",
    "post w from [0]; wait_epoch w",
];

#[test]
fn a_flag_may_be_ignored() {
    assert_eq!(violated(&ranks("", &SECOND_FIRST)), [["deadlock-freedom"]; 2]);
    let text = ranks("option w.access_after_access on\n", &SECOND_FIRST);
    assert_eq!(violated(&text), [vec![], vec!["deadlock-freedom"]]);
    let said = deadlock(&text);
    let flag =
        "Here the flag `access_after_access` of window `w` is ignored, as an MPI may do: flags are hints.";
    assert!(said.contains(flag), "{said}");
}

#[test]
fn a_flag_may_be_used() {
    let origin = "istart w to [1]; put w to 1 size 8; icomplete w; istart w to [1]; put w to 1 size 8; icomplete w; wait all";
    let target = "post w from [0]; iwait_epoch w; post w from [0]; iwait_epoch w; wait all";
    let both = "option w.access_after_access on\noption w.exposure_after_exposure on\n";
    assert_eq!(violated(&ranks("", &[origin, target])), [NOTHING; 2]);
    assert_eq!(violated(&ranks(both, &[origin, target])), [["rma-race"]; 2]);
}

/// `complete` completes accesses at the origin only: what is written may reach the target long afterwards.
#[test]
fn a_complete_orders_nothing_at_the_target() {
    let first = |access: &str| format!("start w to [1]; {access}; complete w; send to 2 tag 0 size 8");
    let second = "recv from 0 tag 0 size 8; start w to [1]; put w to 1 size 8; complete w";
    let exposed = "post w from [0 2]; wait_epoch w";
    let text = |access: &str| ranks("", &[&first(access), exposed, second]);
    assert_eq!(violated(&text("put w to 1 size 8")), [vec![], vec!["rma-race"]]);
    assert_eq!(violated(&text("acc w to 1 size 8")), [vec![], vec!["rma-race"]]);
    // Data that is only read is at the origin. A change need not be at the target by then (MPI-4.1, 12.3.5).
    for read in ["get w from 1 size 8", "get_acc w to 1 size 8 op no_op"] {
        assert_eq!(violated(&text(read)), [NOTHING; 2], "{read}");
    }
    for fetch in ["fetch_op w at 1", "cas w at 1"] {
        assert_eq!(violated(&text(fetch)), [vec![], vec!["rma-race"]], "{fetch}");
    }
    let locked = "lock w at 1 shared; put w to 1 size 8; unlock w at 1";
    let text = ranks(
        "",
        &[
            &format!("{locked}; send to 2 tag 0 size 8"),
            "compute 1us",
            &format!("recv from 0 tag 0 size 8; {locked}"),
        ],
    );
    assert_eq!(violated(&text), [NOTHING; 2]);
}

/// The put of rank 0 begins only after its `complete` has returned: rank 3 waits for the message behind that before it lets
/// the epoch before it end. The put of rank 2 has begun by then, but need not be over: a search that lets it land at once,
/// as if nothing of rank 0 were to come, does not find the race.
#[test]
fn what_has_not_begun_when_its_complete_returns_may_race_later() {
    let programs = [
        "start w to [3]; complete w; start w to [1]; put w to 1 size 8; complete w; send to 3 tag 0 size 8",
        "post w from [0 2]; wait_epoch w",
        "start w to [1]; put w to 1 size 8; complete w; send to 3 tag 0 size 8",
        "recv from 2 tag 0 size 8; recv from 0 tag 0 size 8; post w from [0]; wait_epoch w",
    ];
    let found = violated(&ranks("", &programs));
    assert_eq!(found, [vec!["deadlock-freedom"], vec!["deadlock-freedom", "rma-race"]]);
}

/// Whether a message behind the close of an epoch may come before one that its target receives the answer of before it
/// lets the epoch end.
fn overtakes(epoch: &str, late: &str) -> [bool; 2] {
    let judge = "recv from any tag 0 size 8; recv from any tag 0 size 8";
    let text = ranks(
        "",
        &[&format!("{epoch}; send to 2 tag 0 size 8"), &format!("ssend to 2 tag 0 size 8; {late}"), judge],
    );
    violated(&text).map(|violated| {
        assert!(violated.iter().all(|check| *check == "match-determinism"), "{violated:?}\n{text}");
        !violated.is_empty()
    })
}

#[test]
fn a_complete_may_return_before_its_target_has_posted() {
    let exposed = "post w from [0]; wait_epoch w";
    let epoch = |access: &str| format!("start w to [1]{access}; complete w");
    for access in ["", "; put w to 1 size 8", "; acc w to 1 size 8"] {
        assert_eq!(overtakes(&epoch(access), exposed), [false, true], "{access}");
    }
    for access in ["; get w from 1 size 8", "; put w to 1 size 8; fetch_op w at 1 at 8", "; cas w at 1"] {
        assert_eq!(overtakes(&epoch(access), exposed), [false, false], "{access}");
    }
    // It may wait, too, with whatever it has written.
    let text = ranks(
        "",
        &[
            "start w to [1]; complete w; send to 1 tag 0 size 8",
            "recv from 0 tag 0 size 8; post w from [0]; wait_epoch w",
        ],
    );
    assert_eq!(violated(&text), [["deadlock-freedom"]; 2]);
}

/// MPI-4.1, 12.5.1: a fence usually is a barrier, and need not be one if it is known that it ends no epoch.
#[test]
fn the_first_fence_may_wait_for_all_ranks() {
    let text = |fence: &str| {
        let first = format!("{fence}; send to 1 tag 0 size 8; fence w; wait all");
        ranks("", &[&first, "recv from 0 tag 0 size 8; fence w; fence w"])
    };
    assert_eq!(violated(&text("fence w")), [vec![], vec!["deadlock-freedom"]]);
    let said = deadlock(&text("fence w"));
    for part in [
        "rank 0 waits at line 4 (`fence w`) for rank 1 to call fence on window `w`",
        "MPI lets a fence that ends no epoch wait until all ranks have called it, or return at once (MPI-4.1, 12.5.1).",
        "rank 0 -> rank 1 -> rank 0",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    // None of MPI's calls: it returns at once everywhere.
    assert_eq!(violated(&text("ifence w")), [NOTHING; 2]);
}

#[test]
fn a_fence_that_is_known_to_end_no_epoch_orders_nothing() {
    let text = |before: &str, fence: &str| {
        let ends = "fence w; fence w";
        let locked = "lock w at 1 shared; put w to 1 size 8; unlock w at 1";
        let origin = format!("{before}{locked}; {fence}; {ends}");
        ranks("", &[&origin, &format!("{before}{fence}; load w at 0 size 8; {ends}")])
    };
    let race = [vec![], vec!["rma-race"]];
    assert_eq!(violated(&text("", "fence w; fence w")), [NOTHING; 2], "a barrier");
    assert_eq!(violated(&text("fence w; ", "fence w assert noprecede")), race);
    assert_eq!(violated(&text("fence w assert nosucceed; ", "fence w")), race);
    // It may be a barrier, too.
    let first = "fence w; fence w assert noprecede; send to 1 tag 0 size 8";
    let text = ranks("", &[first, "fence w; recv from 0 tag 0 size 8; fence w assert noprecede"]);
    assert_eq!(violated(&text), [["deadlock-freedom"]; 2]);
}

/// Only a fence of which it is known that it ends no epoch returns before all ranks have called it: the first one.
#[test]
fn a_fence_that_ends_an_epoch_waits_for_all_ranks_everywhere() {
    let judge =
        "a = irecv from any tag 0 size 8; b = irecv from any tag 0 size 8; fence w; fence w; wait a b";
    let first =
        ["fence w; send to 2 tag 0 size 8; fence w", "ssend to 2 tag 0 size 8; fence w; fence w", judge];
    assert_eq!(violated(&ranks("", &first)), [["match-determinism"]; 2]);
    let second =
        ["fence w; fence w; send to 2 tag 0 size 8", "fence w; ssend to 2 tag 0 size 8; fence w", judge];
    assert_eq!(violated(&ranks("", &second)), [NOTHING; 2]);
}

#[test]
fn the_buffers_of_an_access_belong_to_the_program_behind_its_complete() {
    let origin = "start w to [1]; put w to 1 size 8 buf b; complete w; write buf b";
    assert_eq!(violated(&ranks("", &[origin, "post w from [0]; wait_epoch w"])), [NOTHING; 2]);
    let early = "start w to [1]; put w to 1 size 8 buf b; e = icomplete w; write buf b; wait e";
    assert_eq!(violated(&ranks("", &[early, "post w from [0]; wait_epoch w"])), [["buffer-safety"]; 2]);
}

/// A request that MPI gives back early is one that its program has waited for.
#[test]
fn a_close_that_returns_early_is_no_leak() {
    let exposed = "post w from [0]; wait_epoch w";
    let text = |end: &str| {
        ranks("", &[&format!("start w to [1]; put w to 1 size 8; e = icomplete w{end}"), exposed])
    };
    assert_eq!(violated(&text("; wait e")), [NOTHING; 2]);
    assert_eq!(violated(&text("; test e; wait e")), [NOTHING; 2]);
    assert_eq!(violated(&text("")), [["request-leak"]; 2]);
}

/// Sends, wildcards and collectives are the weakest MPI's between the calls on windows, too.
#[test]
fn messages_beside_windows_are_the_weakest_too() {
    let both = |other: u32| {
        format!(
            "lock w at {other} shared; send to {other} tag 0 size 8; recv from {other} tag 0 size 8; unlock w at {other}"
        )
    };
    assert_eq!(violated(&ranks("", &[&both(1), &both(0)])), [vec![], vec!["deadlock-freedom"]]);
    let root = "bcast root 0 size 8; start w to [1]; complete w";
    let other = "post w from [0]; wait_epoch w; bcast root 0 size 8";
    assert_eq!(violated(&ranks("", &[root, other])), [vec![], vec!["deadlock-freedom"]]);
}
